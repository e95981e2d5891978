//! What is written down of a check, so that anybody can go through it again.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::check::Check;
use gleaner_wire::market::Market;
use gleaner_wire::receipt::{Juror, Poll, Referee, Side, Verdict};
use gleaner_wire::{
    Address, Amount, AttemptId, DeviceKind, Hash, JobId, Micros, Millis, Runtime, SignedOrder, TaskId, WorkerKey,
};
use serde::{Deserialize, Serialize};

use crate::proof::RateView;

/// The rate of a draw, and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawNote {
    /// The rate.
    pub rate: RateView,
    /// Whether the lot fell on the claim.
    pub selected: bool,
}

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerNote {
    /// Whose.
    pub key: WorkerKey,
    /// By which attempt.
    pub attempt: AttemptId,
    /// The hash of what it computed; nothing if the program failed.
    pub output: Option<Hash>,
    /// How long that took, as it says.
    pub claimed: Micros,
    /// The number of the signed message that brought it.
    pub batch: u64,
    /// Whom it agrees with; nothing if nobody compared it.
    pub side: Option<Side>,
    /// How far it is from the claim; see [`gleaner_wire::check::Compared`].
    pub distance: u64,
    /// What was tolerated, in millionths of what the check does.
    pub tolerated: u64,
}

/// The check of one claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditNote {
    /// What lots were drawn from.
    pub seed: Hash,
    /// How answers were compared.
    pub check: Check,
    /// Who could be asked.
    pub jurors: Vec<Juror>,
    /// What they said.
    pub answers: Vec<AnswerNote>,
    /// How many each poll asks; zero if there was no vote.
    pub sample: u32,
    /// The polls, if there were any.
    pub polls: Vec<Poll>,
    /// Whose answers differed from the claim and from each other.
    pub rivals: Vec<WorkerKey>,
    /// Who answered after the polls had not decided, in order.
    pub referees: Vec<Referee>,
}

/// What is known of a judged claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// What was done.
    pub task: TaskId,
    /// By which attempt.
    pub attempt: AttemptId,
    /// Who did it.
    pub worker: WorkerKey,
    /// Who is paid for it.
    pub provider: Option<Address>,
    /// By what kind of program.
    pub runtime: Runtime,
    /// Whether it went on from a checkpoint.
    pub resumed: bool,
    /// Whether it was known well enough what honest devices differ by for somebody to be blamed for a difference.
    pub blames: bool,
    /// On what.
    pub device: DeviceKind,
    /// Why it was placed there.
    pub why: String,
    /// What a second of it costs.
    pub price: Amount,
    /// The most that was set aside for it.
    pub hold: Amount,
    /// When it was placed.
    pub placed: Millis,
    /// When its result came.
    pub finished: Millis,
    /// How long it ran, as its worker says.
    pub claimed: Micros,
    /// What of that counts.
    pub ran: Micros,
    /// What is withheld of its pay because its worker won auctions and did not start.
    pub bond: Amount,
    /// What the requester pays for it, without that; nothing for what was refuted.
    pub gross: Amount,
    /// What the requester has paid for this worker's part of the job before.
    pub sum_before: Amount,
    /// The platform's share, in hundredths of a percent.
    pub share_points: u32,
    /// The hash of what it delivered.
    pub output: Hash,
    /// The number of the signed message that brought it.
    pub batch: u64,
    /// The round in which it was drawn.
    pub round: u64,
    /// The draw, if there was one.
    pub draw: Option<DrawNote>,
    /// The check, if there was one.
    pub audit: Option<Box<AuditNote>>,
    /// How results of the task are compared.
    pub check: Check,
    /// How the job finds its workers.
    pub market: Market,
    /// The class of devices whose results must be the same.
    pub class: String,
    /// How it was judged.
    pub verdict: Verdict,
    /// What a verdict takes of the stake of whoever was wrong, by the chain's terms of that time.
    pub takes: Amount,
}

/// Somebody gave a wrong answer, and is to be accused on the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conviction {
    /// In which job.
    pub job: JobId,
    /// The order whose lock is at stake.
    pub order: SignedOrder,
    /// Whose stake.
    pub provider: Address,
    /// By which worker.
    pub worker: WorkerKey,
    /// The claim that was judged.
    pub claim: AttemptId,
}
