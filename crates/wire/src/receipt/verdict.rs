//! What came of a claim. Hubs decide it, count it, write it into receipts and show it: all in these words.
#[cfg(feature = "openapi")]
use alloc::{string::String, vec::Vec};
use core::fmt;
use serde::{Deserialize, Serialize};

/// How a claim was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptVerdict))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The job asked for no check.
    NotAsked,
    /// The lot did not fall on it.
    NotDrawn,
    /// Another owner's worker computed the same.
    Agreed,
    /// Answers differed, and the vote was for it.
    Upheld,
    /// Answers differed, and the vote was against it.
    Refuted,
    /// Answers differed from each other as well: the program does not repeat itself, so that it says nothing of anybody.
    NotRepeatable,
    /// Answers differed, and there were too few to decide.
    Undecided,
    /// Nobody else was there that could compute it.
    NobodyToCheck,
    /// Its job ended before it was checked.
    JobEnded,
}

impl Verdict {
    /// Every verdict, in order.
    pub const ALL: [Self; 9] = [
        Self::NotAsked,
        Self::NotDrawn,
        Self::Agreed,
        Self::Upheld,
        Self::Refuted,
        Self::NotRepeatable,
        Self::Undecided,
        Self::NobodyToCheck,
        Self::JobEnded,
    ];

    /// Whether the claim is paid.
    pub fn pays(self) -> bool {
        match self {
            Self::Refuted | Self::Undecided => false,
            Self::NotAsked
            | Self::NotDrawn
            | Self::Agreed
            | Self::Upheld
            | Self::NotRepeatable
            | Self::NobodyToCheck
            | Self::JobEnded => true,
        }
    }

    /// Why it was judged so, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotAsked => "no check was asked for",
            Self::NotDrawn => "the lot did not fall on it",
            Self::Agreed => "another owner's worker computed the same",
            Self::Upheld => "answers differed, and the vote was for it",
            Self::Refuted => "others computed something else, and the vote was against it",
            Self::NotRepeatable => "every worker computes something else: the program does not repeat itself",
            Self::Undecided => "answers differed, and there were too few to decide",
            Self::NobodyToCheck => "nobody else was there that could compute it",
            Self::JobEnded => "the job ended before it was checked",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self {
            Self::Refuted => "refuted",
            Self::Undecided => "not paid",
            Self::NotAsked
            | Self::NotDrawn
            | Self::Agreed
            | Self::Upheld
            | Self::NotRepeatable
            | Self::NobodyToCheck
            | Self::JobEnded => "accepted",
        };
        write!(f, "{outcome}: {}", self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_is_listed_at_its_own_place() {
        for (place, verdict) in Verdict::ALL.into_iter().enumerate() {
            assert_eq!(verdict as usize, place);
        }
    }
}
