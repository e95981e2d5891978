//! A file that is being written. It has a reserved name until it is whole.
//!
//! A large one keeps notes behind its end of what is written, so that a later try goes on where an earlier one was cut
//! short. The notes are cut off before the file gets its name.
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use gleaner_wire::Hash;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, fstat, ftruncate, futimens, openat, unlinkat};
use rustix::io::Errno;

use super::Error;
use super::disk::Keeps;
use super::place::{part_name, rename};
use crate::manifest::{Name, Time};

/// What is noted of one piece of a file.
pub(crate) const NOTE_BYTES: usize = 32;

/// A file that is being written.
#[derive(Debug)]
pub struct Part {
    parent: Arc<OwnedFd>,
    name: Name,
    file: File,
    shown: PathBuf,
    bytes: u64,
}

impl Part {
    /// Begins a file of this size. Where nothing is written of it stays a hole, if it says that it has any.
    pub fn begin(parent: Arc<OwnedFd>, name: Name, bytes: u64, has_holes: bool, shown: PathBuf) -> Result<Self, Error> {
        let part = part_name(&name);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || openat(&parent, &part[..], flags, Mode::RUSR | Mode::WUSR);
        let opened = match open() {
            Err(Errno::EXIST) => unlinkat(&parent, &part[..], AtFlags::empty()).and_then(|()| open()),
            opened => opened,
        };
        let at = |error| Error::at("write", &shown, bytes, error);
        let file = opened.map_err(at)?;
        if has_holes {
            ftruncate(&file, bytes).map_err(at)?;
        }
        Ok(Self { parent, name, file: file.into(), shown, bytes })
    }

    /// Begins a file that keeps notes, or goes on with what an earlier try left of the same version of it.
    pub(crate) fn resume(
        parent: Arc<OwnedFd>,
        name: Name,
        bytes: u64,
        version: Hash,
        shown: PathBuf,
    ) -> Result<Self, Error> {
        if let Some(file) = left_behind(&parent, &name, bytes, version) {
            return Ok(Self { parent, name, file, shown, bytes });
        }
        let part = Self::begin(parent, name, bytes, true, shown)?;
        part.put(&version.0, bytes)?;
        Ok(part)
    }

    /// Writes some of it. Nothing is ever written past its end.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        assert!(offset + bytes.len() as u64 <= self.bytes, "extents end with their file");
        self.put(bytes, offset)
    }

    fn put(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.file.write_all_at(bytes, offset).map_err(|source| {
            match source.raw_os_error().map(Errno::from_raw_os_error) {
                Some(error) => Error::at("write", &self.shown, self.missing(), error),
                None => Error::File { doing: "write", path: self.shown.clone(), source },
            }
        })
    }

    /// How many bytes of it are not on the disk.
    fn missing(&self) -> u64 {
        let there = fstat(&self.file).map_or(0, |stat| stat.st_blocks.unsigned_abs().saturating_mul(512));
        self.bytes.saturating_sub(there)
    }

    /// Reads what was written.
    pub(crate) fn read(&self, to: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(to, offset)
    }

    /// Notes something of the piece with this number, if it is one that keeps notes.
    pub(crate) fn note(&self, number: u64, note: &[u8; NOTE_BYTES]) -> Result<(), Error> {
        self.put(note, self.place_of(number))
    }

    /// What was noted of the piece with this number; nonsense or none if nothing was.
    pub(crate) fn noted(&self, number: u64) -> Option<[u8; NOTE_BYTES]> {
        let mut note = [0; NOTE_BYTES];
        self.file.read_exact_at(&mut note, self.place_of(number)).ok()?;
        Some(note)
    }

    fn place_of(&self, number: u64) -> u64 {
        // After the version.
        self.bytes + (number + 1) * NOTE_BYTES as u64
    }

    /// Gives it its permissions, its time and its name.
    pub(crate) fn finish(&self, mode: u32, changed: Time, keeps: Keeps) -> Result<(), Error> {
        let at = |error| Error::at("write", &self.shown, self.bytes, error);
        if fstat(&self.file).map_err(at)?.st_size.unsigned_abs() > self.bytes {
            ftruncate(&self.file, self.bytes).map_err(at)?;
        }
        keeps.set_mode(&self.file, mode).map_err(at)?;
        let time = Timespec { tv_sec: changed.seconds, tv_nsec: changed.nanoseconds.into() };
        futimens(&self.file, &Timestamps { last_access: time, last_modification: time }).map_err(at)?;
        rename(&self.parent, &part_name(&self.name), &self.name, &self.shown, "a file")
    }
}

/// What an earlier try left of this version of a file. Nothing but a plain file that has no other name is taken for it.
fn left_behind(parent: &OwnedFd, name: &Name, bytes: u64, version: Hash) -> Option<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(parent, &part_name(name)[..], flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok()?;
    let is_plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1;
    let (file, mut noted) = (File::from(file), Hash([0; 32]));
    file.read_exact_at(&mut noted.0, bytes).ok()?;
    (is_plain && noted == version).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Case, Target};

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes().to_vec()).expect("a name")
    }

    #[test]
    fn a_later_try_finds_what_an_earlier_one_has_written_and_noted() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = Target::open(folder.path(), Case::Told).expect("opened");
        let path = folder.path().join("a");
        let begin = |version| Part::resume(target.folder(), name("a"), 10, Hash([version; 32]), path.clone());
        let first = begin(1).expect("begun");
        first.write(b"tail", 6).expect("written");
        first.note(3, &[7; NOTE_BYTES]).expect("noted");
        drop(first);
        let second = begin(1).expect("goes on");
        let mut tail = [0; 4];
        second.read(&mut tail, 6).expect("read");
        assert_eq!((&tail, second.noted(3), second.noted(4)), (b"tail", Some([7; NOTE_BYTES]), None));
        second.finish(0o644, Time::default(), target.keeps()).expect("finished");
        assert_eq!(std::fs::read(&path).expect("read"), b"\0\0\0\0\0\0tail", "the notes are gone");
        drop(begin(1).expect("begun").write(b"old", 0));
        let other = begin(2).expect("begun");
        other.read(&mut tail, 0).expect("read");
        assert_eq!((&tail, other.noted(3)), (&[0; 4], None), "nothing of another version is taken over");
    }

    #[test]
    fn a_file_with_another_name_is_not_taken_for_a_part() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = Target::open(folder.path(), Case::Told).expect("opened");
        let (path, version) = (folder.path().join("a"), Hash([1; 32]));
        let begin = || Part::resume(target.folder(), name("a"), 4, version, path.clone()).expect("begun");
        begin().write(b"mine", 0).expect("written");
        let part = std::fs::read_dir(folder.path()).expect("read").next().expect("a part").expect("an entry").path();
        std::fs::hard_link(&part, folder.path().join("other")).expect("linked");
        begin().write(b"new!", 0).expect("written");
        assert_eq!(std::fs::read(folder.path().join("other")).expect("read")[..4], *b"mine");
    }
}
