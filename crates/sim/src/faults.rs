//! How bad a world is.
use std::str::FromStr;

use crate::chance::Chance;

/// How often what goes wrong. Spans are virtual milliseconds, rates are per mille.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The mean time between two fates of one worker; none if zero.
    pub fate_every_ms: u64,
    /// Which fates may strike, by their number.
    pub fates: u32,
    /// The mean time between two crashes of the hub; none if zero.
    pub hub_crash_every_ms: u64,
    /// Messages lost on the way.
    pub lost: u32,
    /// Results sent twice.
    pub doubled: u32,
    /// The most that a message is late, and so comes after later ones.
    pub late_ms: u64,
    /// Runs in which the device breaks, on a flaky worker.
    pub device_faults: u32,
    /// Workers that are flaky.
    pub flaky_workers: u32,
    /// When all faults stop.
    pub calm_at_ms: u64,
}

/// How many fates there are; see `Fate`.
pub(crate) const FATES: u32 = 11;

/// A text that names no set of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no set of faults: none, light or heavy")]
pub struct FaultsError(String);

impl Faults {
    /// A perfect world of uneven workers.
    pub fn none() -> Self {
        Self {
            fate_every_ms: 0,
            fates: 0,
            hub_crash_every_ms: 0,
            lost: 0,
            doubled: 0,
            late_ms: 0,
            device_faults: 0,
            flaky_workers: 0,
            calm_at_ms: 0,
        }
    }

    /// A good day: now and then a worker goes, and one in a hundred breaks often.
    pub fn light() -> Self {
        Self {
            fate_every_ms: 600_000,
            fates: (1 << FATES) - 1,
            hub_crash_every_ms: 0,
            lost: 1,
            doubled: 1,
            late_ms: 20,
            device_faults: 50,
            flaky_workers: 10,
            calm_at_ms: 600_000,
        }
    }

    /// A bad day: everything that can go wrong does, and often.
    pub fn heavy() -> Self {
        Self {
            fate_every_ms: 20_000,
            fates: (1 << FATES) - 1,
            hub_crash_every_ms: 30_000,
            lost: 20,
            doubled: 50,
            late_ms: 3000,
            device_faults: 300,
            flaky_workers: 250,
            calm_at_ms: 300_000,
        }
    }

    /// A mixture: each kind of fault is there or not, mild or bad.
    pub(crate) fn drawn(chance: &mut Chance) -> Self {
        let mut some = |per_mille: u32, value: u64| if chance.hits(per_mille) { value } else { 0 };
        let fates = some(850, 1) * ((1 << FATES) - 1);
        let hub = some(500, 1);
        let lost = some(400, 1);
        let doubled = some(500, 1);
        let late = some(500, 1);
        let device = some(400, 1);
        Self {
            fate_every_ms: chance.log_uniform(2000, 120_000),
            fates: (fates & chance.next()) as u32,
            hub_crash_every_ms: hub * chance.log_uniform(4000, 120_000),
            lost: (lost * chance.log_uniform(1, 100)) as u32,
            doubled: (doubled * chance.log_uniform(10, 500)) as u32,
            late_ms: late * chance.log_uniform(5, 20_000),
            device_faults: (device * chance.log_uniform(10, 700)) as u32,
            flaky_workers: chance.between(0, 700) as u32,
            calm_at_ms: chance.log_uniform(10_000, 400_000),
        }
    }
}

impl FromStr for Faults {
    type Err = FaultsError;

    fn from_str(text: &str) -> Result<Self, FaultsError> {
        match text {
            "none" => Ok(Self::none()),
            "light" => Ok(Self::light()),
            "heavy" => Ok(Self::heavy()),
            _ => Err(FaultsError(text.into())),
        }
    }
}
