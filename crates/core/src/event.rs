//! What happens to a hub. Events are journaled before they are applied; replaying them gives the same state.
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::{
    Address, Amount, AttemptId, AuctionId, Finished, Hash, Held, JobId, Offer, OpenedBid, Output, Runtime, SealedBid,
    SignedOrder, WorkerId, WorkerKey,
};
use serde::{Deserialize, Serialize};

use crate::ledger::Account;
use crate::market::Terms;
use crate::plan::Graph;

/// The shell's own number for a request that waits for an answer; it means nothing to the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// A number for each connection of a worker, so that the end of an old one does not end a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Session(pub u64);

/// How an order ended on the chain, beside what was booked for it here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// Whose.
    pub job: JobId,
    /// Who gets back what was not spent.
    pub requester: String,
    /// What was booked for each worker.
    pub booked: Vec<(WorkerId, Amount)>,
    /// What was booked for the platform.
    pub fee: Amount,
    /// What was booked as not spent.
    pub rest: Amount,
    /// What each worker was really paid; less than booked only if a dispute was lost or the hub came too late.
    pub paid: Vec<(WorkerId, Amount)>,
}

/// What the chain's parameters say of work, as they are now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainTerms {
    /// The platform's share, in hundredths of a percent.
    pub share_points: u32,
    /// What must stand behind every worker.
    pub stake_min: Amount,
    /// What an order locks of the stake of each provider that works for it.
    pub work_lock: Amount,
    /// What a verdict takes of that, in hundredths of a percent.
    pub slash_points: u32,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The hub's process started: every connection is gone, every lease gets time to be adopted.
    HubStarted,
    /// A deadline may have passed; see `Core::next_deadline`.
    TimePassed,
    /// Money came in from outside.
    Deposited {
        /// Where to.
        account: Account,
        /// How much.
        amount: Amount,
    },
    /// A worker proved its key and made an offer.
    WorkerJoined {
        /// Who.
        key: WorkerKey,
        /// On which connection.
        session: Session,
        /// What it offers.
        offer: Offer,
        /// The devices that their owner needs now.
        resting: Vec<u16>,
        /// The attempts it still holds.
        held: Vec<AttemptId>,
    },
    /// A connection ended.
    WorkerLeft {
        /// Whose.
        worker: WorkerId,
        /// Which.
        session: Session,
    },
    /// The owner paused the worker, or took it back.
    WorkerPaused {
        /// Which.
        worker: WorkerId,
    },
    /// The owner gave the worker back.
    WorkerResumed {
        /// Which.
        worker: WorkerId,
    },
    /// The owner needs these devices of a worker, and no others.
    DevicesRest {
        /// Whose.
        worker: WorkerId,
        /// By their position in the offer.
        devices: Vec<u16>,
    },
    /// A test of a runtime of a device has ended.
    Screened {
        /// Whose.
        worker: WorkerId,
        /// The connection that the test was asked for on: one that was broken off counts no more.
        session: Session,
        /// The position of the device in the offer.
        device: u16,
        /// The runtime.
        runtime: Runtime,
        /// The score that its time gives, or what was wrong with its answer.
        outcome: Result<u32, String>,
    },
    /// An attempt has saved how far it is.
    Saved {
        /// Who says so.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// What it saved.
        checkpoint: Output,
    },
    /// An operator gives a worker that lost its standing another chance.
    WorkerReadmitted {
        /// Which.
        worker: WorkerId,
    },
    /// A heartbeat: the worker holds these attempts.
    LeasesRenewed {
        /// Who.
        worker: WorkerId,
        /// Which attempts.
        held: Vec<AttemptId>,
    },
    /// A worker said how much it holds of which datasets, and of no others.
    Holds {
        /// Who.
        worker: WorkerId,
        /// What; beyond `HELD_MAX` the rest is cut.
        held: Vec<Held>,
    },
    /// Attempts ended on a worker.
    AttemptsFinished {
        /// Who says so.
        worker: WorkerId,
        /// The number of the signed message that they came in.
        batch: u64,
        /// The ends.
        results: Vec<Finished>,
    },
    /// A planned job was submitted.
    JobSubmitted {
        /// Who to answer.
        ticket: Ticket,
        /// The client's own number of this submission: sent twice, it makes one job.
        submission: u128,
        /// Who pays.
        requester: String,
        /// The job.
        graph: Graph,
        /// What the requester signed for it, where money is on a chain.
        order: Option<SignedOrder>,
    },
    /// The order's money is locked on the chain.
    OrderLocked {
        /// Whose.
        job: JobId,
        /// The platform's share of this order, in hundredths of a percent.
        share_points: u32,
    },
    /// The order's money cannot be locked.
    OrderRefused {
        /// Whose.
        job: JobId,
        /// Why, in words for the requester.
        reason: String,
    },
    /// The chain has closed an order: whatever was booked for it here is over.
    OrderClosed(Closing),
    /// The chain's terms, as they are now.
    TermsSeen(ChainTerms),
    /// A provider's stake, as it is now.
    StakeSeen {
        /// Whose.
        provider: Address,
        /// How much.
        stake: Amount,
    },
    /// What the order of a job has locked of a provider's stake.
    LockSeen {
        /// Whose order.
        job: JobId,
        /// Whose stake.
        provider: Address,
        /// How much of it.
        locked: Amount,
    },
    /// The requester wants the job to stop.
    JobCancelled {
        /// Which.
        job: JobId,
    },
    /// Chance that nobody could foresee was drawn for the claims of a round.
    RoundDrawn {
        /// Which.
        round: u64,
        /// What lots are drawn from.
        seed: Hash,
    },
    /// The shell has stored an ended job elsewhere, so the core may forget it.
    JobArchived {
        /// Which.
        job: JobId,
    },
    /// A worker sent sealed bids.
    BidsSealed {
        /// Who.
        worker: WorkerId,
        /// What.
        bids: Vec<SealedBid>,
    },
    /// A worker opened bids.
    BidsOpened {
        /// Who.
        worker: WorkerId,
        /// What.
        bids: Vec<OpenedBid>,
    },
    /// A lot was drawn for an auction with equal bids.
    LotDrawn {
        /// Which.
        auction: AuctionId,
        /// The chance that decides.
        seed: u64,
    },
    /// The operator says whether the platform owns a worker, which may not have joined yet.
    WorkerManaged {
        /// Which.
        key: WorkerKey,
        /// Whether it does.
        managed: bool,
    },
    /// The operator says when managed workers help and how many may be wanted.
    DemandTermsSet {
        /// What he says.
        terms: Terms,
    },
    /// A worker asks other prices from now on.
    Repriced {
        /// Which.
        worker: WorkerId,
        /// What a second of each device costs, in the order of its offer.
        prices: Vec<Amount>,
    },
}
