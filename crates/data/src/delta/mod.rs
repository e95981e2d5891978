//! Only what changed, finer than a chunk: finds stretches of changed bytes in chunks that were pushed before, knowing of
//! those no more than the sums of their blocks.
//!
//! This is rsync's idea with both ends on one machine: the sums of what the other side has are kept here, so an edit costs
//! about its own size and needs neither the old file nor a question to anyone. Pure: no index, no files.
mod candidates;
mod sums;

pub use candidates::{Candidates, Old, Piece};
pub use sums::{Grain, Sum, Summer};

use std::collections::HashMap;

use crate::index::Number;

/// Gives up chunks of which less than half is used: to keep them would make whoever reads the file fetch mostly what
/// it does not need. `bytes_of` is the size of a chunk.
pub fn drop_little_used(pieces: &mut Vec<Piece>, bytes_of: impl Fn(Number) -> u32) {
    let mut used: HashMap<Number, u64> = HashMap::new();
    for piece in pieces.iter() {
        if let Some((number, _)) = piece.from {
            *used.entry(number).or_default() += piece.bytes as u64;
        }
    }
    for piece in pieces.iter_mut() {
        piece.from = piece.from.filter(|(number, _)| used[number] * 2 >= u64::from(bytes_of(*number)));
    }
    join(pieces);
}

/// Makes one of neighbours that continue each other.
pub fn join(pieces: &mut Vec<Piece>) {
    pieces.dedup_by(|next, piece| {
        let continues = match (piece.from, next.from) {
            (None, None) => true,
            (Some((one, offset)), Some((other, next_offset))) => {
                one == other && offset as usize + piece.bytes == next_offset as usize
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        if continues {
            piece.bytes += next.bytes;
        }
        continues
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: usize, bytes: usize, from: Option<(u64, u32)>) -> Piece {
        Piece { start, bytes, from: from.map(|(number, offset)| (Number(number), offset)) }
    }

    #[test]
    fn little_used_chunks_are_sent_again() {
        let mut pieces = vec![
            piece(0, 40_000, Some((1, 0))),
            piece(40_000, 10, None),
            piece(40_010, 2_000, Some((2, 0))),
            piece(42_010, 10_000, Some((1, 50_000))),
        ];
        drop_little_used(&mut pieces, |_| 100_000);
        assert_eq!(
            pieces,
            [piece(0, 40_000, Some((1, 0))), piece(40_000, 2_010, None), piece(42_010, 10_000, Some((1, 50_000))),]
        );
        drop_little_used(&mut pieces, |_| 100_001);
        assert_eq!(pieces, [piece(0, 52_010, None)]);
    }
}
