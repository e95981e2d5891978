//! Who checks a claim: drawn by stake out of other owners' workers that could have done the task themselves.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::receipt::REFEREES_MAX;
use gleaner_wire::{Address, AttemptId, Hash, Output, Runtime, TaskId, WorkerId};

use super::Verdict;
use super::claim::{Audit, Claim, Juror, Question};
use crate::assign::Placement;
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::place::{Seat, SeatId};
use crate::pool::Standing;
use crate::proof::{self, Candidate, REFEREE_LOT};
use crate::state::Core;

/// Workers among whom lots are drawn.
const JURORS_MAX: usize = 64;
/// Seats that are looked at for them, once one is found.
const SCAN_MAX: usize = 4096;
/// What speaks for a worker without a stake.
const WEIGHT_MIN: u64 = 1;

impl Core {
    /// Has a claim checked that the lot fell on.
    pub(crate) fn begin_audit(&mut self, id: AttemptId, seed: Hash, effects: &mut Vec<Effect>) {
        let jurors = self.jurors(&self.claims.all[&id], &seed);
        if jurors.is_empty() {
            self.accept(id, Verdict::NobodyToCheck, effects);
            return;
        }
        let audit = Audit {
            seed,
            jurors,
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            gone: BTreeSet::new(),
            drawn: Vec::new(),
            poll: 0,
            vote: None,
            polls: Vec::new(),
            rivals: Vec::new(),
            referees: Vec::new(),
            winner: None,
            calibration: None,
        };
        self.claims.all.get_mut(&id).expect("the caller has seen it").audit = Some(Box::new(audit));
        self.ask_on(id, effects);
    }

    /// Goes on with an audit: asks whoever the lots name and nobody has asked yet. With nobody left, or with all answers
    /// there, it is judged.
    pub(crate) fn ask_on(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        loop {
            let Some(claim) = self.claims.all.get(&id) else { return };
            let Some(audit) = &claim.audit else { return };
            let drawn = audit.draw(&self.workers_keys(audit), &claim.hash);
            let task = TaskId { job: claim.attempt.job, group: claim.attempt.group, index: claim.attempt.index };
            let computing = |worker: WorkerId| audit.asked.values().any(|asked| *asked == (worker, Question::Compute));
            let open = |juror: &&Juror| !audit.answers.contains_key(&juror.worker) && !computing(juror.worker);
            let to_ask: Vec<Juror> = drawn.iter().filter(open).copied().collect();
            let waiting = audit.asked.len();
            let drawn: Vec<WorkerId> = drawn.iter().map(|juror| juror.worker).collect();
            let nobody = drawn.is_empty();
            let mut lost = Vec::new();
            let mut asked = Vec::new();
            for juror in to_ask {
                match self.ask(id, juror, task, None, effects) {
                    Some(attempt) => asked.push((attempt, (juror.worker, Question::Compute))),
                    None => lost.push(juror.worker),
                }
            }
            let out = waiting + asked.len();
            let claim = self.claims.all.get_mut(&id).expect("it was just seen");
            let audit = claim.audit.as_mut().expect("it was just seen");
            audit.drawn = drawn;
            audit.asked.extend(asked);
            if !lost.is_empty() {
                audit.gone.extend(lost);
                continue;
            }
            if nobody || out == 0 {
                self.move_on(id, effects);
            }
            return;
        }
    }

    /// Starts an attempt at the task of a claim on somebody else's seat, or the comparison of two results of it. Nothing is
    /// paid for it.
    pub(crate) fn ask(
        &mut self,
        id: AttemptId,
        juror: Juror,
        task: TaskId,
        compare: Option<[Output; 2]>,
        effects: &mut Vec<Effect>,
    ) -> Option<AttemptId> {
        let seat = &self.seats[juror.seat.0 as usize];
        let (here, room) = (seat.counted && seat.offered && !seat.testing, seat.in_flight < self.params.in_flight_max);
        let takes = self.workers[juror.worker.0 as usize].takes_work(self.now);
        let needs = &self.jobs[&task.job].groups[usize::from(task.group)].plan.needs;
        // It may have changed since the lot was drawn.
        let fits = seat.fits(needs, self.classes.named(needs));
        if !(here && room && takes && fits) {
            return None;
        }
        let placement = Placement { seat: juror.seat, task, why: Why::Audit(id), twin: None, price: None };
        let slot = self.assign(&placement, effects).ok()?;
        self.attempts.at_mut(slot).compare = compare.map(Box::new);
        Some(self.attempts.id(slot))
    }

