//! The whole state of a hub's decisions, and the one door through which it changes.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use gleaner_wire::{Address, Amount, AttemptId, Cause, JobId, Millis, StartAttempt, TaskSpec, WorkerId, WorkerKey};
use serde::{Deserialize, Serialize};

use crate::alarms::Alarms;
use crate::attempt::Attempts;
use crate::audit::{Claims, Conviction};
use crate::data::Holders;
use crate::effect::Effect;
use crate::event::Event;
use crate::job::Job;
use crate::learn::Programs;
use crate::ledger::Ledger;
use crate::managed::Managed;
use crate::market::tier::Firmness;
use crate::market::{Auctions, PriceIndex};
use crate::memo::Memo;
use crate::params::Params;
use crate::place::{Classes, Index, Seat, SeatId, Shapes};
use crate::pool::Worker;
use crate::proof::Tolerances;
use crate::quote::Errors;
use crate::search::Search;
use crate::share::Share;

/// Counters since the hub was made; for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Jobs taken.
    pub jobs_submitted: u64,
    /// Jobs that ended with all tasks done.
    pub jobs_done: u64,
    /// Jobs that failed.
    pub jobs_failed: u64,
    /// Jobs that were cancelled.
    pub jobs_cancelled: u64,
    /// Tasks done.
    pub tasks_done: u64,
    /// Tasks done without running.
    pub tasks_known: u64,
    /// Attempts placed.
    pub attempts_started: u64,
    /// Attempts failed, by cause.
    pub attempts_failed: [u64; Cause::ALL.len()],
    /// Results that came for attempts that did not run any more.
    pub results_late: u64,
    /// Second attempts beside slow ones.
    pub second_attempts: u64,
    /// Orders that the chain has closed.
    pub orders_closed: u64,
    /// Amounts of closed orders that the books did not hold; not zero only after a defect.
    pub closings_wrong: u64,
    /// Claims that lots were drawn for.
    pub claims_drawn: u64,
    /// Claims that the lot fell on.
    pub claims_audited: u64,
    /// Claims that an answer differed from.
    pub claims_contested: u64,
    /// Claims that were refused.
    pub claims_refuted: u64,
    /// Answers that were found wrong, to be paid or not.
    pub answers_wrong: u64,
    /// Auctions opened.
    pub auctions_opened: u64,
    /// Auctions in which no bid could win.
    pub auctions_without_bids: u64,
    /// Tasks that went to the winner of an auction.
    pub tasks_auctioned: u64,
    /// Bonds that workers lost, in units of money.
    pub bonds_lost: u64,
    /// Workers connected now.
    pub workers_online: u64,
    /// Attempts out now.
    pub attempts_running: u64,
    /// Tasks that could be placed now but are not.
    pub tasks_queued: u64,
    /// Jobs running now.
    pub jobs_running: u64,
    /// How far the cost of jobs was from their quotes.
    pub quote_price_errors: Errors,
    /// How far the time of jobs was from their quotes.
    pub quote_time_errors: Errors,
    /// Quoted jobs that the platform paid a part of.
    pub quotes_backed: u64,
    /// What it paid for them.
    pub quote_backing: Amount,
    /// Attempts beside others in races.
    pub hedges: u64,
    /// Device time of paid answers in races, in microseconds.
    pub race_paid_micros: u64,
    /// Device time of attempts that lost a race, in microseconds.
    pub race_wasted_micros: u64,
    /// Attempts that were moved for somebody who pays more.
    pub attempts_moved: u64,
}

