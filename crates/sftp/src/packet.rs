//! Requests and replies of SFTP version 3 as bytes.
//!
//! What arrives is hostile: every length is checked, and names stay the bytes they are.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::attributes::Attributes;
use crate::refusal::Refusal;

/// The only version spoken.
pub(crate) const VERSION: u32 = 3;
/// The largest packet taken or sent, its length not counted: what OpenSSH takes and sends.
pub(crate) const PACKET_BYTES_MAX: usize = 256 * 1024;
/// The most bytes of a file in one packet; the rest is for its header.
pub(crate) const DATA_BYTES_MAX: usize = PACKET_BYTES_MAX - 1024;
/// Length, kind, id and length of the data, before the data of a reply to a read.
const DATA_HEADER_BYTES: usize = 13;

/// A request that breaks the rules of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client sent a malformed SFTP packet")]
pub(crate) struct Malformed;

/// Takes numbers and strings off the front of a packet.
pub(crate) struct Reader(Bytes);

impl Reader {
    pub(crate) fn new(packet: Bytes) -> Self {
        Self(packet)
    }

    fn u8(&mut self) -> Result<u8, Malformed> {
        self.0.try_get_u8().map_err(|_| Malformed)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.0.try_get_u32().map_err(|_| Malformed)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.0.try_get_u64().map_err(|_| Malformed)
    }

    pub(crate) fn string(&mut self) -> Result<Bytes, Malformed> {
        let length = self.u32()? as usize;
        if length > self.0.len() {
            return Err(Malformed);
        }
        Ok(self.0.split_to(length))
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Open {
        path: Bytes,
        flags: u32,
        attributes: Attributes,
    },
    Close {
        handle: Bytes,
    },
    Read {
        handle: Bytes,
        offset: u64,
        length: u32,
    },
    Write {
        handle: Bytes,
        offset: u64,
        data: Bytes,
    },
    Lstat {
        path: Bytes,
    },
    Fstat {
        handle: Bytes,
    },
    SetStat {
        path: Bytes,
        attributes: Attributes,
    },
    FsetStat {
        handle: Bytes,
        attributes: Attributes,
    },
    OpenDir {
        path: Bytes,
    },
    ReadDir {
        handle: Bytes,
    },
    Remove {
        path: Bytes,
    },
    MakeDir {
        path: Bytes,
    },
    RemoveDir {
        path: Bytes,
    },
    RealPath {
        path: Bytes,
    },
    Stat {
        path: Bytes,
    },
    Rename {
        from: Bytes,
        to: Bytes,
    },
    ReadLink {
        path: Bytes,
    },
    Symlink {
        target: Bytes,
        link: Bytes,
    },
    PosixRename {
        from: Bytes,
        to: Bytes,
    },
    Fsync {
        handle: Bytes,
    },
    Limits,
    LsetStat {
        path: Bytes,
        attributes: Attributes,
    },
    /// An extension or a kind of request that this server never offered.
    Unknown,
}

/// A packet of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// The first one: which version the client speaks.
    Init {
        version: u32,
    },
    Call {
        id: u32,
        request: Request,
    },
}

impl Packet {
    pub(crate) fn read(packet: Bytes) -> Result<Self, Malformed> {
        let mut from = Reader::new(packet);
        let kind = from.u8()?;
        let number = from.u32()?;
        if kind == 1 {
            return Ok(Self::Init { version: number });
        }
        Ok(Self::Call { id: number, request: Request::read(kind, &mut from)? })
    }
}

impl Request {
    fn read(kind: u8, from: &mut Reader) -> Result<Self, Malformed> {
        Ok(match kind {
            3 => Self::Open { path: from.string()?, flags: from.u32()?, attributes: Attributes::read(from)? },
            4 => Self::Close { handle: from.string()? },
            5 => Self::Read { handle: from.string()?, offset: from.u64()?, length: from.u32()? },
            6 => Self::Write { handle: from.string()?, offset: from.u64()?, data: from.string()? },
            7 => Self::Lstat { path: from.string()? },
            8 => Self::Fstat { handle: from.string()? },
            9 => Self::SetStat { path: from.string()?, attributes: Attributes::read(from)? },
            10 => Self::FsetStat { handle: from.string()?, attributes: Attributes::read(from)? },
            11 => Self::OpenDir { path: from.string()? },
            12 => Self::ReadDir { handle: from.string()? },
            13 => Self::Remove { path: from.string()? },
            14 => Self::MakeDir { path: from.string()? },
            15 => Self::RemoveDir { path: from.string()? },
            16 => Self::RealPath { path: from.string()? },
            17 => Self::Stat { path: from.string()? },
            18 => Self::Rename { from: from.string()?, to: from.string()? },
            19 => Self::ReadLink { path: from.string()? },
            // The draft has it the other way round; OpenSSH did it so first, and every client follows OpenSSH.
            20 => Self::Symlink { target: from.string()?, link: from.string()? },
            200 => Self::read_extended(from)?,
            _ => Self::Unknown,
        })
    }

    fn read_extended(from: &mut Reader) -> Result<Self, Malformed> {
        Ok(match &from.string()?[..] {
            b"posix-rename@openssh.com" => Self::PosixRename { from: from.string()?, to: from.string()? },
            b"fsync@openssh.com" => Self::Fsync { handle: from.string()? },
            b"limits@openssh.com" => Self::Limits,
            b"lsetstat@openssh.com" => Self::LsetStat { path: from.string()?, attributes: Attributes::read(from)? },
            _ => Self::Unknown,
        })
    }
}

/// The extensions offered, with their versions.
const EXTENSIONS: [(&[u8], &[u8]); 4] = [
    (b"posix-rename@openssh.com", b"1"),
    (b"fsync@openssh.com", b"1"),
    (b"lsetstat@openssh.com", b"1"),
    (b"limits@openssh.com", b"1"),
];

