//! Receipts as evidence: whether one shows that somebody gave a wrong answer.
use gleaner_wire::receipt::{Seed, TaskReceipt, Verdict};
use gleaner_wire::{Address, Hash};

use crate::fault::Fault;
use crate::read::read;
use crate::verify::verify;

/// Whether a receipt shows that its worker's claim was refuted; or why it shows nothing.
pub fn guilty(receipt: &TaskReceipt) -> Result<bool, Vec<Fault>> {
    verify(receipt).map(|_| receipt.facts.verdict == Verdict::Refuted)
}

/// Whether a document shows that a provider gave a wrong answer for an order: as the worker, or as one who checked it. A
/// receipt that does not hold shows nothing. An error says why the document cannot be judged at all.
pub fn guilty_by_document(order: &Hash, provider: &Address, document: &[u8]) -> Result<bool, String> {
    let receipts = read(document).map_err(|error| error.to_string())?;
    let [receipt] = receipts.as_slice() else {
        return Err(format!("the evidence has {} receipts; it must have one", receipts.len()));
    };
    let facts = &receipt.facts;
    if facts.draw.as_ref().is_some_and(|draw| draw.source == Seed::Hub) {
        return Err(
            "the hub drew the jurors itself; a seed from the chain would show that it did not choose them".into()
        );
    }
    let is_about = facts.order.as_ref().is_some_and(|ordered| ordered.id == *order);
    let names = facts.deductions.iter().any(|deduction| deduction.provider == Some(*provider));
    Ok(is_about && names && verify(receipt).is_ok())
}
