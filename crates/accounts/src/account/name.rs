//! Names of accounts.
use gleaner_wire::Address;
use serde::{Serialize, Serializer};
use std::fmt;

/// The shortest name.
pub const NAME_CHARS_MIN: usize = 3;
/// The longest name that a person chooses.
pub const NAME_CHARS_MAX: usize = 32;

/// Names that would be taken for somebody else.
const RESERVED: [&str; 14] = [
    "admin", "anyone", "desk", "everyone", "gleaner", "hub", "local", "nobody", "operator", "platform", "root",
    "system", "worker", "workers",
];

/// The name of an account: letters, digits, `-` and `_`, in lower case; or the address of the wallet that made it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text is not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Too short or too long.
    #[error("a name has {NAME_CHARS_MIN} to {NAME_CHARS_MAX} characters")]
    Length,
    /// Something else than letters and digits.
    #[error("a name is made of the letters a to z, digits, `-` and `_`, and begins with a letter or a digit")]
    Characters,
    /// Taken for somebody else.
    #[error("this name is reserved: choose another one")]
    Reserved,
}

impl Name {
    /// Reads a name that a person chose; capital letters become small ones.
    pub fn chosen(text: &str) -> Result<Self, NameError> {
        let name = text.to_ascii_lowercase();
        if !(NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&name.chars().count()) {
            return Err(NameError::Length);
        }
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let begins = name.bytes().next().is_some_and(plain);
        if !begins || !name.bytes().all(|byte| plain(byte) || matches!(byte, b'-' | b'_')) {
            return Err(NameError::Characters);
        }
        // What looks like an address is one.
        if RESERVED.contains(&name.as_str()) || name.starts_with("0x") {
            return Err(NameError::Reserved);
        }
        Ok(Self(name))
    }

    /// The name of an account that a wallet made.
    pub fn of_wallet(address: Address) -> Self {
        Self(address.to_string())
    }

    /// A name as it was stored.
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    /// Reads a name of either kind, to look for it.
    pub fn sought(text: &str) -> Option<Self> {
        let wallet = || text.to_ascii_lowercase().parse().ok().map(Self::of_wallet);
        Self::chosen(text).ok().or_else(wallet)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The requester that pays for this account where money is in the hub's own books.
    pub fn payer(&self) -> String {
        format!("@{}", self.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_told_apart_without_regard_to_capitals() {
        assert_eq!(Name::chosen("Orchard-1"), Name::chosen("orchard-1"));
        assert_eq!(
            Name::sought("0XABCDEF0000000000000000000000000000000000"),
            Some(Name::of_wallet(Address([0xab, 0xcd, 0xef, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])))
        );
    }

    #[test]
    fn what_could_be_mistaken_is_refused() {
        for (text, error) in [
            ("ab", NameError::Length),
            (&"a".repeat(33), NameError::Length),
            ("-abc", NameError::Characters),
            ("a b c", NameError::Characters),
            ("оrchard", NameError::Characters),
            ("../../etc", NameError::Characters),
            ("Operator", NameError::Reserved),
            ("0x1234", NameError::Reserved),
        ] {
            assert_eq!(Name::chosen(text), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_always_fit_for_a_file_and_a_header(text in any::<String>()) {
            if let Ok(name) = Name::chosen(&text) {
                prop_assert!(name.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
                prop_assert!(!name.as_str().starts_with('-'));
            }
        }
    }
}
