//! The economy in plain Rust: what the contracts should do, written a second time without a chain.
//!
//! For tests alone: random actions are carried out here and on real chains, and after each of them both must have
//! refused for the same reason or agree on every balance. Chance comes from outside: who is drawn for a committee is
//! read from the chain and only checked here.
//!
//! Nothing here is used to decide about money.
mod action;
mod books;
mod channels;
mod collateral;
mod court;
mod government;
mod licences;
mod orders;
mod refusal;
mod rewards;
mod schedules;
mod terms;
mod votes;

use std::collections::{BTreeMap, BTreeSet};

pub use action::Action;
pub use channels::{Channel, Showing};
pub use collateral::{Exit, Holding};
pub use court::{Dispute, Status};
pub use government::{Deed, Proposal, Rules, Standing};
pub use licences::{Licence, Pool};
pub use orders::{Approval, Order, Record, Settlement, State};
pub use refusal::Refusal;
use refusal::refuse_if;
pub use rewards::{Calendar, Epoch, Sharing, Stage};
pub use schedules::{MONTH, Schedule};
pub use terms::Terms;

/// An account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who(pub u16);

/// Not an account: third party of a dispute that has only two, delegate of who delegates to nobody.
pub const NOBODY: Who = Who(u16::MAX);
/// Receives the platform's share and does what votes decide.
pub const TREASURY: Who = Who(1_000);
/// The contract that decides disputes, as an owner of free money.
pub const COURT: Who = Who(1_001);
/// The contract of channels, as an owner of free money.
pub const VOUCHERS: Who = Who(1_002);
/// The contract of orders, as an owner of tokens.
pub const ESCROW: Who = Who(1_003);
/// The contract of stakes, as an owner of tokens.
pub const STAKE: Who = Who(1_004);
/// The contract of schedules, as an owner of tokens.
pub const VESTING: Who = Who(1_005);
/// The contract of licences, as an owner of tokens.
pub const LICENCES: Who = Who(1_006);
/// The contract of node rewards, as an owner of tokens.
pub const REWARDS: Who = Who(1_007);
/// Has the tokens that nobody else was given.
pub const LIQUIDITY: Who = Who(1_008);

/// The block in which something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Unix seconds.
    pub now: u64,
    /// Its number.
    pub height: u64,
}

/// What stake is locked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Work on an order.
    Order(u32),
    /// A seat on the committee of a dispute.
    Seat(u32),
    /// Published or contested shares of an epoch.
    Epoch(u64),
}

/// How everything begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Founding {
    /// The parameters.
    pub terms: Terms,
    /// Tokens of each account.
    pub tokens: BTreeMap<Who, u64>,
    /// Schedules of the allocation.
    pub schedules: Vec<Schedule>,
    /// Licences that can be minted.
    pub pool: Pool,
    /// Epochs of rewards.
    pub calendar: Calendar,
    /// How votes are held.
    pub rules: Rules,
}

/// Everything that the contracts remember.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Economy {
    /// The parameters.
    pub terms: Terms,
    /// Tokens of each account.
    pub tokens: BTreeMap<Who, u64>,
    /// Free money in Escrow.
    pub books: BTreeMap<Who, u64>,
    /// Stake of each account.
    pub holdings: BTreeMap<Who, Holding>,
    consents: BTreeMap<(Who, Who), collateral::Consent>,
    locks: BTreeMap<(Subject, Who), collateral::Lock>,
    /// Orders that were locked.
    pub orders: BTreeMap<u32, Record>,
    nonces: BTreeSet<(Who, u64)>,
    /// Disputes, numbered from 1.
    pub disputes: BTreeMap<u32, Dispute>,
    accusations: BTreeSet<(u32, Who)>,
    /// Enrolled auditors, and when each was last heard of, in seconds of the list's own clock.
    pub auditors: BTreeMap<Who, u64>,
    stillness: court::Stillness,
    /// Channels by payer, payee and nonce.
    pub channels: BTreeMap<(Who, Who, u64), Channel>,
    /// Schedules, numbered from 0.
    pub schedules: Vec<Schedule>,
    pool: Pool,
    /// Licences, numbered from 1.
    pub licences: Vec<Licence>,
    /// When epochs begin and end.
    pub calendar: Calendar,
    /// Epochs that were published.
    pub epochs: BTreeMap<u64, Epoch>,
    /// Rewards that are promised and not claimed.
    pub committed: u64,
    payments: Vec<rewards::Payment>,
    /// How votes are held.
    pub rules: Rules,
    /// Who votes for whom.
    pub delegates: BTreeMap<Who, Who>,
    counts: BTreeMap<Who, BTreeMap<u64, u64>>,
    /// Proposals that were made.
    pub proposals: BTreeMap<u32, Proposal>,
}

