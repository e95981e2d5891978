//! What accounts can do.
use super::{Approval, Deed, Order, Schedule, Settlement, Sharing, Showing, Who};

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
    Renew,
    Resign,
    Evict {
        auditor: Who,
    },
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
    CreateSchedule {
        schedule: Schedule,
    },
    ReleaseVested {
        schedule: u64,
    },
    Assign {
        schedule: u64,
        to: Who,
    },
    ReleaseLicence {
        licence: u64,
    },
    TransferLicence {
        licence: u64,
        from: Who,
        to: Who,
    },
    Publish {
        epoch: u64,
        sharing: Sharing,
    },
    Contest {
        epoch: u64,
        sharing: Sharing,
    },
    ConcludeEpoch {
        epoch: u64,
    },
    FinishEpoch {
        epoch: u64,
    },
    /// With or without the proof that belongs to the share.
    ClaimReward {
        epoch: u64,
        account: Who,
        amount: u64,
        proved: bool,
    },
    Delegate {
        to: Who,
    },
    Propose {
        number: u32,
        deeds: Vec<Deed>,
    },
    Cast {
        proposal: u32,
        support: u8,
    },
    Queue {
        proposal: u32,
    },
    Execute {
        proposal: u32,
    },
    Cancel {
        proposal: u32,
    },
    /// What votes decide about, tried by an account for itself.
    Do {
        deed: Deed,
    },
}
