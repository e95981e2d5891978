//! A worker asks other prices.
use alloc::vec::Vec;
use gleaner_wire::{Amount, State, WorkerId};

use crate::effect::Effect;
use crate::state::Core;

impl Core {
    /// Takes new prices for what is placed from now on; what runs has its own. A worker that is not here says them again when
    /// it comes.
    pub(crate) fn on_repriced(&mut self, id: WorkerId, prices: &[Amount], effects: &mut Vec<Effect>) {
        let here = self.workers.get_mut(id.0 as usize).filter(|worker| worker.state != State::Offline);
        let Some(worker) = here else { return };
        let mut changed = Vec::new();
        for ((device, offered), price) in (0..).zip(&mut worker.offer.devices).zip(prices) {
            if core::mem::replace(&mut offered.price_per_second, *price) != *price {
                changed.push(device);
            }
        }
        if changed.is_empty() {
            return;
        }
        changed.into_iter().for_each(|device| self.reseat(id, device));
        self.relieve = true;
        effects.push(Effect::AnnounceWorker { worker: id });
    }
}
