//! What the HTTP API and the live events say, as JSON.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::job_file::Prefer;
use crate::market::Market;
use crate::{
    Amount, AttemptId, Cause, DataRef, JobId, Millis, Offer, Output, Runtime, SignedQuote, State, WorkerId, WorkerKey,
};

pub use crate::contest::{CaseStage, CaseView, ContestView, ContestedAnswer, ToleranceView};
pub use crate::prices::PriceView;

/// An error, as RFC 9457 has it (`application/problem+json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// A stable word for programs.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same word, under the name that programs look for.
    #[serde(default)]
    pub code: String,
    /// What went wrong, in one line.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The reason, and what to do.
    pub detail: String,
    /// Where: in a job file, a path such as `task[2].input[0].from`; otherwise the parameter or field.
    pub at: Option<String>,
    /// The line of a job file sent as TOML.
    pub line: Option<usize>,
}

/// The answer to a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Submitted {
    /// The new job.
    pub job: JobId,
    /// How many tasks it has.
    pub tasks: u64,
    /// What was reserved for it.
    pub reserved: Amount,
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum JobState {
    /// It waits for its money to be locked on the chain.
    Ordered,
    /// Its tasks wait or run.
    Running,
    /// All tasks are done.
    Done,
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Failed {
        /// The task it failed on, by name and index, if it was one.
        task: Option<String>,
        /// The cause, if it was a failed attempt.
        cause: Option<Cause>,
        /// In words.
        reason: String,
    },
}

impl JobState {
    /// The words for each, as JSON has them.
    pub const WORDS: [&'static str; 5] = ["ordered", "running", "done", "cancelled", "failed"];

    /// The word for it, as JSON has it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Failed { .. } => "failed",
        }
    }

    /// Whether nothing more will happen.
    pub fn has_ended(&self) -> bool {
        !matches!(self, Self::Ordered | Self::Running)
    }
}

/// A job in a listing, and in live events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobSummary {
    /// The job.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// Who pays.
    pub requester: String,
    /// Where it stands.
    #[serde(flatten)]
    pub state: JobState,
    /// How many tasks it has.
    pub tasks: u64,
    /// How many are done.
    pub done: u64,
    /// How many of those needed no run, because the result was known.
    pub known: u64,
    /// How many attempts run or wait on a worker.
    pub running: u64,
    /// How many attempts failed or were lost so far.
    pub retried: u64,
    /// What was paid so far.
    pub spent: Amount,
    /// What it may cost at most.
    pub price_max: Amount,
    /// When it was submitted.
    pub submitted_at: Millis,
    /// When it ended.
    pub ended_at: Option<Millis>,
}

/// A page of a listing of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobsPage {
    /// The jobs, newest first.
    pub items: Vec<JobSummary>,
    /// Where the next page starts, if there is more.
    pub next: Option<String>,
}

/// One job, whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobView {
    /// The summary.
    #[serde(flatten)]
    pub summary: JobSummary,
    /// Its `[[task]]`s.
    pub groups: Vec<GroupView>,
    /// Who worked on it.
    pub workers: Vec<TallyView>,
    /// What failed, most recent last; bounded.
    pub failures: Vec<FailureView>,
    /// How its results were checked.
    #[serde(default)]
    pub checks: Vec<ChecksView>,
    /// What was learned of what honest results of its tasks differ by.
    #[serde(default)]
    pub tolerances: Vec<ToleranceView>,
    /// What went to winners of auctions, most recent last; bounded.
    #[serde(default)]
    pub awards: Vec<AwardView>,
    /// What it was quoted, if it was ordered by a quote.
    #[serde(default)]
    pub quoted: Option<QuotedView>,
    /// How the market treated it, beside paying for what it delivered.
    #[serde(default)]
    pub market: MarketView,
    /// Results that somebody else computed differently, and what came of it; most recent last, bounded.
    #[serde(default)]
    pub contests: Vec<ContestView>,
}

