//! Cells of speed and price, and the order in which each preference tries them.
use gleaner_wire::Amount;
use gleaner_wire::job_file::Prefer;
use serde::{Deserialize, Serialize};

use crate::learn::SPEED_REFERENCE;
use crate::logarithm::{OCTAVE, log2};

pub(crate) const SPEEDS: usize = 32;
pub(crate) const PRICES: usize = 8;
pub(crate) const CELLS: usize = SPEEDS * PRICES;
/// The price a second that falls into the middle price cell.
const PRICE_MIDDLE: u64 = 100_000;

/// A half octave of speed and an octave of price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Cell(u8);

impl Cell {
    pub fn of(speed: u32, price: Amount) -> Self {
        let step = OCTAVE as i64 / 2;
        let away = i64::from(log2(u64::from(speed))) - i64::from(log2(u64::from(SPEED_REFERENCE)));
        let speed = (away.div_euclid(step) + SPEEDS as i64 / 2).clamp(0, SPEEDS as i64 - 1);
        let dear = i64::from(log2(price.0)) - i64::from(log2(PRICE_MIDDLE));
        let price = (dear.div_euclid(i64::from(OCTAVE)) + PRICES as i64 / 2).clamp(0, PRICES as i64 - 1);
        Self((speed as usize * PRICES + price as usize) as u8)
    }

    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    pub fn speed_cell(self) -> usize {
        usize::from(self.0) / PRICES
    }

    /// The place of this cell in the order of a preference; 0 is tried first.
    pub fn rank(self, prefer: Prefer) -> usize {
        usize::from(RANKS[row(prefer)][self.index()])
    }

    /// The cell at a place in the order of a preference.
    pub fn at_rank(prefer: Prefer, rank: usize) -> Self {
        Self(ORDERS[row(prefer)][rank])
    }
}

/// The row of a preference in tables.
pub(crate) const fn row(prefer: Prefer) -> usize {
    match prefer {
        Prefer::Fast => 0,
        Prefer::Cheap => 1,
        Prefer::Balanced => 2,
    }
}

pub(crate) const PREFERS: [Prefer; 3] = [Prefer::Fast, Prefer::Cheap, Prefer::Balanced];

/// Expected finish time × price^w in half octaves: w is 0 for fast, 1 for cheap and ½ for balanced.
const fn cost(row: usize, cell: usize) -> usize {
    let (slow, dear) = (SPEEDS - 1 - cell / PRICES, cell % PRICES);
    match row {
        0 => slow * SPEEDS + dear,
        1 => (slow + 2 * dear) * SPEEDS + slow,
        _ => (slow + dear) * SPEEDS + slow,
    }
}

const fn order(row: usize) -> [u8; CELLS] {
    let mut cells = [0; CELLS];
    let mut at = 0;
    while at < CELLS {
        let mut place = at;
        while place > 0 && cost(row, cells[place - 1] as usize) > cost(row, at) {
            cells[place] = cells[place - 1];
            place -= 1;
        }
        cells[place] = at as u8;
        at += 1;
    }
    cells
}

const fn ranks(order: [u8; CELLS]) -> [u8; CELLS] {
    let mut ranks = [0; CELLS];
    let mut rank = 0;
    while rank < CELLS {
        ranks[order[rank] as usize] = rank as u8;
        rank += 1;
    }
    ranks
}

static ORDERS: [[u8; CELLS]; 3] = [order(0), order(1), order(2)];
static RANKS: [[u8; CELLS]; 3] = [ranks(order(0)), ranks(order(1)), ranks(order(2))];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preference_tries_what_it_prefers_first() {
        let (slow_cheap, fast_dear) = (Cell::of(500, Amount(20_000)), Cell::of(4000, Amount(800_000)));
        assert!(fast_dear.rank(Prefer::Fast) < slow_cheap.rank(Prefer::Fast));
        assert!(slow_cheap.rank(Prefer::Cheap) < fast_dear.rank(Prefer::Cheap));
        let same_price = Cell::of(1000, Amount(800_000));
        assert!(PREFERS.iter().all(|prefer| fast_dear.rank(*prefer) < same_price.rank(*prefer)));
    }

    #[test]
    fn ranks_and_orders_agree() {
        for prefer in PREFERS {
            assert!((0..CELLS).all(|rank| Cell::at_rank(prefer, rank).rank(prefer) == rank));
        }
    }
}
