//! The receipt of a settled task: who did what by which order, how it was checked, and who was paid or lost money for it.
//!
//! A receipt is complete in itself: whoever holds one can reckon everything in it again. These are types only; what
//! reckons is `gleaner-receipt`. A paid task has a receipt, and so has a claim that was refuted, as evidence.
mod audit;
mod claim;
mod hexadecimal;
mod verdict;

pub use audit::{Answer, Audit, Draw, Juror, Poll, Record, Referee, Round, Seed, Side};
pub use claim::{Batch, Claim, Commitment, batch_message, claim_hash, claims, is_claim};
pub use hexadecimal::{Bytes, Signature};
pub use verdict::Verdict;

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::market::Market;
use crate::{
    Address, Amount, Check, DeviceKind, Hash, Micros, Millis, Runtime, SignedOrder, TaskId, WorkerKey, encode,
};

/// The version of receipts. It stands for their encoding and for the rules by which rates, lots and polls are reckoned.
pub const VERSION: u16 = 4;
/// The largest receipt that is read, in either encoding.
pub const BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most jurors that lots are drawn among.
pub const JURORS_MAX: usize = 256;
/// The most answers beside the claim that are told apart.
pub const RIVALS_MAX: usize = 8;
/// The most who are asked after polls did not decide.
pub const REFEREES_MAX: usize = 4;

/// The receipt of one settled task, signed by its hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskReceipt {
    /// What it says.
    pub facts: Facts,
    /// What stands for that; the next receipt of the job names it.
    pub hash: Hash,
    /// The hub's signature of [`receipt_message`].
    pub signature: Signature,
}

/// What a receipt says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptFacts))]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// [`VERSION`].
    pub version: u16,
    /// The hub's ed25519 key.
    pub hub: WorkerKey,
    /// Whose money it was; nothing on a hub without a chain.
    pub order: Option<Ordered>,
    /// The hash of the job file as it was sent.
    pub job: Hash,
    /// The task.
    pub task: TaskId,
    /// Which one of the job's receipts this is, from 0.
    pub number: u64,
    /// The hash of the job's receipt before this one.
    pub previous: Option<Hash>,
    /// Where the task ran, and why there.
    pub placement: Placement,
    /// The word of those who own the workers in it: the worker's, then the jurors' and the referees', each once. Of those
    /// without an owner there is none.
    pub owners: Vec<Owned>,
    /// For how long.
    pub meter: Meter,
    /// What that costs.
    pub price: Price,
    /// What the worker said it did.
    pub commitment: Commitment,
    /// How the job asks for two results to be compared.
    pub check: Check,
    /// The lot that decided whether it was checked; nothing where no check was asked for, or ended before.
    pub draw: Option<Draw>,
    /// Who was asked, and what they answered; nothing where nobody was.
    pub audit: Option<Audit>,
    /// What came of it.
    pub verdict: Verdict,
    /// Who was paid.
    pub payout: Payout,
    /// Who lost money.
    pub deductions: Vec<Deduction>,
}

/// The order a task was paid from, with what its id on the chain is reckoned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptOrder))]
#[serde(deny_unknown_fields)]
pub struct Ordered {
    /// What the requester signed.
    pub signed: SignedOrder,
    /// The chain.
    pub chain_id: u64,
    /// The Escrow contract on it.
    pub escrow: Address,
    /// The Stake contract on it, by which owners sign for their workers.
    pub stake: Address,
    /// The order's id there.
    pub id: Hash,
}

/// An owner's word that a worker is its own on the hub: its signature under the worker's key, the hub's account and the Stake
/// contract that the order names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptOwned))]
#[serde(deny_unknown_fields)]
pub struct Owned {
    /// The worker.
    pub worker: WorkerKey,
    /// The signature of its provider, which stands beside its key elsewhere.
    pub signature: Bytes,
}