    /// Has one more say something on a claim that polls did not decide: one of the platform's own workers, or once such a one
    /// has answered, a juror who can confirm what it said. `false` if nobody can.
    pub(crate) fn ask_referee(&mut self, id: AttemptId, effects: &mut Vec<Effect>) -> bool {
        let claim = &self.claims.all[&id];
        let task = TaskId { job: claim.attempt.job, group: claim.attempt.group, index: claim.attempt.index };
        let audit = claim.audit.as_ref().expect("only audited claims have referees");
        if audit.referees.len() >= REFEREES_MAX {
            return false;
        }
        let mut next: Vec<Juror> = self.referees_of(claim).filter(|juror| !audit.is_juror(juror.worker)).collect();
        if audit.referee().is_some() {
            next.extend(audit.in_lot_order(&self.workers_keys(audit), &claim.hash, REFEREE_LOT));
        }
        let is_new = |juror: &Juror| !audit.answers.contains_key(&juror.worker) && !audit.gone.contains(&juror.worker);
        next.retain(is_new);
        for referee in next {
            if let Some(attempt) = self.ask(id, referee, task, None, effects) {
                let audit = self.audit_of(id).expect("it was just seen");
                audit.referees.push(referee);
                audit.asked.insert(attempt, (referee.worker, Question::Compute));
                return true;
            }
        }
        false
    }

    /// Whether one of the platform's own workers could say the last word on a claim.
    pub(crate) fn has_referee(&self, id: AttemptId) -> bool {
        self.claims.all.get(&id).is_some_and(|claim| self.referees_of(claim).next().is_some())
    }

    fn referees_of(&self, claim: &Claim) -> impl Iterator<Item = Juror> {
        let seats = (0..).map(SeatId).zip(&self.seats);
        let managed = seats.filter(|(_, seat)| self.is_managed(seat.worker) && self.could_check(claim, seat));
        let fit = managed.filter(|(at, seat)| self.is_alike(claim, seat) || self.is_comparable(claim, *at));
        fit.map(|(at, seat)| Juror { worker: seat.worker, seat: at, weight: WEIGHT_MIN })
    }

    /// Those who could check a claim: one worker for each other owner, from a place on that chance has chosen. They compute on
    /// the claim's own class of devices; if these are too few, those of classes that it can be compared with help.
    fn jurors(&self, claim: &Claim, seed: &Hash) -> Vec<Juror> {
        let same = self.jurors_where(claim, seed, |_, seat| self.is_alike(claim, seat));
        if same.len() >= self.params.audits.voters_min as usize || !self.check_of_task(claim).learns() {
            return same;
        }
        self.jurors_where(claim, seed, |at, seat| self.is_alike(claim, seat) || self.is_comparable(claim, at))
    }

    fn jurors_where(&self, claim: &Claim, seed: &Hash, fits: impl Fn(SeatId, &Seat) -> bool) -> Vec<Juror> {
        let count = self.seats.len();
        let start = (proof::lot(seed, &claim.hash, b"start", 0) % count.max(1) as u64) as usize;
        let mut found: BTreeMap<Owner, Juror> = BTreeMap::new();
        for (looked, at) in (start..count).chain(0..start).enumerate() {
            if found.len() >= JURORS_MAX || (looked >= SCAN_MAX && !found.is_empty()) {
                break;
            }
            let (seat, id) = (&self.seats[at], SeatId(at as u32));
            if !self.is_managed(seat.worker) && self.could_check(claim, seat) && fits(id, seat) {
                let juror = Juror { worker: seat.worker, seat: id, weight: self.weight(seat.worker) };
                found.entry(self.owner(seat.worker)).or_insert(juror);
            }
        }
        let mut jurors: Vec<Juror> = found.into_values().collect();
        jurors.sort_by_key(|juror| juror.worker);
        jurors
    }

    /// Whether a seat could say whether a claim is right: it could have done the task, and nothing speaks against it.
    fn could_check(&self, claim: &Claim, seat: &Seat) -> bool {
        let group = &self.jobs[&claim.attempt.job].groups[usize::from(claim.attempt.group)];
        self.could_compute(claim, seat)
            && self.workers[seat.worker.0 as usize].standing == Standing::Good
            && group.troubles.get(&claim.attempt.index).is_none_or(|trouble| !trouble.avoids(seat.worker))
    }

    /// Whether a seat is here, belongs to somebody else and could have done the task of a claim.
    pub(crate) fn could_compute(&self, claim: &Claim, seat: &Seat) -> bool {
        let needs = &self.jobs[&claim.attempt.job].groups[usize::from(claim.attempt.group)].plan.needs;
        seat.counted
            && seat.offered
            && !seat.testing
            && self.owner(seat.worker) != self.owner(claim.attempt.worker)
            && seat.fits(needs, self.classes.named(needs))
    }

