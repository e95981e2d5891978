//! Rounds: claims are drawn together, by chance that came after them.
use alloc::vec::Vec;
use gleaner_wire::commit::Tree;
use gleaner_wire::{AttemptId, Hash};

use super::Verdict;
use super::note::DrawNote;
use crate::effect::Effect;
use crate::proof::{self, RateView};
use crate::state::Core;

impl Core {
    /// Closes the open round, unless one is being drawn: whatever comes meanwhile waits for the next.
    pub(crate) fn close_round(&mut self, effects: &mut Vec<Effect>) {
        if self.claims.drawing.is_empty() && !self.claims.open.is_empty() {
            self.claims.round += 1;
            self.claims.drawing = core::mem::take(&mut self.claims.open);
            effects.push(Effect::DrawRound { round: self.claims.round });
        }
    }

    /// The round that waits for its draw, with the claims in it, in order.
    pub fn round_to_draw(&self) -> Option<(u64, Vec<Hash>)> {
        let hash = |id: &AttemptId| self.claims.all.get(id).map(|claim| claim.hash);
        let claims: Vec<Hash> = self.claims.drawing.iter().filter_map(hash).collect();
        (!self.claims.drawing.is_empty()).then_some((self.claims.round, claims))
    }

    /// What stands for all claims of the round that waits for its draw.
    pub fn round_root(&self, round: u64) -> Option<Hash> {
        let (number, claims) = self.round_to_draw()?;
        (number == round).then(|| Tree::of(claims).root())
    }

    pub(crate) fn on_round_drawn(&mut self, round: u64, seed: Hash, effects: &mut Vec<Effect>) {
        if round != self.claims.round || self.claims.drawing.is_empty() {
            return;
        }
        let drawing = core::mem::take(&mut self.claims.drawing);
        // The job of a claim may have ended meanwhile. All rates are reckoned before the first claim is paid: what is unpaid
        // is the gain of whoever made all of it up.
        let there = drawing.into_iter().filter(|id| self.claims.all.contains_key(id));
        let rates: Vec<(AttemptId, RateView)> = there.map(|id| (id, self.rate_of_claim(id))).collect();
        for (id, rate) in rates {
            // Paying one may have ended the job of others.
            if self.claims.all.contains_key(&id) {
                self.draw_claim(id, seed, rate, effects);
            }
        }
    }

    fn draw_claim(&mut self, id: AttemptId, seed: Hash, rate: RateView, effects: &mut Vec<Effect>) {
        assert!(rate.deters(&self.params.audits), "a rate at which cheating pays: {rate:?}");
        let claim = &self.claims.all[&id];
        let selected = proof::is_selected(&seed, &claim.hash, rate.rate);
        self.totals.claims_drawn += 1;
        self.claims.all.get_mut(&id).expect("the caller has seen it").draw = Some(DrawNote { rate, selected });
        if selected {
            self.totals.claims_audited += 1;
            self.begin_audit(id, seed, effects);
        } else {
            self.accept(id, Verdict::NotDrawn, effects);
        }
    }
}
