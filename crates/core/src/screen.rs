//! Tests before paid work: which runtime of which device is tested when, and what follows.
//!
//! The shell runs a test (a real task whose result it knows) and takes its time; here it is decided when one is due and what
//! its outcome means. A runtime that has not passed is not placed on. One that failed is tested again after a delay that
//! grows; one that passed is tested again at a moment that its owner cannot foresee, while it is idle, and at once if
//! paid work shows that it is far slower than its test said. While a device is tested nothing else is placed on it, so that
//! the time means something; a test that its owner got in the way of says nothing.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::api::TestView;
use gleaner_wire::{Millis, Offer, Runtime, RuntimeOffer, State, WorkerId};
use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::event::Session;
use crate::place::{Seat, SeatId};
use crate::state::Core;

/// The first delay before a runtime that failed is tested again; each further one is four times as long.
const AGAIN_MS: Millis = Millis(60_000);
const AGAIN_MS_MAX: Millis = Millis(24 * 3_600_000);
/// A runtime that passed is tested again between these.
const REPEAT_MS_MIN: Millis = Millis(2 * 3_600_000);
const REPEAT_MS_MAX: Millis = Millis(20 * 3_600_000);
/// A test of a machine that is busy when it is due waits so long.
const BUSY_MS: Millis = Millis(60_000);
/// Paid work that shows a device to be so many times slower than its test said takes its score away.
const SLOWER: u32 = 4;

/// What is known of one runtime of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The score of its last test, if it passed.
    score: Option<u32>,
    /// Tests it has failed since it last passed one.
    failures: u32,
    /// When it is tested next.
    due: Millis,
    /// Whether a test is under way.
    out: bool,
    /// What was wrong with the last one.
    why: String,
}

impl Record {
    /// Notes how a test went; one that passed is repeated at `again`.
    fn note(&mut self, verdict: &Result<u32, String>, now: Millis, again: Millis) {
        match verdict {
            Ok(score) => {
                *self = Self { score: Some(*score), failures: 0, due: again, out: false, why: String::new() };
            }
            Err(why) => {
                let times = 4_u64.saturating_pow(self.failures.min(10));
                self.failures = self.failures.saturating_add(1);
                self.score = None;
                self.due = now.after(Millis(AGAIN_MS.0.saturating_mul(times)).min(AGAIN_MS_MAX));
                self.why.clone_from(why);
            }
        }
    }
}

/// The tests of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tests(BTreeMap<(u16, Runtime), Record>);

impl Tests {
    /// When the next one is due, for a worker in this state.
    pub fn next_due(&self, state: State) -> Option<Millis> {
        let is_out = self.0.values().any(|record| record.out);
        self.0.values().filter(|_| may_be_tested(state) && !is_out).map(|record| record.due).min()
    }

    /// How each stands. When one that has passed is tested again is nobody's business: who knew the moment would be fast then,
    /// and at no other time.
    pub fn states(&self) -> impl Iterator<Item = TestView> + '_ {
        self.0.iter().map(|((device, runtime), record)| TestView {
            device: *device,
            runtime: *runtime,
            score: record.score,
            due: (!record.out && record.score.is_none()).then_some(record.due),
            why: record.why.clone(),
        })
    }

    /// Whether a test of a device is under way.
    fn is_testing(&self, device: u16) -> bool {
        self.0.iter().any(|((of, _), record)| *of == device && record.out)
    }

    /// Whatever was under way is not any more. It has to be passed before there is more work, so that nobody keeps an old
    /// score by leaving whenever a test comes.
    pub fn break_off(&mut self) {
        for record in self.0.values_mut().filter(|record| record.out) {
            (record.out, record.score) = (false, None);
        }
    }
}

impl Core {
    /// Makes a record for each runtime of an offer, and forgets those of devices that are others now.
    pub(crate) fn expect_tests(&mut self, id: WorkerId, offer: &Offer) {
        if !self.params.screening {
            return;
        }
        let worker = &mut self.workers[id.0 as usize];
        let old = core::mem::take(&mut worker.tests.0);
        for (device, offered) in (0..).zip(&offer.devices) {
            let before = worker.offer.devices.get(usize::from(device));
            for runtime in &offered.runtimes {
                let same = before.is_some_and(|before| {
                    let engine = |of: &RuntimeOffer| of.runtime == runtime.runtime && of.engine == runtime.engine;
                    before.kind == offered.kind && before.name == offered.name && before.runtimes.iter().any(engine)
                });
                let known = old.get(&(device, runtime.runtime)).filter(|_| same).cloned();
                let fresh = Record { score: None, failures: 0, due: self.now, out: false, why: String::new() };
                worker.tests.0.insert((device, runtime.runtime), known.unwrap_or(fresh));
            }
        }
        worker.tests.break_off();
    }

    /// The score by which a runtime is chosen: what its test gave, or where nothing is tested what its worker says.
    pub(crate) fn tested_score(&self, id: WorkerId, device: u16, offer: &RuntimeOffer) -> Option<u32> {
        if !self.params.screening {
            return Some(offer.score);
        }
        self.workers[id.0 as usize].tests.0.get(&(device, offer.runtime))?.score
    }

