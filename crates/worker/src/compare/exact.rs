//! Byte for byte.
use gleaner_wire::check::Compared;

use super::Trouble;
use super::pairs::by_pieces;
use crate::content::Content;
use crate::watch::Watch;

/// Whether two files have the same bytes.
pub fn compare(pair: &[Content; 2], watch: &Watch) -> Result<Compared, Trouble> {
    by_pieces(pair, watch, |_, _| Compared::APART)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{file, watch};
    use super::*;
    use gleaner_wire::Output;
    use proptest::prelude::*;

    fn compared(one: Content, other: Content) -> Compared {
        compare(&[one, other], &watch()).expect("compares")
    }

    #[test]
    fn short_and_stored_files_are_the_same_if_their_bytes_are() {
        let short = Content::Bytes(Output::inline(b"chaff").expect("short"));
        assert_eq!(compared(short.clone(), file(b"chaff")), Compared::SAME);
        assert_eq!(compared(short.clone(), file(b"chafe")), Compared::APART);
        assert_eq!(compared(short, file(b"chaff ")), Compared::APART);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn files_are_the_same_exactly_if_their_bytes_are(
            one in prop::collection::vec(any::<u8>(), 0..64), at in any::<prop::sample::Index>(), to in any::<u8>(),
        ) {
            let mut other = one.clone();
            if !other.is_empty() {
                let at = at.index(other.len());
                other[at] = to;
            }
            let expected = if one == other { Compared::SAME } else { Compared::APART };
            prop_assert_eq!(compared(file(&one), file(&other)), expected);
            prop_assert_eq!(compared(file(&other), file(&one)), expected);
        }
    }
}