/// The state. `apply` changes it; everything else reads.
#[derive(Clone, Serialize, Deserialize)]
pub struct Core {
    pub(crate) params: Params,
    pub(crate) now: Millis,
    pub(crate) ledger: Ledger,
    /// What stands behind workers, where money is on a chain.
    pub(crate) stakes: BTreeMap<Address, Amount>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) by_key: BTreeMap<WorkerKey, WorkerId>,
    pub(crate) seats: Vec<Seat>,
    pub(crate) classes: Classes,
    pub(crate) shapes: Shapes,
    pub(crate) index: Index,
    /// Counts listings, so that among equals the seat that has waited longest is first.
    pub(crate) listings: u64,
    /// Who holds which data.
    pub(crate) holders: Holders,
    pub(crate) share: Share,
    pub(crate) jobs: BTreeMap<JobId, Job>,
    pub(crate) jobs_made: u64,
    pub(crate) submissions: BTreeMap<u128, JobId>,
    pub(crate) attempts: Attempts,
    /// Results that wait for their check.
    pub(crate) claims: Claims,
    /// Wrong answers that the chain has not heard the last of.
    pub(crate) convictions: Vec<Conviction>,
    /// What honest results differ by, where checks learn it.
    pub(crate) tolerances: Tolerances,
    /// How often workers of a provider were found wrong, ever.
    pub(crate) wrong: BTreeMap<Address, u32>,
    pub(crate) programs: Programs,
    pub(crate) memo: Memo,
    pub(crate) alarms: Alarms,
    pub(crate) auctions: Auctions,
    /// Who keeps which seat, and who can be outbid.
    pub(crate) firmness: Firmness,
    pub(crate) totals: Totals,
    /// What classes of devices are worth.
    pub(crate) prices: PriceIndex,
    /// The platform's own workers.
    pub(crate) managed: Managed,
    #[serde(skip)]
    pub(crate) search: Search,
    /// Seats that may take work, and groups that may be placed, when the current event is done with.
    #[serde(skip)]
    pub(crate) hungry: Vec<SeatId>,
    #[serde(skip)]
    pub(crate) opened: BTreeSet<(JobId, u16)>,
    /// Whether tasks may now depend on workers that they avoided.
    #[serde(skip)]
    pub(crate) relieve: bool,
}

/// A snapshot that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the snapshot cannot be read: it was written by another version or is damaged")]
pub struct SnapshotError;

impl Core {
    /// An empty hub.
    pub fn new(params: Params) -> Self {
        Self {
            params,
            now: Millis(0),
            ledger: Ledger::default(),
            stakes: BTreeMap::new(),
            workers: Vec::new(),
            by_key: BTreeMap::new(),
            seats: Vec::new(),
            classes: Classes::default(),
            shapes: Shapes::default(),
            index: Index::default(),
            listings: 0,
            holders: Holders::default(),
            share: Share::default(),
            jobs: BTreeMap::new(),
            jobs_made: 0,
            submissions: BTreeMap::new(),
            attempts: Attempts::default(),
            claims: Claims::default(),
            convictions: Vec::new(),
            tolerances: Tolerances::default(),
            wrong: BTreeMap::new(),
            programs: Programs::default(),
            memo: Memo::default(),
            alarms: Alarms::default(),
            auctions: Auctions::default(),
            firmness: Firmness::default(),
            totals: Totals::default(),
            prices: PriceIndex::default(),
            managed: Managed::default(),
            search: Search::default(),
            hungry: Vec::new(),
            opened: BTreeSet::new(),
            relieve: false,
        }
    }

