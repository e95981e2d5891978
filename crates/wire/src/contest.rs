//! What is shown of results that somebody else computed differently: answers, votes, who was wrong, what the court made of it,
//! and what honest results were seen to differ by.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::receipt::{Side, Verdict};
use crate::{Address, Amount, AttemptId, Hash, JobId, Millis};

/// A result that somebody else computed differently: who answered what, how the vote went, and who was wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContestView {
    /// The task, as `name[index]`.
    pub task: String,
    /// The attempt whose result it was.
    pub attempt: AttemptId,
    /// Whose.
    pub worker: String,
    /// The hash of what it delivered.
    pub delivered: Hash,
    /// What came of it.
    pub verdict: Verdict,
    /// What the others computed.
    pub answers: Vec<ContestedAnswer>,
    /// How many were on each side in each poll: the claim's first, then those of the other answers.
    pub polls: Vec<Vec<u32>>,
    /// Whether the result was found to be wrong.
    pub wrong: bool,
    /// What is called in of the stake of everybody who was wrong; nothing where tolerances decided, or nothing is staked.
    pub takes: Amount,
    /// When it was judged.
    pub at: Millis,
}

/// What somebody else computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContestedAnswer {
    /// Whose.
    pub worker: String,
    /// The hash of what it computed; nothing if the program failed.
    pub computed: Option<Hash>,
    /// Whom it agrees with.
    pub side: Side,
    /// Whether it was asked after the polls had not decided.
    pub asked_last: bool,
    /// Whether it was found to be wrong.
    pub wrong: bool,
}

/// A provider that was found wrong and is to answer for it before the court of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CaseView {
    /// In which job.
    pub job: JobId,
    /// Who.
    pub provider: Address,
    /// The hash of the document that shows it, at `/api/v1/evidence/HASH`.
    pub evidence: Hash,
    /// The number of the dispute on the chain, once it is there.
    pub dispute: Option<u64>,
    /// Where it stands.
    pub stage: CaseStage,
    /// What was taken of the stake.
    pub taken: Amount,
    /// The transaction by which it ended.
    pub transaction: Option<Hash>,
}

/// Where a case before the court of the chain stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum CaseStage {
    /// It is to be accused.
    Waiting,
    /// A committee is to be drawn, or votes.
    Open {
        /// How many sit on the committee; none before it is drawn.
        seats: u32,
        /// How many of them have voted.
        voted: u32,
        /// Unix seconds until which votes count.
        ends: u64,
    },
    /// It was found guilty, and part of its stake is gone.
    Slashed,
    /// It was found innocent.
    Acquitted,
    /// There was no verdict in time.
    Undecided,
    /// It could not be brought before the court.
    Dropped {
        /// Why.
        reason: String,
    },
}

/// What honest results on two classes of devices may differ by, as was learned from such results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToleranceView {
    /// The `[[task]]`.
    pub task: String,
    /// One class of devices.
    pub one: String,
    /// The other, perhaps the same.
    pub other: String,
    /// How many results were compared, fading.
    pub seen: u32,
    /// How many it takes.
    pub needed: u32,
    /// How far apart they may be, in millionths of what the check tolerates; nothing while they are not compared to judge.
    pub tolerated: Option<u64>,
}
