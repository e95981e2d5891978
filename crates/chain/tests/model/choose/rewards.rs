//! Node rewards: honest and dishonest shares, contests and claims.
use gleaner_chain::model::{Action, Sharing, Stage, Who};
use rand::Rng;

use super::World;

impl World {
    pub fn choose_rewards(&mut self) -> (Who, Action) {
        match self.rng.gen_range(0..16) {
            0..5 => {
                let epoch = self.epoch_to_publish();
                (self.anyone(), Action::Publish { epoch, sharing: self.sharing(epoch) })
            }
            5..9 => match self.epoch_in(Stage::Published) {
                Some(epoch) => (self.anyone(), Action::Contest { epoch, sharing: self.sharing(epoch) }),
                None => self.choose_settling(),
            },
            9 => match self.epoch_in(Stage::Published) {
                Some(epoch) => (self.anyone(), Action::FinishEpoch { epoch }),
                None => (self.anyone(), Action::FinishEpoch { epoch: 1 }),
            },
            10 | 11 => {
                let epoch = self.epoch_in(Stage::Contested).unwrap_or(0);
                (self.anyone(), Action::ConcludeEpoch { epoch })
            }
            _ => self.choose_claim(),
        }
    }

    /// The epoch that runs now.
    pub fn epoch_now(&self) -> u64 {
        (self.at.now - self.model.calendar.genesis) / self.model.calendar.length
    }

    /// Mostly one that has ended and in which somebody earned something.
    fn epoch_to_publish(&mut self) -> u64 {
        let now = self.epoch_now();
        if self.rng.gen_bool(0.15) {
            return now + self.rng.gen_range(0..2);
        }
        let open = (0..now).filter(|epoch| !self.model.epochs.contains_key(epoch));
        let earned: Vec<u64> = open.filter(|epoch| self.model.reckon(*epoch).total > 0).collect();
        match earned.len() {
            0 => now.saturating_sub(1),
            count => earned[self.rng.gen_range(0..count)],
        }
    }

    /// An epoch at this stage if there is any, else any that was published; the latest ones rather.
    fn epoch_in(&mut self, stage: Stage) -> Option<u64> {
        let fits = self.model.epochs.iter().filter(|(_, entry)| entry.stage == stage);
        let mut fitting: Vec<(u64, u64)> = fits.map(|(epoch, entry)| (entry.final_at, *epoch)).collect();
        fitting.sort_unstable();
        if let Some((_, latest)) = fitting.last()
            && self.rng.gen_bool(0.9)
        {
            return Some(*latest);
        }
        let all: Vec<u64> = self.model.epochs.keys().copied().collect();
        (!all.is_empty()).then(|| all[self.rng.gen_range(0..all.len())])
    }

    /// The right shares, or some that favour somebody, or a total that is wrong.
    fn sharing(&mut self, epoch: u64) -> Sharing {
        let mut sharing = self.model.reckon(epoch);
        match self.rng.gen_range(0..10) {
            0 | 1 if !sharing.shares.is_empty() => {
                let place = self.rng.gen_range(0..sharing.shares.len());
                sharing.shares[place].1 += 1;
                sharing.total += 1;
            }
            2 if !sharing.shares.is_empty() => {
                let lost = sharing.shares.remove(self.rng.gen_range(0..sharing.shares.len()));
                sharing.total -= lost.1;
            }
            3 => {
                let more = [self.model.available(), self.model.terms.emission];
                sharing.total = more[self.rng.gen_range(0..2)] + u64::from(self.rng.gen_bool(0.7));
            }
            // A total that does not suffice for all shares.
            4 => sharing.total -= sharing.total.min(1),
            5 => sharing.total /= 2,
            _ => {}
        }
        sharing
    }

    fn choose_claim(&mut self) -> (Who, Action) {
        let Some(epoch) = self.epoch_in(Stage::Final) else { return self.choose_settling() };
        let entry = &self.model.epochs[&epoch];
        let mut shares = entry.sharing.shares.clone();
        if self.rng.gen_bool(0.8) {
            shares.retain(|(who, _)| !entry.claimants.contains(who));
        }
        let (account, amount) = match shares.len() {
            0 => (self.anyone(), 1),
            count => shares[self.rng.gen_range(0..count)],
        };
        let amount = if self.rng.gen_bool(0.95) { amount } else { amount + 1 };
        let proved = self.rng.gen_bool(0.93);
        (self.anyone(), Action::ClaimReward { epoch, account: self.mostly(account), amount, proved })
    }
}
