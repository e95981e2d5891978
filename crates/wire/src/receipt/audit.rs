//! How a claim was checked: the lot, the answers of others, the polls, and what came of them.
#[cfg(feature = "openapi")]
use alloc::string::String;
use alloc::vec;
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
    /// What a verdict would take of its owner's stake: a share of what the order has locked of it, once.
    pub loses: Amount,
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
    /// Whose answers differed from the claim and from each other, in the order in which that was found.
    pub rivals: Vec<WorkerKey>,
    /// Who answered after the polls had not decided, in order: the platform's own workers, and jurors who had not answered
    /// yet, until two said the same.
    pub referees: Vec<Referee>,
}

/// A worker that was asked after the polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptReferee))]
#[serde(deny_unknown_fields)]
pub struct Referee {
    /// Who.
    pub key: WorkerKey,
    /// Who owns it; nothing on a hub without a chain.
    pub provider: Option<Address>,
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
    /// Whom it agrees with.
    pub side: Side,
    /// How far it is from the claim, in millionths of what the check tolerates.
    pub distance: u64,
    /// How far it may be: a million, or what honest devices of the two classes were seen to differ by if that is more.
    pub tolerated: u64,
}

/// Whom an answer agrees with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptSide))]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The claim.
    Claim,
    /// The rival with this number, from 1, or it is that rival's own.
    Rival(u8),
    /// Nobody, and there were too many rivals to be one more.
    Alone,
}

impl Side {
    /// The side with this place in the counts of a poll.
    pub fn at(place: usize) -> Self {
        match u8::try_from(place) {
            Ok(0) => Self::Claim,
            Ok(rival) => Self::Rival(rival),
            Err(_) => Self::Alone,
        }
    }

    /// Its place in the counts of a poll, if it is counted.
    pub fn place(self) -> Option<usize> {
        match self {
            Self::Claim => Some(0),
            Self::Rival(rival) => Some(usize::from(rival)),
            Self::Alone => None,
        }
    }

    /// How many of these are on each side, the claim's first, with so many rivals.
    pub fn counts(sides: impl Iterator<Item = Self>, rivals: usize) -> Vec<u32> {
        let mut counts = vec![0; rivals + 1];
        for place in sides.filter_map(Self::place) {
            if let Some(count) = counts.get_mut(place) {
                *count += 1;
            }
        }
        counts
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim => f.write_str("the claim"),
            Self::Rival(rival) => write!(f, "answer {rival}"),
            Self::Alone => f.write_str("nobody"),
        }
    }
}

/// One sampling of jurors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptPoll))]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// Who was drawn, in the order of the lot. Each of them computes once, and its answer counts in every poll that draws it.
    pub drawn: Vec<WorkerKey>,
    /// How many of them are on each side: the claim's first, then those of the rivals.
    pub votes: Vec<u32>,
}
