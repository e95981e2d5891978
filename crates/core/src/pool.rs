//! Workers: who they are, what state they are in, and what moves them from one state to the next.
use alloc::vec::Vec;
use gleaner_wire::{Amount, Millis, Offer, State, WorkerKey};
use serde::{Deserialize, Serialize};

use crate::event::Session;
use crate::market;
use crate::place::SeatId;
use crate::proof::Record;
use crate::screen::Tests;

/// What a worker's record says of it, whether it is connected or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// Nothing against it.
    Good,
    /// It failed too often and must pass a test.
    OnProbation,
    /// It failed its test.
    Disqualified,
}

/// What can move a worker from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// It connected, with this record.
    Joined(Standing),
    /// Its connection ended.
    Left,
    /// Its last free slot was taken.
    Filled,
    /// A slot became free.
    Freed,
    /// Its owner wants the machine.
    Paused,
    /// Its owner gave it back, with this record.
    Resumed(Standing),
    /// It failed or overran too often.
    FailedOften,
    /// It delivered its test.
    PassedTest,
    /// It failed its test.
    FailedTest,
    /// An operator forgave it.
    Readmitted,
}

/// The one table of what moves a worker between states. What is not listed leaves the state as it is.
pub const TABLE: [(State, Trigger, State); 22] = [
    (State::Offline, Trigger::Joined(Standing::Good), State::Available),
    (State::Offline, Trigger::Joined(Standing::OnProbation), State::Probation),
    (State::Offline, Trigger::Joined(Standing::Disqualified), State::Disqualified),
    (State::Available, Trigger::Left, State::Offline),
    (State::Busy, Trigger::Left, State::Offline),
    (State::Paused, Trigger::Left, State::Offline),
    (State::Probation, Trigger::Left, State::Offline),
    (State::Disqualified, Trigger::Left, State::Offline),
    (State::Available, Trigger::Filled, State::Busy),
    (State::Busy, Trigger::Freed, State::Available),
    (State::Available, Trigger::Paused, State::Paused),
    (State::Busy, Trigger::Paused, State::Paused),
    (State::Probation, Trigger::Paused, State::Paused),
    (State::Paused, Trigger::Resumed(Standing::Good), State::Available),
    (State::Paused, Trigger::Resumed(Standing::OnProbation), State::Probation),
    (State::Paused, Trigger::Resumed(Standing::Disqualified), State::Disqualified),
    (State::Available, Trigger::FailedOften, State::Probation),
    (State::Busy, Trigger::FailedOften, State::Probation),
    (State::Probation, Trigger::PassedTest, State::Available),
    (State::Probation, Trigger::FailedTest, State::Disqualified),
    (State::Probation, Trigger::Readmitted, State::Available),
    (State::Disqualified, Trigger::Readmitted, State::Available),
];

/// The state after a trigger.
pub fn after(state: State, trigger: Trigger) -> State {
    TABLE.iter().find(|(from, by, _)| *from == state && *by == trigger).map_or(state, |(_, _, to)| *to)
}

/// A worker. What every decision reads comes first and fills one cache line: with a million workers, each is found outside
/// the processor's caches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(crate) struct Worker {
    /// Slots of the attempts it holds.
    pub attempts: Vec<u32>,
    /// It owes an answer, and gets no work until it is heard from or this time has come.
    pub silent_until: Option<Millis>,
    /// The alarm that is set for it.
    pub alarm: Option<Millis>,
    /// Slots, over all its devices, that run nothing.
    pub slots_free: u32,
    pub state: State,
    pub standing: Standing,
    /// Whether it was paused through the hub, which outlasts its connection.
    pub paused: bool,
    /// Whether the platform owns it.
    pub managed: bool,
    pub key: WorkerKey,
    pub offer: Offer,
    pub session: Option<Session>,
    /// Bytes a second that reached it with its last transfers, if it has had any.
    pub line: Option<u64>,
    pub seats: Vec<SeatId>,
    pub done: u64,
    pub failed: u64,
    /// Points for failures and overruns, less one for each task delivered.
    pub trouble: u32,
    /// How often it has been on probation.
    pub probations: u32,
    /// When a worker on probation gets its test.
    pub test_at: Millis,
    /// What the tests of its runtimes gave.
    pub tests: Tests,
    /// What checks of its results gave.
    pub record: Record,
    /// How reliable it is.
    pub reliability: market::Record,
    /// What it lost in bonds, ever.
    pub forfeited: Amount,
    /// What is withheld in bonds from its next pay, where money is on a chain.
    pub bond_due: Amount,
}

impl Worker {
    pub fn new(key: WorkerKey, offer: Offer) -> Self {
        Self {
            key,
            offer,
            session: None,
            line: None,
            state: State::Offline,
            standing: Standing::Good,
            seats: Vec::new(),
            attempts: Vec::new(),
            paused: false,
            managed: false,
            slots_free: 0,
            done: 0,
            failed: 0,
            trouble: 0,
            probations: 0,
            test_at: Millis(0),
            tests: Tests::default(),
            record: Record::default(),
            reliability: market::Record::default(),
            forfeited: Amount::ZERO,
            bond_due: Amount::ZERO,
            silent_until: None,
            alarm: None,
        }
    }

    /// Whether it may be given work at all now.
    pub fn takes_work(&self, now: Millis) -> bool {
        if self.silent_until.is_some_and(|until| now < until) {
            return false;
        }
        match self.state {
            State::Available | State::Busy => true,
            State::Probation => self.attempts.is_empty() && now >= self.test_at,
            State::Offline | State::Paused | State::Disqualified => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_decision_reads_of_a_worker_is_in_one_cache_line() {
        assert!(core::mem::offset_of!(Worker, key) <= 64);
    }

    #[test]
    fn the_table_names_each_move_once_and_always_moves() {
        for (at, (from, by, to)) in TABLE.iter().enumerate() {
            assert_ne!(from, to);
            assert!(!TABLE[at + 1..].iter().any(|(state, trigger, _)| state == from && trigger == by));
        }
    }

    #[test]
    fn every_online_state_ends_offline_when_the_connection_does() {
        for state in State::ALL {
            assert_eq!(after(state, Trigger::Left), State::Offline);
        }
    }

    #[test]
    fn a_disqualified_worker_stays_so_across_connections() {
        let state = after(State::Offline, Trigger::Joined(Standing::Disqualified));
        assert_eq!(after(after(state, Trigger::Freed), Trigger::PassedTest), State::Disqualified);
    }
}
