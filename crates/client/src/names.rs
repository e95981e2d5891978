//! Names from outside, made into paths that never leave their folder.
use std::path::PathBuf;

use crate::Error;

const NAME_BYTES_MAX: usize = 255;

/// One name as the name of a file.
pub(crate) fn file_name(name: &str) -> Result<PathBuf, Error> {
    let dots = name.chars().all(|c| c == '.');
    let strange = name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\' | ':'));
    if dots || strange || name.len() > NAME_BYTES_MAX {
        return Err(Error::UnsafeName(name.chars().map(|c| if c.is_control() { '?' } else { c }).take(100).collect()));
    }
    Ok(PathBuf::from(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["", ".", "..", "../x", "/etc/passwd", "a//b", "a/../b", "a\\b", "c:x", "a\0", "a\nb", "a/"] {
            assert!(file_name(name).is_err(), "{name:?}");
        }
        assert!(file_name("a/b").is_err() && file_name(&"x".repeat(256)).is_err());
    }

    #[test]
    fn ordinary_names_stay_as_they_are() {
        assert_eq!(file_name(".hidden").expect("safe"), PathBuf::from(".hidden"));
    }
}
