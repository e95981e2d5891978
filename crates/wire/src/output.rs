//! What a task delivers.
#[cfg(feature = "openapi")]
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{BlobRef, Hash};

/// Sealed outputs up to this many bytes travel inside the reference and need no chunk.
pub const INLINE_BYTES_MAX: usize = 32;

/// A task's output, sealed for its requester: a dataset, or the bytes themselves where they are as short as a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The sealed bytes themselves.
    Inline {
        /// How many of `bytes` count; the others are zero.
        len: u8,
        /// The content.
        bytes: [u8; INLINE_BYTES_MAX],
    },
    /// One file: the root of a dataset that has no other.
    File(BlobRef),
    /// Several files: the root of a dataset.
    Files(BlobRef),
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Output))]
pub(crate) enum Encoded {
    Inline(Vec<u8>),
    File(BlobRef),
    Files(BlobRef),
}

impl Output {
    /// The output with this content, if it is short enough to travel inline.
    pub fn inline(content: &[u8]) -> Option<Self> {
        let mut bytes = [0; INLINE_BYTES_MAX];
        bytes.get_mut(..content.len())?.copy_from_slice(content);
        Some(Self::Inline { len: content.len() as u8, bytes })
    }

    /// The content, if it travelled inline.
    pub fn content(&self) -> Option<&[u8]> {
        match self {
            Self::Inline { len, bytes } => Some(&bytes[..usize::from(*len)]),
            Self::File(_) | Self::Files(_) => None,
        }
    }

    /// The root to fetch, if the content did not travel inline.
    pub fn root(&self) -> Option<BlobRef> {
        match self {
            Self::Inline { .. } => None,
            Self::File(root) | Self::Files(root) => Some(*root),
        }
    }

    /// The hash that stands for this output in the key of a task that reads it.
    pub fn hash(&self) -> Hash {
        match self {
            Self::Inline { .. } => Hash::of(self.content().unwrap_or_default()),
            Self::File(root) | Self::Files(root) => root.id,
        }
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Inline { .. } => Encoded::Inline(self.content().unwrap_or_default().to_vec()),
            Self::File(root) => Encoded::File(*root),
            Self::Files(root) => Encoded::Files(*root),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Encoded::deserialize(deserializer)? {
            Encoded::Inline(bytes) => {
                Self::inline(&bytes).ok_or_else(|| de::Error::custom("an inline output holds at most 32 bytes"))
            }
            Encoded::File(root) => Ok(Self::File(root)),
            Encoded::Files(root) => Ok(Self::Files(root)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_inline_outputs_are_refused() {
        assert!(Output::inline(&[0; 33]).is_none());
        let forged = postcard::to_allocvec(&Encoded::Inline([7; 40].to_vec())).expect("encodes");
        assert!(postcard::from_bytes::<Output>(&forged).is_err());
    }

    #[test]
    fn content_survives_the_wire() {
        for content in [&b""[..], b"42", &[9; 32]] {
            let output = Output::inline(content).expect("short");
            let bytes = postcard::to_allocvec(&output).expect("encodes");
            assert_eq!(postcard::from_bytes::<Output>(&bytes).expect("decodes").content(), Some(content));
        }
    }
}