/// How many results were judged alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChecksView {
    /// How, in words.
    pub verdict: String,
    /// How many.
    pub results: u64,
    /// Whether they were paid.
    pub paid: bool,
}

/// How the market treated a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MarketView {
    /// How its workers were found and how firm its places were.
    pub market: Market,
    /// Device time of attempts that were paid, in microseconds.
    pub paid_micros: u64,
    /// Device time of attempts that lost a race, in microseconds; nobody pays for it.
    pub wasted_micros: u64,
    /// Attempts beside others in a race.
    pub hedges: u64,
    /// Attempts that were moved for somebody who pays more.
    pub moved: u64,
    /// Devices that are kept for it now.
    pub kept: u64,
}

/// One `[[task]]` of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupView {
    /// Its name.
    pub name: String,
    /// Its runtime.
    pub runtime: Runtime,
    /// What its elements are.
    pub extent: crate::Extent,
    /// The `[[task]]`s whose outputs it reads, by their position in the job.
    #[serde(default)]
    pub reads: Vec<u16>,
    /// How many elements.
    pub tasks: u64,
    /// How many are done.
    pub done: u64,
    /// How many attempts are out.
    pub running: u64,
    /// How many wait to be placed.
    pub queued: u64,
    /// How many are delivered and not checked yet.
    #[serde(default)]
    pub unchecked: u64,
    /// How many that are not done have saved how far they are.
    #[serde(default)]
    pub saved: u64,
    /// Predicted running time of one on the reference machine, once learned, in microseconds.
    pub predicted_micros: Option<u64>,
}

/// A worker's part in a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TallyView {
    /// The worker.
    pub worker: WorkerId,
    /// Its name.
    pub name: String,
    /// Tasks it delivered.
    pub done: u64,
    /// Attempts it failed or lost.
    pub failed: u64,
    /// Device time of what it delivered, in microseconds.
    pub ran_micros: u64,
    /// What the requester paid for its work.
    pub gross: Amount,
    /// What of that it earned; the rest is the platform's.
    pub earned: Amount,
}

/// A failed or lost attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureView {
    /// The task, as `name[index]`.
    pub task: String,
    /// The attempt.
    pub attempt: AttemptId,
    /// The worker's name.
    pub worker: String,
    /// The cause.
    pub cause: Cause,
    /// In words.
    pub detail: String,
    /// Who paid for it, and what happened next, in words.
    pub consequence: String,
    /// When.
    pub at: Millis,
}

/// A task that went to the winner of an auction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AwardView {
    /// The task, as `name[index]`.
    pub task: String,
    /// The worker's name.
    pub worker: String,
    /// How many bids there were.
    pub bids: u32,
    /// What the winner asked for a second.
    pub bid: Amount,
    /// Its score: what a finished task is expected to cost by its bid.
    pub score: Amount,
    /// The best score that lost; none if nobody else bid.
    pub second: Option<Amount>,
    /// What is paid for a second.
    pub price: Amount,
}

/// What a job would cost, before anything is paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuoteView {
    /// How many tasks it has.
    pub tasks: u64,
    /// What it should cost, whatever its cap is; none while that is not known of one of its `[[task]]`s.
    pub expected: Option<Amount>,
    /// What it never costs more than.
    pub cap: Amount,
    /// How long it should take, its `[[task]]`s one after the other, in milliseconds.
    pub time_ms: Option<Millis>,
    /// On how many earlier tasks that rests: the least of its `[[task]]`s.
    pub rests_on: u64,
    /// Its `[[task]]`s.
    pub groups: Vec<GroupQuote>,
    /// Cheap, balanced and fast side by side.
    #[serde(default)]
    pub choices: Vec<ChoiceView>,
}

