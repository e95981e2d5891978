//! A small chain beside the hub: it keeps stakes and terms, locks and closes orders, and tells the hub of it late.
//!
//! It draws its own chance, so that a world without it runs as it would if there were no chains. What the hub's clerk and
//! journal do with orders is done here too; what the world does with both is in `chain_side`.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_core::{Bill, ChainTerms, Closing, Core};
use gleaner_wire::{Address, Amount, Hash, JobId, Order, SignedOrder};

use crate::chance::{Chance, mix_two};
use crate::scenario::MILLISECOND;

/// Sets what is drawn for a chain apart from what is drawn for the rest of the world.
const SALT: u64 = 0xc4a1;
/// One world in so many has its money on a chain.
const ONE_IN: u64 = 3;
/// Locks that the chain refuses, per mille.
const REFUSED: u32 = 30;
/// Orders that are given back with nothing paid, per mille.
const RELEASED: u32 = 100;
/// Providers of whose stake an order locks nothing, per mille.
const UNLOCKED: u64 = 100;
/// What a verdict takes of a lock, in hundredths of a percent.
pub(crate) const SLASH_POINTS: u32 = 5000;
/// The longest that a transaction takes.
const BLOCK_MS_MAX: u64 = 20_000;
/// Any time after the end of all jobs and their settlement, in seconds.
const DEADLINE: u64 = 10 * 365 * 86_400;
/// Shares that the platform may take, in hundredths of a percent.
const SHARES: [u32; 6] = [0, 1, 333, 1500, 3000, 10_000];

/// Something that happens on the chain, or that the hub sees there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A vote changes the terms.
    Terms { share_points: u32, stake_min: Amount },
    /// A provider takes stake away or adds to it.
    Stake { provider: Address, stake: Amount },
    /// The transaction that locks a job's order is in a block, or was refused.
    Lock(JobId),
    /// The hub sees that an order is locked.
    SeeLock(JobId),
    /// The hub sees that an order cannot be locked.
    SeeRefusal(JobId),
    /// An ended order is closed, and the hub sees it.
    Close(JobId),
}

/// A chain before the world runs.
#[derive(Clone, Debug)]
pub(crate) struct ChainPlan {
    seed: u64,
    /// What must stand behind every worker at first and after the last fault.
    pub stake_min: Amount,
    /// What an order locks of a provider's stake.
    pub work_lock: Amount,
    /// The account behind each worker.
    pub providers: Vec<Address>,
    /// What stands behind the workers of each account at first.
    stakes: BTreeMap<Address, Amount>,
    /// What happens by itself, with its time in microseconds.
    pub steps: Vec<(u64, Step)>,
}

impl ChainPlan {
    /// The chain of the small world with this seed, if it is one of those that have one.
    pub fn drawn(seed: u64, workers: usize, calm_at_ms: u64) -> Option<Self> {
        let own = mix_two(seed, SALT);
        own.is_multiple_of(ONE_IN).then(|| Self::of(own, workers, calm_at_ms))
    }

    fn of(seed: u64, workers: usize, calm_at_ms: u64) -> Self {
        let mut chance = Chance::new(seed);
        let stake_min = Amount(chance.log_uniform(1, Amount::gln(100).0));
        let accounts = chance.between(1, workers as u64);
        let account = |_| account(&format!("provider {}", chance.below(accounts)));
        let providers: Vec<Address> = (0..workers).map(account).collect();
        let mut needed: BTreeMap<Address, u64> = BTreeMap::new();
        providers.iter().for_each(|provider| *needed.entry(*provider).or_default() += stake_min.0);
        let mut stake = |(provider, needed)| (provider, Amount(needed + chance.below(stake_min.0 * 2)));
        let stakes: BTreeMap<_, _> = needed.into_iter().map(&mut stake).collect();
        let mut steps = falls(&mut chance, &stakes, calm_at_ms);
        steps.extend(votes(&mut chance, stake_min, calm_at_ms));
        let work_lock = Amount(chance.log_uniform(1, stake_min.0));
        Self { seed, stake_min, work_lock, providers, stakes, steps }
    }

    /// Gives a worker an account of its own, for whose deeds nobody else answers.
    pub fn set_apart(&mut self, worker: u32) {
        let own = account("set apart");
        self.providers[worker as usize] = own;
        self.stakes.insert(own, self.stake_min);
    }
}

