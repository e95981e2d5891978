//! Finds workers by a query among a million of them: seats in cells of what queries ask for, sorted by price.
//!
//! A query rules cells out as a whole, and those that are left are walked together from the cheapest seat on, until there
//! are enough. The place index cannot serve this: it holds only seats with room, in order of waiting. Nothing is decided
//! by what is found here, so the index is no part of the state: it is made anew when a state is read.
mod cells;
mod criteria;
mod sorted;

use alloc::collections::BinaryHeap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::str::FromStr;
use gleaner_wire::query::{Query, WorkersPage};
use gleaner_wire::{Amount, WorkerId};

use crate::place::SeatId;
use crate::state::Core;
pub(crate) use cells::Search;
use criteria::Criteria;
pub use sorted::{SORTED_MAX, SortedCursor, TooMany};

/// Seats that are looked at for one page; a query that rules out almost all of them goes on with the next.
const LOOKED_MAX: usize = 800;
/// The most workers on one page.
pub const FOUND_MAX: usize = 1000;

/// Where a page ended: the price and the seat that was looked at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(Amount, SeatId);

impl Cursor {
    fn text(self) -> String {
        format!("{}-{}", self.0.0, self.1.0)
    }
}

/// A text that no page ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no place in a list of workers: use the `next` of the page before")]
pub struct CursorError;

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (price, seat) = text.split_once('-').ok_or(CursorError)?;
        let (price, seat) = (price.parse().map_err(|_| CursorError)?, seat.parse().map_err(|_| CursorError)?);
        Ok(Self(Amount(price), SeatId(seat)))
    }
}

/// What a query has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Workers, the one with the cheapest device that matches first.
    pub workers: Vec<WorkerId>,
    /// Where to go on, if there may be more.
    pub next: Option<Cursor>,
    /// How many devices match at most; exactly so many workers if all were found.
    pub matches: u64,
    /// Whether all were found.
    pub exact: bool,
}

impl Core {
    /// The workers that match a query, cheapest first, from a place in the list on.
    pub fn search(&self, query: &Query, limit: usize, after: Option<Cursor>) -> Found {
        let criteria = Criteria::new(query, &self.classes);
        let limit = limit.clamp(1, FOUND_MAX);
        if let Some(found) = self.few(&criteria).and_then(|few| self.search_few(&criteria, &few, limit, after)) {
            return found;
        }
        let cells: Vec<_> = self.search.cells(&criteria).collect();
        let matches = cells.iter().map(|cell| cell.len() as u64).sum();
        let mut walks: Vec<_> = cells.into_iter().map(|cell| criteria.walk(cell, after)).collect();
        let heads = walks.iter_mut().enumerate().filter_map(|(at, walk)| Some(Reverse((*walk.next()?, at))));
        let mut heads: BinaryHeap<_> = heads.collect();
        let (mut workers, mut looked, mut last) = (Vec::new(), 0, None);
        while let Some(Reverse(((price, seat), at))) = heads.pop() {
            if workers.len() >= limit || looked >= LOOKED_MAX {
                return Found { workers, next: last, matches, exact: false };
            }
            looked += 1;
            last = Some(Cursor(price, seat));
            workers.extend(self.match_of(&criteria, seat));
            heads.extend(walks[at].next().map(|next| Reverse((*next, at))));
        }
        let exact = after.is_none();
        let matches = if exact { workers.len() as u64 } else { matches };
        Found { workers, next: None, matches, exact }
    }

    /// The workers among which a query looks that names one or their owner.
    fn few(&self, criteria: &Criteria<'_>) -> Option<Vec<WorkerId>> {
        if let Some(name) = criteria.name() {
            return Some(self.search.named(name).take(LOOKED_MAX + 1).collect());
        }
        let owned = self.claims.owned.get(&criteria.owner()?).into_iter().flatten();
        Some(owned.copied().take(LOOKED_MAX + 1).collect())
    }

    /// Those of some workers that match; none if they are too many to look at all at once.
    fn search_few(
        &self,
        criteria: &Criteria<'_>,
        few: &[WorkerId],
        limit: usize,
        after: Option<Cursor>,
    ) -> Option<Found> {
        if few.len() > LOOKED_MAX {
            return None;
        }
        let seats = few.iter().flat_map(|worker| self.workers[worker.0 as usize].seats.iter().copied());
        let seats = seats.filter(|seat| self.seats[seat.0 as usize].offered);
        let price = |seat: SeatId| self.seats[seat.0 as usize].price;
        let found = seats.filter_map(|seat| Some((Cursor(price(seat), seat), self.match_of(criteria, seat)?)));
        let mut found: Vec<(Cursor, WorkerId)> = found.collect();
        found.sort_unstable();
        let matches = found.len() as u64;
        let first = after.map_or(0, |after| found.partition_point(|(cursor, _)| *cursor <= after));
        let page = &found[first..found.len().min(first.saturating_add(limit))];
        let more = first + page.len() < found.len();
        Some(Found {
            workers: page.iter().map(|(_, worker)| *worker).collect(),
            next: page.last().map(|(cursor, _)| *cursor).filter(|_| more),
            matches,
            exact: after.is_none() && !more,
        })
    }

    /// The same with all that is told of each worker.
    pub fn search_page(&self, query: &Query, limit: usize, after: Option<Cursor>) -> WorkersPage {
        let Found { workers, next, matches, exact } = self.search(query, limit, after);
        let items = workers.into_iter().filter_map(|id| self.worker_view(id)).collect();
        WorkersPage { items, next: next.map(Cursor::text), matches, exact }
    }

    /// The worker of a seat, if the seat matches and none of its cheaper ones does: each worker is found once.
    fn match_of(&self, criteria: &Criteria<'_>, id: SeatId) -> Option<WorkerId> {
        let seat = &self.seats[id.0 as usize];
        let worker = &self.workers[seat.worker.0 as usize];
        if !criteria.match_seat(seat) || !criteria.match_worker(worker) {
            return None;
        }
        let cheaper = worker.seats.iter().filter(|other| {
            let of = &self.seats[other.0 as usize];
            of.offered && (of.price, **other) < (seat.price, id)
        });
        let found_before = cheaper.into_iter().any(|other| criteria.match_seat(&self.seats[other.0 as usize]));
        (!found_before).then_some(seat.worker)
    }

    /// Keeps the index in step with a seat.
    pub(crate) fn note_seat(&mut self, id: SeatId) {
        let seat = &self.seats[id.0 as usize];
        self.search.put(id, seat.offered.then(|| (cells::Key::of(seat), seat.price)));
    }

    /// Makes the index anew.
    pub(crate) fn note_all_seats(&mut self) {
        for (worker, id) in self.workers.iter().zip((0..).map(WorkerId)) {
            self.search.name(&worker.offer.name, id, true);
        }
        (0..self.seats.len() as u32).for_each(|id| self.note_seat(SeatId(id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_the_list_reads_back_what_it_prints() {
        let cursor = Cursor(Amount(17), SeatId(4));
        assert_eq!(cursor.text().parse(), Ok(cursor));
        for text in ["", "17", "a-b", "1-2-3", "-1-2"] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
        }
    }
}
