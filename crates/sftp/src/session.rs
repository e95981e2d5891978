//! One SFTP session: takes whole packets, answers them in order. It blocks on the disk and knows no network.

use bytes::{Bytes, BytesMut};
use rustix::fs::AtFlags;

use crate::attributes::Attributes;
use crate::files::Files;
use crate::folder::normal;
use crate::handle::{Count, HANDLES_MAX, Handles, Open};
use crate::listing::next_entries;
use crate::packet::{DATA_BYTES_MAX, Entry, Malformed, Packet, Reply, Request, VERSION, put_data, put_version};
use crate::refusal::Refusal;

/// The state of one SFTP channel.
#[derive(Debug)]
pub(crate) struct Session {
    files: Files,
    handles: Handles,
    is_greeted: bool,
}

impl Session {
    pub(crate) fn new(files: Files, count: Count) -> Self {
        Self { files, handles: Handles::new(count), is_greeted: false }
    }

    /// Answers a packet, after what is in `to`. A client that breaks the protocol gets no answer: the channel is to be
    /// closed.
    pub(crate) fn answer(&mut self, packet: Bytes, to: &mut BytesMut) -> Result<(), Malformed> {
        match Packet::read(packet)? {
            Packet::Init { version } => {
                if self.is_greeted || version < VERSION {
                    return Err(Malformed);
                }
                self.is_greeted = true;
                put_version(to);
            }
            Packet::Call { .. } if !self.is_greeted => return Err(Malformed),
            Packet::Call { id, request: Request::Read { handle, offset, length } } => {
                let length = usize::try_from(length).unwrap_or(usize::MAX).min(DATA_BYTES_MAX);
                put_data(to, id, length, |room| Files::read(self.handles.file(&handle)?, offset, room));
            }
            Packet::Call { id, request } => match self.perform(request) {
                Ok(reply) => reply.put(to, id),
                Err(refusal) => Reply::Refused(refusal).put(to, id),
            },
        }
        Ok(())
    }

    fn perform(&mut self, request: Request) -> Result<Reply, Refusal> {
        let files = &self.files;
        match request {
            Request::Open { path, flags, attributes } => return self.open(&path, flags, &attributes),
            Request::OpenDir { path } => return self.open_listing(&path),
            Request::Close { handle } => return self.close(&handle),
            Request::ReadDir { handle } => return self.read_listing(&handle),
            Request::Write { handle, offset, data } => files.write(self.handles.file(&handle)?, offset, &data)?,
            Request::Fsync { handle } => Files::fsync(self.handles.file(&handle)?)?,
            Request::Fstat { handle } => return Ok(Reply::Attributes(Files::fstat(self.handles.file(&handle)?)?)),
            Request::FsetStat { handle, attributes } => files.fset_stat(self.handles.file(&handle)?, &attributes)?,
            Request::Stat { path } => return Ok(Reply::Attributes(files.stat(&path, true)?)),
            Request::Lstat { path } => return Ok(Reply::Attributes(files.stat(&path, false)?)),
            Request::SetStat { path, attributes } => files.set_stat(&path, true, &attributes)?,
            Request::LsetStat { path, attributes } => files.set_stat(&path, false, &attributes)?,
            Request::Remove { path } => files.remove(&path, AtFlags::empty())?,
            Request::RemoveDir { path } => files.remove(&path, AtFlags::REMOVEDIR)?,
            Request::MakeDir { path } => files.make_dir(&path)?,
            Request::Rename { from, to } => files.rename(&from, &to, false)?,
            Request::PosixRename { from, to } => files.rename(&from, &to, true)?,
            Request::ReadLink { path } => return Ok(path_reply(files.read_link(&path)?)),
            Request::Symlink { target, link } => files.make_link(&target, &link)?,
            Request::RealPath { path } => return Ok(path_reply(normal(&path))),
            Request::Limits => return Ok(Reply::Limits { handles: HANDLES_MAX as u64 }),
            Request::Unknown | Request::Read { .. } => return Err(Refusal::unsupported()),
        }
        Ok(Reply::Done)
    }

    fn open(&mut self, path: &[u8], flags: u32, attributes: &Attributes) -> Result<Reply, Refusal> {
        let place = self.handles.reserve()?;
        let file = self.files.open(path, flags, attributes)?;
        Ok(Reply::Handle(self.handles.insert(place, Open::File(file))))
    }

