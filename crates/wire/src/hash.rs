//! BLAKE3 hashes and references to blobs.
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A BLAKE3 hash; 64 hexadecimal digits where people read it, 32 bytes elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
pub struct Hash(pub [u8; 32]);

/// Why a text is not a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a BLAKE3 hash: expected 64 hexadecimal digits")]
pub struct HashError;

impl Hash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(HashError);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Result<u8, HashError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        0..=b'/' | b':'..=b'@' | b'G'..=b'`' | b'g'..=255 => Err(HashError),
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
        } else {
            <[u8; 32]>::deserialize(deserializer).map(Self)
        }
    }
}

/// A blob by content and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BlobRef {
    /// The BLAKE3 hash of the bytes.
    pub id: Hash,
    /// How many bytes.
    pub bytes: u64,
}

impl BlobRef {
    /// The reference of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { id: Hash::of(bytes), bytes: bytes.len() as u64 }
    }
}

impl fmt::Display for BlobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blake3:{}:{}", self.id, self.bytes)
    }
}

impl FromStr for BlobRef {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let rest = text.strip_prefix("blake3:").ok_or(HashError)?;
        let (id, bytes) = rest.split_once(':').ok_or(HashError)?;
        Ok(Self { id: id.parse()?, bytes: bytes.parse().map_err(|_| HashError)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_reference_reads_back_what_it_prints() {
        let blob = BlobRef::of(b"chaff");
        assert_eq!(blob.to_string().parse(), Ok(blob));
    }

    #[test]
    fn text_that_is_no_hash_is_refused() {
        for text in ["", "12", "blake3", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(text.parse::<Hash>(), Err(HashError), "{text}");
        }
    }
}
