//! What to do next: mostly something that makes sense where the model stands, sometimes something that does not.
use gleaner_chain::model::{Action, Approval, Order, Record, Settlement, Showing, State, Status, Who};
use rand::Rng;

use super::Committees;
use super::world::{AUDITORS, GLN, PEOPLE, World};

type ChannelId = (Who, Who, u64);

impl World {
    pub fn choose(&mut self) -> (Who, Action) {
        if self.rng.gen_bool(0.3)
            && let Some(next) = self.choose_verdict()
        {
            return next;
        }
        match self.rng.gen_range(0..100) {
            0..14 => self.choose_money(),
            14..26 => self.choose_stake(),
            26..42 => self.choose_lock(),
            42..50 => self.choose_engage(),
            50..66 => self.choose_settling(),
            66..84 => self.choose_dispute(),
            _ => self.choose_channel(),
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
        let who = Who(self.rng.gen_range(self.first_auditor().0..PEOPLE));
        (who, if self.rng.gen_bool(0.7) { Action::Enroll } else { Action::Resign })
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
                let least = self.model.terms.minimum_stake - u64::from(self.rng.gen_bool(0.5));
                Action::Unbond { amount: holding.bonded.saturating_sub(least).min(holding.free()) }
            }
            3 => Action::CancelUnbond,
            4 => Action::ClaimStake,
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
        let deadline = self.at.now + hours * 3_600 + 1_800;
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

    /// A dispute in this state if there is any, else any.
    fn dispute(&mut self, open: bool, drawn: bool) -> Option<u32> {
        let fits =
            self.model.disputes.iter().filter(|(_, dispute)| {
                (dispute.status == Status::Open) == open && dispute.committee.is_empty() != drawn
            });
        let fitting: Vec<u32> = fits.map(|(number, _)| *number).collect();
        match fitting.len() {
            0 => None,
            count => Some(fitting[self.rng.gen_range(0..count)]),
        }
    }

    fn choose_dispute(&mut self) -> (Who, Action) {
        match self.rng.gen_range(0..18) {
            0..4 => self.choose_challenge(),
            4..6 => self.choose_accusation(),
            6..10 => match self.dispute(true, false) {
                Some(dispute) => (self.anyone(), Action::Draw { dispute, drawn: Vec::new() }),
                None => self.choose_challenge(),
            },
            10..14 => match self.dispute(true, true) {
                Some(dispute) => (self.anyone(), Action::Decide { dispute, votes: self.votes(dispute) }),
                None => self.choose_accusation(),
            },
            14 | 15 => {
                let drawn = self.rng.r#gen();
                let dispute = self.dispute(true, drawn).unwrap_or(1);
                (self.anyone(), Action::Expire { dispute })
            }
            _ => self.choose_conclusion(),
        }
    }

    /// The next step of a dispute that can be ended, which chance alone would seldom end in time.
    fn choose_verdict(&mut self) -> Option<(Who, Action)> {
        if let Some(winner) = self.decided() {
            return Some((self.anyone(), Action::Conclude { winner }));
        }
        let open = self.model.disputes.iter().find(|(_, dispute)| dispute.status == Status::Open);
        let Some((&number, dispute)) = open else { return self.choose_timely_challenge() };
        let (late, drawing, drawn) = (self.at.now > dispute.ends, dispute.drawing, !dispute.committee.is_empty());
        let action = match (late, drawing, drawn) {
            (true, ..) => Action::Expire { dispute: number },
            (false, true, _) => Action::Draw { dispute: number, drawn: Vec::new() },
            (false, false, true) => Action::Decide { dispute: number, votes: self.votes(number) },
            (false, false, false) => return self.choose_timely_challenge(),
        };
        Some((self.anyone(), action))
    }

    /// A challenge of a proposal whose window is open.
    fn choose_timely_challenge(&mut self) -> Option<(Who, Action)> {
        let now = self.at.now;
        let other = |record: &Record| record.order.requester != record.order.hub;
        let timely = |record: &Record| record.state == State::Proposed && now < record.final_at && other(record);
        let order = *self.model.orders.iter().find(|(_, record)| timely(record))?.0;
        Some(self.challenge_of(order))
    }

    /// The settlement that a committee has decided for and nobody has carried out.
    fn decided(&self) -> Option<Settlement> {
        let mut disputed = self.model.orders.values().filter(|record| record.state == State::Disputed);
        disputed.find_map(|record| match self.model.disputes[&record.dispute].ruling {
            1 => record.proposal.clone(),
            2 => record.counter.clone(),
            _ => None,
        })
    }

    fn choose_challenge(&mut self) -> (Who, Action) {
        match self.order_in(&[State::Proposed]) {
            Some(order) => self.challenge_of(order),
            None => self.choose_settling(),
        }
    }

    fn challenge_of(&mut self, order: u32) -> (Who, Action) {
        let engaged = self.model.orders.get(&order).map(|record| record.engaged.clone()).unwrap_or_default();
        let requester = self.orders[order as usize].requester;
        let challenger = match engaged.is_empty() || self.rng.gen_bool(0.5) {
            true => requester,
            false => engaged[self.rng.gen_range(0..engaged.len())],
        };
        (self.mostly(challenger), Action::Challenge { counter: self.split(order) })
    }

    fn choose_accusation(&mut self) -> (Who, Action) {
        let Some(order) = self.order_in(&[State::Locked, State::Proposed]) else { return self.choose_lock() };
        let mut locked = self.model.orders.get(&order).map(|record| record.engaged.clone()).unwrap_or_default();
        locked.push(self.orders[order as usize].hub);
        let provider = locked[self.rng.gen_range(0..locked.len())];
        let Order { requester, hub, .. } = self.orders[order as usize];
        let accuser = if self.rng.gen_bool(0.5) { requester } else { hub };
        (self.mostly(accuser), Action::Accuse { order, provider: self.mostly(provider) })
    }

    fn choose_conclusion(&mut self) -> (Who, Action) {
        let Some(order) = self.order_in(&[State::Disputed]) else { return self.choose_engage() };
        let record = self.model.orders.get(&order).cloned();
        let ruling =
            record.as_ref().and_then(|record| self.model.disputes.get(&record.dispute)).map_or(0, |d| d.ruling);
        let winner = record.and_then(|record| if ruling == 1 { record.proposal } else { record.counter });
        match winner {
            Some(winner) if self.rng.gen_bool(0.7) => (self.anyone(), Action::Conclude { winner }),
            Some(_) | None => (self.anyone(), Action::Release { order }),
        }
    }

    /// Most of the committee agrees, mostly.
    fn votes(&mut self, dispute: u32) -> Vec<(Who, u8)> {
        let committee = self.model.disputes[&dispute].committee.clone();
        let common = self.rng.gen_range(1..3);
        let mut votes = Vec::new();
        for member in committee {
            match self.rng.gen_range(0..20) {
                0 | 1 => {}
                2 | 3 => votes.push((member, 3 - common)),
                4 if self.rng.gen_bool(0.2) => votes.push((member, 3)),
                _ => votes.push((member, common)),
            }
        }
        let stranger = self.anyone();
        if self.rng.gen_bool(0.05) && votes.iter().all(|vote| vote.0 != stranger && vote.1 != 3) {
            votes.push((stranger, common));
        }
        votes
    }

    fn channel(&mut self) -> Option<ChannelId> {
        let open = self.model.channels.iter().filter(|(_, channel)| !channel.closed).map(|(id, _)| *id);
        let open: Vec<ChannelId> = open.collect();
        if !open.is_empty() && self.rng.gen_bool(0.95) {
            return Some(open[self.rng.gen_range(0..open.len())]);
        }
        let all: Vec<ChannelId> = self.model.channels.keys().copied().collect();
        (!all.is_empty()).then(|| all[self.rng.gen_range(0..all.len())])
    }

    fn choose_channel(&mut self) -> (Who, Action) {
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
