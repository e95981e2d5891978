//! Why a job stands where it stands: what waits and for what, what runs, where, and why there.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use gleaner_wire::api::{ExplainView, ReasonView, RunningView, WaitingView};
use gleaner_wire::market::Tier;
use gleaner_wire::{InputSpec, JobId, Needs, State, WorkerId};

use crate::attempt::{Attempt, Why};
use crate::job::{CREW_MAX, Group, Job, Phase, Trouble};
use crate::place::{Seat, SeatId};
use crate::state::Core;

/// Running attempts that are listed.
const RUNNING_MAX: usize = 100;

/// Why a seat does not take a task; in the order in which it is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Because {
    Offline,
    Disqualified,
    Paused,
    OnProbation,
    NoRuntime,
    Untested,
    OtherKind,
    TooLittleMemory,
    OtherRegion,
    TooFewCards,
    NoNetwork,
    NoEevee,
    OtherEngine,
    ScoreTooLow,
    LoopsTooLong,
    Uncheckable,
    CrewFull,
    FailedIt,
    Testing,
    Bidding,
    StakeUsedUp,
    AllBusy,
    Kept,
    LacksData,
    HeldBack,
    Managed,
}

impl Core {
    /// Explains a job.
    pub fn explain(&self, id: JobId) -> Option<ExplainView> {
        let job = self.jobs.get(&id)?;
        let groups = job.groups.iter().filter(|group| !job.has_ended() && !group.is_done());
        let waiting = groups.filter_map(|group| self.waiting(job, group)).collect();
        let out = self.attempts.iter().filter(|(_, attempt)| attempt.job == id && !attempt.is_audit());
        let running: Vec<_> = out.take(RUNNING_MAX).map(|(slot, attempt)| self.running(job, slot, attempt)).collect();
        let running_more = job.running - running.len() as u64;
        let contests = job.contests.iter().cloned().collect();
        Some(ExplainView { job: id, state: self.job_state(job), waiting, running, running_more, contests })
    }

    fn waiting(&self, job: &Job, group: &Group) -> Option<WaitingView> {
        let not_open = u64::from(group.count - group.done - group.claimed - group.tasks_running - group.ready());
        let queued = u64::from(group.ready()) + not_open;
        if queued == 0 && group.claimed == 0 {
            return None;
        }
        let mut reasons = Vec::new();
        if job.phase == Phase::Ordered {
            let text = "its money is not locked on the chain yet; that takes a block or two";
            reasons.push(reason("order_unlocked", text, None));
        } else if not_open > 0 {
            reasons.extend(self.unfinished_inputs(job, group));
        }
        if group.ready() > 0 {
            if job.market.tier == Tier::Reserved && self.firmness.kept(job.id) > 0 {
                let text = "reserved jobs keep at most half of the devices that fit; it waits for those it keeps";
                reasons.push(reason("places_kept", text, None));
            }
            if job.out_of_money {
                reasons.push(reason("budget_held", "the price cap is set aside for what runs now", None));
            }
            let trouble = group.peek(None).and_then(|index| group.troubles.get(&index));
            reasons.extend(self.sale_reasons(group));
            let unsuited = |worker| self.unsuited(job, group, worker);
            reasons.extend(self.seat_reasons(&group.plan.needs, trouble, unsuited));
        }
        if group.claimed > 0 {
            reasons.push(self.unchecked(job, group));
        }
        let queued = queued + u64::from(group.claimed);
        Some(WaitingView { task: group.plan.spec.name.clone(), queued, reasons })
    }

    fn unfinished_inputs(&self, job: &Job, group: &Group) -> Vec<ReasonView> {
        let from =
            group.plan.spec.inputs.iter().filter_map(InputSpec::group).map(|from| &job.groups[usize::from(from)]);
        let open = from.filter(|from| !from.is_done());
        open.map(|from| {
            let text = format!("it reads `{}`, of which {} of {} are done", from.plan.spec.name, from.done, from.count);
            reason("waits_for_input", &text, None)
        })
        .collect()
    }

    /// What speaks against a worker that could take a task of this group.
    fn unsuited(&self, job: &Job, group: &Group, worker: WorkerId) -> Option<Because> {
        if job.barred.contains(&worker) {
            Some(Because::Uncheckable)
        } else if !job.admits(worker) {
            Some(Because::CrewFull)
        } else {
            (self.moving(group, worker).bytes > 0).then_some(Because::LacksData)
        }
    }

