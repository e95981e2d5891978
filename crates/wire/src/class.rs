//! Classes of devices as the market tells them apart: kind, runtime and a band of memory.
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{ByteSize, DeviceKind, Runtime};

const GIB: u64 = 1 << 30;

/// How much memory a device has, as roughly as cards are sold. A band is named by the least memory in it, which lies
/// below the usual sizes because cards report a little less than they are sold with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Band {
    /// Less than 7 GiB.
    Below7,
    /// 7 to 14 GiB: cards of 8, 11 and 12 GiB.
    From7,
    /// 14 to 20 GiB: cards of 16 GiB.
    From14,
    /// 20 to 40 GiB: cards of 24 and 32 GiB.
    From20,
    /// 40 GiB and more.
    From40,
}

impl Band {
    /// Every band, rising.
    pub const ALL: [Self; 5] = [Self::Below7, Self::From7, Self::From14, Self::From20, Self::From40];

    /// The least memory in it.
    pub const fn least(self) -> ByteSize {
        ByteSize(match self {
            Self::Below7 => 0,
            Self::From7 => 7 * GIB,
            Self::From14 => 14 * GIB,
            Self::From20 => 20 * GIB,
            Self::From40 => 40 * GIB,
        })
    }

    /// The band of a device with this much memory.
    pub fn of(memory: ByteSize) -> Self {
        let above = Self::ALL.into_iter().rev().find(|band| band.least() <= memory);
        above.unwrap_or(Self::Below7)
    }
}

/// A class of devices. There are at most [`DeviceClass::COUNT_MAX`] of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceClass {
    /// Who made the devices.
    pub kind: DeviceKind,
    /// What they run.
    pub runtime: Runtime,
    /// How much memory they have.
    pub band: Band,
}

/// Why a text names no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no class of devices: write KIND-RUNTIME-MEMORY, such as nvidia-container-20GiB")]
pub struct ClassError(String);

impl DeviceClass {
    /// How many classes there can be.
    pub const COUNT_MAX: usize = DeviceKind::ALL.len() * Runtime::ALL.len() * Band::ALL.len();
}

impl fmt::Display for DeviceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}GiB", self.kind, self.runtime, self.band.least().0 / GIB)
    }
}

impl FromStr for DeviceClass {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Self, ClassError> {
        let find = || {
            let mut parts = text.split('-');
            let (kind, runtime, band) = (parts.next()?, parts.next()?, parts.next()?);
            let named = |one: &dyn fmt::Display, word: &str| alloc::format!("{one}") == word;
            let kind = DeviceKind::ALL.into_iter().find(|one| named(one, kind))?;
            let runtime = Runtime::ALL.into_iter().find(|one| named(one, runtime))?;
            let band = Band::ALL.into_iter().find(|one| named(&(one.least().0 / GIB), band.trim_end_matches("GiB")))?;
            parts.next().is_none().then_some(Self { kind, runtime, band })
        };
        find().ok_or_else(|| ClassError(text.into()))
    }
}

impl Serialize for DeviceClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        (self.kind, self.runtime, self.band).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DeviceClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return String::deserialize(deserializer)?.parse().map_err(de::Error::custom);
        }
        let (kind, runtime, band) = Deserialize::deserialize(deserializer)?;
        Ok(Self { kind, runtime, band })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_class_reads_back_what_it_prints() {
        let mut count = 0;
        for kind in DeviceKind::ALL {
            for runtime in Runtime::ALL {
                for band in Band::ALL {
                    let class = DeviceClass { kind, runtime, band };
                    assert_eq!(class.to_string().parse(), Ok(class));
                    count += 1;
                }
            }
        }
        assert_eq!(count, DeviceClass::COUNT_MAX);
    }

    #[test]
    fn text_that_is_no_class_is_refused() {
        for text in ["", "nvidia", "nvidia-wgsl", "nvidia-wgsl-8GiB", "nvidia-wgsl-7GiB-x", "gpu-wgsl-0GiB"] {
            assert!(text.parse::<DeviceClass>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_card_is_in_the_band_of_the_size_it_is_sold_with() {
        let reported = [(4096, 0), (6141, 0), (8188, 7), (12_282, 7), (16_376, 14), (24_564, 20), (81_559, 40)];
        for (mebibytes, least) in reported {
            assert_eq!(Band::of(ByteSize::mib(mebibytes)).least(), ByteSize(least * GIB), "{mebibytes} MiB");
        }
    }
}
