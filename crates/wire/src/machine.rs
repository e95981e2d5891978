//! What a machine tells of itself for its owner to see, and what its owner sets of it through a hub. None of it decides
//! where work goes: that rests on offers, prices and tests alone.
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::api::WorkerView;
use crate::{Amount, AmountError, ByteSize, Hash, JobId, Millis};

/// The longest schedule, as it is written.
pub const HOURS_BYTES_MAX: usize = 512;
/// The longest reason why settings are refused.
pub const REFUSAL_BYTES_MAX: usize = 512;
const MARKET: &str = "market";
const SECONDS_PER_HOUR: u64 = 3600;

/// How an owner prices a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PricePolicy {
    /// What others ask for such a device, but never less than its electricity costs.
    Market,
    /// So much for an hour of one card or processor slot.
    PerHour(Amount),
}

impl PricePolicy {
    /// The price of a second, rounded up so that it is never lower than what was asked; none where the market says.
    pub fn per_second(self) -> Option<Amount> {
        match self {
            Self::Market => None,
            Self::PerHour(price) => Some(Amount(price.0.div_ceil(SECONDS_PER_HOUR))),
        }
    }

    /// So much for a second.
    pub fn of_second(price: Amount) -> Self {
        Self::PerHour(Amount(price.0.saturating_mul(SECONDS_PER_HOUR)))
    }
}

impl fmt::Display for PricePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Market => f.write_str(MARKET),
            Self::PerHour(price) => price.fmt(f),
        }
    }
}

impl FromStr for PricePolicy {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        if text == MARKET {
            return Ok(Self::Market);
        }
        let text = text.trim();
        text.strip_suffix("/h").unwrap_or(text).trim().parse().map(Self::PerHour)
    }
}

impl Serialize for PricePolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        match self {
            Self::Market => None,
            Self::PerHour(price) => Some(*price),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PricePolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return String::deserialize(deserializer)?.parse().map_err(de::Error::custom);
        }
        Ok(Option::<Amount>::deserialize(deserializer)?.map_or(Self::Market, Self::PerHour))
    }
}

/// How one device does. What nobody measures is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReading {
    /// How busy it is, in percent.
    pub load_percent: Option<u8>,
    /// How hot its hottest card is.
    pub celsius: Option<i16>,
    /// How much of its memory is taken.
    pub memory_used: Option<ByteSize>,
    /// What it draws, in thousandths of a watt.
    pub milliwatts: Option<u64>,
    /// What an hour of its work costs in electricity, if its owner named a tariff.
    pub energy_per_hour: Option<Amount>,
}

/// What a machine tells of itself: how its devices do, and what its owner has set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineReport {
    /// Its devices, in the order of the offer.
    pub devices: Vec<DeviceReading>,
    /// How it is priced.
    pub price: PricePolicy,
    /// When it is shared; empty for always.
    pub hours: String,
    /// What the electricity for its work has cost so far, if its owner named a tariff.
    pub energy: Option<Amount>,
    /// Whether its owner lets an account of the hub set what is set here.
    pub paired: bool,
}

/// What an owner wants set. What is not named stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSettings {
    /// How it is to be priced.
    pub price: Option<PricePolicy>,
    /// When it is to be shared; empty for always.
    pub hours: Option<String>,
}

/// What of an owner's settings is in force on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettingsView {
    /// How it is priced: `market`, or GLN for an hour of one card or processor slot.
    pub price: PricePolicy,
    /// When it is shared, in its own time; nothing for always.
    pub hours: Option<String>,
}

impl SettingsView {
    /// What a report says.
    pub fn of(report: &MachineReport) -> Self {
        let hours = Some(report.hours.clone()).filter(|hours| !hours.is_empty());
        Self { price: report.price, hours }
    }
}

/// How a device does, as its owner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Telemetry {
    /// The position of the device in the offer.
    pub device: u16,
    /// The share of it that is busy, 1 being all.
    pub load: Option<f64>,
    /// How hot it is, in degrees Celsius.
    pub temperature: Option<i16>,
    /// How many bytes of its memory are taken.
    pub memory_used: Option<u64>,
    /// What it draws.
    pub watts: Option<f64>,
}

impl Telemetry {
    /// What was read of a device.
    pub fn of(device: u16, reading: &DeviceReading) -> Self {
        Self {
            device,
            load: reading.load_percent.map(|percent| f64::from(percent.min(100)) / 100.0),
            temperature: reading.celsius,
            memory_used: reading.memory_used.map(|bytes| bytes.0),
            watts: reading.milliwatts.map(|power| power as f64 / 1000.0),
        }
    }
}

/// What a machine lost because it was found wrong, or stands to lose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Penalty {
    /// When its result had come.
    pub at: Millis,
    /// For which job.
    pub job: Option<JobId>,
    /// The task within the job, as `group[index]`; empty where the evidence does not say.
    pub task: String,
    /// What was taken of the stake so far.
    pub amount: Amount,
    /// What it is about, and how it stands with the court.
    pub why: String,
    /// The hash of the document that shows it, at `/api/v1/evidence/HASH`.
    pub evidence: Option<Hash>,
}

/// A machine, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MachineView {
    /// What everybody sees of it, and what only its owner does.
    #[serde(flatten)]
    pub worker: WorkerView,
    /// How its devices do; nothing of one that is not connected.
    pub telemetry: Vec<Telemetry>,
    /// When that was.
    pub telemetry_at: Option<Millis>,
    /// How it is priced: `market`, or GLN for an hour of one card or processor slot; nothing if it has not said.
    pub price: Option<PricePolicy>,
    /// When it is shared, in its own time; nothing for always.
    pub hours: Option<String>,
    /// What an hour of its device time costs in electricity at most, as far as it knows its watts and tariff.
    pub energy_per_hour: Option<Amount>,
    /// What the electricity for its work has cost so far, by its own meter.
    pub energy: Option<Amount>,
    /// Whether price and hours can be set from here: it was started with a token of the account.
    pub paired: bool,
    /// What it lost because it was found wrong, newest first.
    pub penalties: Vec<Penalty>,
}

/// A page of machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MachinesPage {
    /// Machines, in the order in which they first joined.
    pub items: Vec<MachineView>,
    /// Where the next page starts, if there is more.
    pub next: Option<String>,
}

/// Cuts a reason to what may be sent.
pub fn shortened(reason: &str) -> String {
    reason[..reason.floor_char_boundary(REFUSAL_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_price_by_the_hour_reads_back_and_is_never_rounded_down() {
        for (text, per_second) in [("0.36", Some(100_000)), ("0.35", Some(97_223)), ("market", None), ("0", Some(0))] {
            let price: PricePolicy = text.parse().expect("a price");
            assert_eq!(price.per_second(), per_second.map(Amount), "{text}");
            assert_eq!(price.to_string(), text);
            let json = serde_json::to_string(&price).expect("encoded");
            assert_eq!(serde_json::from_str::<PricePolicy>(&json).expect("decoded"), price);
            assert_eq!(crate::decode::<PricePolicy>(&crate::encode(&price)), Ok(price));
        }
        assert_eq!("0.36 GLN/h".parse::<PricePolicy>(), "0.36".parse());
        assert!("cheap".parse::<PricePolicy>().is_err());
    }

    #[test]
    fn a_reason_is_cut_between_characters() {
        assert_eq!(shortened(&"é".repeat(REFUSAL_BYTES_MAX)), "é".repeat(REFUSAL_BYTES_MAX / 2));
        assert_eq!(shortened("short"), "short");
    }
}
