//! Challenges, accusations, and whatever brings a dispute to its end.
use gleaner_chain::model::{Action, Order, Record, Settlement, Stage, State, Status, Who};
use rand::Rng;

use super::World;

impl World {
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

    pub fn choose_dispute(&mut self) -> (Who, Action) {
        match self.rng.gen_range(0..18) {
            0..4 => self.choose_challenge(),
            4..6 => self.choose_accusation(),
            6..10 => match self.dispute(true, false) {
                Some(dispute) => (self.anyone(), Action::Draw { dispute, drawn: Vec::new() }),
                None => self.choose_challenge(),
            },
            kind @ 10..14 => match self.dispute(true, kind != 10) {
                // Now and then before the draw.
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
    pub fn choose_verdict(&mut self) -> Option<(Who, Action)> {
        if let Some(winner) = self.decided() {
            return Some((self.anyone(), Action::Conclude { winner }));
        }
        if let Some(epoch) = self.judged_epoch() {
            return Some((self.anyone(), Action::ConcludeEpoch { epoch }));
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

    /// A contested epoch whose dispute has ended.
    fn judged_epoch(&self) -> Option<u64> {
        let mut contested = self.model.epochs.iter().filter(|(_, entry)| entry.stage == Stage::Contested);
        contested.find(|(_, entry)| self.model.disputes[&entry.dispute].status != Status::Open).map(|(epoch, _)| *epoch)
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
        if self.rng.gen_bool(0.15) && votes.iter().all(|vote| vote.0 != stranger && vote.1 != 3) {
            votes.push((stranger, common));
        }
        votes
    }
}
