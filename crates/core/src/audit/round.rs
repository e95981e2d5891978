//! Rounds: claims are drawn together, by chance that came after them.
use alloc::vec::Vec;
use gleaner_wire::commit::Tree;
use gleaner_wire::{Amount, AttemptId, Hash, WorkerId};

use super::note::{DrawNote, Verdict};
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
        for id in core::mem::take(&mut self.claims.drawing) {
            // Its job may have ended meanwhile.
            if self.claims.all.contains_key(&id) {
                self.draw_claim(id, seed, effects);
            }
        }
    }

    fn draw_claim(&mut self, id: AttemptId, seed: Hash, effects: &mut Vec<Effect>) {
        let claim = &self.claims.all[&id];
        let worker = claim.attempt.worker;
        let rate = self.audit_rate(worker);
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

    /// The rate at which a worker's claims are audited now, and what it rests on.
    pub(crate) fn audit_rate(&self, worker: WorkerId) -> RateView {
        let provider = self.provider(worker).filter(|_| self.params.orders);
        let record = &self.workers[worker.0 as usize].record;
        let stake = provider.map_or(Amount::ZERO, |provider| self.stake(provider));
        RateView::of(&self.params.audits, record, stake, self.claims.exposure(provider))
    }

    /// Whether a worker has as much unpaid work as its stake speaks for.
    pub(crate) fn is_stretched(&self, worker: WorkerId) -> bool {
        if self.claims.exposure.is_empty() || !self.params.orders {
            return false;
        }
        self.claims.exposure(self.provider(worker)) > Amount::ZERO && !self.audit_rate(worker).may_take(Amount(1))
    }
}
