//! The economy in plain Rust: what the contracts should do, written a second time without a chain.
//!
//! For tests alone: random actions are carried out here and on real chains, and after each of them both must have
//! refused for the same reason or agree on every balance. Chance comes from outside: who is drawn for a committee is
//! read from the chain and only checked here.
//!
//! Nothing here is used to decide about money.
mod books;
mod channels;
mod collateral;
mod court;
mod orders;

use std::collections::{BTreeMap, BTreeSet};

pub use channels::{Channel, Showing};
pub use collateral::{Exit, Holding};
pub use court::{Dispute, Status};
pub use orders::{Approval, Order, Record, Settlement, State};

/// An account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who(pub u16);

/// Receives the platform's share.
pub const TREASURY: Who = Who(1_000);
/// The contract that decides disputes, as an owner of free money.
pub const COURT: Who = Who(1_001);
/// The contract of channels, as an owner of free money.
pub const VOUCHERS: Who = Who(1_002);
/// The contract of orders, as an owner of tokens.
pub const ESCROW: Who = Who(1_003);
/// The contract of stakes, as an owner of tokens.
pub const STAKE: Who = Who(1_004);

/// The parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named and explained in the Parameters contract")]
pub struct Terms {
    pub platform_share: u64,
    pub slash_share: u64,
    pub bond_share: u64,
    pub minimum_stake: u64,
    pub work_lock: u64,
    pub hub_lock: u64,
    pub challenge_window: u64,
    pub voting_window: u64,
    pub unbonding_delay: u64,
    pub committee_size: usize,
    pub order_duration_max: u64,
}

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
}

/// What an account does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each stands for the contracts' function of the same name")]
pub enum Action {
    Transfer {
        to: Who,
        amount: u64,
    },
    Deposit {
        amount: u64,
    },
    DepositFor {
        account: Who,
        amount: u64,
    },
    Withdraw {
        amount: u64,
    },
    WithdrawTo {
        to: Who,
        amount: u64,
    },
    Stake {
        amount: u64,
    },
    Unbond {
        amount: u64,
    },
    CancelUnbond,
    ClaimStake,
    Allow {
        hub: Who,
        limit: u64,
    },
    Lock {
        number: u32,
        order: Order,
        signed: bool,
    },
    Revoke {
        nonce: u64,
    },
    Engage {
        order: u32,
        providers: Vec<Who>,
    },
    Settle {
        settlement: Settlement,
        approval: Approval,
    },
    Accept {
        settlement: Settlement,
    },
    Finalize {
        settlement: Settlement,
    },
    Challenge {
        counter: Settlement,
    },
    Conclude {
        winner: Settlement,
    },
    Release {
        order: u32,
    },
    Enroll,
    Resign,
    Accuse {
        order: u32,
        provider: Who,
    },
    /// With whom the chain has drawn, if it has drawn.
    Draw {
        dispute: u32,
        drawn: Vec<Who>,
    },
    Decide {
        dispute: u32,
        votes: Vec<(Who, u8)>,
    },
    Expire {
        dispute: u32,
    },
    OpenChannel {
        payee: Who,
        amount: u64,
        nonce: u64,
    },
    TopUp {
        channel: (Who, Who, u64),
        amount: u64,
    },
    Redeem {
        channel: (Who, Who, u64),
        showing: Showing,
    },
    CloseChannel {
        channel: (Who, Who, u64),
    },
    StartClose {
        channel: (Who, Who, u64),
    },
    FinishClose {
        channel: (Who, Who, u64),
    },
}

/// Why an action is refused: the names of the contracts' errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each stands for the contracts' error of the same name")]
pub enum Refusal {
    ERC20InsufficientBalance,
    NotCovered,
    NotFree,
    NotReady,
    NothingUnbonding,
    NotTheHub,
    NotTheRequester,
    NotAParty,
    WrongState,
    BadSignature,
    NonceUsed,
    BadDeadline,
    BondTooSmall,
    HubStakeMissing,
    AboveCap,
    DeadlinePassed,
    DeadlineAhead,
    WindowOpen,
    WindowOver,
    WrongSettlement,
    NotDecided,
    DrawPending,
    AlreadyEnrolled,
    NotEnrolled,
    StakeTooSmall,
    OrderEnded,
    AlreadyAccused,
    NothingLocked,
    NotOpen,
    AlreadyDrawn,
    NotDrawn,
    TooEarly,
    TooLate,
    BadRuling,
    NotOnCommittee,
    NoMajority,
    ChannelExists,
    ChannelNotOpen,
    NotThePayer,
    NotThePayee,
    AlreadyClosing,
    NotClosing,
    TooManySteps,
    BadIndex,
    BadWord,
    NothingToRedeem,
    /// The chain has drawn a committee that it must not draw.
    WrongCommittee,
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
    /// Enrolled auditors.
    pub auditors: BTreeSet<Who>,
    undrawn: u32,
    /// Channels by payer, payee and nonce.
    pub channels: BTreeMap<(Who, Who, u64), Channel>,
}

impl Economy {
    /// Nothing but tokens in some hands.
    pub fn new(terms: Terms, tokens: BTreeMap<Who, u64>) -> Self {
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
            auditors: BTreeSet::new(),
            undrawn: 0,
            channels: BTreeMap::new(),
        }
    }

    /// Carries an action out, or changes nothing.
    pub fn apply(&mut self, at: Moment, caller: Who, action: &Action) -> Result<(), Refusal> {
        let mut next = self.clone();
        next.run(at, caller, action)?;
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
            Action::Accept { settlement } => self.accept(caller, settlement),
            Action::Finalize { settlement } => self.finalize(at, settlement),
            Action::Challenge { counter } => self.challenge(at, caller, counter),
            Action::Conclude { winner } => self.conclude(winner),
            Action::Release { order } => self.release(at, *order),
            Action::Enroll => self.enroll(caller),
            Action::Resign => self.resign(caller),
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

fn refuse_if(condition: bool, refusal: Refusal) -> Result<(), Refusal> {
    if condition { Err(refusal) } else { Ok(()) }
}
