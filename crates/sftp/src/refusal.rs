//! Why a request is refused: a code for the client's program, words for its user.

use rustix::io::Errno;

use crate::packet::Malformed;

/// A refusal, as a client gets to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    code: Code,
    words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    EndOfFile = 1,
    NoSuchFile = 2,
    PermissionDenied = 3,
    Failure = 4,
    BadMessage = 5,
    Unsupported = 8,
}

impl Refusal {
    fn new(code: Code, words: impl Into<String>) -> Self {
        Self { code, words: words.into() }
    }

    pub(crate) fn end_of_file() -> Self {
        Self::new(Code::EndOfFile, "end of file")
    }

    pub(crate) fn denied(words: impl Into<String>) -> Self {
        Self::new(Code::PermissionDenied, words)
    }

    pub(crate) fn failed(words: impl Into<String>) -> Self {
        Self::new(Code::Failure, words)
    }

    pub(crate) fn bad_handle() -> Self {
        Self::failed("this handle is not open, or not for this")
    }

    pub(crate) fn unsupported() -> Self {
        Self::new(Code::Unsupported, "this server does not know that request")
    }

    pub(crate) fn code(&self) -> u32 {
        self.code as u32
    }

    pub(crate) fn words(&self) -> &str {
        &self.words
    }
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self::new(Code::BadMessage, malformed.to_string())
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::new(Code::NoSuchFile, "no such file or folder"),
            Errno::XDEV => Self::denied("this path leads out of your folder"),
            Errno::LOOP => Self::denied("too many links"),
            Errno::ACCESS | Errno::PERM => Self::denied("permission denied"),
            Errno::NOSPC | Errno::DQUOT => Self::failed("the disk of the hub is full"),
            Errno::EXIST => Self::failed("there is a file or folder of that name"),
            Errno::NOTEMPTY => Self::failed("the folder is not empty"),
            Errno::ISDIR => Self::failed("this is a folder"),
            Errno::MFILE | Errno::NFILE => Self::failed("the hub has too many files open; try again"),
            Errno::NAMETOOLONG => Self::failed("the name is too long"),
            Errno::INVAL => Self::failed("the name or the value is not possible here"),
            other => Self::failed(format!("the hub's disk reports: {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_in_words() {
        let refusal = Refusal::from(Errno::NOSPC);
        assert_eq!((refusal.code(), refusal.words()), (4, "the disk of the hub is full"));
    }
}
