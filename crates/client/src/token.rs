//! The secret that a client shows to its hub. It never prints itself.
use std::fmt;
use std::path::Path;

use crate::Error;

/// A bearer token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Reads a token file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::file("read the token file", path))?;
        Ok(Self(text.trim().to_owned()))
    }

    /// What it is shown as in the header `Authorization`, for those who speak to a hub by themselves.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_prints_itself() {
        assert_eq!(format!("{:?}", Token::new("hush")), "[redacted]");
    }
}
