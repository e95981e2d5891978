//! The world's own books of orders, where money is on a chain: what was locked, what of it is spent, who is staked.
//!
//! Like `books` it goes by events, effects and views, and believes nothing that the core has reckoned by itself.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_core::ledger::Account;
use gleaner_core::{Bill, Closing, Core, Event, Session};
use gleaner_wire::api::JobSummary;
use gleaner_wire::{Address, Amount, JobId, WorkerId};

use crate::books::ensure;
use crate::scenario::Scenario;

/// An order of a job that was taken.
struct Entry {
    requester: String,
    cap: Amount,
    /// The platform's share as it was when the money was locked.
    lock: Option<u32>,
    refused: bool,
    /// Who earned what, once the job has ended.
    end: Option<Vec<Bill>>,
    closed: bool,
}

impl Entry {
    fn is_booked(&self) -> bool {
        self.lock.is_some() && !self.closed
    }
}

/// The books of orders.
pub(crate) struct OrderBooks {
    entries: BTreeMap<JobId, Entry>,
    /// The caps of all orders that are locked and not closed.
    booked: u64,
    stakes: BTreeMap<Address, Amount>,
    stake_min: Amount,
    /// Connected workers, and whose they are.
    online: BTreeMap<WorkerId, (Session, Address)>,
    /// Those of them that the hub has told to go.
    sent_away: BTreeSet<WorkerId>,
}

impl OrderBooks {
    /// The books of a world that has a chain.
    pub fn new(scenario: &Scenario) -> Option<Self> {
        let chain = scenario.chain.as_ref()?;
        Some(Self {
            entries: BTreeMap::new(),
            booked: 0,
            stakes: BTreeMap::new(),
            stake_min: chain.stake_min,
            online: BTreeMap::new(),
            sent_away: BTreeSet::new(),
        })
    }

    /// Looks at an event before it is applied. Returns what workers lose by it.
    pub fn before(&mut self, event: &Event) -> Result<BTreeMap<WorkerId, u64>, String> {
        match event {
            Event::OrderLocked { job, share_points } => self.lock(*job, *share_points),
            Event::OrderRefused { job, .. } => {
                if let Some(entry) = self.entries.get_mut(job) {
                    entry.refused |= entry.lock.is_none();
                }
            }
            Event::OrderClosed(closing) => return self.close(closing),
            Event::TermsSeen(terms) => self.stake_min = terms.stake_min,
            Event::StakeSeen { provider, stake } => {
                self.stakes.insert(*provider, *stake);
            }
            Event::WorkerLeft { worker, session } => {
                if self.online.get(worker).is_some_and(|(known, _)| known == session) {
                    self.online.remove(worker);
                    self.sent_away.remove(worker);
                }
            }
            Event::HubStarted => {
                self.online.clear();
                self.sent_away.clear();
            }
            Event::TimePassed
            | Event::Deposited { .. }
            | Event::WorkerJoined { .. }
            | Event::WorkerPaused { .. }
            | Event::WorkerResumed { .. }
            | Event::DevicesRest { .. }
            | Event::Screened { .. }
            | Event::Repriced { .. }
            | Event::Saved { .. }
            | Event::WorkerReadmitted { .. }
            | Event::LeasesRenewed { .. }
            | Event::Holds { .. }
            | Event::AttemptsFinished { .. }
            | Event::RoundDrawn { .. }
            | Event::LockSeen { .. }
            | Event::JobSubmitted { .. }
            | Event::JobCancelled { .. }
            | Event::BidsSealed { .. }
            | Event::BidsOpened { .. }
            | Event::LotDrawn { .. }
            | Event::JobArchived { .. }
            | Event::WorkerManaged { .. }
            | Event::DemandTermsSet { .. } => {}
        }
        Ok(BTreeMap::new())
    }

    /// The first lock of a job that waits for it counts; any other changes nothing.
    fn lock(&mut self, job: JobId, share_points: u32) {
        let waits = |entry: &&mut Entry| entry.lock.is_none() && entry.end.is_none();
        if let Some(entry) = self.entries.get_mut(&job).filter(waits) {
            entry.lock = Some(share_points);
            self.booked += entry.cap.0;
        }
    }

    fn close(&mut self, closing: &Closing) -> Result<BTreeMap<WorkerId, u64>, String> {
        let job = closing.job;
        let entry = self.entries.get_mut(&job).ok_or("an order was closed that never was")?;
        let bills = entry.end.as_ref().ok_or_else(|| format!("the order of job {job} was closed before its end"))?;
        let due = bills.iter().map(|bill| (bill.worker, bill.net));
        ensure(closing.booked.iter().copied().eq(due), || format!("job {job} is settled for other work than it paid"))?;
        let sum: u64 = closing.booked.iter().map(|(_, amount)| amount.0).sum();
        let sum = sum + closing.fee.0 + closing.rest.0;
        let cap = if entry.lock.is_some() { entry.cap.0 } else { 0 };
        ensure(sum == cap, || format!("job {job}: {sum} leaves the books for its cap of {cap}"))?;
        ensure(!std::mem::replace(&mut entry.closed, true), || format!("the order of job {job} was closed twice"))?;
        self.booked -= cap;
        let paid: BTreeMap<_, _> = closing.paid.iter().copied().collect();
        let lost = |(worker, net): &(WorkerId, Amount)| (*worker, net.0 - paid.get(worker).map_or(0, |paid| paid.0));
        Ok(closing.booked.iter().map(lost).collect())
    }

    pub fn accept(&mut self, core: &Core, job: JobId, cap: Amount) -> Result<(), String> {
        let signed = core.order(job).ok_or_else(|| format!("job {job} was taken without an order"))?;
        let requester = signed.order.requester.to_string();
        let fresh = || Entry { requester, cap, lock: None, refused: false, end: None, closed: false };
        self.entries.entry(job).or_insert_with(fresh);
        Ok(())
    }

