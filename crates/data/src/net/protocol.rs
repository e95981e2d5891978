//! What is said on the wire: one stream for a question and its answer.
//!
//! A question is a length (four bytes, little-endian) and a postcard message. Chunks travel as frames: a length, then
//! that many bytes; length zero says "not here" in an answer and "that was all" in a gift. Whoever refuses resets the
//! stream with a [`Code`]. Every length that comes from outside has a limit.
use super::Error;
use super::grant::SignedGrant;
use super::receipt::SignedReceipt;
use crate::store::{Bitmap, CHUNK_BYTES_MAX};
use gleaner_wire::Hash;
use iroh::endpoint::{RecvStream, SendStream, VarInt};
use serde::{Deserialize, Serialize};

/// The name of this protocol and its version.
pub const ALPN: &[u8] = b"gleaner/data/1";
/// Chunks in one question.
pub const IDS_MAX: usize = 4096;
/// The longest question: a full list of ids and of how much has come of each, and a little.
pub const QUESTION_BYTES_MAX: usize = IDS_MAX * (32 + 5) + 1024;
/// The longest bitmap in an answer: as many chunks as a store remembers of a dataset.
pub const BITMAP_BITS_MAX: usize = 1 << 26;
/// The length that says that a dataset is not known.
const UNKNOWN: u32 = u32::MAX;

/// A question. Each shows what allows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// Send these chunks, in this order.
    Want {
        /// What allows it.
        grant: SignedGrant,
        /// Which chunks.
        ids: Vec<Hash>,
    },
    /// Which chunks of the grant's dataset are with you?
    Held {
        /// What allows it.
        grant: SignedGrant,
    },
    /// Which of these do you have?
    Having {
        /// What allows it.
        grant: SignedGrant,
        /// Which chunks.
        ids: Vec<Hash>,
    },
    /// Take the chunks that follow.
    Give {
        /// What allows it.
        grant: SignedGrant,
    },
    /// I got this much from you.
    Receipt(SignedReceipt),
    /// Send these chunks, in this order, and of the first of them only what comes after so many bytes: those came before,
    /// and were broken off.
    Rest {
        /// What allows it.
        grant: SignedGrant,
        /// Which chunks.
        ids: Vec<Hash>,
        /// How many bytes of the first of them are not to be sent.
        begun: Vec<u32>,
    },
}

/// Why a stream was reset or a connection closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Nothing is wrong: it is not needed any more.
    Done,
    /// The grant does not hold.
    NotGranted,
    /// A limit was passed.
    TooMuch,
    /// Receipts stay away.
    Unpaid,
    /// Not understood.
    Malformed,
    /// The disk does not do what it should.
    Storage,
    /// Too many are served at the moment.
    Busy,
}

impl Code {
    const ALL: [Self; 7] =
        [Self::Done, Self::NotGranted, Self::TooMuch, Self::Unpaid, Self::Malformed, Self::Storage, Self::Busy];

    /// As it goes over the wire.
    pub fn number(self) -> VarInt {
        let position = Self::ALL.iter().position(|code| *code == self).expect("every code is listed");
        VarInt::from_u32(u32::try_from(position).expect("few codes"))
    }

    /// Reads it back.
    pub fn from_number(number: VarInt) -> Option<Self> {
        usize::try_from(number.into_inner()).ok().and_then(|number| Self::ALL.get(number).copied())
    }
}

/// Asks a question.
pub async fn write_ask(to: &mut SendStream, ask: &Ask) -> Result<(), Error> {
    let message = encode(ask);
    to.write_all(&message).await.map_err(Error::write)
}

/// A question with its length before it.
pub fn encode(ask: &Ask) -> Vec<u8> {
    let message = postcard::to_allocvec(ask).expect("a question can be encoded");
    let length = u32::try_from(message.len()).expect("a question is short");
    [&length.to_le_bytes()[..], &message].concat()
}

/// Reads a question.
pub async fn read_ask(from: &mut RecvStream) -> Result<Ask, Error> {
    let length = read_u32(from).await? as usize;
    if length > QUESTION_BYTES_MAX {
        return Err(Error::TooMuch { what: "a question", max: QUESTION_BYTES_MAX as u64 });
    }
    let mut message = vec![0; length];
    from.read_exact(&mut message).await.map_err(Error::read_exact)?;
    decode(&message)
}

