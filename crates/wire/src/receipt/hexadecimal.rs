//! Bytes that people read as hexadecimal digits.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An ed25519 signature; 128 hexadecimal digits where people read it, 64 bytes elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, pattern = "^[0-9a-f]{128}$"))]
pub struct Signature(pub [u8; 64]);

/// Bytes whose meaning is somebody else's; hexadecimal where people read them.
#[derive(Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = HexBytes, value_type = String, pattern = "^([0-9a-f]{2})*$"))]
pub struct Bytes(pub Vec<u8>);

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn read(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks_exact(2);
    pairs.map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        let (halves, _) = self.0.as_chunks::<32>();
        Halves(halves[0], halves[1]).serialize(serializer)
    }
}

/// A signature as arrays that are encoded without their length.
#[derive(Serialize, Deserialize)]
struct Halves([u8; 32], [u8; 32]);

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut bytes = [0; 64];
        if deserializer.is_human_readable() {
            let read = read(&String::deserialize(deserializer)?).filter(|read| read.len() == bytes.len());
            let read = read.ok_or_else(|| de::Error::custom("a signature is 128 hexadecimal digits"))?;
            bytes.copy_from_slice(&read);
        } else {
            let Halves(first, second) = Halves::deserialize(deserializer)?;
            bytes[..32].copy_from_slice(&first);
            bytes[32..].copy_from_slice(&second);
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer).map(Self);
        }
        let read = read(&String::deserialize(deserializer)?);
        read.map(Self).ok_or_else(|| de::Error::custom("bytes are pairs of hexadecimal digits"))
    }
}
