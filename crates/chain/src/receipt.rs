//! Receipts of paid attempts: who did what, what it gave, how it was checked and what it cost.
//!
//! A settlement carries only the root of its receipts. Whoever holds a receipt and its proof can show that the payment
//! covered it; whoever holds all of them can reckon the payouts again.
use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::SolValue;
use gleaner_wire::{Amount, AttemptId, TaskId};
use serde::{Deserialize, Serialize};

use crate::merkle::{self, Tree};
use crate::order::{Payout, Settlement};

mod typed {
    //! The record as it is encoded into a leaf.
    alloy_sol_types::sol! {
        struct Receipt {
            bytes32 order;
            uint64 job;
            uint16 group;
            uint32 index;
            uint64 attempt;
            address provider;
            bytes32 worker;
            bytes32 output;
            uint64 micros;
            uint8 checked;
            uint256 gross;
        }
    }
}

/// How a result was checked before it was paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// It was taken as delivered.
    Accepted,
    /// Another worker's result of the same task agreed.
    Agreed,
    /// Part of it was computed again and agreed.
    Audited,
}

impl Checked {
    fn code(self) -> u8 {
        match self {
            Self::Accepted => 0,
            Self::Agreed => 1,
            Self::Audited => 2,
        }
    }
}

/// The record of one paid attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PaidReceipt))]
pub struct Receipt {
    /// The order it was paid from.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-f]{64}$"))]
    pub order: B256,
    /// The task that was done.
    pub task: TaskId,
    /// The attempt that did it.
    pub attempt: AttemptId,
    /// Who is paid.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub provider: Address,
    /// The key of the machine that worked.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-f]{64}$"))]
    pub worker: B256,
    /// The BLAKE3 hash of what it delivered.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-f]{64}$"))]
    pub output: B256,
    /// Device time that was paid for, in microseconds.
    pub micros: u64,
    /// How the result was checked.
    pub checked: Checked,
    /// What the requester pays for it.
    pub gross: Amount,
}

impl Receipt {
    /// The hash that stands for this receipt in the tree.
    pub fn leaf(&self) -> B256 {
        let record = typed::Receipt {
            order: self.order,
            job: self.task.job.0,
            group: self.task.group,
            index: self.task.index,
            attempt: self.attempt.0,
            provider: self.provider,
            worker: self.worker,
            output: self.output,
            micros: self.micros,
            checked: self.checked.code(),
            gross: U256::from(self.gross.0),
        };
        merkle::leaf(&record.abi_encode())
    }
}

/// The tree of these receipts, in their given order.
pub fn tree(receipts: &[Receipt]) -> Tree {
    Tree::new(receipts.iter().map(Receipt::leaf).collect())
}

/// Why receipts and a settlement do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// A receipt belongs to another order.
    #[error("the receipt of attempt {0} belongs to another order")]
    Order(AttemptId),
    /// An attempt is listed twice.
    #[error("attempt {0} is listed twice")]
    Twice(AttemptId),
    /// The receipts hash to another root.
    #[error("the receipts do not hash to the settlement's root")]
    Root,
    /// The totals differ.
    #[error("the receipts of {provider} come to {receipts} GLN, the settlement pays {paid} GLN")]
    Total {
        /// Whose total it is.
        provider: Address,
        /// What the receipts say.
        receipts: Amount,
        /// What the settlement says.
        paid: Amount,
    },
    /// A sum is beyond any amount.
    #[error("the amounts add up to more than there can be")]
    Overflow,
}

/// What each provider is owed by these receipts, in the order of addresses.
pub fn payouts(receipts: &[Receipt]) -> Option<Vec<Payout>> {
    let mut totals = BTreeMap::<Address, Amount>::new();
    for receipt in receipts {
        let total = totals.entry(receipt.provider).or_default();
        *total = total.checked_add(receipt.gross)?;
    }
    Some(totals.into_iter().map(|(provider, gross)| Payout { provider, gross }).collect())
}

