//! An idle command as a worker holds it: the decision, and the process that follows it.
use std::collections::BTreeSet;
use std::time::Duration;

use gleaner_wire::Millis;

use super::command::{Command, Ended, Error, Place};
use super::members::sweep;
use super::{Effect, Idle, Process, Scene, Verdict};
use crate::preferences::Preferences;

/// How often it is looked whether a command has gone.
pub const GIVE_WAY_EVERY: Duration = Duration::from_millis(10);
/// How long processes that were ended by force may take to disappear.
const FORCE_TIME_MAX: Duration = Duration::from_secs(2);

/// Runs the owner's idle command when it may run.
#[derive(Debug)]
pub struct Runner {
    idle: Idle,
    place: Place,
    command: Option<Command>,
    last: Option<Ended>,
}

impl Runner {
    /// Nothing runs yet. What a worker that was here before left behind is ended.
    pub fn new(place: Place) -> Self {
        sweep(&place.mark);
        Self { idle: Idle::default(), place, command: None, last: None }
    }

    /// Looks at the command and does what is right: call it about once a second. `work`: a task runs or waits to start.
    /// `free`: what [`super::all_free`] says. Never waits.
    pub fn step(&mut self, now: Millis, work: bool, free: bool, preferences: &Preferences) -> Result<Verdict, Error> {
        let process = self.look();
        // A line that the owner has changed since is ended like one that is in the way.
        let line = preferences.idle_command.as_deref();
        let is_current = self.command.as_ref().is_none_or(|command| Some(command.line()) == line);
        let verdict = self.idle.step(now, Scene { work, free: free && is_current, process }, preferences);
        match (verdict.effect, &self.command, line) {
            (Some(Effect::Start), _, Some(line)) => self.command = Some(Command::start(line, &self.place)?),
            (Some(Effect::Ask), Some(command), _) => command.ask(),
            (Some(Effect::EndNow), Some(command), _) => command.end_now(),
            (None, _, _) | (Some(Effect::Start), _, None) | (Some(Effect::Ask | Effect::EndNow), None, _) => {}
        }
        Ok(verdict)
    }

    /// Goes on ending the command for a task that has waited so long already, and says whether nothing of it is left. Never
    /// waits: call it again after [`GIVE_WAY_EVERY`]. The command is asked for the first half of `free_within`, and then ended.
    ///
    /// # Errors
    /// If it is still there two seconds after `free_within`: no task may start beside it.
    pub fn give_way(&mut self, now: Millis, waited: Duration, preferences: &Preferences) -> Result<bool, Error> {
        if self.step(now, true, true, preferences)?.tasks_may_start {
            return Ok(true);
        }
        let time_max = Duration::from_millis(preferences.idle.free_within.0) + FORCE_TIME_MAX;
        if waited > time_max { Err(Error::StillThere(self.pids())) } else { Ok(false) }
    }

    /// Our processes for it, to be told to the governor as ours.
    pub fn pids(&self) -> BTreeSet<u32> {
        self.command.as_ref().map(Command::pids).unwrap_or_default()
    }

    /// Whether anything of it is there; it then counts as a task of ours for the governor.
    pub fn is_there(&self) -> bool {
        self.command.is_some()
    }

    /// How it last ended, by itself or not.
    pub fn last_end(&self) -> Option<&Ended> {
        self.last.as_ref()
    }

    /// Where the decision stands.
    pub fn idle(&self) -> &Idle {
        &self.idle
    }

    fn look(&mut self) -> Process {
        let Some(command) = &mut self.command else { return Process::Gone };
        let process = command.process();
        if process == Process::Gone {
            self.last = command.ended();
            self.command = None;
        }
        process
    }
}
