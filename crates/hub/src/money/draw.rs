//! The draw of rounds: their claims are fixed on the chain, and the block after that is chance.
use super::Money;
use gleaner_wire::commit::Tree;
use gleaner_wire::receipt::Ordered;
use gleaner_wire::{Address, Hash, SignedOrder};

impl Money {
    /// What lots are drawn from for a round with these claims, and the proof of where it comes from.
    pub(crate) async fn draw_round(&self, round: u64, leaves: &[Hash]) -> Result<(Hash, Option<Vec<u8>>), String> {
        let beacon = self.anchor(round, Tree::of(leaves.to_vec()).root()).await;
        let proof = postcard::to_allocvec(&beacon).map_err(|error| error.to_string())?;
        Ok((beacon.seed, Some(proof)))
    }

    /// An order as receipts name it.
    pub(crate) fn ordered(&self, signed: SignedOrder) -> Ordered {
        let stake = Address(self.market.deployment.stake.into_array());
        gleaner_receipt::ordered(signed, &self.domain, stake)
    }
}
