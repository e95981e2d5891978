//! References to datasets.
#[cfg(feature = "openapi")]
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

use crate::{BlobRef, HashError};

/// A dataset: a file or a folder, sealed in chunks. Who holds its key finds the rest from its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DataRef {
    /// Its sealed root.
    pub root: BlobRef,
    /// How many bytes move when a machine that has nothing of it fetches it, about.
    pub bytes: u64,
}

impl From<BlobRef> for DataRef {
    /// A dataset that is all in its root.
    fn from(root: BlobRef) -> Self {
        Self { root, bytes: root.bytes }
    }
}

impl fmt::Display for DataRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data:{}:{}:{}", self.root.id, self.root.bytes, self.bytes)
    }
}

impl FromStr for DataRef {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let rest = text.strip_prefix("data:").ok_or(HashError)?;
        let (id, rest) = rest.split_once(':').ok_or(HashError)?;
        let (root_bytes, bytes) = rest.split_once(':').ok_or(HashError)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| HashError);
        Ok(Self { root: BlobRef { id: id.parse()?, bytes: number(root_bytes)? }, bytes: number(bytes)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_reference_reads_back_what_it_prints() {
        let data = DataRef { root: BlobRef::of(b"sheaf"), bytes: 1 << 40 };
        assert_eq!(data.to_string().parse(), Ok(data));
        for text in ["", "data:", "data:12:3:4", "blake3:12:3"] {
            assert_eq!(text.parse::<DataRef>(), Err(HashError), "{text}");
        }
    }
}
