//! How a claim was checked: the lot, the polls, and what came of them.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use super::{Bytes, Commitment};
use crate::{Address, Amount, Hash, WorkerKey};

/// The lot that decided whether a claim is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[serde(rename_all = "snake_case")]
pub enum Seed {
    /// From the block after the one in which the round's root was anchored; these bytes show it.
    Chain(Bytes),
    /// From the hub itself, which has to be believed.
    Hub,
}

/// What is known of a worker when the lot is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Claims found right since the last one that was found wrong.
    pub good: u32,
    /// Claims found wrong, ever.
    pub bad: u32,
    /// What it stands to lose.
    pub stake: Amount,
    /// What it would be paid for all of its claims that are still unpaid, this one with them.
    pub exposure: Amount,
}

/// One sampling of workers that were asked to do the task again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// Whether managed referees were asked, because the community could not decide.
    pub referees: bool,
    /// Whom the lot was drawn among, in the order that it was drawn by.
    pub candidates: Vec<Auditor>,
    /// Those who were drawn, in the order of the lot, and what they said.
    pub answers: Vec<Answer>,
}

/// A worker that could be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auditor {
    /// Who.
    pub key: WorkerKey,
    /// Who owns it; nothing on a hub without a chain.
    pub provider: Option<Address>,
    /// How likely it is to be drawn, beside the others.
    pub weight: u64,
}

/// What one auditor did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Who.
    pub auditor: WorkerKey,
    /// Its answer; nothing if it did not come in time.
    pub given: Option<Given>,
}

/// An auditor's own answer, and how it compares with the claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// What it signed, not knowing the other's.
    pub commitment: Commitment,
    /// What compared the two.
    pub comparison: Comparison,
    /// Whether they are the same as far as the comparison goes.
    pub agrees: bool,
}

/// How two answers were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// Bit by bit.
    Exact,
    /// Number by number.
    Numeric(Distance),
    /// As pictures.
    Image {
        /// Pixel by pixel.
        pixels: Distance,
        /// As people see them.
        look: Distance,
    },
    /// By the requester's own program.
    Program {
        /// The hash of the program.
        checker: Hash,
        /// What it found.
        distance: Distance,
    },
}

/// How far apart two answers are, in millionths of what their comparison measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distance {
    /// How far.
    pub found: u64,
    /// How far they may be.
    pub allowed: u64,
}

/// How the answers of one poll divide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// Those who agree with the claim.
    pub agree: u32,
    /// Those who do not.
    pub differ: u32,
    /// Those who did not answer.
    pub silent: u32,
}

/// What came of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Accepted: the lot did not fall on it.
    NotDrawn,
    /// Accepted: the one auditor that was drawn agrees.
    Agreed,
    /// Accepted: the polls decided for it.
    Upheld {
        /// How each poll divided.
        polls: Vec<Count>,
    },
    /// Accepted: nobody else could check it.
    Unchecked {
        /// Why not.
        reason: String,
    },
    /// Accepted: the job asks for no check.
    Unasked,
    /// Refused: the polls decided against it.
    Refuted {
        /// How each poll divided.
        polls: Vec<Count>,
    },
}