/// What a job would cost and when it would be done if this mattered more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChoiceView {
    /// What matters more.
    pub prefer: Prefer,
    /// What it should cost; none while that is not known of one of its `[[task]]`s.
    pub expected: Option<RangeView>,
    /// How long it should take, in milliseconds.
    pub time_ms: Option<RangeView>,
    /// How sure that is.
    pub sure: Sure,
    /// Why it is as sure as that, in words.
    pub why: String,
    /// The binding price, with the hub's signature; none where nothing is known, or it is over budget.price_max.
    pub offer: Option<SignedQuote>,
}

/// What is expected, and between what eight of ten such jobs end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RangeView {
    /// One in ten is below.
    pub low: u64,
    /// What is expected.
    pub expected: u64,
    /// One in ten is above.
    pub high: u64,
}

/// How sure a quote is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sure {
    /// Nothing like it has run here.
    #[default]
    Unknown,
    /// Too few like it have run to tell how much they differ.
    Guess,
    /// Those that ran differ much.
    Rough,
    /// The price is known to about a third.
    Fair,
    /// The price is known to about an eighth.
    Good,
}

/// What was promised to a job, beside what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuotedView {
    /// The name of the quote.
    pub id: crate::Hash,
    /// What was promised: the job's cap.
    pub price: Amount,
    /// What it should have cost.
    pub expected: Amount,
    /// How long it should have taken.
    pub time_ms: Millis,
    /// What the platform has paid beyond the price, so that the job could end.
    pub platform_paid: Amount,
    /// How far the cost is from what was expected, in thousandths of it, once the job is done.
    pub price_error_mille: Option<u64>,
    /// How far the time is from what was expected, in thousandths of it, once the job is done.
    pub time_error_mille: Option<u64>,
}

/// What one `[[task]]` of a job would cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupQuote {
    /// Its name.
    pub task: String,
    /// How many tasks it stands for.
    pub tasks: u64,
    /// How long one should take where it would run, in microseconds, as four of five earlier ones did not exceed.
    pub each_micros: Option<u64>,
    /// How many earlier tasks like it that rests on.
    pub rests_on: u64,
    /// What the devices here that fit ask for a second; none if there are none.
    pub per_second: Option<AskedView>,
    /// What all of it should cost; none if its length is not known or no device here fits.
    pub expected: Option<Amount>,
    /// How long all of it should take on the devices that would be chosen, in milliseconds.
    pub time_ms: Option<Millis>,
    /// Workers that could take it now.
    pub workers: u64,
    /// If none could: why, with how many devices each reason holds for.
    pub reasons: Vec<ReasonView>,
}

/// What devices ask for a second of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AskedView {
    /// The least.
    pub lowest: Amount,
    /// The middle, slot by slot.
    pub median: Amount,
}

/// Why tasks of one group wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WaitingView {
    /// The group's name.
    pub task: String,
    /// How many of its tasks wait.
    pub queued: u64,
    /// The reasons, with how many devices each holds for.
    pub reasons: Vec<ReasonView>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReasonView {
    /// A stable word for programs.
    pub code: String,
    /// In words, with what to do about it.
    pub text: String,
    /// How many devices it holds for, if it is about devices.
    pub devices: Option<u64>,
}

/// Why a job stands where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExplainView {
    /// The job.
    pub job: JobId,
    /// Where it stands.
    #[serde(flatten)]
    pub state: JobState,
    /// What waits and why.
    pub waiting: Vec<WaitingView>,
    /// What runs: where, why there, and when it should be done; bounded.
    pub running: Vec<RunningView>,
    /// How many run beside those listed.
    pub running_more: u64,
    /// Results that somebody else computed differently, and what came of it; bounded.
    #[serde(default)]
    pub contests: Vec<ContestView>,
}

