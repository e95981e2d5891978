//! The owner's own command for a machine that has no work, such as a miner: when it runs, and that it is gone before a task
//! starts.
//!
//! [`Idle`] decides, and only that: it starts no process and reads no clock. [`Command`] is the process, with everything
//! it started. [`Runner`] puts the two together, and is what a worker holds.
use gleaner_wire::Millis;
use serde::{Deserialize, Serialize};

use crate::governor;
use crate::preferences::Preferences;

mod command;
mod members;
mod runner;

pub use command::{Command, Ended, Error, Place};
pub use members::sweep;
pub use runner::{GIVE_WAY_EVERY, Runner};

/// How long there has to be no work first: a gap between two tasks is not worth a start.
const SETTLE: Millis = Millis(10_000);
/// A command that ends sooner than this is started again later each time.
const GOOD_RUN: Millis = Millis(60_000);
const DELAY_MIN: Millis = Millis(5_000);
const DELAY_MAX: Millis = Millis(10 * 60_000);

/// What is known when it is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// Whether a task runs, or waits to start.
    pub work: bool,
    /// Whether the governor of every shared device says that it is free.
    pub free: bool,
    /// The command's process.
    pub process: Process,
}

/// The command's process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// Nothing of it is there.
    #[default]
    Gone,
    /// It is there.
    There,
    /// It has ended, and something that it started is still there.
    Left,
}

/// Whether all of these devices are free. Of no devices nobody can say so.
pub fn all_free(states: impl IntoIterator<Item = governor::State>) -> bool {
    let mut states = states.into_iter().peekable();
    states.peek().is_some() && states.all(|state| state == governor::State::Free)
}

/// Where the command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// There is something better to do, or no command.
    Off,
    /// It may start at this time if nothing comes up.
    Waiting {
        /// When.
        until: Millis,
    },
    /// It runs.
    Running {
        /// Since when.
        since: Millis,
    },
    /// It was asked to end.
    Ending {
        /// When it is ended by force.
        deadline: Millis,
    },
}

/// What has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Start the command.
    Start,
    /// Ask it to end.
    Ask,
    /// End it and everything that it started, now.
    EndNow,
}

/// What one step decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Where the command stands.
    pub state: State,
    /// What has to be done.
    pub effect: Option<Effect>,
    /// Whether a task may start: nothing of the command is there, and none is about to be.
    pub tasks_may_start: bool,
}

/// Decides when the command runs.
#[derive(Clone, Debug)]
pub struct Idle {
    state: State,
    /// How long to wait before it is started again.
    delay: Millis,
    /// It is not started before this.
    not_before: Millis,
    now: Millis,
}

impl Default for Idle {
    fn default() -> Self {
        Self { state: State::Off, delay: DELAY_MIN, not_before: Millis(0), now: Millis(0) }
    }
}

impl Idle {
    /// Where the command stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// When to look again at the latest, even if nothing happens.
    pub fn next_deadline(&self) -> Option<Millis> {
        match self.state {
            State::Off | State::Running { .. } => None,
            State::Waiting { until } => Some(until),
            State::Ending { deadline } => Some(deadline),
        }
    }

    /// Judges a scene. A clock that went back is taken to stand still.
    pub fn step(&mut self, now: Millis, scene: Scene, preferences: &Preferences) -> Verdict {
        self.now = self.now.max(now);
        let wanted = preferences.idle_command.is_some() && !scene.work && scene.free;
        let effect = match scene.process {
            Process::Gone => self.on_gone(wanted),
            Process::There => self.on_there(wanted, preferences),
            Process::Left => self.on_left(preferences),
        };
        let tasks_may_start = scene.process == Process::Gone && effect != Some(Effect::Start);
        Verdict { state: self.state, effect, tasks_may_start }
    }