/// Whether a settlement pays exactly these receipts: what a requester's client checks before it approves.
pub fn verify(settlement: &Settlement, receipts: &[Receipt]) -> Result<(), Mismatch> {
    let mut attempts = std::collections::BTreeSet::new();
    for receipt in receipts {
        if receipt.order != settlement.order {
            return Err(Mismatch::Order(receipt.attempt));
        }
        if !attempts.insert(receipt.attempt) {
            return Err(Mismatch::Twice(receipt.attempt));
        }
    }
    if tree(receipts).root() != settlement.receipts_root {
        return Err(Mismatch::Root);
    }
    settlement.gross().ok_or(Mismatch::Overflow)?;
    compare(receipts, settlement)
}

fn compare(receipts: &[Receipt], settlement: &Settlement) -> Result<(), Mismatch> {
    let mut owed = BTreeMap::new();
    for payout in payouts(receipts).ok_or(Mismatch::Overflow)? {
        owed.insert(payout.provider, (payout.gross, Amount::ZERO));
    }
    for payout in &settlement.payouts {
        let (_, paid) = owed.entry(payout.provider).or_default();
        *paid = paid.checked_add(payout.gross).ok_or(Mismatch::Overflow)?;
    }
    match owed.into_iter().find(|(_, (receipts, paid))| receipts != paid) {
        Some((provider, (receipts, paid))) => Err(Mismatch::Total { provider, receipts, paid }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::JobId;

    fn receipt(attempt: u64, provider: u8, gross: u64) -> Receipt {
        Receipt {
            order: B256::repeat_byte(1),
            task: TaskId { job: JobId(2), group: 3, index: 4 },
            attempt: AttemptId(attempt),
            provider: Address::repeat_byte(provider),
            worker: B256::repeat_byte(6),
            output: B256::repeat_byte(7),
            micros: 8,
            checked: Checked::Accepted,
            gross: Amount(gross),
        }
    }

    fn settled(receipts: &[Receipt]) -> Settlement {
        let payouts = payouts(receipts).expect("small sums");
        Settlement { order: B256::repeat_byte(1), receipts_root: tree(receipts).root(), payouts }
    }

    #[test]
    fn the_leaf_of_a_receipt_is_pinned() {
        let leaf = "0x54bff5b51f15988562c5e4a3810e6b4eea64ec377ffe17b1fadc06c8a716a7ec";
        assert_eq!(receipt(5, 9, 10).leaf().to_string(), leaf);
    }

    #[test]
    fn a_settlement_that_pays_its_receipts_verifies() {
        let receipts = [receipt(1, 1, 10), receipt(2, 2, 20), receipt(3, 1, 30)];
        assert_eq!(verify(&settled(&receipts), &receipts), Ok(()));
        assert_eq!(verify(&settled(&[]), &[]), Ok(()));
    }

    #[test]
    fn a_settlement_that_pays_anything_else_is_refused() {
        let receipts = [receipt(1, 1, 10), receipt(2, 2, 20)];
        let mut more = settled(&receipts);
        more.payouts[0].gross = Amount(11);
        assert!(matches!(verify(&more, &receipts), Err(Mismatch::Total { .. })));
        let mut stranger = settled(&receipts);
        stranger.payouts.push(Payout { provider: Address::repeat_byte(3), gross: Amount(1) });
        assert!(matches!(verify(&stranger, &receipts), Err(Mismatch::Total { .. })));
        assert_eq!(verify(&settled(&receipts), &receipts[..1]), Err(Mismatch::Root));
        let twice = [receipt(1, 1, 10), receipt(1, 1, 10)];
        assert_eq!(verify(&settled(&twice), &twice), Err(Mismatch::Twice(AttemptId(1))));
        let foreign = [Receipt { order: B256::ZERO, ..receipt(1, 1, 10) }];
        assert_eq!(verify(&settled(&foreign), &foreign), Err(Mismatch::Order(AttemptId(1))));
    }
}