    /// Applies an event and says what is to be done about it.
    pub fn apply(&mut self, now: Millis, event: Event, effects: &mut Vec<Effect>) {
        self.look_at_market(self.now.max(now), &event);
        self.now = self.now.max(now);
        match event {
            Event::HubStarted => self.on_hub_started(effects),
            Event::TimePassed => {}
            Event::Deposited { account, amount } => {
                self.ledger.deposit(&account, amount);
            }
            Event::WorkerJoined { key, session, offer, resting, held } => {
                self.on_worker_joined(key, session, offer, &resting, &held, effects);
            }
            Event::WorkerLeft { worker, session } => self.on_worker_left(worker, session, effects),
            Event::WorkerPaused { worker } => self.on_worker_paused(worker, effects),
            Event::WorkerResumed { worker } => self.on_worker_resumed(worker, effects),
            Event::DevicesRest { worker, devices } => self.on_devices_rest(worker, &devices),
            Event::Screened { worker, session, device, runtime, outcome } => {
                self.on_screened(worker, session, (device, runtime), outcome, effects);
            }
            Event::Saved { worker, attempt, checkpoint } => self.on_saved(worker, attempt, checkpoint, effects),
            Event::WorkerReadmitted { worker } => self.on_worker_readmitted(worker, effects),
            Event::LeasesRenewed { worker, held } => self.on_leases_renewed(worker, &held),
            Event::Holds { worker, held } => self.on_holds(worker, &held),
            Event::AttemptsFinished { worker, batch, results } => {
                self.on_attempts_finished(worker, batch, results, effects);
            }
            Event::RoundDrawn { round, seed } => self.on_round_drawn(round, seed, effects),
            Event::JobSubmitted { ticket, submission, requester, graph, order } => {
                self.on_job_submitted(ticket, submission, &requester, graph, order, effects);
            }
            Event::OrderLocked { job, share_points } => self.on_order_locked(job, share_points, effects),
            Event::OrderRefused { job, reason } => self.on_order_refused(job, reason, effects),
            Event::OrderClosed(closing) => self.on_order_closed(&closing),
            Event::TermsSeen(terms) => self.on_terms_seen(terms, effects),
            Event::LockSeen { job, provider, locked } => self.on_lock_seen(job, provider, locked),
            Event::StakeSeen { provider, stake } => self.on_stake_seen(provider, stake, effects),
            Event::JobCancelled { job } => self.on_job_cancelled(job, effects),
            Event::JobArchived { job } => self.on_job_archived(job),
            Event::BidsSealed { worker, bids } => self.on_bids_sealed(worker, &bids, effects),
            Event::BidsOpened { worker, bids } => self.on_bids_opened(worker, &bids, effects),
            Event::LotDrawn { auction, seed } => self.on_lot_drawn(auction, seed, effects),
            Event::WorkerManaged { key, managed } => self.on_worker_managed(key, managed, effects),
            Event::DemandTermsSet { terms } => self.on_demand_terms_set(terms),
            Event::Repriced { worker, prices } => self.on_repriced(worker, &prices, effects),
        }
        self.ring_alarms(effects);
        self.place_all(effects);
        self.close_round(effects);
    }

    /// When the next `TimePassed` is due.
    pub fn next_deadline(&self) -> Option<Millis> {
        self.alarms.next()
    }

    /// The whole state as bytes.
    pub fn snapshot(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("the state holds nothing that postcard cannot encode")
    }

    /// The state out of a snapshot.
    pub fn restore(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut core: Self = postcard::from_bytes(bytes).map_err(|_| SnapshotError)?;
        core.note_all_seats();
        Ok(core)
    }

    /// What to tell the worker of an attempt; `None` if it does not run any more.
    pub fn start_message(&self, attempt: AttemptId) -> Option<StartAttempt> {
        let at = self.attempts.at(self.attempts.slot(attempt)?);
        let job = &self.jobs[&at.job];
        let group = &job.groups[usize::from(at.group)];
        let outputs = group.reads(at.index).map(|(from, index)| job.groups[usize::from(from)].output(index));
        let outputs = outputs.collect::<Option<Vec<_>>>()?;
        let checkpoint = group.checkpoints.get(&at.index).copied().filter(|_| at.resumed);
        let (job, group, index, time_ms) = (at.job, at.group, at.index, at.time_ms);
        let device = self.seats[at.seat.0 as usize].device;
        Some(StartAttempt {
            attempt,
            job,
            group,
            index,
            device,
            time_ms,
            outputs,
            checkpoint,
            compare: at.compare.as_deref().copied(),
        })
    }

    /// What workers are told of a group.
    pub fn spec(&self, job: JobId, group: u16) -> Option<&TaskSpec> {
        Some(&self.jobs.get(&job)?.groups.get(usize::from(group))?.plan.spec)
    }
}