/// A running attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunningView {
    /// The task, as `name[index]`.
    pub task: String,
    /// The attempt.
    pub attempt: AttemptId,
    /// The worker's name.
    pub worker: String,
    /// When it was placed.
    pub since: Millis,
    /// When it should be done, if that is known.
    pub expected_at: Option<Millis>,
    /// Why this worker.
    pub why: String,
    /// Whether it is a second attempt beside a slow one.
    pub second: bool,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerView {
    /// The worker.
    pub id: WorkerId,
    /// Its key.
    pub key: WorkerKey,
    /// Its state.
    pub state: State,
    /// Its offer.
    pub offer: Offer,
    /// Attempts it holds.
    pub running: u64,
    /// Tasks it delivered.
    pub done: u64,
    /// Attempts it failed or lost.
    pub failed: u64,
    /// What it earned, ever.
    pub earned: Amount,
    /// What of that was paid on the chain.
    pub settled: Amount,
    /// What it lost of that in bonds: it won auctions and did not start.
    #[serde(default)]
    pub forfeited: Amount,
    /// The share of attempts that it finishes, in thousandths.
    #[serde(default)]
    pub reliability_per_mille: u64,
    /// Learned speed of each device, 1000 being the reference machine.
    pub speeds: Vec<u32>,
    /// The devices that their owner needs now, by their position in the offer.
    pub resting: Vec<u16>,
    /// How each runtime of each device stands with the hub's tests; empty on a hub that does not test.
    pub tests: Vec<TestView>,
    /// How often its results are checked, and why; nothing on a hub that does not check.
    #[serde(default)]
    pub audits: Option<AuditsView>,
    /// Whether the platform owns it, by the hub's own word.
    #[serde(default)]
    pub managed: bool,
}

/// How often a worker's results are computed again by others, and what that rests on. Shares are in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditsView {
    /// The share that is checked: the larger of the next two.
    pub rate: u32,
    /// What its record asks for.
    pub by_record: u32,
    /// What makes cheating a loss, with what a verdict would take and what is unpaid.
    pub by_stake: u32,
    /// Answers found right since the last wrong one.
    pub good: u32,
    /// Answers found wrong, ever.
    pub bad: u32,
    /// Answers that it was asked for and did not give.
    pub given_up: u32,
    /// What its owner has staked.
    pub stake: Amount,
    /// What a verdict takes of that: a share of what one order locks.
    #[serde(default)]
    pub loses: Amount,
    /// The share of auditors that is reckoned to be honest, in millionths.
    #[serde(default)]
    pub honest: u32,
    /// What its owner is not paid yet.
    pub exposure: Amount,
    /// The most of that before it gets no more work.
    pub exposure_max: Amount,
}

/// How a runtime of a device stands with the hub's tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestView {
    /// The position of the device in the offer.
    pub device: u16,
    /// The runtime.
    pub runtime: Runtime,
    /// The score by which it is chosen, if it has passed.
    pub score: Option<u32>,
    /// When it is tested next; none while a test is under way, and none once it has passed.
    pub due: Option<Millis>,
    /// What was wrong with the last test; empty if nothing was.
    pub why: String,
}

/// A dataset that a hub keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DatasetView {
    /// What names it.
    pub data: DataRef,
    /// Chunks in it, its root included.
    pub chunks: u64,
    /// Who pushed it.
    pub owner: String,
    /// Its name, sealed by its owner, in hexadecimal digits.
    pub label: String,
    /// Why it is kept: `pushed`, `input` or `output`.
    pub kind: String,
    /// When it came, in milliseconds since 1970.
    pub made_ms: u64,
    /// Until when it is kept, if not for good.
    pub until_ms: Option<u64>,
    /// Chunks of it that are here.
    pub held: u64,
    /// Machines that fetch or offer it at the moment.
    pub machines: u64,
}

/// A page of a listing of datasets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DatasetsPage {
    /// The datasets: what was pushed, what jobs read, what they made; of each kind the newest first.
    pub items: Vec<DatasetView>,
    /// Where the next page starts, if there is more.
    pub next: Option<String>,
}