    /// Has the next test run that is due, one at a time. What has passed before waits until the machine is idle.
    pub(crate) fn test_next(&mut self, id: WorkerId, effects: &mut Vec<Effect>) {
        let now = self.now;
        let worker = &mut self.workers[id.0 as usize];
        let Some(session) = worker.session.filter(|_| may_be_tested(worker.state)) else { return };
        if worker.tests.0.values().any(|record| record.out) {
            return;
        }
        let idle = worker.attempts.is_empty();
        let due = worker.tests.0.iter_mut().filter(|(_, record)| record.due <= now);
        for ((device, runtime), record) in due {
            let at = worker.seats.get(usize::from(*device)).copied();
            let at = at.filter(|at| self.seats[at.0 as usize].offered && !self.seats[at.0 as usize].resting);
            let Some(at) = at.filter(|_| record.score.is_none() || idle) else {
                record.due = now.after(BUSY_MS);
                continue;
            };
            record.out = true;
            effects.push(Effect::Screen { worker: id, session, device: *device, runtime: *runtime });
            self.seats[at.0 as usize].testing = true;
            self.relist(at);
            return;
        }
    }

    pub(crate) fn on_screened(
        &mut self,
        id: WorkerId,
        session: Session,
        (device, runtime): (u16, Runtime),
        outcome: Result<u32, String>,
        effects: &mut Vec<Effect>,
    ) {
        let least = self.params.score_min[runtime as usize];
        let again = self.repeat_at(id, device, runtime);
        let in_the_way = self.owner_is_back(id, device);
        let Some(worker) = self.workers.get_mut(id.0 as usize).filter(|worker| worker.session == Some(session)) else {
            return;
        };
        let Some(record) = worker.tests.0.get_mut(&(device, runtime)).filter(|record| record.out) else { return };
        record.out = false;
        let verdict = outcome.and_then(|score| {
            if score >= least { Ok(score) } else { Err(format!("its score of {score} is below the floor of {least}")) }
        });
        if verdict.is_err() && in_the_way {
            record.due = self.now.after(BUSY_MS);
        } else {
            record.note(&verdict, self.now, again);
            self.relieve |= verdict.is_err();
            effects.push(Effect::TellScreened { worker: id, device, runtime, verdict });
            effects.push(Effect::AnnounceWorker { worker: id });
        }
        self.reseat(id, device);
        self.test_next(id, effects);
        self.reset_alarm(id);
    }

    /// Paid work says how fast a device is. If that is far slower than its test said, the test counts no more.
    pub(crate) fn compare_with_test(&mut self, seat: SeatId, runtime: Runtime, speed: u32, effects: &mut Vec<Effect>) {
        let Seat { worker: id, device, .. } = self.seats[seat.0 as usize];
        let now = self.now;
        let Some(record) = self.workers[id.0 as usize].tests.0.get_mut(&(device, runtime)) else { return };
        if record.score.is_none_or(|score| speed.saturating_mul(SLOWER) >= score) {
            return;
        }
        record.score = None;
        record.due = now;
        let why = "paid work took far longer than its test had promised; it is tested again";
        record.why = why.into();
        self.relieve = true;
        effects.push(Effect::TellScreened { worker: id, device, runtime, verdict: Err(why.into()) });
        effects.push(Effect::AnnounceWorker { worker: id });
        self.reseat(id, device);
        self.test_next(id, effects);
        self.reset_alarm(id);
    }

    /// Whether the owner of a device needs it, or the whole machine.
    fn owner_is_back(&self, id: WorkerId, device: u16) -> bool {
        let Some(worker) = self.workers.get(id.0 as usize) else { return false };
        let seat = worker.seats.get(usize::from(device)).map(|seat| &self.seats[seat.0 as usize]);
        worker.state == State::Paused || seat.is_some_and(|seat| seat.resting)
    }

    /// Between two moments, where exactly nobody can tell who does not know the hub's state.
    fn repeat_at(&self, id: WorkerId, device: u16, runtime: Runtime) -> Millis {
        let mut hasher = blake3::Hasher::new();
        for number in [u64::from(id.0), u64::from(device), runtime as u64, self.now.0, self.totals.attempts_started] {
            hasher.update(&number.to_le_bytes());
        }
        let drawn = u64::from_le_bytes(hasher.finalize().as_bytes()[..8].try_into().expect("eight bytes"));
        self.now.after(Millis(REPEAT_MS_MIN.0 + drawn % (REPEAT_MS_MAX.0 - REPEAT_MS_MIN.0)))
    }

    /// Makes the seat of a device anew after what is known of its runtimes, or its price, has changed.
    pub(crate) fn reseat(&mut self, id: WorkerId, device: u16) {
        let worker = &self.workers[id.0 as usize];
        let Some(at) = worker.seats.get(usize::from(device)).copied() else { return };
        let Some(offered) = worker.offer.devices.get(usize::from(device)).cloned() else { return };
        let old = &self.seats[at.0 as usize];
        let (counted, region, in_flight, backlog, resting) =
            (old.counted, old.region, old.in_flight, old.backlog, old.resting);
        let followed = (old.price == offered.price_per_second).then_some(old.follows);
        let testing = worker.tests.is_testing(device);
        self.count_seat(at, false);
        self.unlist(at);
        let seat = self.seat_of(id, device, region, &offered);
        let follows = followed.unwrap_or(seat.follows);
        self.seats[at.0 as usize] = Seat { in_flight, backlog, resting, testing, follows, ..seat };
        self.count_seat(at, counted);
        self.relist(at);
        self.note_seat(at);
        self.hungry.push(at);
    }
}

/// Whether tests are sent to a worker in this state.
fn may_be_tested(state: State) -> bool {
    match state {
        State::Available | State::Busy | State::Probation => true,
        State::Offline | State::Paused | State::Disqualified => false,
    }
}
