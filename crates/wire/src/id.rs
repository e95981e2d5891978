//! Identifiers. Each is its own type, so that a task cannot be passed where a worker is meant.
#[cfg(feature = "openapi")]
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! id {
    ($name:ident, $inner:ty, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(JobId, u64, "A job, numbered by its hub from 1.");
id!(WorkerId, u32, "A worker, numbered by its hub in the order of first joining.");
id!(AttemptId, u64, "One try of a task on one worker; never used twice by a hub.");
id!(AuctionId, u64, "An auction, counted by its hub from 1.");

/// One task: the element `index` of the group `group` (a `[[task]]` of the job file) of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskId {
    /// The job.
    pub job: JobId,
    /// The position of the `[[task]]` in the job file.
    pub group: u16,
    /// The element within the group, from 0.
    pub index: u32,
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.job, self.group, self.index)
    }
}

/// A worker's ed25519 public key, its identity on every hub.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
pub struct WorkerKey(pub [u8; 32]);

impl fmt::Display for WorkerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl core::str::FromStr for WorkerKey {
    type Err = crate::HashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<crate::Hash>().map(|hash| Self(hash.0))
    }
}

impl fmt::Debug for WorkerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for WorkerKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for WorkerKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::Hash::deserialize(deserializer).map(|hash| Self(hash.0))
    }
}