/// What workers have sent each other of datasets, as their receivers have signed for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SeedingView {
    /// All of it, in bytes of chunks.
    pub bytes: u64,
    /// By whom, for which job, of which dataset; the most first, bounded.
    pub seeded: Vec<SeededView>,
}

/// What one worker has sent to others of one dataset, for one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SeededView {
    /// Who sent.
    pub worker: WorkerKey,
    /// The newest job that read the dataset then; none if none did.
    pub job: Option<JobId>,
    /// The root of the dataset.
    pub root: crate::Hash,
    /// Bytes of chunks.
    pub bytes: u64,
}

/// What became of receipts that a worker handed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SeedingTaken {
    /// Bytes that were counted.
    pub bytes: u64,
    /// Receipts that were refused; they need not be handed in again.
    pub refused: u64,
}

/// What a check of a hub's store found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckView {
    /// Chunks that were read.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Chunks that had gone bad; they are not there any more.
    pub bad: u64,
    /// Bytes of files that no chunk lay in, removed.
    pub orphan_bytes: u64,
}

/// Somebody who got a task and waits for its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeysWanted {
    /// The group of the job.
    pub group: u16,
    /// Who.
    pub worker: WorkerKey,
}

/// Keys of a task, wrapped for one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeysLeft {
    /// The group of the job.
    pub group: u16,
    /// Who can open them.
    pub receiver: WorkerKey,
    /// The wrapped keys, in hexadecimal digits.
    pub keys: String,
}

/// Keys of a task, for who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeysView {
    /// The submission that they belong to, in hexadecimal digits.
    pub submission: String,
    /// Who has signed them.
    pub owner: WorkerKey,
    /// What was left for who asked, in hexadecimal digits; whatever is not signed by the owner is of no use.
    pub keys: Vec<String>,
    /// Whether somebody who can open everything has answered lately. If not, others who have the keys should.
    pub attended: bool,
}

/// How machines of this hub's network find each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NetworkView {
    /// The key by which the hub signs what machines may fetch from each other.
    pub hub: WorkerKey,
    /// The port of its relay, on the host where its API is; none if it runs none.
    pub relay_port: Option<u16>,
    /// The UDP port on the same host where the hub, proving its key, tells machines by which address it sees them.
    #[serde(default)]
    pub discovery_port: Option<u16>,
}

/// One output in a list of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResultView {
    /// The group's name.
    pub task: String,
    /// The element.
    pub index: u32,
    /// The output.
    pub output: Output,
}

/// A page of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResultsPage {
    /// The results.
    pub results: Vec<ResultView>,
    /// Where the next page starts, if there is one.
    pub next: Option<u64>,
}

/// One line of a job's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogView {
    /// When it arrived.
    pub at: Millis,
    /// The task, as `name[index]`.
    pub task: String,
    /// The worker's name.
    pub worker: String,
    /// The text.
    pub text: String,
}

/// Whether the hub is well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Health {
    /// Whether it takes jobs.
    pub accepting: bool,
    /// If not, why and what to do.
    pub reason: Option<String>,
    /// Its version.
    pub version: String,
    /// Workers that are connected.
    pub workers_online: u64,
    /// Jobs that are not ended.
    pub jobs_running: u64,
}

/// The hub's books.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LedgerView {
    /// Money by account, such as `requester:ada` or `worker:3`.
    pub accounts: BTreeMap<String, Amount>,
    /// What came in from outside; equals the sum of the accounts.
    pub issued: Amount,
}

/// What the events WebSocket sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Live {
    /// A job moved on; at most a few a second for each job.
    Job(JobSummary),
    /// A worker changed its state.
    Worker {
        /// The worker.
        id: WorkerId,
        /// Its name.
        name: String,
        /// Its state.
        state: State,
    },
    /// An attempt failed or was lost.
    Failure {
        /// The job.
        job: JobId,
        /// What happened.
        failure: FailureView,
    },
    /// The listener was too slow and missed some events.
    Missed {
        /// How many.
        count: u64,
    },
}