/// Where a task ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptPlacement))]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Who did it.
    pub worker: WorkerKey,
    /// Who owns that machine; nothing on a hub without a chain.
    pub provider: Option<Address>,
    /// By what kind of program: some of them can tell machines apart.
    pub runtime: Runtime,
    /// Whether it went on from a checkpoint, which may have been a wrong one of somebody else.
    pub resumed: bool,
    /// On what kind of device.
    pub device: DeviceKind,
    /// The class of devices whose answers it is compared with.
    pub class: String,
    /// The price agreed for a second.
    pub per_second: Amount,
    /// How the worker was found, and how firm its place was.
    pub market: Market,
    /// Why it was chosen, in words.
    pub why: String,
}

/// How long a task ran. What is paid for never is more than the hub's own clock allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptMeter))]
#[serde(deny_unknown_fields)]
pub struct Meter {
    /// When the hub placed it.
    pub placed: Millis,
    /// When the hub had its result.
    pub finished: Millis,
    /// The running time that counts: what the worker says, but at most what lies between the two and a millisecond.
    pub ran: Micros,
}

impl Meter {
    /// What counts of the running time that a worker claims.
    pub fn counted(placed: Millis, finished: Millis, claimed: Micros) -> Micros {
        claimed.min(Micros(finished.since(placed).micros().0.saturating_add(1000)))
    }
}

/// From running time to money. The platform's share is taken of all that the worker has done for the job so far, so that
/// it comes out as it does when the sum is settled at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptPrice))]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// What was set aside for the attempt: the most it may cost.
    pub hold: Amount,
    /// What is withheld of it because the worker won auctions and did not start.
    pub bond: Amount,
    /// The price of a second times the running time, rounded up, at most the hold and less the bond; what the requester
    /// would pay.
    pub gross: Amount,
    /// The platform's share in hundredths of a percent.
    pub share_points: u32,
    /// What the requester paid for this worker's part of the job before.
    pub sum_before: Amount,
    /// The same with this task.
    pub sum_after: Amount,
}

/// Who was paid what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptPayout))]
#[serde(deny_unknown_fields)]
pub struct Payout {
    /// What the worker's owner gets.
    pub worker: Amount,
    /// What the platform gets.
    pub platform: Amount,
}

/// What somebody lost for an answer that was found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptDeduction))]
#[serde(deny_unknown_fields)]
pub struct Deduction {
    /// Whose answer it was.
    pub worker: WorkerKey,
    /// Whose stake it is.
    pub provider: Option<Address>,
    /// How much of it.
    pub amount: Amount,
    /// The hash of the wrong claim, which its maker signed.
    pub evidence: Hash,
}

impl Facts {
    /// What stands for these facts.
    pub fn hash(&self) -> Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"gleaner receipt 4").update(&encode(self));
        Hash(*hasher.finalize().as_bytes())
    }
}

