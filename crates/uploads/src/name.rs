//! Whose something is, and where it lies in that user's folder. Everything from outside is checked here, once.
use gleaner_data::manifest::{DEPTH_MAX, Name, PATH_BYTES_MAX};
use std::fmt;

/// The longest name of a user.
const USER_BYTES_MAX: usize = 64;
/// Names that begin like this are our own.
pub const OWN_PREFIX: &str = ".gleaner-";

/// Somebody who brings files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User(String);

impl User {
    /// Checks a name: letters, digits, `.`, `_` and `-`, and no dot in front, so that it is a plain folder anywhere.
    pub fn parse(text: &str) -> Option<Self> {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let is_fit = !text.is_empty() && text.len() <= USER_BYTES_MAX && !text.starts_with('.');
        (is_fit && text.chars().all(is_safe)).then(|| Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A file or folder right in a user's folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Top {
    /// Whose it is.
    pub user: User,
    /// Its name.
    pub name: Name,
}

impl Top {
    /// None if its name starts with a dot: such are unfinished files and what programs leave behind.
    pub fn new(user: User, name: &[u8]) -> Option<Self> {
        let name = Name::new(name.to_vec()).ok()?;
        (!name.as_bytes().starts_with(b".")).then_some(Self { user, name })
    }
}

/// Where a file is to lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// In which of the user's files or folders.
    pub top: Top,
    /// The names below the top; none if the top is the file itself.
    pub below: Vec<Name>,
}

impl Spot {
    /// Checks a user and a path of an upload. The reason is for people.
    pub fn parse(user: &str, path: &str) -> Result<Self, String> {
        let user =
            User::parse(user).ok_or("a user's name has 1 to 64 letters, digits, `.`, `_` or `-`, no dot in front")?;
        if path.len() > PATH_BYTES_MAX || path.split('/').count() > DEPTH_MAX {
            return Err("the path is too long".to_owned());
        }
        let mut names = Vec::new();
        for name in path.split('/') {
            if name.starts_with(OWN_PREFIX) {
                return Err(format!("`{name}` is kept for the hub's own files"));
            }
            names.push(Name::new(name.as_bytes().to_vec()).map_err(|error| error.to_string())?);
        }
        let top =
            Top::new(user, names.remove(0).as_bytes()).ok_or("the name of a dataset does not start with a dot")?;
        Ok(Self { top, below: names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_users_and_paths_are_taken() {
        assert!(Spot::parse("ada", "scene/deep/file.txt").is_ok_and(|spot| spot.below.len() == 2));
        assert!(Spot::parse("ada", "file").is_ok_and(|spot| spot.below.is_empty()));
        for user in ["", ".", "..", ".ada", "a/b", "a b", "ä", &"a".repeat(65)] {
            assert!(Spot::parse(user, "file").is_err(), "{user:?}");
        }
        for path in
            ["", "/", "..", "../x", "a/../b", "a//b", "a/", "/a", "a/.", ".hidden/x", "a/.gleaner-part-1", "a\0"]
        {
            assert!(Spot::parse("ada", path).is_err(), "{path:?}");
        }
    }
}
