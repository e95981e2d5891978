//! Stragglers: a second attempt beside one that runs far past its prediction, or that an idle seat would overtake.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{JobId, Micros, Millis};

use crate::attempt::Why;
use crate::effect::Effect;
use crate::place::{SeatId, Tier};
use crate::state::Core;

/// Runs of a program before its last tasks are doubled by prediction alone.
const RUNS_MIN: u32 = 3;
/// Second attempts started for one event.
const RESCUES_MAX: usize = 256;
/// What a second attempt must save at least.
const SAVING_MIN: Millis = Millis(50);

impl Core {
    /// When the last tasks of a group run, sorts them by expected end, so that idle seats can double the latest.
    pub(crate) fn look_at_tail(&mut self, id: JobId, at: u16, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id) else { return };
        let group = &job.groups[usize::from(at)];
        let runs = self.programs.runs(group.program);
        let due = group.tail.is_none() || runs >= group.tail_runs.saturating_mul(4);
        if !job.is_running() || job.prefer == Prefer::Cheap || !group.is_ending() || runs < RUNS_MIN || !due {
            return;
        }
        self.build_tail(id, at, runs);
        for _ in 0..RESCUES_MAX {
            let Some((slot, seat)) = self.latest_and_idle(id, at) else { return };
            if !self.double(id, at, slot, seat, effects) {
                return;
            }
        }
    }

    fn build_tail(&mut self, id: JobId, at: u16, runs: u32) {
        let ours = self.attempts.iter().filter(|(_, attempt)| attempt.job == id && attempt.group == at);
        let ours: Vec<u32> = ours.filter(|(_, attempt)| attempt.twin.is_none()).map(|(slot, _)| slot).collect();
        let mut tail = BTreeSet::new();
        for slot in ours {
            if let Some(expected) = self.expect(slot) {
                self.attempts.at_mut(slot).expected = Some(expected);
                tail.insert((expected, slot));
            }
        }
        let group = &mut self.jobs.get_mut(&id).expect("the caller has seen it").groups[usize::from(at)];
        let shape = group.shape;
        (group.tail, group.tail_runs) = (Some(tail), runs);
        self.shapes[shape].tails.insert((id, at));
        self.shapes.tailing.insert(shape);
    }

    /// When an attempt should be done, by what is known now.
    fn expect(&self, slot: u32) -> Option<Millis> {
        let attempt = self.attempts.at(slot);
        if attempt.predicted.is_some() {
            return attempt.expected;
        }
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        let speed = self.seats[attempt.seat.0 as usize].runtime(group.plan.needs.runtime)?.speed;
        Some(attempt.placed.after(self.programs.predict(group.program, speed)?.millis()))
    }

    /// The job has no more use for the group's tail.
    pub(crate) fn leave_tail(&mut self, id: JobId, at: u16) {
        let group = &mut self.jobs.get_mut(&id).expect("only groups of live jobs have tails").groups[usize::from(at)];
        if group.tail.take().is_none() {
            return;
        }
        let shape = group.shape;
        self.shapes[shape].tails.remove(&(id, at));
        if self.shapes[shape].tails.is_empty() {
            self.shapes.tailing.remove(&shape);
        }
    }

    /// An idle seat with nothing waiting for it: is there an attempt that it would overtake?
    pub(crate) fn rescue(&mut self, seat: SeatId, effects: &mut Vec<Effect>) {
        let fitting = self.shapes.tailing.iter().filter(|shape| {
            let needs = &self.shapes[**shape].needs;
            self.seats[seat.0 as usize].fits(needs, self.classes.region_asked(needs))
        });
        let groups: Vec<_> = fitting.flat_map(|shape| self.shapes[*shape].tails.iter().copied()).take(8).collect();
        for (id, at) in groups {
            let tail = self.jobs[&id].groups[usize::from(at)].tail.as_ref();
            let Some((_, slot)) = tail.and_then(|tail| tail.last().copied()) else { continue };
            if self.double(id, at, slot, seat, effects) {
                return;
            }
        }
    }

    fn latest_and_idle(&self, id: JobId, at: u16) -> Option<(u32, SeatId)> {
        let group = &self.jobs[&id].groups[usize::from(at)];
        let (_, slot) = group.tail.as_ref()?.last().copied()?;
        Some((slot, self.idle_for(slot)?))
    }

    /// The best idle seat of another worker for the task of an attempt.
    fn idle_for(&self, slot: u32) -> Option<SeatId> {
        let attempt = self.attempts.at(slot);
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        let shape = &self.shapes[group.shape];
        let region = self.classes.region_asked(&shape.needs);
        let trouble = group.troubles.get(&attempt.index);
        self.index.best(Tier::Idle, Prefer::Fast, &shape.classes, |id| {
            let seat = &self.seats[id.0 as usize];
            let other = seat.worker != attempt.worker && trouble.is_none_or(|trouble| !trouble.avoids(seat.worker));
            other && seat.fits(&shape.needs, region)
        })
    }

    /// Starts a second attempt if the seat should finish clearly before the first.
    fn double(&mut self, id: JobId, at: u16, slot: u32, seat: SeatId, effects: &mut Vec<Effect>) -> bool {
        let attempt = self.attempts.at(slot);
        let group = &self.jobs[&id].groups[usize::from(at)];
        let (Some(expected), None) = (attempt.expected, attempt.twin) else { return false };
        let avoided = group
            .troubles
            .get(&attempt.index)
            .is_some_and(|trouble| trouble.avoids(self.seats[seat.0 as usize].worker));
        let Some(offered) = self.seats[seat.0 as usize].runtime(group.plan.needs.runtime) else { return false };
        let Some(predicted) = self.programs.predict(group.program, offered.speed) else { return false };
        let finish = self.now.after(Micros(predicted.0 + predicted.0 / 4).millis()).after(SAVING_MIN);
        if avoided || finish >= expected || self.seats[seat.0 as usize].worker == attempt.worker {
            return false;
        }
        let index = attempt.index;
        if self.assign(seat, id, at, index, Why::Second, Some(slot), effects).is_err() {
            return false;
        }
        let group = &mut self.jobs.get_mut(&id).expect("it was just placed").groups[usize::from(at)];
        if let Some(tail) = &mut group.tail {
            tail.remove(&(expected, slot));
        }
        true
    }

    /// An attempt runs far past its prediction: start a second one if someone suitable is idle, or look again later.
    pub(crate) fn suspect(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let attempt = self.attempts.at(slot);
        let elapsed = self.now.since(attempt.placed);
        let later = |span: Millis| self.now.after(Millis(span.0.max(1000)));
        let Some(expected) = self.expect(slot).filter(|_| attempt.twin.is_none()) else {
            self.attempts.at_mut(slot).suspect_at = later(elapsed);
            return;
        };
        let allowed = Millis(expected.since(attempt.placed).0 * 2 + 500);
        if elapsed < allowed {
            self.attempts.at_mut(slot).suspect_at = attempt.placed.after(allowed);
            return;
        }
        self.attempts.at_mut(slot).suspect_at = later(allowed);
        let (id, at, index) = {
            let attempt = self.attempts.at(slot);
            (attempt.job, attempt.group, attempt.index)
        };
        if let Some(seat) = self.idle_for(slot) {
            let _ = self.assign(seat, id, at, index, Why::Second, Some(slot), effects);
        }
    }
}