/// Reads a question without its length.
pub fn decode(message: &[u8]) -> Result<Ask, Error> {
    let ask: Ask = postcard::from_bytes(message).map_err(|_| Error::Malformed("a question"))?;
    match &ask {
        Ask::Want { ids, .. } | Ask::Having { ids, .. } | Ask::Rest { ids, .. } if ids.len() > IDS_MAX => {
            Err(Error::TooMuch { what: "a list of chunks", max: IDS_MAX as u64 })
        }
        Ask::Rest { ids, begun, .. } if begun.len() > ids.len() => Err(Error::Malformed("a question")),
        Ask::Want { .. }
        | Ask::Held { .. }
        | Ask::Having { .. }
        | Ask::Give { .. }
        | Ask::Receipt(_)
        | Ask::Rest { .. } => Ok(ask),
    }
}

/// The length of a frame, or of whatever follows.
pub async fn read_u32(from: &mut RecvStream) -> Result<u32, Error> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes).await.map_err(Error::read_exact)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Checks a frame's length, if it is a chunk at all.
pub fn frame_length(length: u32) -> Result<usize, Error> {
    let length = length as usize;
    if length > CHUNK_BYTES_MAX {
        return Err(Error::TooMuch { what: "a chunk", max: CHUNK_BYTES_MAX as u64 });
    }
    Ok(length)
}

/// Answers with a bitmap, or that there is none.
pub async fn write_bitmap(to: &mut SendStream, bitmap: Option<&Bitmap>) -> Result<(), Error> {
    let length = bitmap.map_or(UNKNOWN, |bits| u32::try_from(bits.len()).expect("stores keep shorter lists"));
    to.write_all(&length.to_le_bytes()).await.map_err(Error::write)?;
    if let Some(bitmap) = bitmap {
        to.write_all(bitmap.as_bytes()).await.map_err(Error::write)?;
    }
    Ok(())
}

/// Reads a bitmap, or that there is none.
pub async fn read_bitmap(from: &mut RecvStream) -> Result<Option<Bitmap>, Error> {
    let length = read_u32(from).await?;
    if length == UNKNOWN {
        return Ok(None);
    }
    let length = length as usize;
    if length > BITMAP_BITS_MAX {
        return Err(Error::TooMuch { what: "a list of chunks", max: BITMAP_BITS_MAX as u64 });
    }
    let mut bytes = vec![0; length.div_ceil(8)];
    from.read_exact(&mut bytes).await.map_err(Error::read_exact)?;
    Bitmap::from_bytes(&bytes, length).map(Some).ok_or(Error::Malformed("a list of chunks"))
}

#[cfg(test)]
mod tests {
    use super::super::grant::{Grant, Right};
    use super::*;
    use ed25519_dalek::SigningKey;
    use gleaner_wire::{Millis, WorkerKey};
    use proptest::prelude::*;

    fn grant() -> SignedGrant {
        let grant = Grant { root: Hash([1; 32]), peer: WorkerKey([2; 32]), right: Right::Give, until: Millis(300) };
        grant.sign(&SigningKey::from_bytes(&[3; 32]))
    }

    #[test]
    fn the_encoding_is_pinned() {
        let bytes = encode(&Ask::Want { grant: grant(), ids: vec![Hash([9; 32])] });
        assert_eq!(Hash::of(&bytes).to_string(), "fdadc1be40e13c9eb2fa98f213ff3b9b1ad8f00bd80f13799304c6ece0259fd0");
        assert_eq!(&bytes[..4], &[165, 0, 0, 0]);
        let rest = encode(&Ask::Rest { grant: grant(), ids: vec![Hash([9; 32])], begun: vec![300] });
        // The same, but for the kind of question and what is left out.
        assert_eq!((rest[4], &rest[5..bytes.len()], &rest[bytes.len()..]), (5, &bytes[5..], &[1, 172, 2][..]));
    }

    #[test]
    fn questions_read_back_and_long_lists_are_refused() {
        for ids in [0, 1, IDS_MAX] {
            let ask = Ask::Having { grant: grant(), ids: vec![Hash([9; 32]); ids] };
            let bytes = encode(&ask);
            assert!(bytes.len() <= QUESTION_BYTES_MAX);
            assert_eq!(decode(&bytes[4..]).expect("reads back"), ask);
        }
        let odd = encode(&Ask::Rest { grant: grant(), ids: vec![Hash([9; 32])], begun: vec![1; 2] });
        assert!(matches!(decode(&odd[4..]), Err(Error::Malformed(_))));
        let long = encode(&Ask::Want { grant: grant(), ids: vec![Hash([9; 32]); IDS_MAX + 1] });
        assert!(matches!(decode(&long[4..]), Err(Error::TooMuch { .. })));
    }

    #[test]
    fn codes_read_back() {
        assert!(Code::ALL.iter().all(|code| Code::from_number(code.number()) == Some(*code)));
        assert_eq!(Code::from_number(VarInt::from_u32(99)), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = decode(&bytes);
        }
    }
}