    fn open_listing(&mut self, path: &[u8]) -> Result<Reply, Refusal> {
        let place = self.handles.reserve()?;
        let listing = self.files.listing(path)?;
        Ok(Reply::Handle(self.handles.insert(place, Open::Listing(listing))))
    }

    fn close(&mut self, handle: &Bytes) -> Result<Reply, Refusal> {
        match self.handles.close(handle)? {
            Open::File(file) => {
                if let Some(writing) = file.writing {
                    writing.close();
                }
            }
            Open::Listing(_) => {}
        }
        Ok(Reply::Done)
    }

    fn read_listing(&mut self, handle: &Bytes) -> Result<Reply, Refusal> {
        let entries = next_entries(self.handles.listing(handle)?)?;
        if entries.is_empty() { Err(Refusal::end_of_file()) } else { Ok(Reply::Names(entries)) }
    }
}

fn path_reply(path: Vec<u8>) -> Reply {
    Reply::Names(vec![Entry { long_name: path.clone(), name: path, attributes: Attributes::default() }])
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use rustix::fs::{CWD, Mode, OFlags, openat};

    use super::*;
    use crate::folder::Folder;
    use crate::quota::{ENTRY_BYTES, Quota};

    const READ: u32 = 0x1;
    const WRITE: u32 = 0x2;
    const APPEND: u32 = 0x4;
    const CREATE: u32 = 0x8;
    const TRUNCATE: u32 = 0x10;
    const ROOM: u64 = 100_000;

    struct Inbox {
        all: tempfile::TempDir,
        quota: Arc<Quota>,
        session: Session,
    }

    impl Inbox {
        fn new() -> Self {
            let all = tempfile::tempdir().expect("a temporary folder");
            let open = || openat(CWD, all.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it opens");
            let folder = Folder::open(open(), "ada").expect("it is made");
            let quota = Arc::new(Quota::open(open(), u64::MAX).expect("it is counted"));
            let (name, changes) = ("ada".to_string(), Arc::default());
            let files = Files { folder, name, bytes_max: ROOM, quota: Arc::clone(&quota), changes };
            Self { session: Session::new(files, Arc::default()), quota, all }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.all.path().join("ada").join(path)
        }

        fn used(&self) -> u64 {
            let used = self.quota.used("ada");
            self.quota.recount_folder("ada").expect("it is counted");
            assert_eq!(self.quota.used("ada"), used, "the books agree with the disk");
            used
        }

        fn open(&mut self, path: &'static str, flags: u32) -> Result<Bytes, Refusal> {
            let path = Bytes::from_static(path.as_bytes());
            match self.session.perform(Request::Open { path, flags, attributes: Attributes::default() })? {
                Reply::Handle(handle) => Ok(Bytes::copy_from_slice(&handle.to_be_bytes())),
                other => panic!("an open gives a handle, not {other:?}"),
            }
        }

        fn write(&mut self, handle: &Bytes, offset: u64, length: usize) -> Result<Reply, Refusal> {
            let (handle, data) = (handle.clone(), Bytes::from(vec![7; length]));
            self.session.perform(Request::Write { handle, offset, data })
        }

        fn file(&mut self, path: &'static str, length: usize) {
            let handle = self.open(path, WRITE | CREATE | TRUNCATE).expect("it opens");
            self.write(&handle, 0, length).expect("there is room");
            self.session.perform(Request::Close { handle }).expect("it is open");
        }

        fn set_stat(&mut self, path: &'static str, attributes: Attributes) -> Result<Reply, Refusal> {
            self.session.perform(Request::SetStat { path: Bytes::from_static(path.as_bytes()), attributes })
        }
    }

    #[test]
    fn a_full_folder_is_said_in_words_and_holds_what_it_held() {
        let mut inbox = Inbox::new();
        inbox.file("first", 90_000);
        let handle = inbox.open("first", WRITE).expect("it opens");
        let refusal = inbox.write(&handle, 90_000, 10_000).expect_err("there is no room");
        assert_eq!(refusal.code(), 4);
        assert_eq!(refusal.words(), "your folder is full: it holds 94096 of 100000 bytes");
        assert_eq!(inbox.used(), 90_000 + ENTRY_BYTES);
        // Writing what is there already takes no room.
        assert_eq!(inbox.write(&handle, 50_000, 40_000), Ok(Reply::Done));
    }

    #[test]
    fn a_hole_takes_as_much_room_as_bytes() {
        let mut inbox = Inbox::new();
        let handle = inbox.open("sparse", WRITE | CREATE).expect("it opens");
        assert!(inbox.write(&handle, ROOM, 1).is_err());
        assert!(inbox.write(&handle, u64::MAX, 1).is_err());
        let attributes = Attributes { size: Some(ROOM), ..Attributes::default() };
        assert!(inbox.set_stat("sparse", attributes).is_err());
        assert_eq!(inbox.used(), ENTRY_BYTES);
    }

    #[test]
    fn the_books_follow_every_change() {
        let mut inbox = Inbox::new();
        inbox.file("a", 10_000);
        inbox.file("b", 20_000);
        inbox.file("b", 5000);
        assert_eq!(inbox.used(), 15_000 + 2 * ENTRY_BYTES);
        let attributes = Attributes { size: Some(1000), ..Attributes::default() };
        inbox.set_stat("a", attributes).expect("it is there");
        assert_eq!(inbox.used(), 6000 + 2 * ENTRY_BYTES);
        let (from, to) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
        inbox.session.perform(Request::PosixRename { from, to }).expect("it is there");
        assert_eq!(inbox.used(), 1000 + ENTRY_BYTES);
        inbox.session.perform(Request::Remove { path: Bytes::from_static(b"b") }).expect("it is there");
        inbox.session.perform(Request::MakeDir { path: Bytes::from_static(b"c") }).expect("there is room");
        assert_eq!(inbox.used(), ENTRY_BYTES);
        inbox.session.perform(Request::RemoveDir { path: Bytes::from_static(b"c") }).expect("it is there");
        assert_eq!(inbox.used(), 0);
    }

    #[test]
    fn a_plain_rename_replaces_nothing() {
        let mut inbox = Inbox::new();
        inbox.file("a", 1);
        inbox.file("b", 2);
        let (from, to) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
        let refusal = inbox.session.perform(Request::Rename { from, to }).expect_err("it is there");
        assert_eq!(refusal.words(), "there is a file or folder of that name");
        assert_eq!(std::fs::read(inbox.path("b")).expect("it is there").len(), 2);
    }

    #[test]
    fn a_file_that_is_appended_to_grows_at_its_end() {
        let mut inbox = Inbox::new();
        inbox.file("log", 10);
        let handle = inbox.open("log", WRITE | APPEND).expect("it opens");
        assert_eq!(inbox.write(&handle, 0, 5), Ok(Reply::Done));
        assert_eq!(inbox.used(), 15 + ENTRY_BYTES);
    }

    #[test]
    fn a_file_that_is_read_is_not_written() {
        let mut inbox = Inbox::new();
        inbox.file("a", 10);
        let handle = inbox.open("a", READ | CREATE | TRUNCATE).expect("it opens");
        assert!(inbox.write(&handle, 0, 5).is_err());
        let attributes = Attributes { size: Some(0), ..Attributes::default() };
        assert!(inbox.session.perform(Request::FsetStat { handle, attributes }).is_err());
        assert_eq!(inbox.used(), 10 + ENTRY_BYTES);
    }

    #[test]
    fn permissions_never_shut_out_the_hub_and_give_nobody_more_than_reading_writing_and_running() {
        use std::os::unix::fs::MetadataExt;
        let mut inbox = Inbox::new();
        inbox.file("a", 1);
        for (asked, given) in [(0o0, 0o400), (0o7777, 0o777), (0o444, 0o444)] {
            let attributes = Attributes { permissions: Some(asked), ..Attributes::default() };
            inbox.set_stat("a", attributes).expect("it is there");
            assert_eq!(inbox.path("a").metadata().expect("it is there").mode() & 0o7777, given);
        }
    }

    #[test]
    fn nothing_is_answered_before_the_greeting() {
        let mut inbox = Inbox::new();
        let mut to = BytesMut::new();
        let stat = Bytes::from_static(&[17, 0, 0, 0, 1, 0, 0, 0, 1, b'/']);
        assert_eq!(inbox.session.answer(stat.clone(), &mut to), Err(Malformed));
        assert_eq!(inbox.session.answer(Bytes::from_static(&[1, 0, 0, 0, 6]), &mut to), Ok(()));
        assert_eq!(inbox.session.answer(stat, &mut to), Ok(()));
        assert_eq!(inbox.session.answer(Bytes::from_static(&[1, 0, 0, 0, 3]), &mut to), Err(Malformed));
    }
}
