//! Lists in another order than by price. All that match have to be looked at for them, so a query must leave few enough.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::str::FromStr;
use gleaner_wire::WorkerId;
use gleaner_wire::query::{Query, Sort, SortBy, WorkersPage};

use super::criteria::Criteria;
use super::{CursorError, FOUND_MAX};
use crate::place::Seat;
use crate::state::Core;

/// The most devices that are put in order at once.
pub const SORTED_MAX: u64 = 20_000;

/// Where a sorted page ended: what its last worker was sorted by, and the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortedCursor(u64, WorkerId);

impl FromStr for SortedCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (key, worker) = text.split_once('.').ok_or(CursorError)?;
        let (key, worker) = (key.parse().map_err(|_| CursorError)?, worker.parse().map_err(|_| CursorError)?);
        Ok(Self(key, WorkerId(worker)))
    }
}

/// More devices match than can be put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "up to {matches} devices match, and at most {SORTED_MAX} can be put in this order: ask for fewer, or sort by price"
)]
pub struct TooMany {
    /// How many match at most.
    pub matches: u64,
}

impl Core {
    /// The workers that match a query, in any order, from a place in the list on.
    pub fn search_sorted(
        &self,
        query: &Query,
        sort: Sort,
        limit: usize,
        after: Option<SortedCursor>,
    ) -> Result<WorkersPage, TooMany> {
        let criteria = Criteria::new(query, &self.classes);
        let cells: Vec<_> = self.search.cells(&criteria).collect();
        let devices: u64 = cells.iter().map(|cell| cell.len() as u64).sum();
        if devices > SORTED_MAX {
            return Err(TooMany { matches: devices });
        }
        let mut keys: BTreeMap<WorkerId, u64> = BTreeMap::new();
        for (_, id) in cells.into_iter().flatten() {
            let seat = &self.seats[id.0 as usize];
            if !criteria.match_seat(seat) || !criteria.match_worker(&self.workers[seat.worker.0 as usize]) {
                continue;
            }
            let (key, cheapest) = (key_of(seat, sort.by), sort.by == SortBy::Price);
            let known = keys.entry(seat.worker).or_insert(key);
            *known = if cheapest { key.min(*known) } else { key.max(*known) };
        }
        let matches = keys.len() as u64;
        let mut found: Vec<SortedCursor> = keys.into_iter().map(|(worker, key)| SortedCursor(key, worker)).collect();
        match sort.falling {
            false => found.sort_unstable(),
            true => found.sort_unstable_by_key(|place| Reverse(*place)),
        }
        let is_before =
            |place: &SortedCursor, after: SortedCursor| (*place <= after) != sort.falling || *place == after;
        let first = after.map_or(0, |after| found.partition_point(|place| is_before(place, after)));
        let page = &found[first..found.len().min(first + limit.clamp(1, FOUND_MAX))];
        let more = first + page.len() < found.len();
        let next = page.last().filter(|_| more).map(|SortedCursor(key, worker)| format!("{key}.{worker}"));
        let items = page.iter().filter_map(|SortedCursor(_, worker)| self.worker_view(*worker)).collect();
        Ok(WorkersPage { items, next, matches, exact: true })
    }
}

fn key_of(seat: &Seat, by: SortBy) -> u64 {
    match by {
        SortBy::Price => seat.price.0,
        SortBy::Memory => seat.memory,
        SortBy::Score => seat.runtimes.iter().flatten().map(|offered| u64::from(offered.score)).max().unwrap_or(0),
        SortBy::Id => u64::from(seat.worker.0),
    }
}
