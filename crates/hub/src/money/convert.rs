//! From what is encoded on a wire or a disk to what a chain understands.
use gleaner_chain::order::{Payout, Settlement};
use gleaner_chain::primitives::{Address, B256};
use gleaner_chain::receipt::{self, Checked, Receipt};
use gleaner_wire as wire;

use crate::journal::EndedOrder;

/// An account as the chain writes it.
pub(crate) fn address(address: wire::Address) -> Address {
    Address::from(address.0)
}

/// A receipt as the chain writes it.
pub(crate) fn receipt(order: B256, receipt: &gleaner_core::Receipt) -> Receipt {
    Receipt {
        order,
        task: receipt.task,
        attempt: receipt.attempt,
        provider: address(receipt.provider),
        worker: B256::from(receipt.worker.0),
        output: receipt.output.map_or(B256::ZERO, |output| B256::from(output.0)),
        micros: receipt.ran.0,
        checked: Checked::Accepted,
        gross: receipt.gross,
    }
}

/// How an ended order is to be split, given its receipts.
pub(crate) fn settlement(id: B256, ended: &EndedOrder, receipts: &[Receipt]) -> Settlement {
    let payouts = ended.dues.iter().map(|due| Payout { provider: address(due.provider), gross: due.gross });
    Settlement { order: id, receipts_root: receipt::tree(receipts).root(), payouts: payouts.collect() }
}
