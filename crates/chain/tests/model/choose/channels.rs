//! Channels for small payments.
use gleaner_chain::model::{Action, Showing, Who};
use rand::Rng;

use super::World;

type ChannelId = (Who, Who, u64);

impl World {
    fn channel(&mut self) -> Option<ChannelId> {
        let open = self.model.channels.iter().filter(|(_, channel)| !channel.closed).map(|(id, _)| *id);
        let open: Vec<ChannelId> = open.collect();
        if !open.is_empty() && self.rng.gen_bool(0.95) {
            return Some(open[self.rng.gen_range(0..open.len())]);
        }
        let all: Vec<ChannelId> = self.model.channels.keys().copied().collect();
        (!all.is_empty()).then(|| all[self.rng.gen_range(0..all.len())])
    }

    pub fn choose_channel(&mut self) -> (Who, Action) {
        let existing = self.channel();
        let kind = self.rng.gen_range(0..16);
        let (Some(channel), 4..) = (existing, kind) else {
            let (payer, payee, nonce) = (self.anyone(), self.anyone(), self.rng.gen_range(0..3));
            let money = self.model.money_of(payer);
            return (payer, Action::OpenChannel { payee, amount: self.part_of(money), nonce });
        };
        let (payer, payee, _) = channel;
        match kind {
            4 | 5 => {
                let money = self.model.money_of(payer);
                (self.mostly(payer), Action::TopUp { channel, amount: self.part_of(money) })
            }
            6..12 => (self.mostly(payee), Action::Redeem { channel, showing: self.showing(channel) }),
            12 => (self.mostly(payee), Action::CloseChannel { channel }),
            13 => (self.mostly(payer), Action::StartClose { channel }),
            _ => (self.anyone(), Action::FinishClose { channel }),
        }
    }

    fn showing(&mut self, channel: ChannelId) -> Showing {
        let state = self.model.channels[&channel];
        let steps = if self.rng.gen_bool(0.03) { 1_025 } else { self.rng.gen_range(0..100) };
        let index = if self.rng.gen_bool(0.03) { steps + 1 } else { self.rng.gen_range(0..=steps) };
        let base = if self.rng.gen_bool(0.8) { state.redeemed } else { self.part_of(state.amount) };
        let step = self.rng.gen_range(0..=state.amount / 200 + 1);
        let (signed, right) = (self.rng.gen_bool(0.95), self.rng.gen_bool(0.95));
        Showing { base, step, steps, index, signed, right }
    }
}
