//! The text of a token: `glt_`, 52 letters and digits for 32 random bytes, and six more that catch a wrong one at once.
use crate::{Chance, Error, Secret, chance};
use data_encoding::BASE32_NOPAD;

/// What every token begins with, so that people and scanners for leaked secrets know one when they see it.
pub const PREFIX: &str = "glt_";
const RANDOM_BYTES: usize = 32;
const RANDOM_CHARS: usize = 52;
const CHECK_CHARS: usize = 6;
/// The length of a token.
pub const TOKEN_CHARS: usize = PREFIX.len() + RANDOM_CHARS + CHECK_CHARS;
/// What is shown of a token in listings.
const HINT_CHARS: usize = PREFIX.len() + 6;

/// A text that has the form of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    text: Secret,
}

impl Text {
    pub(crate) fn random(chance: &dyn Chance) -> Result<Self, Error> {
        let random = BASE32_NOPAD.encode(&chance::bytes::<RANDOM_BYTES>(chance)?).to_ascii_lowercase();
        let text = format!("{PREFIX}{random}{}", check(&random));
        Ok(Self { text: Secret::new(text) })
    }

    /// Reads a token; whether anybody has it is another question.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX).filter(|_| text.len() == TOKEN_CHARS)?;
        if !rest.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7')) {
            return None;
        }
        let (random, given) = rest.split_at(RANDOM_CHARS);
        (check(random) == given).then(|| Self { text: Secret::new(text) })
    }

    pub(crate) fn hash(&self) -> [u8; 32] {
        *blake3::hash(self.text.expose().as_bytes()).as_bytes()
    }

    /// What its owner recognises it by.
    pub(crate) fn hint(&self) -> &str {
        &self.text.expose()[..HINT_CHARS]
    }

    pub(crate) fn into_secret(self) -> Secret {
        self.text
    }
}

fn check(random: &str) -> String {
    let hash = blake3::derive_key("gleaner accounts 2026 token check", random.as_bytes());
    BASE32_NOPAD.encode(&hash)[..CHECK_CHARS].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemChance;
    use proptest::prelude::*;

    #[test]
    fn a_token_reads_back_and_shows_little() {
        let made = Text::random(&SystemChance).expect("made");
        let text = made.text.expose().to_owned();
        assert_eq!((text.len(), &text[..4]), (TOKEN_CHARS, PREFIX));
        assert_eq!(Text::parse(&text), Some(made.clone()));
        assert_eq!(made.hint(), &text[..10]);
        assert_eq!(format!("{made:?}"), "Text { text: [redacted] }");
    }

    #[test]
    fn the_form_of_a_token_stays() {
        let text = format!("{PREFIX}{}{}", "a".repeat(RANDOM_CHARS), check(&"a".repeat(RANDOM_CHARS)));
        assert_eq!(Text::parse(&text).expect("a token").hash(), *blake3::hash(text.as_bytes()).as_bytes());
    }

    proptest! {
        #[test]
        fn almost_a_token_is_none(at in PREFIX.len()..TOKEN_CHARS, letter in "[a-z2-7]") {
            let text = Text::random(&SystemChance).expect("made").into_secret();
            let mut changed = text.expose().to_owned();
            changed.replace_range(at..=at, &letter);
            prop_assert_eq!(Text::parse(&changed).is_some(), changed == text.expose());
        }

        #[test]
        fn other_text_is_refused(text in any::<String>()) {
            prop_assert_eq!(Text::parse(&text), None);
            prop_assert_eq!(Text::parse(&format!("{PREFIX}{text}")), None);
        }
    }
}