/// An entry of a folder, or a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    /// The line that `ls -l` would print; clients show it or take it apart.
    pub(crate) long_name: Vec<u8>,
    pub(crate) attributes: Attributes,
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Done,
    Refused(Refusal),
    Handle(u64),
    Names(Vec<Entry>),
    Attributes(Attributes),
    Limits { handles: u64 },
}

/// Puts a packet after what is in `to`; its length is filled in when its body is known.
fn packet(to: &mut BytesMut, kind: u8, body: impl FnOnce(&mut BytesMut)) {
    let start = to.len();
    to.put_u32(0);
    to.put_u8(kind);
    body(to);
    let length = u32::try_from(to.len() - start - 4).expect("a reply is bounded by the largest packet");
    to[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_string(to: &mut BytesMut, string: &[u8]) {
    to.put_u32(u32::try_from(string.len()).expect("a string of a reply is bounded by the largest packet"));
    to.put_slice(string);
}

/// Says which version is spoken, and which extensions.
pub(crate) fn put_version(to: &mut BytesMut) {
    packet(to, 2, |to| {
        to.put_u32(VERSION);
        for (name, version) in EXTENSIONS {
            put_string(to, name);
            put_string(to, version);
        }
    });
}

/// Appends the reply to a read: room for `length` bytes is filled by `fill`, which says how many there were. A refusal, or
/// the end of the file, becomes a status instead.
pub(crate) fn put_data(
    to: &mut BytesMut,
    id: u32,
    length: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<usize, Refusal>,
) {
    let start = to.len();
    let data = start + DATA_HEADER_BYTES;
    to.resize(data + length.min(DATA_BYTES_MAX), 0);
    let filled = match fill(&mut to[data..]) {
        Ok(0) if length > 0 => Err(Refusal::end_of_file()),
        filled => filled,
    };
    match filled {
        Ok(count) => {
            to.truncate(data + count);
            let count = u32::try_from(count).expect("data is bounded by the largest packet");
            let mut header = &mut to[start..data];
            header.put_u32(count + 9);
            header.put_u8(103);
            header.put_u32(id);
            header.put_u32(count);
        }
        Err(refusal) => {
            to.truncate(start);
            Reply::Refused(refusal).put(to, id);
        }
    }
}

impl Reply {
    pub(crate) fn put(&self, to: &mut BytesMut, id: u32) {
        match self {
            Self::Done => put_status(to, id, 0, "done"),
            Self::Refused(refusal) => put_status(to, id, refusal.code(), refusal.words()),
            Self::Handle(handle) => packet(to, 102, |to| {
                to.put_u32(id);
                put_string(to, &handle.to_be_bytes());
            }),
            Self::Names(entries) => packet(to, 104, |to| {
                to.put_u32(id);
                to.put_u32(u32::try_from(entries.len()).expect("a listing is cut into bounded replies"));
                for entry in entries {
                    put_string(to, &entry.name);
                    put_string(to, &entry.long_name);
                    entry.attributes.write(to);
                }
            }),
            Self::Attributes(attributes) => packet(to, 105, |to| {
                to.put_u32(id);
                attributes.write(to);
            }),
            Self::Limits { handles } => packet(to, 201, |to| {
                to.put_u32(id);
                to.put_u64(PACKET_BYTES_MAX as u64);
                to.put_u64(DATA_BYTES_MAX as u64);
                to.put_u64(DATA_BYTES_MAX as u64);
                to.put_u64(*handles);
            }),
        }
    }
}

fn put_status(to: &mut BytesMut, id: u32, code: u32, words: &str) {
    packet(to, 101, |to| {
        to.put_u32(id);
        to.put_u32(code);
        put_string(to, words.as_bytes());
        put_string(to, b"en");
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(Packet::read(Bytes::from(bytes)));
        }
    }

    #[test]
    fn an_open_is_read_as_clients_write_it() {
        let mut bytes = vec![3, 0, 0, 0, 7, 0, 0, 0, 3, b'a', 0xff, b'z', 0, 0, 0, 0x1a];
        bytes.extend([0, 0, 0, 4, 0, 0, 0x81, 0xa4]);
        let attributes = Attributes { permissions: Some(0o100_644), ..Attributes::default() };
        let request = Request::Open { path: Bytes::from_static(b"a\xffz"), flags: 0x1a, attributes };
        assert_eq!(Packet::read(Bytes::from(bytes)), Ok(Packet::Call { id: 7, request }));
    }

    #[test]
    fn a_string_longer_than_its_packet_is_refused() {
        assert_eq!(Packet::read(Bytes::from_static(&[17, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, b'x'])), Err(Malformed));
    }

    #[test]
    fn a_status_has_the_bytes_that_clients_expect() {
        let mut to = BytesMut::new();
        Reply::Done.put(&mut to, 9);
        assert_eq!(&to[..], b"\0\0\0\x17\x65\0\0\0\x09\0\0\0\0\0\0\0\x04done\0\0\0\x02en");
    }

    #[test]
    fn data_follows_its_header_and_the_end_of_a_file_is_a_status() {
        let mut to = BytesMut::new();
        put_data(&mut to, 5, 100, |room| {
            room[..2].copy_from_slice(b"ok");
            Ok(2)
        });
        assert_eq!(&to[..], b"\0\0\0\x0b\x67\0\0\0\x05\0\0\0\x02ok");
        to.clear();
        put_data(&mut to, 5, 100, |_| Ok(0));
        assert_eq!(to[4], 101);
        assert_eq!(to[9..13], [0, 0, 0, 1]);
    }
}
