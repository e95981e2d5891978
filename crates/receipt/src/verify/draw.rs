//! The lot: that it was drawn after the claim was made, by a rate that follows from the worker's record.
use gleaner_chain::beacon::{self, Beacon};
use gleaner_core::proof;
use gleaner_wire::receipt::{Draw, Facts, Record, Round, Seed, claim_hash};
use gleaner_wire::{Address, commit};

use super::Check;
use crate::fault::{money, or_nothing};
use crate::reckon;

impl Check<'_> {
    pub(super) fn draw(&mut self, facts: &Facts) {
        let Some(draw) = &facts.draw else { return };
        let claim = claim_hash(&facts.commitment.claim);
        let Draw { round, source, seed, record, rate, selected } = draw;
        let Round { number, root, count, place, path } = round;
        if !commit::verify(root, *count, *place, &claim, path) {
            let what = format!("the claim in round {number}");
            self.path(&what, claim.to_string(), *place, *count, root.to_string());
        }
        match source {
            Seed::Chain(beacon) => self.anchored(facts, draw, &beacon.0),
            Seed::Hub => self.believe(format!("the hub drew the seed of round {number} itself")),
        }
        self.rate(facts, record, *rate);
        let reason = || format!("the seed {seed} at a rate of {rate} millionths");
        self.faults.same("whether the claim was drawn", selected, &proof::is_selected(seed, &claim, *rate), reason);
    }

    fn rate(&mut self, facts: &Facts, record: &Record, rate: u32) {
        let Record { good, bad, loses, exposure } = record;
        self.faults.same("the worker's rate in millionths", &rate, &reckon::rate(record), || {
            let money = format!("{} to lose with {} unpaid", money(*loses), money(*exposure));
            format!("a record of {good} good and {bad} bad answers and {money}")
        });
        let gross = facts.price.gross;
        if facts.order.is_some() && *exposure < gross {
            let rule = format!("at least what this task costs, {}", money(gross));
            self.faults.impossible("what the worker had unpaid", money(*exposure), rule);
        }
    }

    /// The seed comes from the block after the one in which the hub anchored the round.
    fn anchored(&mut self, facts: &Facts, draw: &Draw, bytes: &[u8]) {
        let Some(beacon) = read_beacon(bytes) else {
            let says = format!("{} bytes that cannot be read", bytes.len());
            return self.faults.impossible("the beacon of the seed", says, "two blocks and a transaction");
        };
        let anchored = match beacon::inspect(&beacon, draw.round.root) {
            Ok(anchored) => anchored,
            Err(error) => {
                let rule = format!("proof that the root {} was anchored before its seed was known", draw.round.root);
                return self.faults.impossible("the beacon of the seed", format!("worthless ({error})"), rule);
            }
        };
        let block = anchored.block.saturating_add(1);
        self.faults.same("the seed", &draw.seed, &anchored.seed, || format!("the hash of block {block}"));
        if facts.order.is_none() {
            self.faults.impossible("the order", "left out", "there, because the hub has a chain");
        }
        if let Some(ordered) = &facts.order {
            let hub = Address(anchored.account.into_array());
            let reason = || "who anchored the round".to_owned();
            self.faults.same("the hub's account in the order", &ordered.signed.order.hub, &hub, reason);
            if anchored.chain_id != Some(ordered.chain_id) {
                let reason = "the transaction that anchored the round";
                self.faults.differs("the order's chain", ordered.chain_id, or_nothing(anchored.chain_id), reason);
            }
        }
        self.checked.signatures += 1;
        self.believe(format!("blocks {} and {block} are on the chain, which has to be asked for that", anchored.block));
    }
}

/// A beacon has one encoding, so that no byte of it can be another.
pub(crate) fn read_beacon(bytes: &[u8]) -> Option<Beacon> {
    let beacon: Beacon = postcard::from_bytes(bytes).ok()?;
    (gleaner_wire::encode(&beacon) == bytes).then_some(beacon)
}