    /// Whether a seat must come to the same result as a claim's, bit by bit.
    pub(crate) fn is_alike(&self, claim: &Claim, seat: &Seat) -> bool {
        let runtime = self.jobs[&claim.attempt.job].groups[usize::from(claim.attempt.group)].plan.needs.runtime;
        self.same_class(runtime, &self.seats[claim.attempt.seat.0 as usize], seat)
    }

    /// Whether two seats must come to the same result, bit by bit.
    fn same_class(&self, runtime: Runtime, one: &Seat, other: &Seat) -> bool {
        let name = |seat: &Seat| {
            let worker = &self.workers[seat.worker.0 as usize];
            worker.offer.devices.get(usize::from(seat.device)).map(|device| device.name.as_str())
        };
        let engine = |seat: &Seat| seat.runtime(runtime).map(|offered| offered.engine);
        match runtime {
            Runtime::Wasm => true,
            Runtime::Wgsl => one.kind == other.kind && name(one) == name(other),
            Runtime::Blender => one.kind == other.kind && engine(one) == engine(other),
            Runtime::Container => one.kind == other.kind,
        }
    }

    /// The class of the seat of an attempt, in words: what must be the same for its result to be.
    pub(crate) fn class_words(&self, attempt: &Attempt) -> String {
        let runtime = self.jobs[&attempt.job].groups[usize::from(attempt.group)].plan.needs.runtime;
        self.class_of(attempt.seat, runtime)
    }

    /// The class of a seat for a runtime, in words.
    pub(crate) fn class_of(&self, seat: SeatId, runtime: Runtime) -> String {
        let seat = &self.seats[seat.0 as usize];
        let device = self.workers[seat.worker.0 as usize].offer.devices.get(usize::from(seat.device));
        let engine =
            device.and_then(|device| device.runtimes.iter().find(|of| of.runtime == runtime)?.engine.as_deref());
        match runtime {
            Runtime::Wasm => "wasm".into(),
            Runtime::Wgsl => format!("wgsl on {} {}", seat.kind, device.map_or("", |device| &device.name)),
            Runtime::Blender => format!("blender {} on {}", engine.unwrap_or("of any build"), seat.kind),
            Runtime::Container => format!("containers on {}", seat.kind),
        }
    }

    fn owner(&self, worker: WorkerId) -> Owner {
        self.provider(worker).map_or(Owner::Worker(worker), Owner::Provider)
    }

    fn weight(&self, worker: WorkerId) -> u64 {
        self.provider(worker).map_or(WEIGHT_MIN, |provider| self.stake(provider).0.max(WEIGHT_MIN))
    }

    fn workers_keys(&self, audit: &Audit) -> Vec<Candidate> {
        let of = |juror: &Juror| Candidate { key: self.workers[juror.worker.0 as usize].key, weight: juror.weight };
        audit.jurors.iter().map(of).collect()
    }
}

/// Whose a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Provider(Address),
    /// Without a chain nobody says who owns it.
    Worker(WorkerId),
}

impl Audit {
    /// Who is to answer now: the first of the lots, as many as are needed, without those who gave no answer.
    fn draw(&self, candidates: &[Candidate], claim: &Hash) -> Vec<Juror> {
        let wanted = self.vote.as_ref().map_or(1, |vote| vote.sample());
        self.in_lot_order(candidates, claim, self.poll).into_iter().take(wanted).collect()
    }

    /// All jurors in the order of a lot, without those who gave no answer.
    fn in_lot_order(&self, candidates: &[Candidate], claim: &Hash, number: u32) -> Vec<Juror> {
        let order = proof::auditors(&self.seed, claim, number, candidates, candidates.len());
        let jurors = order.into_iter().map(|at| self.jurors[at]);
        jurors.filter(|juror| !self.gone.contains(&juror.worker)).collect()
    }

    /// The first of the platform's own workers that has answered.
    pub(crate) fn referee(&self) -> Option<WorkerId> {
        let mut own = self.referees.iter().map(|referee| referee.worker).filter(|worker| !self.is_juror(*worker));
        own.find(|worker| self.answers.contains_key(worker))
    }

    /// Whether lots are drawn for a worker, even if it has become one of the platform's own since.
    fn is_juror(&self, worker: WorkerId) -> bool {
        self.jurors.iter().any(|juror| juror.worker == worker)
    }
}