    pub fn welcome(&mut self, core: &Core, worker: WorkerId, session: Session) -> Result<(), String> {
        let provider =
            core.provider(worker).ok_or_else(|| format!("worker {worker} is let in for nobody's account"))?;
        self.online.insert(worker, (session, provider));
        self.sent_away.remove(&worker);
        self.check_stake(provider)
    }

    pub fn send_away(&mut self, worker: WorkerId) {
        self.sent_away.insert(worker);
    }

    /// Work is given out, and never to a worker that was told to go.
    pub fn start(&self, worker: WorkerId, job: JobId) -> Result<(), String> {
        let locked = self.entries.get(&job).is_some_and(Entry::is_booked);
        ensure(locked, || format!("job {job} runs before its money is locked"))?;
        let (_, provider) = self.online.get(&worker).ok_or_else(|| format!("worker {worker} is not connected"))?;
        ensure(!self.sent_away.contains(&worker), || format!("worker {worker} gets work after it was told to go"))?;
        self.check_stake(*provider)
    }

    /// Behind every worker of this account that was not told to go stands enough.
    fn check_stake(&self, provider: Address) -> Result<(), String> {
        let theirs = self.online.iter().filter(|(worker, (_, of))| *of == provider && !self.sent_away.contains(worker));
        let needed = self.stake_min.0 * theirs.count() as u64;
        let stake = self.stakes.get(&provider).copied().unwrap_or_default().0;
        ensure(stake >= needed, || format!("{provider} has a stake of {stake} behind workers that need {needed}"))
    }

    /// A job has ended: its receipts, its bills and what it has spent are one sum, and each share is that of its lock.
    pub fn end(&mut self, core: &Core, summary: &JobSummary) -> Result<(), String> {
        let (job, spent) = (summary.id, summary.spent.0);
        let entry = self.entries.get_mut(&job).ok_or("a job ended that was never taken")?;
        let bills = core.bills(job);
        ensure(core.was_locked(job) == entry.lock.is_some(), || format!("job {job}: its lock was lost or made up"))?;
        let idle = summary.done == 0 && spent == 0;
        ensure(entry.lock.is_some() || idle, || format!("job {job} did something before its money was locked"))?;
        let mut receipts: BTreeMap<Address, u64> = BTreeMap::new();
        for receipt in core.receipts(job, 0, usize::MAX) {
            *receipts.entry(receipt.provider).or_default() += receipt.gross.0;
        }
        for bill in &bills {
            let share = u128::from(bill.gross.0) * u128::from(entry.lock.unwrap_or(0)) / 10_000;
            let net = u128::from(bill.gross.0) - share;
            ensure(u128::from(bill.net.0) == net, || format!("job {job}: {bill:?} with a right net of {net}"))?;
            let provider = core.provider(bill.worker).ok_or("a bill of nobody's account")?;
            let left = receipts.get_mut(&provider).and_then(|sum| Some((sum.checked_sub(bill.gross.0)?, sum)));
            let (left, sum) = left.ok_or_else(|| format!("job {job}: {bill:?} is more than its receipts"))?;
            *sum = left;
        }
        ensure(receipts.values().all(|left| *left == 0), || format!("job {job} has receipts that no bill pays"))?;
        let gross: u64 = bills.iter().map(|bill| bill.gross.0).sum();
        ensure(gross == spent, || format!("job {job} has spent {spent} and bills {gross}"))?;
        entry.end = Some(bills);
        Ok(())
    }

    /// Whether the chain explains that a job failed.
    pub fn was_refused(&self, job: JobId) -> bool {
        self.entries.get(&job).is_some_and(|entry| entry.refused)
    }

    /// The books hold the caps of the orders that are locked and not closed, and nothing else.
    pub fn check(&self, core: &Core) -> Result<(), String> {
        let (issued, booked) = (core.ledger_view().issued.0, self.booked);
        ensure(issued == booked, || format!("{issued} is in the books and {booked} in locked orders"))
    }

    /// What requesters are to get back is what their ended orders did not spend.
    pub fn check_money(&self, core: &Core) -> Result<(), String> {
        let ledger = core.ledger_view();
        let sum: u64 = ledger.accounts.values().map(|amount| amount.0).sum();
        ensure(sum == ledger.issued.0, || "the accounts do not sum to what was issued".into())?;
        let mut rests: BTreeMap<&str, u64> = BTreeMap::new();
        for entry in self.entries.values() {
            let rest = rests.entry(&entry.requester).or_default();
            if let Some(bills) = entry.end.as_ref().filter(|_| entry.is_booked()) {
                *rest += entry.cap.0 - bills.iter().map(|bill| bill.gross.0).sum::<u64>();
            }
        }
        rests.into_iter().try_for_each(|(requester, rest)| {
            let holds = core.balance(&Account::Requester(requester.into())).0;
            ensure(holds == rest, || format!("{requester} is to get back {rest} and has {holds}"))
        })
    }

    /// When everything is closed nothing is left here.
    pub fn look_back(&self, core: &Core) -> Result<(), String> {
        let (totals, books) = (core.totals(), core.ledger_view());
        let empty = books.accounts.is_empty() && books.issued == Amount::ZERO;
        ensure(empty, || format!("every order is closed, and the books hold {:?}", books.accounts))?;
        ensure(totals.closings_wrong == 0, || "an order was closed for money that the books did not hold".into())?;
        let (taken, closed) = (self.entries.len() as u64, totals.orders_closed);
        ensure(taken == closed && self.entries.values().all(|entry| entry.closed), || {
            format!("{taken} orders were taken and {closed} closed")
        })
    }
}
