//! The hub's shell in the world: it journals events, applies them, and comes back from a crash by replay.
use gleaner_core::{Core, Effect, Event, Params};
use gleaner_wire::Millis;

/// Events between two snapshots.
const SNAPSHOT_EVERY: usize = 400;

/// Whether the hub keeps a journal; a large world that never crashes does without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    Kept,
    /// Kept, and the state goes through a snapshot after every event.
    Restored,
    None,
}

/// The shell.
pub(crate) struct Hub {
    pub core: Core,
    keeps: Journal,
    snapshot: Vec<u8>,
    events: Vec<(Millis, Event)>,
}

impl Hub {
    pub fn new(params: Params, keeps: Journal) -> Self {
        let core = Core::new(params);
        let snapshot = core.snapshot();
        Self { core, keeps, snapshot, events: Vec::new() }
    }

    /// Journals an event and applies it.
    pub fn apply(&mut self, now: Millis, event: Event, effects: &mut Vec<Effect>) {
        if self.keeps != Journal::None {
            if self.events.len() >= SNAPSHOT_EVERY {
                self.snapshot = self.core.snapshot();
                self.events.clear();
            }
            self.events.push((now, event.clone()));
        }
        self.core.apply(now, event, effects);
        if self.keeps == Journal::Restored {
            self.core = Core::restore(&self.core.snapshot()).expect("a snapshot of this version can be read");
        }
    }

    /// The process dies and comes back: the snapshot and the journal must give the state that was lost.
    pub fn replay(&mut self) -> Result<(), String> {
        let mut restored = Core::restore(&self.snapshot).map_err(|error| error.to_string())?;
        let mut dropped = Vec::new();
        for (now, event) in &self.events {
            restored.apply(*now, event.clone(), &mut dropped);
            dropped.clear();
        }
        if restored.snapshot() != self.core.snapshot() {
            return Err(format!(
                "replaying {} events gave another state than the one that was lost",
                self.events.len()
            ));
        }
        self.core = restored;
        Ok(())
    }
}
