//! Who checks a claim: drawn by stake out of other owners' workers that could have done the task themselves.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::receipt::REFEREES_MAX;
use gleaner_wire::{Address, AttemptId, DeviceKind, Hash, Output, Runtime, TaskId, WorkerId};

use super::Verdict;
use super::claim::{Audit, Claim, Juror, Question};
use crate::assign::Placement;
use crate::attempt::{Attempt, Why};
use crate::effect::Effect;
use crate::market::mode::rules;
use crate::place::{Seat, SeatId};
use crate::pool::Standing;
use crate::proof::{self, Candidate, REFEREE_LOT};
use crate::state::Core;

/// Workers among whom lots are drawn.
const JURORS_MAX: usize = 64;
/// Seats that are looked at for them: all, where there are no more.
const SCAN_MAX: usize = 4096;
/// What speaks for a worker without a stake.
const WEIGHT_MIN: u64 = 1;

impl Core {
    /// Has a claim checked that the lot fell on.
    pub(crate) fn begin_audit(&mut self, id: AttemptId, seed: Hash, effects: &mut Vec<Effect>) {
        let jurors = self.jurors(&self.claims.all[&id], &seed);
        if jurors.is_empty() {
            // A class is what a worker says of itself: whoever makes one up for itself must not be paid unseen for it.
            if self.others_can_be_checked(&self.claims.all[&id]) {
                self.refuse_alone(id, effects);
            } else {
                self.accept(id, Verdict::NobodyToCheck, effects);
            }
            return;
        }
        let audit = Audit {
            seed,
            jurors,
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            gone: BTreeSet::new(),
            excused: BTreeSet::new(),
            drawn: Vec::new(),
            poll: 0,
            vote: None,
            polls: Vec::new(),
            rivals: Vec::new(),
            referees: Vec::new(),
            winner: None,
            opinions: Vec::new(),
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
                audit.excused.extend(lost);
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
        let is_new = |juror: &Juror| !audit.answers.contains_key(&juror.worker) && !audit.is_out(juror.worker);
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

    pub(super) fn referees_of(&self, claim: &Claim) -> impl Iterator<Item = Juror> {
        let seats = (0..).map(SeatId).zip(&self.seats);
        let managed = seats.filter(|(_, seat)| self.is_managed(seat.worker) && self.could_check(claim, seat));
        let fit = managed.filter(|(at, seat)| self.is_alike(claim, seat) || self.is_comparable(claim, *at));
        fit.map(|(at, seat)| Juror { worker: seat.worker, seat: at, weight: WEIGHT_MIN })
    }

    /// Those who could check a claim: one worker for each other owner. They compute on the claim's own class of devices; if these
    /// are too few, those of classes that it can be compared with help.
    fn jurors(&self, claim: &Claim, seed: &Hash) -> Vec<Juror> {
        let same = self.jurors_where(claim, seed, |_, seat| self.is_alike(claim, seat));
        if same.len() >= self.params.audits.voters_min as usize || !self.check_of_task(claim).learns() {
            return same;
        }
        self.jurors_where(claim, seed, |at, seat| self.is_alike(claim, seat) || self.is_comparable(claim, at))
    }

    /// Whether the task of a claim could be done, at a price that its job can pay, on a class of devices that several owners
    /// have, who can check each other.
    fn others_can_be_checked(&self, claim: &Claim) -> bool {
        let runtime = self.jobs[&claim.attempt.job].groups[usize::from(claim.attempt.group)].plan.needs.runtime;
        let task = TaskId { job: claim.attempt.job, group: claim.attempt.group, index: claim.attempt.index };
        let mut first: BTreeMap<String, Owner> = BTreeMap::new();
        let seats = (0..).map(SeatId).zip(&self.seats).take(SCAN_MAX);
        let managed_too = rules(self.jobs[&task.job].market.mode).counts_managed();
        let counts = |seat: &Seat| (managed_too || !seat.managed) && self.could_check(claim, seat);
        let mut fitting = seats.filter(|(at, seat)| counts(seat) && self.can_pay(*at, task));
        fitting.any(|(at, seat)| {
            let owner = self.owner(seat.worker);
            *first.entry(self.class_of(at, runtime)).or_insert(owner) != owner
        })
    }

    /// Whether enough others have a claim's class of devices to find its maker wrong.
    pub(crate) fn has_peers(&self, claim: &Claim) -> bool {
        let mut owners = BTreeSet::new();
        let alike = |seat: &&Seat| self.could_compute(claim, seat) && self.is_alike(claim, seat);
        let mut seats = self.seats.iter().take(SCAN_MAX).filter(alike).map(|seat| self.owner(seat.worker));
        let enough = self.params.audits.voters_min as usize;
        seats.any(|owner| owners.insert(owner) && owners.len() >= enough)
    }

    /// Up to so many owners' workers whose seats fit, each owner as likely as any other, however many seats it has and wherever
    /// they stand in the list.
    fn jurors_where(&self, claim: &Claim, seed: &Hash, fits: impl Fn(SeatId, &Seat) -> bool) -> Vec<Juror> {
        let count = self.seats.len();
        let start = proof::lot(seed, &claim.hash, b"start", 0);
        let mut found: BTreeMap<Owner, (u64, Juror)> = BTreeMap::new();
        let look = |at: usize, found: &mut BTreeMap<Owner, (u64, Juror)>| {
            let (seat, id) = (&self.seats[at], SeatId(at as u32));
            if self.is_managed(seat.worker) || !self.could_check(claim, seat) || !fits(id, seat) {
                return;
            }
            let juror = Juror { worker: seat.worker, seat: id, weight: self.weight(seat.worker) };
            let lot = mixed(start, at as u64);
            let best = found.entry(self.owner(seat.worker)).or_insert((lot, juror));
            if lot < best.0 {
                *best = (lot, juror);
            }
        };
        if count <= SCAN_MAX {
            (0..count).for_each(|at| look(at, &mut found));
        } else {
            let first = (start % count as u64) as usize;
            for number in 0..SCAN_MAX as u64 {
                let lot = mixed(start, number);
                let at = (lot % count as u64) as usize;
                // Of many seats of one owner as many are passed over, or it would be among the jurors more often.
                if (lot >> 32).is_multiple_of(self.seats_of_owner(self.seats[at].worker)) {
                    look(at, &mut found);
                }
            }
            let mut rest = (first..count).chain(0..first);
            while found.is_empty()
                && let Some(at) = rest.next()
            {
                look(at, &mut found);
            }
        }
        let lot_of_owner = |juror: &Juror| mixed(!start, u64::from(juror.worker.0));
        let mut jurors: Vec<Juror> = found.into_values().map(|(_, juror)| juror).collect();
        jurors.sort_by_key(lot_of_owner);
        jurors.truncate(JURORS_MAX);
        jurors.sort_by_key(|juror| juror.worker);
        jurors
    }

    fn seats_of_owner(&self, worker: WorkerId) -> u64 {
        let workers = self.provider(worker).and_then(|provider| self.claims.owned.get(&provider));
        workers.map_or(1, |workers| workers.len().max(1) as u64)
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
        let job = &self.jobs[&claim.attempt.job];
        let needs = &job.groups[usize::from(claim.attempt.group)].plan.needs;
        seat.counted
            && seat.offered
            && !seat.testing
            && job.admits(seat.worker)
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
        // A driver compiles kernels, so its build counts as the device does.
        let card = |seat: &Seat| {
            let device = self.workers[seat.worker.0 as usize].offer.devices.get(usize::from(seat.device))?;
            let offered = device.runtimes.iter().find(|offered| offered.runtime == Runtime::Wgsl);
            Some((device.name.as_str(), offered.and_then(|offered| offered.engine.as_deref())))
        };
        let engine = |seat: &Seat| seat.runtime(runtime).map(|offered| offered.engine);
        match runtime {
            Runtime::Wasm => true,
            Runtime::Wgsl => one.kind == other.kind && card(one) == card(other),
            Runtime::Blender => {
                let by_processor = one.kind == DeviceKind::Cpu;
                one.kind == other.kind && engine(one) == engine(other) && (by_processor || card(one) == card(other))
            }
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
            Runtime::Wgsl => {
                let name = device.map_or("", |device| &device.name);
                let driver = engine.map(|driver| format!(", {driver}")).unwrap_or_default();
                format!("wgsl on {} {name}{driver}", seat.kind)
            }
            Runtime::Blender => {
                let name = device.map_or("", |device| &device.name);
                let card = if seat.kind == DeviceKind::Cpu { String::new() } else { format!(" {name}") };
                format!("blender {} on {}{card}", engine.unwrap_or("of any build"), seat.kind)
            }
            Runtime::Container => format!("containers on {}", seat.kind),
        }
    }

    pub(crate) fn owner(&self, worker: WorkerId) -> Owner {
        self.provider(worker).map_or(Owner::Worker(worker), Owner::Provider)
    }

    fn weight(&self, worker: WorkerId) -> u64 {
        self.provider(worker).map_or(WEIGHT_MIN, |provider| self.stake(provider).0.max(WEIGHT_MIN))
    }

    pub(super) fn workers_keys(&self, audit: &Audit) -> Vec<Candidate> {
        let of = |juror: &Juror| Candidate { key: self.workers[juror.worker.0 as usize].key, weight: juror.weight };
        audit.jurors.iter().map(of).collect()
    }
}

/// A number that follows from a lot and a place, for where a hash of its own would cost too much.
fn mixed(lot: u64, place: u64) -> u64 {
    let mut value = lot ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Whose a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
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
    pub(super) fn in_lot_order(&self, candidates: &[Candidate], claim: &Hash, number: u32) -> Vec<Juror> {
        let order = proof::auditors(&self.seed, claim, number, candidates, candidates.len());
        let jurors = order.into_iter().map(|at| self.jurors[at]);
        jurors.filter(|juror| !self.is_out(juror.worker)).collect()
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