    /// Why seats do not take a task with these needs and this history.
    pub(crate) fn seat_reasons(
        &self,
        needs: &Needs,
        trouble: Option<&Trouble>,
        unsuited: impl Fn(WorkerId) -> Option<Because>,
    ) -> Vec<ReasonView> {
        if self.seats.is_empty() {
            return [reason("no_workers", "no worker has joined this hub; start one with `gleaner share`", None)]
                .into();
        }
        let mut counts: BTreeMap<Because, u64> = BTreeMap::new();
        for seat in &self.seats {
            let because = match self.because(needs, trouble, seat) {
                found @ (None | Some(Because::FailedIt)) => found.into_iter().chain(unsuited(seat.worker)).min(),
                found => found,
            };
            let because = because.unwrap_or(Because::HeldBack);
            *counts.entry(because).or_default() += 1;
        }
        counts.into_iter().map(|(because, count)| words(because, count, needs)).collect()
    }

    /// Why a seat cannot take a task with these needs now; none if it could.
    pub(crate) fn because(&self, needs: &Needs, trouble: Option<&Trouble>, seat: &Seat) -> Option<Because> {
        let worker = &self.workers[seat.worker.0 as usize];
        let named = self.classes.named(needs);
        let Some(offered) = seat.runtime(needs.runtime) else {
            let device = worker.offer.devices.get(usize::from(seat.device));
            let offers = device.is_some_and(|device| device.runtimes.iter().any(|of| of.runtime == needs.runtime));
            return Some(match (offers, worker.state) {
                (false, _) => Because::NoRuntime,
                (true, State::Offline) => Because::Offline,
                (true, _) => Because::Untested,
            });
        };
        let because = if worker.state == State::Offline || !seat.offered {
            Because::Offline
        } else if !needs.device.accepts(seat.kind) {
            Because::OtherKind
        } else if seat.memory < needs.memory.0 {
            Because::TooLittleMemory
        } else if named.region.is_some_and(|region| region != seat.region) {
            Because::OtherRegion
        } else if seat.cards < needs.cards {
            Because::TooFewCards
        } else if needs.network && !seat.network {
            Because::NoNetwork
        } else if needs.eevee && !seat.eevee {
            Because::NoEevee
        } else if named.engine.is_some_and(|engine| engine != offered.engine) {
            Because::OtherEngine
        } else if offered.score < needs.score_min {
            Because::ScoreTooLow
        } else if !seat.fits(needs, named) {
            Because::LoopsTooLong
        } else if seat.resting {
            Because::Paused
        } else if trouble.is_some_and(|trouble| trouble.avoids(seat.worker)) {
            Because::FailedIt
        } else {
            match worker.state {
                State::Offline => Because::Offline,
                State::Disqualified => Because::Disqualified,
                State::Paused => Because::Paused,
                State::Probation => Because::OnProbation,
                State::Available | State::Busy if seat.testing => Because::Testing,
                State::Available | State::Busy if self.is_stretched(seat.worker) => Because::StakeUsedUp,
                State::Available | State::Busy if self.bids(seat) => Because::Bidding,
                State::Available | State::Busy if seat.in_flight >= seat.slots => Because::AllBusy,
                State::Available | State::Busy if self.is_kept(seat) => Because::Kept,
                State::Available | State::Busy if seat.managed => Because::Managed,
                State::Available | State::Busy => return None,
            }
        };
        Some(because)
    }

    /// Whether a seat takes part in an auction.
    fn bids(&self, seat: &Seat) -> bool {
        self.id_of(seat).is_some_and(|id| self.auctions.hold(id))
    }

    /// Whether a seat is kept for a reserved job.
    fn is_kept(&self, seat: &Seat) -> bool {
        self.id_of(seat).is_some_and(|id| self.firmness.kept_for(id).is_some())
    }

    fn id_of(&self, seat: &Seat) -> Option<SeatId> {
        self.workers[seat.worker.0 as usize].seats.get(usize::from(seat.device)).copied()
    }

    fn running(&self, job: &Job, slot: u32, attempt: &Attempt) -> RunningView {
        let worker = &self.workers[attempt.worker.0 as usize];
        RunningView {
            task: self.task_name(job, attempt.group, attempt.index),
            attempt: self.attempts.id(slot),
            worker: worker.offer.name.clone(),
            since: attempt.placed,
            expected_at: attempt.expected,
            why: self.why(attempt),
            second: matches!(attempt.why, Why::Second | Why::Hedge),
        }
    }

