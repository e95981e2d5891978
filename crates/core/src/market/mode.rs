//! The one interface of the market's modes: what each of them does at those moments of a task at which they differ.
//!
//! What a mode says nothing about is as for posted prices. The rest of the core asks [`rules`] and knows no mode by name.
use alloc::vec::Vec;
use gleaner_wire::market::Mode;
use gleaner_wire::{Cause, Micros, Millis, TaskId};

use super::auctioned::Auctioned;
use super::posted::Posted;
use super::race::Race;
use super::sale::Sale;
use crate::attempt::Attempt;
use crate::effect::Effect;
use crate::job::Job;
use crate::place::SeatId;
use crate::placed;
use crate::state::Core;

/// What a mode of the market decides.
pub(crate) trait Rules {
    /// How waiting tasks are given out at first.
    fn sale(&self) -> Sale {
        Sale::Posted
    }

    /// Whether the platform's own workers can be counted on for a task.
    fn counts_managed(&self) -> bool {
        true
    }

    /// Whether idle devices double the last tasks of a group before any of them is late.
    fn doubles_last(&self) -> bool {
        true
    }

    /// For how long a task belongs to the first attempt alone; none: until it is late by its prediction.
    fn alone_for(&self, _core: &mut Core, _task: TaskId, _seat: SeatId) -> Option<Millis> {
        None
    }

    /// An attempt takes longer than it should, or has had its time alone.
    fn late(&self, core: &mut Core, slot: u32, effects: &mut Vec<Effect>) {
        core.double_if_overdue(slot, effects);
    }

    /// An answer came, for which the attempt beside it was called off.
    fn answered(&self, _core: &mut Core, _winner: &Attempt, _loser: &Attempt) {}

    /// An answer is paid.
    fn paid(&self, _core: &mut Core, _attempt: &Attempt, _ran: Micros) {}

    /// An attempt failed.
    fn failed(&self, _core: &mut Core, _attempt: &Attempt, _end: Ended, _effects: &mut Vec<Effect>) {}

    /// How a device came to a task, beside being the best one that fits.
    fn sold(&self, _core: &Core, _job: &Job, _attempt: &Attempt) -> placed::Sale {
        placed::Sale::None
    }
}

/// How an attempt ended that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub cause: Cause,
    pub ran: Micros,
}

/// The rules of a mode.
pub(crate) fn rules(mode: Mode) -> &'static dyn Rules {
    match mode {
        Mode::Posted => &Posted,
        Mode::Auction => &Auctioned,
        Mode::Race => &Race,
    }
}