/// What a hub signs under a receipt with this hash.
pub fn receipt_message(hash: &Hash) -> Vec<u8> {
    [b"gleaner receipt signed by its hub 1".as_slice(), &hash.0].concat()
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::{AttemptId, JobId, Order};
    use alloc::string::ToString;
    use alloc::vec;

    fn commitment(attempt: u64) -> Commitment {
        let task = TaskId { job: JobId(2), group: 3, index: 4 };
        let root = Hash([5; 32]);
        let ran = Micros(1_500_000);
        let claim = Claim { attempt: AttemptId(attempt), task, output: Some(Hash([6; 32])), ran };
        let path = vec![Hash([8; 32])];
        let batch = Batch { root, count: 2, place: 1, path, signature: Signature([9; 64]) };
        Commitment { claim, batch }
    }

    fn ordered() -> Ordered {
        let (requester, hub) = (Address([1; 20]), Address([2; 20]));
        let (cap, bond) = (Amount::gln(5), Amount(7));
        let (job, policy) = (Hash([3; 32]), Hash([0; 32]));
        let order = Order { requester, hub, job, cap, bond, deadline: 1_900_000_000, policy, nonce: 1 };
        let signed = SignedOrder { order, signature: vec![9; 65] };
        Ordered { signed, chain_id: 1, escrow: Address([3; 20]), stake: Address([5; 20]), id: Hash([4; 32]) }
    }

    fn facts() -> Facts {
        let (key, provider) = (WorkerKey([2; 32]), Some(Address([3; 20])));
        let answer = Answer {
            auditor: key,
            commitment: commitment(2),
            side: Side::Rival(1),
            distance: u64::MAX,
            tolerated: 1_000_000,
        };
        let juror = Juror { key, provider, weight: 1, gone: false };
        let poll = Poll { drawn: vec![key], votes: vec![0, 1] };
        let (jurors, answers, rivals) = (vec![juror], vec![answer], vec![key]);
        let (polls, referees) = (vec![poll], vec![Referee { key: WorkerKey([4; 32]), provider }]);
        let audit = Audit { jurors, answers, sample: 11, polls, rivals, referees };
        Facts {
            version: VERSION,
            hub: WorkerKey([1; 32]),
            order: Some(ordered()),
            job: Hash([3; 32]),
            task: TaskId { job: JobId(2), group: 3, index: 4 },
            number: 1,
            previous: Some(Hash([5; 32])),
            placement: Placement {
                worker: key,
                provider,
                runtime: Runtime::Wgsl,
                resumed: true,
                device: DeviceKind::Nvidia,
                class: "nvidia".into(),
                per_second: Amount(1000),
                market: Market::default(),
                why: "the cheapest".into(),
            },
            owners: vec![Owned { worker: key, signature: Bytes(vec![13; 65]) }],
            meter: Meter { placed: Millis(1000), finished: Millis(3000), ran: Micros(1_500_000) },
            price: Price {
                hold: Amount(2000),
                bond: Amount(4),
                gross: Amount(1496),
                share_points: 1500,
                sum_before: Amount(10),
                sum_after: Amount(1506),
            },
            commitment: commitment(1),
            check: Check::Exact,
            draw: Some(Draw {
                round: Round { number: 6, root: Hash([7; 32]), count: 1, place: 0, path: vec![] },
                source: Seed::Chain(Bytes(vec![1, 2, 3])),
                seed: Hash([8; 32]),
                record: Record { good: 1, bad: 0, loses: Amount(9), exposure: Amount(10) },
                rate: 1_000_000,
                selected: true,
            }),
            audit: Some(audit),
            verdict: Verdict::Refuted,
            payout: Payout { worker: Amount(1275), platform: Amount(225) },
            deductions: vec![Deduction { worker: key, provider, amount: Amount(9), evidence: Hash([11; 32]) }],
        }
    }

    #[test]
    fn a_receipt_reads_back_from_json_and_from_bytes() {
        let facts = facts();
        let receipt = TaskReceipt { hash: facts.hash(), facts, signature: Signature([12; 64]) };
        let json = serde_json::to_string(&receipt).expect("plain data");
        assert_eq!(serde_json::from_str::<TaskReceipt>(&json).expect("the same"), receipt);
        assert_eq!(crate::decode::<TaskReceipt>(&encode(&receipt)), Ok(receipt));
    }

    #[test]
    fn hashes_of_receipts_and_claims_are_pinned() {
        let pinned = [
            "84f5dd1d76018b61fcdfc1dadf9d449cb7e1d207caec655685987c2248a506cc",
            "18de13e018557e0c5a25980c68a63b347943ef48849c22f84387e8e8180623e2",
        ];
        assert_eq!([facts().hash().to_string(), claim_hash(&commitment(1).claim).to_string()], pinned);
        let failed = Claim { output: None, ..commitment(1).claim };
        let nothing = Claim { output: Some(Hash([0; 32])), ..commitment(1).claim };
        assert_ne!(claim_hash(&failed), claim_hash(&nothing), "a failure is not an output of zeros");
    }

    #[test]
    fn fields_that_no_receipt_has_are_refused() {
        let mut json = serde_json::to_value(facts()).expect("plain data");
        json["note"] = "paid twice".into();
        assert!(serde_json::from_value::<Facts>(json).is_err());
    }

    #[test]
    fn no_more_time_counts_than_has_passed() {
        let counted = |finished, claimed| Meter::counted(Millis(1000), Millis(finished), Micros(claimed));
        assert_eq!(counted(1002, 1500), Micros(1500));
        assert_eq!(counted(1002, 9000), Micros(3000));
        assert_eq!(counted(0, u64::MAX), Micros(1000));
    }
}
