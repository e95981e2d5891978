//! Tests of workers in the world: how long they take, what they say, and when nobody hears of them.
use gleaner_core::{Event, Session};
use gleaner_wire::{Runtime, WorkerId};

use crate::scenario::MILLISECOND;
use crate::worker::PACE;
use crate::world::{What, World};

/// The shortest and the longest test.
const TEST_MS: (u64, u64) = (50, 60_000);
/// While faults last: tests that find a wrong answer, and that find a machine below every floor, per mille.
const WRONG: u32 = 100;
const TOO_SLOW: u32 = 50;
/// Tests of a connection that is gone whose outcome is told all the same, per mille.
const TOLD_LATE: u32 = 300;

/// A test that the hub has asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub worker: WorkerId,
    pub session: Session,
    pub device: u16,
    pub runtime: Runtime,
}

impl World<'_> {
    /// Begins a test: what it will say follows from how fast the machine is now.
    pub fn test(&mut self, test: Test) {
        let state = &self.workers[test.session.0 as u32 as usize];
        let speed = (u64::from(state.speed) * u64::from(PACE) / u64::from(state.pace)).max(1);
        let outcome = match self.calm {
            false if self.chance.hits(WRONG) => Err("its answer was wrong".into()),
            false if self.chance.hits(TOO_SLOW) => Ok(0),
            _ => Ok(speed as u32),
        };
        let at = self.now + self.chance.log_uniform(TEST_MS.0, TEST_MS.1) * MILLISECOND;
        self.agenda.note(at, What::Tested(test, outcome));
    }

    /// A test ends. Where its connection or the hub itself is gone, mostly nobody hears of it.
    pub fn tested(&mut self, test: Test, outcome: Result<u32, String>) -> Result<(), String> {
        let index = test.session.0 as u32 as usize;
        let connected = self.sessions[index] == Some(test.session.0);
        if !self.hub_up || !connected && !self.chance.hits(TOLD_LATE) {
            return Ok(());
        }
        let Test { worker, session, device, runtime } = test;
        self.tell(Event::Screened { worker, session, device, runtime, outcome })
    }
}
