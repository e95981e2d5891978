//! Receipts from files: one, an array or lines of them as JSON, or one as bytes.
use gleaner_wire::encode;
use gleaner_wire::receipt::{BYTES_MAX, TaskReceipt};

/// Why bytes are not receipts.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing.
    #[error("there is no receipt in it")]
    Empty,
    /// Not the JSON of receipts.
    #[error("it is not the JSON of receipts: {0}")]
    Json(#[from] serde_json::Error),
    /// Not the bytes of a receipt.
    #[error("it is neither the JSON of receipts nor the bytes of one")]
    Bytes,
    /// One receipt is longer than any can be.
    #[error("it holds a receipt of {0} bytes, over the limit of {BYTES_MAX}")]
    TooLong(usize),
}

/// Reads the receipts in a file.
pub fn read(bytes: &[u8]) -> Result<Vec<TaskReceipt>, ReadError> {
    let receipts: Vec<TaskReceipt> = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => return Err(ReadError::Empty),
        Some(b'[') => serde_json::from_slice(bytes)?,
        Some(b'{') => serde_json::Deserializer::from_slice(bytes).into_iter().collect::<Result<_, _>>()?,
        Some(_) => vec![read_encoded(bytes)?],
    };
    match receipts.iter().map(|receipt| encode(receipt).len()).max() {
        None => Err(ReadError::Empty),
        Some(length) if length > BYTES_MAX => Err(ReadError::TooLong(length)),
        Some(_) => Ok(receipts),
    }
}

/// A receipt has one encoding: whoever keeps one by the hash of its bytes finds it again.
fn read_encoded(bytes: &[u8]) -> Result<TaskReceipt, ReadError> {
    if bytes.len() > BYTES_MAX {
        return Err(ReadError::TooLong(bytes.len()));
    }
    let receipt = postcard::from_bytes(bytes).map_err(|_| ReadError::Bytes)?;
    if encode(&receipt) == bytes { Ok(receipt) } else { Err(ReadError::Bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Case, World};

    #[test]
    fn receipts_are_read_however_they_are_written() {
        let mut world = World::new();
        let receipts = [world.receipt(Case::NotDrawn), world.receipt(Case::Refuted)];
        let [one, other] = receipts.each_ref().map(|receipt| serde_json::to_string(receipt).expect("plain data"));
        for text in [format!(" [{one},\n{other}]"), format!("{one}\n{other}\n"), format!("\n{one}{other}")] {
            assert_eq!(read(text.as_bytes()).expect("two receipts"), receipts);
        }
        assert_eq!(read(&encode(&receipts[1])).expect("one receipt"), receipts[1..]);
    }

    #[test]
    fn what_is_no_receipt_is_refused_with_a_reason() {
        for (text, reason) in [
            ("", "there is no receipt in it"),
            ("[]", "there is no receipt in it"),
            ("{}", "it is not the JSON of receipts: missing field `facts` at line 1 column 2"),
            ("PNG", "it is neither the JSON of receipts nor the bytes of one"),
        ] {
            assert_eq!(read(text.as_bytes()).expect_err("none").to_string(), reason);
        }
    }
}
