//! Receipts as evidence: whether one shows that somebody gave a wrong answer.
use std::collections::BTreeSet;

use gleaner_chain::beacon::Beacon;
use gleaner_wire::receipt::{Audit, Facts, Seed, Side, TaskReceipt, Verdict};
use gleaner_wire::{Address, Hash};

use crate::fault::Fault;
use crate::read::read;
use crate::reckon;
use crate::verify::{read_beacon, verify};

/// The fewest owners who must have come to what was found right. One alone could say anything.
const WITNESSES_MIN: usize = 2;

/// What a document shows of somebody's guilt, as far as that can be seen without a chain. It counts if the chain has these
/// blocks, and these accounts have something to lose by a wrong word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The blocks that gave the seed by which jurors were drawn.
    pub beacon: Beacon,
    /// The block that gave it.
    pub block: u64,
    /// The Stake contract by which the owners signed for their workers.
    pub stake: Address,
    /// Those whose workers came to what was found right.
    pub witnesses: BTreeSet<Address>,
}

/// Whether a receipt shows that its worker's claim was refuted; or why it shows nothing.
pub fn guilty(receipt: &TaskReceipt) -> Result<bool, Vec<Fault>> {
    verify(receipt).map(|_| receipt.facts.verdict == Verdict::Refuted)
}

/// What a document shows of a provider's wrong answer for an order, as the worker or as one who checked it; nothing if it shows
/// none. A receipt that does not hold shows nothing, and neither do answers of workers that nobody has signed for. An error says
/// why the document cannot be judged at all.
pub fn guilty_by_document(order: &Hash, provider: &Address, document: &[u8]) -> Result<Option<Evidence>, String> {
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
    let names = facts.deductions.iter().any(|deduction| deduction.provider == Some(*provider));
    if !names || verify(receipt).is_err() {
        return Ok(None);
    }
    Ok(shown(facts, order))
}

/// What a receipt that holds has the chain confirm.
fn shown(facts: &Facts, order: &Hash) -> Option<Evidence> {
    let ordered = facts.order.as_ref().filter(|ordered| ordered.id == *order)?;
    let draw = facts.draw.as_ref()?;
    let Seed::Chain(bytes) = &draw.source else { return None };
    let beacon = read_beacon(&bytes.0)?;
    let anchored = gleaner_chain::beacon::inspect(&beacon, draw.round.root).ok()?;
    let witnesses = witnesses(facts, facts.audit.as_ref()?)?;
    let enough = witnesses.len() >= WITNESSES_MIN;
    let block = anchored.block.checked_add(1)?;
    enough.then_some(Evidence { beacon, block, stake: ordered.stake, witnesses })
}

/// The owners of all who came to what was found right; nothing if one of them has none.
fn witnesses(facts: &Facts, audit: &Audit) -> Option<BTreeSet<Address>> {
    let right = reckon::side_upheld(audit, facts.verdict)?;
    let worker = (right == Side::Claim).then_some(facts.placement.provider);
    let answers = audit.answers.iter().filter(|answer| answer.side == right);
    let owners = answers.map(|answer| reckon::provider_of(audit, &answer.auditor));
    worker.into_iter().chain(owners).collect()
}