    /// Nothing is there: the command is started once it has been wanted for a while.
    fn on_gone(&mut self, wanted: bool) -> Option<Effect> {
        if let State::Running { since } = self.state {
            self.put_off(since);
        }
        let until = match self.state {
            State::Waiting { until } => until,
            State::Off | State::Running { .. } | State::Ending { .. } => self.now.after(SETTLE).max(self.not_before),
        };
        if !wanted {
            self.state = State::Off;
            return None;
        }
        let now = self.now;
        self.state = if until <= now { State::Running { since: now } } else { State::Waiting { until } };
        (until <= now).then_some(Effect::Start)
    }

    /// It is there: it is left alone, asked to end, or ended.
    fn on_there(&mut self, wanted: bool, preferences: &Preferences) -> Option<Effect> {
        match self.state {
            State::Running { .. } if wanted => None,
            State::Off | State::Waiting { .. } | State::Running { .. } => {
                // Half of the time that the owner gives a device to become free, so that force has the other half.
                let deadline = self.now.after(Millis(preferences.idle.free_within.0 / 2));
                self.state = State::Ending { deadline };
                Some(Effect::Ask)
            }
            State::Ending { deadline } => (deadline <= self.now).then_some(Effect::EndNow),
        }
    }

    /// It ended: what it left behind goes as well, and it is started again later.
    fn on_left(&mut self, preferences: &Preferences) -> Option<Effect> {
        if let State::Running { since } = self.state {
            self.put_off(since);
        }
        self.on_there(false, preferences)
    }