/// Stakes that fall and come back before faults stop.
fn falls(chance: &mut Chance, stakes: &BTreeMap<Address, Amount>, calm_at_ms: u64) -> Vec<(u64, Step)> {
    let every = chance.log_uniform(4000, 400_000);
    let mut steps = Vec::new();
    for (provider, full) in stakes {
        let mut at = chance.below(every * 2);
        while at < calm_at_ms {
            let any = chance.below(full.0);
            let left = *chance.pick(&[0, full.0 / 2, full.0 - 1, any]);
            let back = (at + chance.log_uniform(50, 60_000)).min(calm_at_ms);
            steps.push((at * MILLISECOND, Step::Stake { provider: *provider, stake: Amount(left) }));
            steps.push((back * MILLISECOND, Step::Stake { provider: *provider, stake: *full }));
            at = back + 1 + chance.below(every * 2);
        }
    }
    steps
}

/// Votes that change the share, and here and there what must be staked until the next one.
fn votes(chance: &mut Chance, stake_min: Amount, calm_at_ms: u64) -> Vec<(u64, Step)> {
    let every = chance.log_uniform(2000, 200_000);
    let mut steps = Vec::new();
    let mut at = chance.below(every * 2);
    while at < calm_at_ms {
        let times = if chance.hits(200) { 2 } else { 1 };
        let stake_min = Amount(stake_min.0 * times);
        steps.push((at * MILLISECOND, Step::Terms { share_points: *chance.pick(&SHARES), stake_min }));
        at += 1 + chance.below(every * 2);
    }
    steps.push((calm_at_ms * MILLISECOND, Step::Terms { share_points: *chance.pick(&SHARES), stake_min }));
    steps
}

/// The account of somebody.
pub(crate) fn account(name: &str) -> Address {
    let Hash(bytes) = Hash::of(name.as_bytes());
    Address(std::array::from_fn(|at| bytes[at]))
}

/// What a requester signs for a submission; the same whenever it is sent.
pub(crate) fn order(requester: Address, cap: Amount, submission: u128) -> SignedOrder {
    let zero = Hash([0; 32]);
    let (hub, bond, deadline) = (account("hub"), Amount::ZERO, DEADLINE);
    let order = Order { requester, hub, job: zero, cap, bond, deadline, policy: zero, nonce: submission };
    SignedOrder { order, signature: Vec::new() }
}

/// An order whose job has ended, as the hub's journal keeps it.
struct Ended {
    requester: String,
    cap: Amount,
    locked: bool,
    bills: Vec<Bill>,
}

impl Ended {
    fn closing(&self, job: JobId, paid: bool) -> Closing {
        let all = || self.bills.iter().map(|bill| (bill.worker, bill.net)).collect::<Vec<_>>();
        let gross: u64 = self.bills.iter().map(|bill| bill.gross.0).sum();
        let net: u64 = self.bills.iter().map(|bill| bill.net.0).sum();
        let rest = if self.locked { self.cap.0 - gross } else { 0 };
        let paid = if paid { all() } else { Vec::new() };
        let (requester, fee) = (self.requester.clone(), Amount(gross - net));
        Closing { job, requester, booked: all(), fee, rest: Amount(rest), paid }
    }
}

/// How often what happened, so that a test can tell that it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub locks: u64,
    /// Locks that were asked for again, and were there.
    pub locks_repeated: u64,
    /// Locks that the hub saw when their job had ended.
    pub locks_late: u64,
    pub refusals: u64,
    pub settled: u64,
    /// Orders given back with nothing paid although work was booked.
    pub released: u64,
    /// Orders closed that the hub never knew to be locked.
    pub closed_unlocked: u64,
    pub stakes: u64,
    pub terms: u64,
    pub workers_refused: u64,
    pub workers_sent_away: u64,
}

/// The chain, and what the hub keeps of it.
pub(crate) struct Chain {
    chance: Chance,
    pub share_points: u32,
    pub stake_min: Amount,
    work_lock: Amount,
    stakes: BTreeMap<Address, Amount>,
    /// The share of every order that was ever locked.
    locked: BTreeMap<JobId, u32>,
    /// Transactions on their way that lock an order.
    under_way: BTreeMap<JobId, u32>,
    /// The hub's journal of ended orders that are not closed.
    ended: BTreeMap<JobId, Ended>,
    closed: BTreeSet<JobId>,
    pub seen: Seen,
}