impl Economy {
    /// Tokens in some hands, and nothing has happened yet.
    pub fn new(founding: Founding) -> Self {
        let Founding { terms, tokens, schedules, pool, calendar, rules } = founding;
        Self {
            terms,
            tokens,
            books: BTreeMap::new(),
            holdings: BTreeMap::new(),
            consents: BTreeMap::new(),
            locks: BTreeMap::new(),
            orders: BTreeMap::new(),
            nonces: BTreeSet::new(),
            disputes: BTreeMap::new(),
            accusations: BTreeSet::new(),
            auditors: BTreeMap::new(),
            stillness: court::Stillness::default(),
            channels: BTreeMap::new(),
            schedules,
            pool,
            licences: Vec::new(),
            calendar,
            epochs: BTreeMap::new(),
            committed: 0,
            payments: Vec::new(),
            rules,
            delegates: BTreeMap::new(),
            counts: BTreeMap::new(),
            proposals: BTreeMap::new(),
        }
    }

    /// Carries an action out, or changes nothing.
    pub fn apply(&mut self, at: Moment, caller: Who, action: &Action) -> Result<(), Refusal> {
        let mut next = self.clone();
        next.run(at, caller, action)?;
        next.count_votes(at);
        next.check(self);
        *self = next;
        Ok(())
    }

    fn run(&mut self, at: Moment, caller: Who, action: &Action) -> Result<(), Refusal> {
        match action {
            Action::Transfer { to, amount } => self.transfer(caller, *to, *amount),
            Action::Deposit { amount } => self.deposit(caller, caller, *amount),
            Action::DepositFor { account, amount } => self.deposit(caller, *account, *amount),
            Action::Withdraw { amount } => self.withdraw(caller, caller, *amount),
            Action::WithdrawTo { to, amount } => self.withdraw(caller, *to, *amount),
            Action::Stake { amount } => self.stake(caller, *amount),
            Action::Unbond { amount } => self.unbond(at, caller, *amount),
            Action::CancelUnbond => self.cancel_unbond(caller),
            Action::ClaimStake => self.claim_stake(at, caller),
            Action::Allow { hub, limit } => self.allow(caller, *hub, *limit),
            Action::Lock { number, order, signed } => self.lock(at, caller, *number, order, *signed),
            Action::Revoke { nonce } => self.use_nonce(caller, *nonce),
            Action::Engage { order, providers } => self.engage(caller, *order, providers),
            Action::Settle { settlement, approval } => self.settle(at, caller, settlement, *approval),
            Action::Accept { settlement } => self.accept(at, caller, settlement),
            Action::Finalize { settlement } => self.finalize(at, settlement),
            Action::Challenge { counter } => self.challenge(at, caller, counter),
            Action::Conclude { winner } => self.conclude(at, winner),
            Action::Release { order } => self.release(at, *order),
            Action::Enroll => self.enroll(at, caller),
            Action::Renew => self.renew(at, caller),
            Action::Resign => self.resign(caller),
            Action::Evict { auditor } => self.evict(at, *auditor),
            Action::Accuse { order, provider } => self.accuse(at, caller, *order, *provider),
            Action::Draw { dispute, drawn } => self.draw(at, *dispute, drawn),
            Action::Decide { dispute, votes } => self.decide(at, *dispute, votes),
            Action::Expire { dispute } => self.expire(at, *dispute),
            Action::OpenChannel { payee, amount, nonce } => self.open_channel(caller, *payee, *amount, *nonce),
            Action::TopUp { channel, amount } => self.top_up(caller, *channel, *amount),
            Action::Redeem { channel, showing } => self.redeem(caller, *channel, showing),
            Action::CloseChannel { channel } => self.close_channel(caller, *channel),
            Action::StartClose { channel } => self.start_close(at, caller, *channel),
            Action::FinishClose { channel } => self.finish_close(at, *channel),
            Action::CreateSchedule { schedule } => self.create_schedule(caller, *schedule),
            Action::ReleaseVested { schedule } => self.release_vested(at, *schedule),
            Action::Assign { schedule, to } => self.assign(caller, *schedule, *to),
            Action::ReleaseLicence { licence } => self.release_licence(at, *licence),
            Action::TransferLicence { licence, from, to } => self.transfer_licence(at, caller, *licence, *from, *to),
            Action::Publish { epoch, sharing } => self.publish(at, caller, *epoch, sharing),
            Action::Contest { epoch, sharing } => self.contest(at, caller, *epoch, sharing),
            Action::ConcludeEpoch { epoch } => self.conclude_epoch(*epoch),
            Action::FinishEpoch { epoch } => self.finish_epoch(at, *epoch),
            Action::ClaimReward { epoch, account, amount, proved } => {
                self.claim_reward(at, *epoch, *account, *amount, *proved)
            }
            Action::Delegate { to } => self.delegate(caller, *to),
            Action::Propose { number, deeds } => self.propose(at, caller, *number, deeds),
            Action::Cast { proposal, support } => self.cast(at, caller, *proposal, *support),
            Action::Queue { proposal } => self.queue(at, *proposal),
            Action::Execute { proposal } => self.execute(at, *proposal),
            Action::Cancel { proposal } => self.cancel(at, caller, *proposal),
            Action::Do { deed } => self.carry_out(at, caller, deed),
        }
    }

