//! What to do next: mostly something that makes sense where the model stands, sometimes something that does not.
mod channels;
mod deeds;
mod disputes;
mod rewards;
mod vesting;
mod votes;

use gleaner_chain::model::{Action, Approval, Order, Settlement, State, Who};
use rand::Rng;

use super::Committees;
use super::world::{AUDITORS, GLN, PEOPLE, World};

impl World {
    pub fn choose(&mut self) -> (Who, Action) {
        if self.rng.gen_bool(0.25)
            && let Some(next) = self.choose_verdict()
        {
            return next;
        }
        if self.rng.gen_bool(0.5)
            && let Some(next) = self.choose_presence()
        {
            return next;
        }
        if self.rng.gen_bool(0.2)
            && let Some(next) = self.choose_ballot()
        {
            return next;
        }
        match self.rng.gen_range(0..128) {
            0..10 => self.choose_money(),
            10..22 => self.choose_stake(),
            22..36 => self.choose_lock(),
            36..44 => self.choose_engage(),
            44..60 => self.choose_settling(),
            60..76 => self.choose_dispute(),
            76..90 => self.choose_channel(),
            90..98 => self.choose_vesting(),
            98..104 => self.choose_licence(),
            104..118 => self.choose_rewards(),
            _ => self.choose_votes(),
        }
    }

    /// Anyone, but those who judge are seldom parties.
    fn anyone(&mut self) -> Who {
        let judges = if self.rng.gen_bool(0.9) { AUDITORS } else { 0 };
        Who(self.rng.gen_range(0..PEOPLE - judges))
    }

    /// Whoever may be an auditor in this run has a number like this or higher.
    pub fn first_auditor(&self) -> Who {
        match self.committees {
            Committees::Everybody => Who(PEOPLE - AUDITORS),
            Committees::Drawn | Committees::Nobody => Who(3),
        }
    }

    fn choose_auditing(&mut self) -> (Who, Action) {
        let auditor = Who(self.rng.gen_range(self.first_auditor().0..PEOPLE));
        match self.rng.gen_range(0..10) {
            0..6 => {
                let missing =
                    (self.first_auditor().0..PEOPLE).map(Who).find(|who| !self.model.auditors.contains_key(who));
                let who = if self.rng.gen_bool(0.5) { missing.unwrap_or(auditor) } else { auditor };
                (who, Action::Enroll)
            }
            6 | 7 => (auditor, Action::Resign),
            8 => (self.mostly(auditor), Action::Renew),
            _ => (self.anyone(), Action::Evict { auditor: self.mostly(auditor) }),
        }
    }

    /// An auditor that has lapsed comes back, which it would seldom do by chance; now and then it is evicted.
    fn choose_presence(&mut self) -> Option<(Who, Action)> {
        let lapsed = self.model.auditors.keys().copied().filter(|who| !self.model.is_present(self.at, *who));
        let lapsed: Vec<Who> = lapsed.collect();
        if lapsed.is_empty() {
            return None;
        }
        let auditor = lapsed[self.rng.gen_range(0..lapsed.len())];
        let (who, action) = match self.rng.gen_bool(0.95) {
            true => (auditor, Action::Renew),
            false => (self.anyone(), Action::Evict { auditor }),
        };
        // What is refused while a draw is pending would be tried until it is done.
        let done = self.model.clone().apply(self.at, who, &action).is_ok();
        (done || self.rng.gen_bool(0.1)).then_some((who, action))
    }

    /// Mostly whom the rules want, sometimes anyone.
    fn mostly(&mut self, who: Who) -> Who {
        if self.rng.gen_bool(0.92) { who } else { self.anyone() }
    }

    /// A part of what there is; now and then nothing, all of it, or one unit too much.
    fn part_of(&mut self, all: u64) -> u64 {
        match self.rng.gen_range(0..12) {
            0 => 0,
            1 => 1,
            2 => all,
            3 => all + 1,
            _ => self.rng.gen_range(0..=all / 4),
        }
    }

    fn choose_money(&mut self) -> (Who, Action) {
        let (who, to) = (self.anyone(), self.anyone());
        let tokens = self.model.tokens_of(who);
        let money = self.model.money_of(who);
        let action = match self.rng.gen_range(0..6) {
            0 => Action::Transfer { to, amount: self.part_of(tokens) },
            1 | 2 => Action::Deposit { amount: self.part_of(tokens) },
            3 => Action::DepositFor { account: to, amount: self.part_of(tokens) },
            4 => Action::Withdraw { amount: self.part_of(money) },
            _ => Action::WithdrawTo { to, amount: self.part_of(money) },
        };
        (who, action)
    }

