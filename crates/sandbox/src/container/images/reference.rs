//! Names of images in registries: `name:tag`, `name@sha256:…`, or both.

use crate::Error;

const NAME_CHARS_MAX: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) repository: String,
    pub(super) version: Version,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Version {
    Tag(String),
    Digest(String),
}

impl Reference {
    /// A digest counts and a tag beside it does not; without either, it is `latest`.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"./:@_-".contains(&byte);
        if text.is_empty() || text.len() > NAME_CHARS_MAX || !text.bytes().all(plain) || text.starts_with('-') {
            return Err(Error::Image(format!("`{text}` does not name an image")));
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (text, None),
        };
        let path_start = name.rfind('/').map_or(0, |slash| slash + 1);
        let (repository, tag) = match name[path_start..].find(':') {
            Some(colon) => (&name[..path_start + colon], Some(&name[path_start + colon + 1..])),
            None => (name, None),
        };
        let version = match (digest, tag) {
            (Some(digest), _) if is_digest(digest) => Version::Digest(digest.to_owned()),
            (Some(digest), _) => return Err(Error::Image(format!("`{digest}` is not a digest such as sha256:…"))),
            (None, Some(tag)) if !tag.is_empty() => Version::Tag(tag.to_owned()),
            (None, Some(_)) => return Err(Error::Image(format!("`{text}` has an empty tag"))),
            (None, None) => Version::Tag("latest".into()),
        };
        if repository.is_empty() {
            return Err(Error::Image(format!("`{text}` does not name an image")));
        }
        Ok(Self { repository: repository.to_owned(), version })
    }

    /// The name with its version.
    pub(super) fn whole(&self) -> String {
        match &self.version {
            Version::Tag(tag) => format!("{}:{tag}", self.repository),
            Version::Digest(digest) => format!("{}@{digest}", self.repository),
        }
    }
}

/// Whether a text is a SHA-256 digest as registries write it.
pub(super) fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(String, Version)> {
        Reference::parse(text).ok().map(|reference| (reference.repository, reference.version))
    }

    #[test]
    fn port_of_a_registry_is_not_a_tag() {
        assert_eq!(parse("localhost:5000/a/b"), Some(("localhost:5000/a/b".into(), Version::Tag("latest".into()))));
        assert_eq!(parse("localhost:5000/a:v1"), Some(("localhost:5000/a".into(), Version::Tag("v1".into()))));
    }

    #[test]
    fn digest_counts_beside_a_tag() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let expected = Some(("x/y".to_owned(), Version::Digest(digest.clone())));
        assert_eq!(parse(&format!("x/y:1@{digest}")), expected);
        assert_eq!(parse(&format!("x/y@{digest}")), expected);
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "-x", "a b", "a@sha256:12", "a@md5:ff", "a:", ":x", "a?b", "@sha256:x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