    /// What must hold after every action, whatever it was.
    fn check(&self, before: &Self) {
        let sum = |map: &BTreeMap<Who, u64>| map.values().map(|value| u128::from(*value)).sum::<u128>();
        assert_eq!(sum(&self.tokens), sum(&before.tokens), "tokens are neither made nor lost");
        let open = self.orders.values().filter(|record| record.is_open());
        let locked: u128 = open.map(|record| u128::from(record.order.cap) + u128::from(record.bond)).sum();
        let owed = sum(&self.books) + locked;
        assert_eq!(owed, self.tokens_of(ESCROW).into(), "Escrow has just what it owes");
        let staked: u128 = self.holdings.values().map(Holding::owed).sum();
        assert_eq!(staked, self.tokens_of(STAKE).into(), "Stake has just what it owes");
        let channels: u128 = self.channels.values().map(|channel| u128::from(channel.amount - channel.redeemed)).sum();
        assert_eq!(channels, self.money_of(VOUCHERS).into(), "channels are covered");
        assert!(self.holdings.values().all(|holding| holding.locked <= holding.bonded), "locks are covered");
        let vesting: u128 = self.schedules.iter().map(|entry| u128::from(entry.total - entry.released)).sum();
        assert_eq!(vesting, self.tokens_of(VESTING).into(), "schedules are covered");
        let paid: u128 = self.licences.iter().map(|licence| u128::from(licence.released)).sum();
        let pool = u128::from(self.pool.count) * u128::from(self.pool.share);
        assert_eq!(pool - paid, self.tokens_of(LICENCES).into(), "licences are covered");
        assert!(self.committed <= self.tokens_of(REWARDS), "promised rewards are covered");
    }

    /// Tokens of an account.
    pub fn tokens_of(&self, who: Who) -> u64 {
        self.tokens.get(&who).copied().unwrap_or_default()
    }

    /// Free money of an account.
    pub fn money_of(&self, who: Who) -> u64 {
        self.books.get(&who).copied().unwrap_or_default()
    }
}

fn share(amount: u64, points: u64) -> u64 {
    u64::try_from(u128::from(amount) * u128::from(points) / 10_000).expect("at most the whole")
}