    fn put_off(&mut self, since: Millis) {
        if self.now.since(since) >= GOOD_RUN {
            self.delay = DELAY_MIN;
        }
        self.not_before = self.now.after(self.delay);
        self.delay = Millis(self.delay.0.saturating_mul(2)).min(DELAY_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn preferences() -> Preferences {
        Preferences { idle_command: Some("miner".to_owned()), ..Preferences::default() }
    }

    fn scene(work: bool, free: bool, process: Process) -> Scene {
        Scene { work, free, process }
    }

    const IDLE: Scene = Scene { work: false, free: true, process: Process::Gone };
    const RUNS: Scene = Scene { work: false, free: true, process: Process::There };

    /// A command that runs since `SETTLE`.
    fn running() -> Idle {
        let mut idle = Idle::default();
        idle.step(Millis(0), IDLE, &preferences());
        assert_eq!(idle.step(SETTLE, IDLE, &preferences()).effect, Some(Effect::Start));
        idle
    }

    #[test]
    fn it_starts_only_after_there_has_been_no_work_for_a_while() {
        let mut idle = Idle::default();
        let first = idle.step(Millis(0), IDLE, &preferences());
        assert_eq!((first.state, first.effect), (State::Waiting { until: SETTLE }, None));
        assert!(first.tasks_may_start);
        assert_eq!(idle.step(Millis(SETTLE.0 - 1), IDLE, &preferences()).effect, None);
        let last = idle.step(SETTLE, IDLE, &preferences());
        assert_eq!(last.effect, Some(Effect::Start));
        assert!(!last.tasks_may_start, "a start that was decided comes before a task");
    }

    #[test]
    fn a_task_between_begins_the_wait_anew() {
        let mut idle = Idle::default();
        idle.step(Millis(0), IDLE, &preferences());
        assert!(idle.step(Millis(9000), scene(true, true, Process::Gone), &preferences()).tasks_may_start);
        assert_eq!(idle.step(Millis(9500), IDLE, &preferences()).state, State::Waiting { until: Millis(19_500) });
    }

    #[test]
    fn it_never_starts_without_a_command_or_on_a_device_that_is_not_free() {
        let (mut without, mut held) = (Idle::default(), Idle::default());
        for second in 0..100 {
            let now = Millis(second * 1000);
            assert_eq!(without.step(now, IDLE, &Preferences::default()).effect, None);
            assert_eq!(held.step(now, scene(false, false, Process::Gone), &preferences()).effect, None);
        }
    }

    #[test]
    fn a_task_waits_until_it_is_gone() {
        let mut idle = running();
        let asked = idle.step(Millis(20_000), scene(true, true, Process::There), &preferences());
        assert_eq!(asked.effect, Some(Effect::Ask));
        assert_eq!(asked.state, State::Ending { deadline: Millis(21_000) });
        assert!(!asked.tasks_may_start);
        let patient = idle.step(Millis(20_999), scene(true, true, Process::There), &preferences());
        assert_eq!((patient.effect, patient.tasks_may_start), (None, false));
        let forced = idle.step(Millis(21_000), scene(true, true, Process::There), &preferences());
        assert_eq!((forced.effect, forced.tasks_may_start), (Some(Effect::EndNow), false));
        let gone = idle.step(Millis(21_010), scene(true, true, Process::Gone), &preferences());
        assert_eq!((gone.effect, gone.tasks_may_start), (None, true));
    }

    #[test]
    fn an_owner_who_comes_back_ends_it_without_a_task() {
        let mut idle = running();
        let asked = idle.step(Millis(20_000), scene(false, false, Process::There), &preferences());
        assert_eq!(asked.effect, Some(Effect::Ask));
    }

    #[test]
    fn one_that_was_asked_to_end_is_not_left_running_when_the_task_goes_away() {
        let mut idle = running();
        idle.step(Millis(20_000), scene(true, true, Process::There), &preferences());
        assert_eq!(idle.step(Millis(22_000), RUNS, &preferences()).effect, Some(Effect::EndNow));
    }

    #[test]
    fn taking_the_command_out_of_the_file_ends_it() {
        assert_eq!(running().step(Millis(20_000), RUNS, &Preferences::default()).effect, Some(Effect::Ask));
    }

    #[test]
    fn one_that_fails_at_once_is_started_ever_more_rarely() {
        let mut idle = Idle::default();
        let (mut starts, mut process) = (Vec::new(), Process::Gone);
        for second in 0..3600 {
            let verdict = idle.step(Millis(second * 1000), scene(false, true, process), &preferences());
            process = match verdict.effect {
                Some(Effect::Start) => Process::Left,
                Some(Effect::Ask | Effect::EndNow) => Process::Gone,
                None => process,
            };
            starts.extend((verdict.effect == Some(Effect::Start)).then_some(second));
        }
        let gaps: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.is_sorted() && gaps[0] < 20 && gaps.last().is_some_and(|gap| *gap >= 600), "{gaps:?}");
    }

    #[test]
    fn one_that_ran_well_is_soon_started_again() {
        let mut idle = running();
        idle.delay = DELAY_MAX;
        idle.step(Millis(100_000), scene(false, true, Process::Gone), &preferences());
        assert_eq!(idle.step(Millis(100_100), IDLE, &preferences()).state, State::Waiting { until: Millis(110_000) });
    }

    #[test]
    fn devices_are_free_only_together_and_only_if_there_are_any() {
        use governor::State::{Free, Held};
        assert!(all_free([Free, Free]));
        assert!(!all_free([Free, Held { until: None }]));
        assert!(!all_free([]));
    }

    proptest! {
        #[test]
        fn whatever_happens_no_task_may_start_beside_it(
            trace in prop::collection::vec((0..20_000_u64, any::<bool>(), any::<bool>(), 0..3_u8), 1..200)
        ) {
            let (mut idle, mut now) = (Idle::default(), 0);
            for (pause, work, free, process) in trace {
                now += pause;
                let process = [Process::Gone, Process::There, Process::Left][usize::from(process)];
                let verdict = idle.step(Millis(now), scene(work, free, process), &preferences());
                let there = process != Process::Gone || verdict.effect == Some(Effect::Start);
                prop_assert_eq!(verdict.tasks_may_start, !there);
                prop_assert!(verdict.effect != Some(Effect::Start) || (!work && free && process == Process::Gone));
                // What may not stay is never left alone past its deadline.
                let may_stay = !work && free && process == Process::There;
                let is_late = matches!(verdict.state, State::Ending { deadline } if deadline <= Millis(now));
                prop_assert!(may_stay || !there || verdict.effect.is_some() || !is_late);
                let is_ending = matches!(verdict.state, State::Ending { .. });
                prop_assert!(may_stay || process == Process::Gone || is_ending);
            }
        }
    }
}
