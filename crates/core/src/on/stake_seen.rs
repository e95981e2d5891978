//! What stands behind workers, and what must.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::{Address, Amount, Offer, State, WorkerId};

use crate::effect::Effect;
use crate::event::ChainTerms;
use crate::params::Params;
use crate::state::Core;

/// The whole, in hundredths of a percent.
const POINTS_MAX: u32 = 10_000;

impl Core {
    pub(crate) fn on_terms_seen(&mut self, terms: ChainTerms, effects: &mut Vec<Effect>) {
        let ChainTerms { share_points, stake_min, work_lock, slash_points } = terms;
        self.params.platform_share_points = share_points.min(POINTS_MAX);
        self.params.stake_min = stake_min;
        (self.params.work_lock, self.params.slash_points) = (work_lock, slash_points.min(POINTS_MAX));
        let providers: Vec<Address> = self.stakes.keys().copied().collect();
        providers.into_iter().for_each(|provider| self.send_away(provider, effects));
    }

    /// The chain's terms as they are known.
    pub fn chain_terms(&self) -> ChainTerms {
        let Params { platform_share_points: share_points, stake_min, work_lock, slash_points, .. } = self.params;
        ChainTerms { share_points, stake_min, work_lock, slash_points }
    }

    pub(crate) fn on_stake_seen(&mut self, provider: Address, stake: Amount, effects: &mut Vec<Effect>) {
        if stake == Amount::ZERO {
            self.stakes.remove(&provider);
        } else {
            self.stakes.insert(provider, stake);
        }
        self.send_away(provider, effects);
    }

    /// Why a worker with this offer is not let in, if so.
    pub(crate) fn lacks_stake(&self, id: Option<WorkerId>, offer: &Offer) -> Option<String> {
        if !self.params.orders {
            return None;
        }
        let Some(provider) = offer.provider else {
            return Some("this hub pays on a chain: the worker must name the account that is paid".into());
        };
        let beside = self.workers_of(provider).filter(|worker| Some(*worker) != id).count() as u64;
        let needed = self.stake_needed(beside + 1);
        let stake = self.stakes.get(&provider).copied().unwrap_or_default();
        (stake < needed).then(|| {
            format!(
                "the stake of {provider} is {stake} GLN, and {needed} GLN must stand behind its workers; \
                 add to it with `gleaner stake add`"
            )
        })
    }

    /// Disconnects workers whose provider has too little stake for all of them, newest first.
    fn send_away(&mut self, provider: Address, effects: &mut Vec<Effect>) {
        let mut workers: Vec<WorkerId> = self.workers_of(provider).collect();
        let stake = self.stakes.get(&provider).copied().unwrap_or_default();
        while stake < self.stake_needed(workers.len() as u64) {
            let Some(worker) = workers.pop() else { return };
            let reason = format!("the stake of {provider} fell below what must stand behind its workers");
            self.show_out(worker, reason, effects);
        }
    }

    fn stake_needed(&self, workers: u64) -> Amount {
        Amount(self.params.stake_min.0.saturating_mul(workers))
    }

    fn workers_of(&self, provider: Address) -> impl Iterator<Item = WorkerId> + '_ {
        let workers = (0..).map(WorkerId).zip(&self.workers);
        let online = workers.filter(|(_, worker)| worker.state != State::Offline);
        online.filter(move |(_, worker)| worker.offer.provider == Some(provider)).map(|(id, _)| id)
    }
}
