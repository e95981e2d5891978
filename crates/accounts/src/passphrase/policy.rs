//! Which passphrases are refused because they are guessed first.
use crate::Name;
use std::collections::BTreeSet;

/// The shortest passphrase, in characters.
pub const CHARS_MIN: usize = 10;
/// The longest passphrase, in bytes: nobody makes a hub hash more.
pub const BYTES_MAX: usize = 1024;
/// Different characters that a passphrase has at least.
pub const DISTINCT_MIN: usize = 5;

/// What people choose most, as far as it is long enough to be chosen here; digits and signs around a word do not help.
const COMMON: &str = include_str!("common.txt");

/// Why a passphrase is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Weak {
    /// Too short.
    #[error("a passphrase has at least {CHARS_MIN} characters: a few words are easier to remember than signs")]
    Short,
    /// Too long.
    #[error("a passphrase has at most {BYTES_MAX} bytes")]
    Long,
    /// One of those that are tried first.
    #[error("this passphrase is one of those that are tried first: choose a few words that do not belong together")]
    Common,
    /// The same few characters, or neighbours on the keyboard.
    #[error("this passphrase repeats itself: choose a few words that do not belong together")]
    Repeating,
    /// It holds the name.
    #[error("a passphrase that is the name with something added is tried first: choose a few other words")]
    Name,
}

/// Refuses what is guessed first.
pub fn check(passphrase: &str, name: &Name) -> Result<(), Weak> {
    if passphrase.len() > BYTES_MAX {
        return Err(Weak::Long);
    }
    if passphrase.chars().count() < CHARS_MIN {
        return Err(Weak::Short);
    }
    let lower = passphrase.to_lowercase();
    let distinct: BTreeSet<char> = lower.chars().collect();
    if distinct.len() < DISTINCT_MIN || is_run(&lower) {
        return Err(Weak::Repeating);
    }
    if is_common(&lower) {
        return Err(Weak::Common);
    }
    let without_name = lower.replace(name.as_str(), "");
    if without_name.len() < lower.len() && without_name.chars().count() < CHARS_MIN - 2 {
        return Err(Weak::Name);
    }
    Ok(())
}

/// Whether it is a common one, also with digits and signs around it, or with the usual signs for letters.
fn is_common(lower: &str) -> bool {
    let plain = |text: &str| text.chars().map(letter_for).filter(|char| !char.is_whitespace()).collect::<String>();
    let bare = |text: &str| text.trim_matches(|char: char| !char.is_alphabetic()).to_owned();
    // What is around it is taken off before signs become letters, or a year would.
    let forms = [lower.to_owned(), bare(lower), plain(lower), plain(&bare(lower)), bare(&plain(lower))];
    COMMON.lines().any(|common| forms.iter().any(|form| form == common))
}

/// The letter that a sign often stands for.
fn letter_for(char: char) -> char {
    match char {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

/// Whether each character is the one after or before the last, as in 0123456789 or zyxwvu.
fn is_run(lower: &str) -> bool {
    let chars: Vec<char> = lower.chars().collect();
    // On a keyboard, 0 comes after 9.
    let is_step =
        |pair: &&[char]| u32::from(pair[0]).abs_diff(pair[1].into()) <= 1 || matches!(pair, ['9', '0'] | ['0', '9']);
    let steps = chars.windows(2).filter(is_step).count();
    steps * 10 >= (chars.len() - 1) * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(passphrase: &str) -> Result<(), Weak> {
        check(passphrase, &Name::chosen("orchard").expect("a name"))
    }

    #[test]
    fn what_is_guessed_first_is_refused() {
        for (passphrase, weak) in [
            ("short", Weak::Short),
            ("aaaaaaaaaaaaaaaa", Weak::Repeating),
            ("abababababab", Weak::Repeating),
            ("1234567890", Weak::Repeating),
            ("abcdefghijkl", Weak::Repeating),
            ("password123", Weak::Common),
            ("P@ssw0rd2026!", Weak::Common),
            ("qwertyuiop", Weak::Common),
            ("Correct Horse Battery Staple", Weak::Common),
            ("iloveyou12345", Weak::Common),
            ("orchard-2026", Weak::Name),
            ("!Orchard!!!", Weak::Name),
        ] {
            assert_eq!(checked(passphrase), Err(weak), "{passphrase}");
        }
        assert_eq!(checked(&"ab cd ef".repeat(200)), Err(Weak::Long));
    }

    #[test]
    fn a_few_words_are_taken() {
        for passphrase in
            ["wind over the old mill", "der Wind weht über die Mühle", "風車の上の風がとても強い", "x9$kV2!mQz7#"]
        {
            assert_eq!(checked(passphrase), Ok(()), "{passphrase}");
        }
    }

    #[test]
    fn the_list_is_in_the_form_that_is_compared() {
        assert!(COMMON.lines().count() >= 100);
        for line in COMMON.lines() {
            assert_eq!(line, line.trim().to_lowercase(), "{line}");
            assert!(!line.is_empty());
        }
    }
}
