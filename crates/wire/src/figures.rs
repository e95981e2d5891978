//! The network in figures, and what a worker earned hour by hour, as JSON.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::{Amount, ByteSize, DeviceClass, DeviceKind, Millis, Runtime, WorkerId};

/// The network as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StatusView {
    /// When this was true.
    pub at: Millis,
    /// The hub's version.
    pub version: String,
    /// Workers.
    pub workers: WorkersFigure,
    /// Devices by class, as the market tells them apart.
    pub classes: Vec<ClassFigure>,
    /// Workers by region, the most first; of many regions, the last stands for the rest and is called `other`.
    pub regions: Vec<RegionFigure>,
    /// Tasks.
    pub tasks: TasksFigure,
    /// Jobs.
    pub jobs: JobsFigure,
    /// How results are checked.
    pub checks: ChecksFigure,
    /// What workers were paid, ever.
    pub paid: Amount,
}

/// Workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkersFigure {
    /// That have ever joined.
    pub known: u64,
    /// That are connected.
    pub online: u64,
    /// Of those, that run something.
    pub busy: u64,
    /// Of those, that would take something.
    pub idle: u64,
    /// Of those, that take nothing now: paused, on probation or disqualified.
    pub resting: u64,
}

/// A class of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClassFigure {
    /// The class.
    pub class: DeviceClass,
    /// Its kind of device.
    pub kind: DeviceKind,
    /// Its runtime.
    pub runtime: Runtime,
    /// The least memory of its devices.
    pub memory_min: ByteSize,
    /// Slots that are offered.
    pub slots: u64,
    /// Slots that run something.
    pub busy: u64,
    /// Tasks that wait, as far as this class has to do them.
    pub waiting: u64,
    /// The price for an hour of a slot that the index suggests.
    pub per_hour: Amount,
}

/// A region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RegionFigure {
    /// Its name, as its workers say it.
    pub region: String,
    /// Workers that are connected.
    pub workers: u64,
    /// Of those, that run something.
    pub busy: u64,
    /// Slots that they offer.
    pub slots: u64,
    /// Slots that run something.
    pub slots_busy: u64,
}

/// Tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TasksFigure {
    /// That wait for a device.
    pub queued: u64,
    /// Attempts that are out.
    pub running: u64,
    /// That were done, ever.
    pub done: u64,
    /// That were done in the last minute.
    pub done_last_minute: u64,
    /// That were done in the last hour.
    pub done_last_hour: u64,
}

/// Jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobsFigure {
    /// That run now.
    pub running: u64,
    /// That were taken, ever.
    pub submitted: u64,
    /// That ended well.
    pub done: u64,
    /// That failed.
    pub failed: u64,
    /// That were cancelled.
    pub cancelled: u64,
}

/// How results are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChecksFigure {
    /// Results that lots were drawn for.
    pub drawn: u64,
    /// Results that others computed again.
    pub audited: u64,
    /// Of those, results that an answer differed from.
    pub contested: u64,
    /// Of those, results that were refused.
    pub refuted: u64,
    /// Wrong answers, of results and of their checks.
    pub wrong: u64,
    /// What checking costs: results computed again for each thousand that lots were drawn for.
    pub overhead_per_mille: u64,
}

/// The network over five minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StatusPoint {
    /// When they ended.
    pub at: Millis,
    /// Workers that were connected at their end.
    pub workers: u64,
    /// Slots that were offered.
    pub slots: u64,
    /// Slots that ran something.
    pub busy: u64,
    /// Tasks that waited.
    pub queued: u64,
    /// Jobs that ran.
    pub jobs: u64,
    /// Tasks that were done in them.
    pub tasks_done: u64,
    /// Results that were computed again in them.
    pub audited: u64,
    /// Results that were refused in them.
    pub refuted: u64,
    /// What was paid to workers in them.
    pub paid: Amount,
}

/// The network now and over the last day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StatusHistory {
    /// As it is now.
    #[serde(flatten)]
    pub now: StatusView,
    /// The last day in steps of five minutes, oldest first; steps in which the hub did not run are left out.
    pub history: Vec<StatusPoint>,
}

/// What a worker earned over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EarningsView {
    /// The worker.
    pub worker: WorkerId,
    /// Hours in which it earned something, oldest first.
    pub items: Vec<EarningsPoint>,
    /// The sum of these hours.
    pub total: EarningsPoint,
    /// What the electricity of these hours cost at most, if the machine knows its watts and tariff.
    #[serde(default)]
    pub energy: Option<Amount>,
    /// Where the next page starts, if there is more.
    pub next: Option<String>,
}

/// What a worker earned in an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EarningsPoint {
    /// When the hour began; of a sum, the first.
    pub hour: Millis,
    /// What requesters paid for its work.
    pub gross: Amount,
    /// What of that it earned; the rest is the platform's.
    pub net: Amount,
    /// Tasks that it delivered.
    pub tasks: u64,
    /// Device time of them in microseconds: times the power of the device, it is the energy that they took.
    pub ran_micros: u64,
}
