//! Where a list of results goes on: at an element, or within one that has more files than a page.
use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A place in a list of results. Callers take it as it comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The element, as the hub numbers them.
    pub(crate) element: u64,
    /// How many of its files were listed before.
    pub(crate) files: u64,
}

impl Cursor {
    /// How many files of an element were listed before.
    pub(super) fn files_before(self, element: u64) -> u64 {
        if element == self.element { self.files } else { 0 }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files {
            0 => write!(f, "{}", self.element),
            files => write!(f, "{}.{files}", self.element),
        }
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (element, files) = text.split_once('.').unwrap_or((text, "0"));
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match (number(element), number(files)) {
            (Some(element), Some(files)) => Ok(Self { element, files }),
            _ => Err(Error::Wrong("`cursor` is not what `next` said".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for cursor in
            [Cursor::default(), Cursor { element: (7 << 32) | 3, files: 0 }, Cursor { element: 1, files: 200 }]
        {
            assert_eq!(cursor.to_string().parse::<Cursor>().expect("a cursor"), cursor);
        }
        assert_eq!("12".parse::<Cursor>().expect("an element"), Cursor { element: 12, files: 0 });
        for wrong in ["", ".", "1.", ".2", "-1", "+1", "1.2.3", "x", "99999999999999999999"] {
            assert!(matches!(wrong.parse::<Cursor>(), Err(Error::Wrong(_))), "{wrong}");
        }
    }

    #[test]
    fn only_the_element_that_a_page_began_within_lacks_its_first_files() {
        let cursor = Cursor { element: 5, files: 200 };
        assert_eq!((cursor.files_before(5), cursor.files_before(6)), (200, 0));
    }
}
