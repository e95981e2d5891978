//! What the market's index says, and what the hub wants of managed workers, as JSON.
#[cfg(feature = "openapi")]
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::{Amount, ByteSize, DeviceClass, DeviceKind, Millis, Runtime};

/// What a class of devices is worth now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PriceView {
    /// The class.
    pub class: DeviceClass,
    /// Its kind of device.
    pub kind: DeviceKind,
    /// Its runtime.
    pub runtime: Runtime,
    /// The least memory of its devices.
    pub memory_min: ByteSize,
    /// The price for a second of one slot that the index suggests.
    pub per_second: Amount,
    /// The same for an hour.
    pub per_hour: Amount,
    /// The least that is asked for a second by those who are connected; none if nobody is.
    pub lowest: Option<Amount>,
    /// The middle of what is asked, slot by slot.
    pub median: Option<Amount>,
    /// Slots that are offered.
    pub slots: u64,
    /// Slots that run something.
    pub busy: u64,
    /// Tasks that wait, as far as this class has to do them.
    pub waiting: u64,
    /// Utilisation and queue together, smoothed: thousandths of the slots that are offered.
    pub pressure: u32,
}

/// The price of a class at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PricePoint {
    /// When its minute or hour ended.
    pub at: Millis,
    /// The suggested price for a second of one slot; in hours, the mean of the minutes.
    pub per_second: Amount,
    /// Slots that ran something, in thousandths.
    pub utilisation: u16,
    /// Tasks that waited for each thousand slots.
    pub queue: u16,
}

/// The price of a class over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PriceHistory {
    /// As it is now.
    #[serde(flatten)]
    pub now: PriceView,
    /// Minutes of the last day, oldest first.
    pub minutes: Vec<PricePoint>,
    /// Hours of the last month, oldest first.
    pub hours: Vec<PricePoint>,
}

/// How many managed workers a hub wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DemandView {
    /// The most that are wanted of all classes together; 0 if nobody asked the hub to want any.
    pub workers_max: u32,
    /// For each class of which some are wanted or here.
    pub classes: Vec<ClassDemand>,
}

/// How many managed workers of a class a hub wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClassDemand {
    /// The class.
    pub class: DeviceClass,
    /// Its kind of device.
    pub kind: DeviceKind,
    /// Its runtime.
    pub runtime: Runtime,
    /// The least memory of its devices.
    pub memory_min: ByteSize,
    /// How many workers should be here.
    pub wanted: u32,
    /// How many are here.
    pub online: u32,
    /// How many of those run something.
    pub busy: u32,
    /// Tasks that have waited too long for the community.
    pub waiting: u64,
}
