//! How a claim was checked: the lot, the answers of others, the polls, and what came of them.
#[cfg(feature = "openapi")]
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

use super::{Bytes, Commitment};
use crate::{Address, Amount, Hash, WorkerKey};

/// The lot that decided whether a claim is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptDraw))]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The claims that were drawn for together.
    pub round: Round,
    /// Where the seed comes from.
    pub source: Seed,
    /// The seed.
    pub seed: Hash,
    /// What the worker's rate follows from.
    pub record: Record,
    /// How many of a million claims of this worker are checked.
    pub rate: u32,
    /// Whether this one is.
    pub selected: bool,
    /// The piece that is compared.
    pub piece: u32,
}

/// Where a claim stands in its round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptRound))]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// The hub's number of the round.
    pub number: u64,
    /// The root over the hashes of the round's claims.
    pub root: Hash,
    /// How many claims there are.
    pub count: u32,
    /// The place of this one.
    pub place: u32,
    /// What leads from it to the root.
    pub path: Vec<Hash>,
}

/// Where a seed comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptSeed))]
#[serde(rename_all = "snake_case")]
pub enum Seed {
    /// From the block after the one in which the round's root was anchored; these bytes show it.
    Chain(Bytes),
    /// From the hub itself, which has to be believed.
    Hub,
}

/// What is known of a worker when the lot is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptRecord))]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Answers found right since the last one that was found wrong, less those that were owed and not given.
    pub good: u32,
    /// Answers found wrong, ever.
    pub bad: u32,
    /// What its owner stands to lose.
    pub stake: Amount,
    /// What its owner's workers would be paid for all claims that are still unpaid, this one with them.
    pub exposure: Amount,
}

/// Who checked a claim, and what they found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptAudit))]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Whom lots were drawn among, in the order that they were drawn by.
    pub jurors: Vec<Juror>,
    /// The answers, one for each who gave one.
    pub answers: Vec<Answer>,
    /// How many each poll of the vote asks; zero if there was no vote.
    pub sample: u32,
    /// The audit itself, by one juror, and the polls of the vote if that one differed.
    pub polls: Vec<Poll>,
    /// The platform's own worker that had the last word, if the polls did not decide.
    pub referee: Option<WorkerKey>,
}

/// A worker that could be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptJuror))]
#[serde(deny_unknown_fields)]
pub struct Juror {
    /// Who.
    pub key: WorkerKey,
    /// Who owns it; nothing on a hub without a chain.
    pub provider: Option<Address>,
    /// How likely it is to be drawn, beside the others.
    pub weight: u64,
    /// Whether it gave no answer when it was asked; others took its place.
    pub gone: bool,
}

/// What somebody else computed, not knowing the claim, and how it compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptAnswer))]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Whose.
    pub auditor: WorkerKey,
    /// What it signed.
    pub commitment: Commitment,
    /// Whether it agrees with the claim.
    pub agrees: bool,
    /// How far it is from it, in millionths of what the check tolerates.
    pub distance: u64,
    /// If it does not agree: whether it agrees with the first answer that did not.
    pub like_rival: Option<bool>,
}

/// One sampling of jurors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptPoll))]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// Who was drawn, in the order of the lot. Each of them computes once, and its answer counts in every poll that draws it.
    pub drawn: Vec<WorkerKey>,
    /// How many of them agree with the claim.
    pub agree: u32,
    /// How many of them agree with the first answer that did not.
    pub differ: u32,
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptVerdict))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The job asks for no check.
    NotAsked,
    /// The lot did not fall on it.
    NotDrawn,
    /// Another owner's worker computed the same.
    Agreed,
    /// Answers differed, and the vote was for it.
    Upheld,
    /// Answers differed, and the vote was against it.
    Refuted,
    /// Answers differed from each other as well: the program does not repeat itself, which is nobody's fault.
    NotRepeatable,
    /// Answers differed, and there were too few to decide.
    Undecided,
    /// Nobody else was there that could compute it.
    NobodyToCheck,
    /// Its job ended before it was checked.
    JobEnded,
}

impl Verdict {
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
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAsked => "accepted: no check was asked for",
            Self::NotDrawn => "accepted: the lot did not fall on it",
            Self::Agreed => "accepted: another owner's worker computed the same",
            Self::Upheld => "accepted: answers differed, and the vote was for it",
            Self::Refuted => "refuted: answers differed, and the vote was against it",
            Self::NotRepeatable => "accepted: the program does not repeat itself",
            Self::Undecided => "not paid: answers differed, and there were too few to decide",
            Self::NobodyToCheck => "accepted: nobody else was there that could compute it",
            Self::JobEnded => "accepted: its job ended before it was checked",
        })
    }
}