    fn choose_stake(&mut self) -> (Who, Action) {
        let (who, hub) = (self.anyone(), self.anyone());
        let holding = self.model.holdings.get(&who).copied().unwrap_or_default();
        let action = match self.rng.gen_range(0..9) {
            0 | 1 => Action::Stake { amount: self.rng.gen_range(0..30 * GLN) },
            2 => Action::Unbond { amount: self.part_of(holding.free()) },
            3 if self.rng.gen_bool(0.5) => {
                // Down to the least that is asked for, or one unit below.
                let least = self.model.terms.minimum_stake.saturating_sub(u64::from(self.rng.gen_bool(0.5)));
                Action::Unbond { amount: holding.bonded.saturating_sub(least).min(holding.free()) }
            }
            3 => Action::CancelUnbond,
            4 => {
                let leaving = self.model.holdings.iter().find(|(_, holding)| holding.exit.amount > 0);
                let leaving = leaving.map_or(who, |(leaving, _)| *leaving);
                return (self.mostly(leaving), Action::ClaimStake);
            }
            5 | 6 => Action::Allow { hub, limit: self.rng.gen_range(0..6 * GLN) },
            _ => return self.choose_auditing(),
        };
        (who, action)
    }

    fn choose_lock(&mut self) -> (Who, Action) {
        if self.rng.gen_bool(0.05) {
            return (self.anyone(), Action::Revoke { nonce: self.rng.gen_range(0..40) });
        }
        let again = !self.orders.is_empty() && self.rng.gen_bool(0.15);
        let number = if again { self.rng.gen_range(0..self.orders.len()) } else { self.write_order() };
        let order = self.orders[number].clone();
        let signed = self.rng.gen_bool(0.97);
        (self.mostly(order.hub), Action::Lock { number: number as u32, order, signed })
    }

    fn write_order(&mut self) -> usize {
        let (requester, hub) = (self.anyone(), Who(self.rng.gen_range(0..3)));
        let money = self.model.money_of(requester);
        let cap = self.part_of(money);
        let least = u64::try_from(u128::from(cap) * u128::from(self.model.terms.bond_share) / 10_000).expect("less");
        let bond = match self.rng.gen_range(0..10) {
            0 => least.saturating_sub(1),
            1 => 0,
            2 => least + self.rng.gen_range(0..GLN),
            _ => least,
        };
        let hours = if self.rng.gen_bool(0.05) { 27 } else { self.rng.gen_range(1..24) };
        let deadline = self.nominal + hours * 3_600 + 1_800;
        let nonce = self.rng.gen_range(0..1_000);
        self.orders.push(Order { requester, hub, cap, bond, deadline, nonce });
        self.orders.len() - 1
    }

    /// An order in one of these states if there is any, else any order at all.
    fn order_in(&mut self, states: &[State]) -> Option<u32> {
        let fits = self.model.orders.iter().filter(|(_, record)| states.contains(&record.state));
        let fitting: Vec<u32> = fits.map(|(number, _)| *number).collect();
        if !fitting.is_empty() && self.rng.gen_bool(0.93) {
            return Some(fitting[self.rng.gen_range(0..fitting.len())]);
        }
        (!self.orders.is_empty()).then(|| self.rng.gen_range(0..self.orders.len()) as u32)
    }

    fn choose_engage(&mut self) -> (Who, Action) {
        let Some(order) = self.order_in(&[State::Locked]) else { return self.choose_lock() };
        let count = self.rng.gen_range(1..5);
        let providers = (0..count).map(|_| self.anyone()).collect();
        (self.mostly(self.orders[order as usize].hub), Action::Engage { order, providers })
    }

    /// Some way to pay an order out; now and then more than its cap.
    fn split(&mut self, order: u32) -> Settlement {
        let mut left = self.orders[order as usize].cap;
        let mut payouts = Vec::new();
        for _ in 0..self.rng.gen_range(0..4) {
            let gross = if self.rng.gen_bool(0.03) { left + 1 } else { self.rng.gen_range(0..=left) };
            payouts.push((self.anyone(), gross));
            left = left.saturating_sub(gross);
        }
        Settlement { order, root: self.rng.gen_range(0..3), payouts }
    }

    fn proposed(&mut self, order: u32) -> Settlement {
        let proposal = self.model.orders.get(&order).and_then(|record| record.proposal.clone());
        match proposal {
            Some(proposal) if self.rng.gen_bool(0.93) => proposal,
            Some(_) | None => self.split(order),
        }
    }

    fn choose_settling(&mut self) -> (Who, Action) {
        let kind = self.rng.gen_range(0..12);
        let states: &[State] = if kind < 7 { &[State::Locked] } else { &[State::Proposed] };
        let states = if kind == 11 { &[State::Locked, State::Disputed] } else { states };
        let Some(order) = self.order_in(states) else { return self.choose_lock() };
        let (requester, hub) = (self.orders[order as usize].requester, self.orders[order as usize].hub);
        match kind {
            0..4 => (self.mostly(hub), Action::Settle { settlement: self.split(order), approval: Approval::None }),
            4..7 => {
                let approval = if self.rng.gen_bool(0.9) { Approval::Signed } else { Approval::Forged };
                (self.mostly(hub), Action::Settle { settlement: self.split(order), approval })
            }
            7 => (self.mostly(requester), Action::Accept { settlement: self.proposed(order) }),
            8..11 => (self.anyone(), Action::Finalize { settlement: self.proposed(order) }),
            _ => (self.anyone(), Action::Release { order }),
        }
    }
}
