//! Two results of one element, compared by the task's check. Every machine that compares the same two says the same: what
//! is reckoned is whole numbers, or single operations on doubles that every processor rounds alike.
//!
//! Results come from other machines and are hostile. One that does not open differs from one that does. Nothing here decides
//! what becomes of whoever made them.
mod desk;
mod exact;
mod image;
mod light;
mod numeric;
mod pairs;
mod png_rows;
mod ready;
mod structure;

pub use desk::Desk;
pub use ready::Comparison;

use std::io;

use gleaner_wire::check::{Check, Compared};
use gleaner_wire::{Cause, Extent, Work};

use crate::content::Content;
use crate::failure::Failure;
use crate::watch::{Interruption, Watch};

/// Two results in the open, and what they are results of.
pub struct Pair {
    /// The results.
    pub results: [Content; 2],
    /// How they are compared.
    pub check: Check,
    /// The width and height of the tile that they are.
    pub tile: Option<(u32, u32)>,
    /// Whether they are the bytes of a tile's pixels and nothing else, as kernels make them.
    pub is_raw: bool,
}

/// Why two results could not be compared. None of it says anything about them.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It took too long, or is not wanted any more.
    #[error("the comparison was stopped")]
    Stopped(Interruption),
    /// The scratch folder cannot be read.
    #[error("a result could not be read")]
    Disk(#[from] io::Error),
    /// Both are larger than what is compared.
    #[error("the pictures are too large to be compared")]
    TooLarge,
    /// There is no such comparison here.
    #[error("the hub asked for a comparison that the task does not have")]
    NoCheck,
}

impl From<Interruption> for Trouble {
    fn from(interruption: Interruption) -> Self {
        Self::Stopped(interruption)
    }
}

impl Trouble {
    /// What becomes of the attempt; `None` if it is not wanted any more.
    pub fn failure(&self) -> Option<Failure> {
        let cause = match self {
            Self::Stopped(Interruption::Cancelled) => return None,
            Self::Stopped(Interruption::TimeLimit) => Cause::TimeLimit,
            Self::Disk(_) => Cause::DeviceFault,
            Self::TooLarge => Cause::BadInput,
            Self::NoCheck => Cause::HubFault,
        };
        Some(Failure::new(cause, self.to_string()))
    }
}

impl Pair {
    /// Two results of this element.
    pub fn new(results: [Content; 2], check: Check, work: &Work, extent: &Extent, index: u32) -> Self {
        let tile = extent.tile(index).map(|tile| (tile.width, tile.height));
        Self { results, check, tile, is_raw: matches!(work, Work::Wgsl { .. }) }
    }

    /// Compares them.
    pub fn compare(&self, watch: &Watch) -> Result<Compared, Trouble> {
        let Some(pairs) = pairs::files(&self.results) else { return Ok(Compared::APART) };
        let mut found = Compared::SAME;
        for pair in &pairs {
            found = found.and(self.compare_files(pair, watch)?);
            if found == Compared::APART {
                break;
            }
        }
        Ok(found)
    }

    fn compare_files(&self, pair: &[Content; 2], watch: &Watch) -> Result<Compared, Trouble> {
        match self.check {
            Check::Exact => exact::compare(pair, watch),
            Check::Numeric { number, absolute, relative, learned: _ } => {
                numeric::compare(pair, number, [absolute, relative], watch)
            }
            Check::Image { pixel, perceptual, learned: _ } => {
                let tolerances = image::Tolerances { pixel, perceptual };
                image::compare(pair, self.tile, self.is_raw, tolerances, watch)
            }
            // A program is run on a device, and what is not compared is not asked for.
            Check::None | Check::Program { .. } => Err(Trouble::NoCheck),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use gleaner_wire::AttemptId;

    use super::*;
    use crate::depot::Opened;
    use crate::watch::Cancels;

    /// A result that is one file.
    pub(super) fn file(bytes: &[u8]) -> Content {
        let opened = Arc::new(Opened::new(&std::env::temp_dir()).expect("a folder"));
        std::fs::write(opened.path().join("file"), bytes).expect("writes");
        Content::File(Arc::new(opened.file().expect("is there")))
    }

    /// A minute.
    pub(super) fn watch() -> Watch {
        Watch::start(AttemptId(1), Duration::from_secs(60), Arc::default())
    }

    fn pair(results: [Content; 2], check: Check) -> Pair {
        Pair { results, check, tile: None, is_raw: false }
    }

    #[test]
    fn one_altered_file_among_many_is_told() {
        let folder = |last: &[u8]| {
            let files = vec![("a/x".to_owned(), file(b"1")), ("b".to_owned(), file(last))];
            Content::folder(files).expect("safe names")
        };
        let compared = |results| pair(results, Check::Exact).compare(&watch()).expect("compares");
        assert_eq!(compared([folder(b"2"), folder(b"2")]), Compared::SAME);
        assert_eq!(compared([folder(b"2"), folder(b"3")]), Compared::APART);
        assert_eq!(compared([folder(b"2"), file(b"2")]), Compared::APART);
    }

    #[test]
    fn what_has_no_check_is_not_compared() {
        let trouble = pair([file(b"1"), file(b"1")], Check::None).compare(&watch()).expect_err("refused");
        assert_eq!(trouble.failure().map(|failure| failure.cause), Some(Cause::HubFault));
    }

    #[test]
    fn a_comparison_stops_when_it_is_not_wanted_any_more() {
        let cancels = Arc::new(Cancels::default());
        cancels.cancel(AttemptId(1));
        let watch = Watch::start(AttemptId(1), Duration::from_secs(60), cancels);
        let trouble = pair([file(b"1"), file(b"2")], Check::Exact).compare(&watch).expect_err("stops");
        assert!(trouble.failure().is_none());
    }
}