    /// Why results of a group are not paid yet.
    fn unchecked(&self, job: &Job, group: &Group) -> ReasonView {
        let at = job.groups.iter().position(|other| core::ptr::eq(other, group));
        let ours = self
            .claims
            .all
            .values()
            .filter(|claim| claim.attempt.job == job.id && Some(usize::from(claim.attempt.group)) == at);
        let (mut drawn, mut contested) = (0_u64, 0_u64);
        for audit in ours.filter_map(|claim| claim.audit.as_ref()) {
            drawn += 1;
            contested += u64::from(audit.vote.is_some());
        }
        let waiting = u64::from(group.claimed) - drawn;
        let text = format!(
            "{} results are delivered and not checked yet: {waiting} wait for the draw, {drawn} are computed again by \
             others, of which {contested} are contested",
            group.claimed
        );
        reason("unchecked", &text, None)
    }

    /// `name[value]` of an element, or the name alone of a single task.
    pub(crate) fn task_name(&self, job: &Job, at: u16, index: u32) -> String {
        let group = &job.groups[usize::from(at)];
        if group.count == 1 {
            return group.plan.spec.name.clone();
        }
        format!("{}[{}]", group.plan.spec.name, group.plan.spec.extent.value(index))
    }
}

fn words(because: Because, count: u64, needs: &Needs) -> ReasonView {
    let region = needs.region.as_deref().unwrap_or("any");
    let (code, text): (&str, String) = match because {
        Because::Offline => ("offline", "its worker is not connected".into()),
        Because::Disqualified => (
            "disqualified",
            "its worker failed its test and is not trusted any more; `gleaner worker readmit ID` gives it another chance"
                .into(),
        ),
        Because::Paused => ("paused", "its owner uses the machine".into()),
        Because::OnProbation => ("on_probation", "its worker failed too often and waits for a test".into()),
        Because::NoRuntime => ("no_runtime", format!("it does not run {} programs", needs.runtime)),
        Because::Untested => (
            "untested",
            format!("it has not passed the hub's test of {}; `gleaner worker show ID` says how it did", needs.runtime),
        ),
        Because::TooFewCards => ("too_few_cards", format!("it has fewer than {} cards", needs.cards)),
        Because::NoEevee => ("no_eevee", "its Blender cannot draw with EEVEE".into()),
        Because::NoNetwork => ("no_network", "its owner lets no task reach the network".into()),
        Because::OtherEngine => {
            ("other_engine", format!("it has another build than {}", needs.engine.as_deref().unwrap_or("any")))
        }
        Because::OtherKind => ("other_device", "it is not the kind of device asked for in needs.device".into()),
        Because::TooLittleMemory => ("too_little_memory", format!("it has less than {} of memory", needs.memory)),
        Because::OtherRegion => ("other_region", format!("it is not in region {region}")),
        Because::ScoreTooLow => ("score_too_low", format!("its score is below {}", needs.score_min)),
        Because::LoopsTooLong => (
            "loops_too_long",
            "it gives wrong answers for long loops; if the kernel stays below 65,535 iterations in a pass, say so in \
             kernel.loops_max, otherwise split it over kernel.passes"
                .into(),
        ),
        Because::FailedIt => ("failed_it", "its worker failed this task before".into()),
        Because::Testing => ("in_test", "the hub is testing it just now".into()),
        Because::StakeUsedUp => (
            "stake_used_up",
            "its owner has as much unpaid as what a verdict would take speaks for; it goes on when that is checked".into(),
        ),
        Because::Bidding => ("bids", "it bids in an auction just now".into()),
        Because::AllBusy => ("busy", "it is busy".into()),
        Because::Kept => ("kept", "it is kept for a reserved job".into()),
        Because::Uncheckable => (
            "uncheckable",
            "nobody else here has its class of devices, so nobody could check it, and others can be checked".into(),
        ),
        Because::CrewFull => {
            ("crew_full", format!("{CREW_MAX} others work on the job already, and no more can be paid by one order"))
        }
        Because::LacksData => {
            ("lacks_data", "it would have to fetch the data first; devices that hold it will be done sooner".into())
        }
        Because::Managed => (
            "managed",
            "it is the platform's own and takes only what has waited too long for all others".into(),
        ),
        Because::HeldBack => ("held_back", "it is so slow that faster devices will be done sooner".into()),
    };
    reason(code, &text, Some(count))
}

fn reason(code: &str, text: &str, devices: Option<u64>) -> ReasonView {
    ReasonView { code: code.to_string(), text: text.to_string(), devices }
}
