//! The index over seats that have room: by class, cell and how long they have waited.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use gleaner_wire::job_file::Prefer;
use serde::{Deserialize, Serialize};

use super::cell::{CELLS, PREFERS, row};
use super::{Bits, Cell, ClassId, SeatId};

/// How much room a seat has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Tier {
    /// A slot is idle.
    Idle,
    /// All slots run, but short work may be sent ahead.
    Ahead,
}

/// Seats of one class and cell that are looked at before the next cell is tried.
const SCAN_MAX: usize = 256;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Lists {
    /// Seats by class and cell; the one that has waited longest first.
    seats: Vec<BTreeSet<(u64, SeatId)>>,
    /// For each preference and rank, the classes that have seats there.
    classes: Vec<Bits>,
    /// For each preference, the ranks at which any class has seats.
    ranks: [Bits; 3],
}

/// The index.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Index {
    tiers: [Lists; 2],
}

impl Index {
    pub fn insert(&mut self, tier: Tier, class: ClassId, cell: Cell, since: u64, seat: SeatId) {
        let lists = &mut self.tiers[tier as usize];
        let at = class.index() * CELLS + cell.index();
        if lists.seats.len() <= at {
            lists.seats.resize_with((class.index() + 1) * CELLS, BTreeSet::new);
        }
        lists.seats[at].insert((since, seat));
        if lists.seats[at].len() == 1 {
            lists.mark(class, cell, true);
        }
    }

    pub fn remove(&mut self, tier: Tier, class: ClassId, cell: Cell, since: u64, seat: SeatId) {
        let lists = &mut self.tiers[tier as usize];
        let at = class.index() * CELLS + cell.index();
        let removed = lists.seats[at].remove(&(since, seat));
        assert!(removed, "a listed seat is in the index");
        if lists.seats[at].is_empty() {
            lists.mark(class, cell, false);
        }
    }

    /// The seats of these classes in the order of a preference, from a rank on.
    pub fn seats_from<'a>(
        &'a self,
        tier: Tier,
        prefer: Prefer,
        classes: &'a Bits,
        first_rank: usize,
    ) -> impl Iterator<Item = SeatId> + 'a {
        let lists = &self.tiers[tier as usize];
        lists.ranks[row(prefer)].iter_from(first_rank).flat_map(move |rank| {
            let cell = Cell::at_rank(prefer, rank);
            let classes = lists.classes[row(prefer) * CELLS + rank].both(classes);
            classes.flat_map(move |class| lists.seats[class * CELLS + cell.index()].iter().map(|(_, seat)| *seat))
        })
    }

    /// The first acceptable seat in the order of a preference, among these classes, from a rank on; and its rank.
    pub fn best(
        &self,
        tier: Tier,
        prefer: Prefer,
        classes: &Bits,
        first_rank: usize,
        mut accept: impl FnMut(SeatId) -> bool,
    ) -> Option<(SeatId, usize)> {
        let mut cut = false;
        let lists = &self.tiers[tier as usize];
        let found = lists.first_within(SCAN_MAX, prefer, classes, first_rank, &mut accept, &mut cut);
        // Seats that look alike to the index may differ in what is needed; rarely, all of them must be looked at.
        if found.is_none() && cut {
            return lists.first_within(usize::MAX, prefer, classes, first_rank, &mut accept, &mut cut);
        }
        found
    }
}

impl Lists {
    fn first_within(
        &self,
        scan_max: usize,
        prefer: Prefer,
        classes: &Bits,
        first_rank: usize,
        accept: &mut impl FnMut(SeatId) -> bool,
        cut: &mut bool,
    ) -> Option<(SeatId, usize)> {
        for rank in self.ranks[row(prefer)].iter_from(first_rank) {
            let cell = Cell::at_rank(prefer, rank);
            for class in self.classes[row(prefer) * CELLS + rank].both(classes) {
                let seats = &self.seats[class * CELLS + cell.index()];
                *cut |= seats.len() > scan_max;
                if let Some((_, seat)) = seats.iter().take(scan_max).find(|(_, seat)| accept(*seat)) {
                    return Some((*seat, rank));
                }
            }
        }
        None
    }

    fn mark(&mut self, class: ClassId, cell: Cell, any: bool) {
        if self.classes.is_empty() {
            self.classes.resize(PREFERS.len() * CELLS, Bits::default());
        }
        for prefer in PREFERS {
            let rank = cell.rank(prefer);
            let classes = &mut self.classes[row(prefer) * CELLS + rank];
            classes.set(class.index(), any);
            let still = any || !classes.is_empty();
            self.ranks[row(prefer)].set(rank, still);
        }
    }
}