impl Chain {
    pub fn new(plan: &ChainPlan, share_points: u32) -> Self {
        Self {
            chance: Chance::new(mix_two(plan.seed, 1)),
            share_points,
            stake_min: plan.stake_min,
            work_lock: plan.work_lock,
            stakes: plan.stakes.clone(),
            locked: BTreeMap::new(),
            under_way: BTreeMap::new(),
            ended: BTreeMap::new(),
            closed: BTreeSet::new(),
            seen: Seen::default(),
        }
    }

    /// How long something takes, in microseconds.
    pub fn delay(&mut self) -> u64 {
        self.chance.log_uniform(1, BLOCK_MS_MAX) * MILLISECOND
    }

    pub fn stake(&self, provider: Address) -> Amount {
        self.stakes.get(&provider).copied().unwrap_or_default()
    }

    /// The terms as they are now.
    pub fn terms(&self) -> ChainTerms {
        let Self { share_points, stake_min, work_lock, .. } = *self;
        ChainTerms { share_points, stake_min, work_lock, slash_points: SLASH_POINTS }
    }

    /// What an order has locked of a provider's stake: now and then nothing, because too little was free.
    pub fn lock_of(&self, job: JobId, provider: Address) -> Amount {
        let Address([first, second, ..]) = provider;
        let draw = mix_two(job.0, u64::from(first) << 8 | u64::from(second));
        if draw % 1000 < UNLOCKED { Amount::ZERO } else { self.work_lock.min(self.stake(provider)) }
    }

    pub fn set_stake(&mut self, provider: Address, stake: Amount) {
        self.stakes.insert(provider, stake);
    }

    /// A transaction that locks an order is on its way.
    pub fn send_lock(&mut self, job: JobId) {
        *self.under_way.entry(job).or_default() += 1;
    }

    /// It has arrived. Returns what the hub will see.
    pub fn lock(&mut self, job: JobId) -> Step {
        if let Some(count) = self.under_way.get_mut(&job) {
            *count -= 1;
        }
        if self.locked.contains_key(&job) {
            self.seen.locks_repeated += 1;
        } else if self.closed.contains(&job) || self.chance.hits(REFUSED) {
            self.seen.refusals += 1;
            return Step::SeeRefusal(job);
        } else {
            self.seen.locks += 1;
            self.locked.insert(job, self.share_points);
        }
        Step::SeeLock(job)
    }

    /// The share of a locked order.
    pub fn share_of(&self, job: JobId) -> Option<u32> {
        self.locked.get(&job).copied()
    }

    /// The hub's journal keeps what is to be settled for an ended job. Returns whether that is new.
    pub fn keep(&mut self, core: &Core, job: JobId) -> bool {
        let (Some(signed), Some(summary)) = (core.order(job), core.job_summary(job)) else { return false };
        if self.ended.contains_key(&job) || self.closed.contains(&job) {
            return false;
        }
        let (requester, cap) = (summary.requester, signed.order.cap);
        self.ended.insert(job, Ended { requester, cap, locked: core.was_locked(job), bills: core.bills(job) });
        true
    }

    /// Closes an ended order, unless a lock may still come for it.
    pub fn close(&mut self, job: JobId) -> Option<Closing> {
        if self.under_way.get(&job).is_some_and(|count| *count > 0) {
            return None;
        }
        let ended = self.ended.remove(&job)?;
        self.closed.insert(job);
        let paid = self.locked.contains_key(&job) && !self.chance.hits(RELEASED);
        self.seen.settled += u64::from(paid);
        self.seen.released += u64::from(!paid && !ended.bills.is_empty());
        self.seen.closed_unlocked += u64::from(!ended.locked);
        Some(ended.closing(job, paid))
    }

    /// Whether an ended order waits to be closed.
    pub fn is_open(&self, job: JobId) -> bool {
        self.ended.contains_key(&job)
    }

    /// Whether every ended order is closed.
    pub fn is_settled(&self) -> bool {
        self.ended.is_empty()
    }
}
