//! Who comes first on a device: its owner. A pure state machine for each device; readings go in, effects come out.
//!
//! It yields in the very step in which a reason shows, and shares again only after every reason has been gone for its quiet
//! time. An owner who comes back soon after is given longer each time, so it does not flap. It never waits, reads a
//! clock or ends a process: that is for whoever performs the effects.
use std::collections::BTreeMap;

use gleaner_wire::Millis;
use serde::{Deserialize, Serialize};

use crate::preferences::Preferences;

mod hours;
mod reading;
mod reason;

pub use hours::{Hours, HoursError, LocalTime};
pub use reading::{Input, Ours, Owner, Reading, Usage};
pub use reason::Reason;

/// An owner who comes back within this time of a resumption is given longer the next time.
const RETURN_SPAN: Millis = Millis(10 * 60_000);
/// By how much the quiet time grows at most.
const GROWTH_MAX: u64 = 8;

/// Where a device stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It may be used for tasks.
    Free,
    /// It is being given back.
    Yielding {
        /// When nothing of ours may be left on it.
        deadline: Millis,
    },
    /// It is the owner's.
    Held {
        /// When it may be shared again if nothing else happens; `None` if that is not for time to say.
        until: Option<Millis>,
    },
}

/// What has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Take no more tasks for this device.
    StopTaking,
    /// Save or hand off what runs on it.
    HandOff,
    /// Nothing of ours may be left on it at this time.
    FreeBy {
        /// When.
        deadline: Millis,
    },
    /// The time is over: end what is left, now.
    EndNow,
    /// Tasks may be taken again.
    Resume,
}

/// A reason that keeps a device from being shared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Why.
    pub reason: Reason,
    /// What was seen.
    pub detail: String,
    /// How long it lasts from now on, if it is not seen again; `None` if that is not for time to say.
    pub until: Option<Millis>,
}

/// What one step decided, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Where the device stands.
    pub state: State,
    /// Why it is not free; empty if it is.
    pub holds: Vec<Hold>,
    /// What has to be done, in this order.
    pub effects: Vec<Effect>,
}

/// The governor of one device.
#[derive(Clone, Debug)]
pub struct Governor {
    state: State,
    holds: BTreeMap<Reason, Hold>,
    memory: reason::Memory,
    /// When it last resumed after the owner had been here, by more than a command or the clock.
    resumed_at: Option<Millis>,
    /// Whether the owner has been here since it was last free.
    owner_was_here: bool,
    growth: u64,
    now: Millis,
}

impl Default for Governor {
    fn default() -> Self {
        Self::new()
    }
}

impl Governor {
    /// A device that is its owner's until a first reading says otherwise.
    pub fn new() -> Self {
        Self {
            state: State::Held { until: None },
            holds: BTreeMap::new(),
            memory: reason::Memory::default(),
            resumed_at: None,
            owner_was_here: false,
            growth: 1,
            now: Millis(0),
        }
    }

    /// Where the device stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// When to look again at the latest, even if nothing happens.
    pub fn next_deadline(&self) -> Option<Millis> {
        match self.state {
            State::Free => None,
            State::Yielding { deadline } => Some(deadline),
            State::Held { until } => until,
        }
    }

    /// Judges a reading. A clock that went back is taken to stand still.
    pub fn step(&mut self, now: Millis, reading: &Reading, preferences: &Preferences) -> Verdict {
        self.now = self.now.max(now);
        self.hold(reading, preferences);
        let mut effects = Vec::new();
        match self.state {
            State::Free if !self.holds.is_empty() => self.leave_free(reading, preferences, &mut effects),
            State::Free => {}
            State::Yielding { deadline } => self.yield_on(deadline, reading, &mut effects),
            // A task that was on its way when the device was taken back has to go as well.
            State::Held { .. } if !self.holds.is_empty() && reading.ours.tasks > 0 => {
                self.start_yielding(preferences, &mut effects);
            }
            State::Held { .. } => self.stay_or_resume(&mut effects),
        }
        Verdict { state: self.state, holds: self.holds.values().cloned().collect(), effects }
    }

    /// Renews the holds that are seen, and drops those whose quiet time is over.
    fn hold(&mut self, reading: &Reading, preferences: &Preferences) {
        let active = reason::active(reading, preferences, &mut self.memory);
        let returned = self.resumed_at.is_some_and(|at| self.now.since(at) < RETURN_SPAN);
        let owner_is_here = active.keys().any(|reason| !reason.is_command());
        if self.state == State::Free && owner_is_here {
            self.growth = if returned { (self.growth * 2).min(GROWTH_MAX) } else { 1 };
        }
        self.owner_was_here |= owner_is_here;
        let now = self.now;
        self.holds.retain(|reason, hold| active.contains_key(reason) || hold.until.is_some_and(|until| until > now));
        for (reason, seen) in active {
            let until = (!reason.is_command()).then(|| {
                let quiet = Millis(quiet(reason, reading, preferences).0.saturating_mul(self.growth));
                Millis(now.0.saturating_sub(seen.since.0)).after(quiet)
            });
            // What was seen once is not taken back by a later reading from another source that knows less.
            let before = self.holds.get(&reason).and_then(|hold| hold.until);
            self.holds.insert(reason, Hold { reason, detail: seen.detail, until: until.max(before) });
        }
    }

    fn leave_free(&mut self, reading: &Reading, preferences: &Preferences, effects: &mut Vec<Effect>) {
        effects.push(Effect::StopTaking);
        if reading.ours.tasks > 0 {
            self.start_yielding(preferences, effects);
        } else {
            self.state = State::Held { until: self.until() };
        }
    }

    fn start_yielding(&mut self, preferences: &Preferences, effects: &mut Vec<Effect>) {
        let deadline = self.now.after(preferences.idle.free_within);
        self.state = State::Yielding { deadline };
        effects.extend([Effect::HandOff, Effect::FreeBy { deadline }]);
    }

    fn yield_on(&mut self, deadline: Millis, reading: &Reading, effects: &mut Vec<Effect>) {
        if reading.ours.tasks == 0 {
            self.stay_or_resume(effects);
        } else if self.now >= deadline {
            effects.push(Effect::EndNow);
        }
    }

    fn stay_or_resume(&mut self, effects: &mut Vec<Effect>) {
        if self.holds.is_empty() {
            self.state = State::Free;
            self.resumed_at = std::mem::take(&mut self.owner_was_here).then_some(self.now);
            effects.push(Effect::Resume);
        } else {
            self.state = State::Held { until: self.until() };
        }
    }

    /// When the last hold ends; `None` if one of them does not end by itself.
    fn until(&self) -> Option<Millis> {
        let ends: Option<Vec<Millis>> = self.holds.values().map(|hold| hold.until).collect();
        ends?.into_iter().max()
    }
}

fn quiet(reason: Reason, reading: &Reading, preferences: &Preferences) -> Millis {
    match reason {
        Reason::Input | Reason::UnknownOwner => reason::input_quiet(reading, preferences),
        Reason::Battery | Reason::Hot | Reason::Process | Reason::Load | Reason::Memory | Reason::Fullscreen => {
            preferences.idle.process_quiet
        }
        Reason::Paused | Reason::OutsideHours => Millis(0),
    }
}
