//! Names and the targets of links: bytes in any encoding, as long as they cannot lead anywhere else.
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;

use super::Error;

/// The longest name.
pub const NAME_BYTES_MAX: usize = 255;
/// The longest target of a link.
pub const TARGET_BYTES_MAX: usize = 4095;
/// Names that begin like this are taken by files that are being written.
pub const RESERVED_PREFIX: &[u8] = b".gleaner-part-";

/// The name of an entry in its folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Vec<u8>);

impl Name {
    /// Checks a name.
    pub fn new(bytes: Vec<u8>) -> Result<Self, Error> {
        match reason_against(&bytes) {
            None => Ok(Self(bytes)),
            Some(reason) => Err(Error::Name { name: bytes.escape_ascii().to_string(), reason }),
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As the system takes it.
    pub fn as_os(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

fn reason_against(name: &[u8]) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.len() > NAME_BYTES_MAX {
        Some("is too long")
    } else if name == b"." || name == b".." {
        Some("leads to another folder")
    } else if name.contains(&b'/') {
        Some("is a path")
    } else if name.contains(&0) {
        Some("contains a zero byte")
    } else if name.starts_with(RESERVED_PREFIX) {
        Some("is reserved for files that are being written")
    } else {
        None
    }
}

/// Checks that a link at this depth stays in the dataset, wherever the links on its way lead. `..` may only come first:
/// after a name that is itself a link it would leave from where that one leads.
pub fn check_target(depth: usize, target: &[u8]) -> Result<(), &'static str> {
    if target.is_empty() || target.len() > TARGET_BYTES_MAX || target.contains(&0) {
        return Err("is empty, too long or contains a zero byte");
    }
    if target.starts_with(b"/") {
        return Err("is an absolute path");
    }
    let mut up = 0;
    let mut is_down = false;
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if is_down => return Err("goes up again after a name"),
            b".." => up += 1,
            _ => is_down = true,
        }
    }
    if up < depth { Ok(()) } else { Err("leads out of the folder") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_encoding_pass() {
        for good in [&b"a"[..], b"...", b"..a", b"\xff\xfe", "größe".as_bytes(), b"a\nb", b" ", &[b'x'; 255]] {
            assert_eq!(Name::new(good.to_vec()).expect("a good name").as_bytes(), good);
        }
    }

    #[test]
    fn names_that_lead_elsewhere_do_not() {
        let long = [b'x'; 256];
        for bad in [&b""[..], b".", b"..", b"/", b"a/b", b"/etc", b"a\0", b".gleaner-part-1", &long] {
            assert!(Name::new(bad.to_vec()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn links_stay_inside() {
        for (depth, good) in [(1, "a"), (1, "a/b/./c"), (2, ".."), (2, "../a"), (3, "../../a"), (1, "."), (1, "..a")] {
            assert_eq!(check_target(depth, good.as_bytes()), Ok(()), "{good}");
        }
        for (depth, bad) in
            [(1, ".."), (1, "/a"), (2, "../.."), (2, "a/.."), (1, "./.."), (1, ""), (1, "a\0"), (3, "../a/..")]
        {
            assert!(check_target(depth, bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
