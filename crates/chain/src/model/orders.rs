//! Orders: locked, settled, challenged, released.
use super::rewards::Payment;
use super::{COURT, Economy, Moment, Refusal, Status, Subject, TREASURY, Who, refuse_if, share};

/// What a requester signs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the contract")]
pub struct Order {
    pub requester: Who,
    pub hub: Who,
    pub cap: u64,
    pub bond: u64,
    pub deadline: u64,
    pub nonce: u64,
}

/// How an order is paid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Which order.
    pub order: u32,
    /// Stands for the root of the receipts.
    pub root: u8,
    /// To whom, and how much before the platform's share.
    pub payouts: Vec<(Who, u64)>,
}

/// What a hub shows of the requester's consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Nothing.
    None,
    /// The requester's signature.
    Signed,
    /// Somebody else's signature.
    Forged,
}

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the contract")]
pub enum State {
    Locked,
    Proposed,
    Disputed,
    Settled,
    Released,
}

/// What is remembered of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What was signed.
    pub order: Order,
    /// Where it stands.
    pub state: State,
    /// What is left of the bond.
    pub bond: u64,
    /// The platform's share when it was locked.
    pub share: u64,
    /// When a proposal becomes final.
    pub final_at: u64,
    /// The hub's settlement.
    pub proposal: Option<Settlement>,
    /// The challenger's.
    pub counter: Option<Settlement>,
    /// The dispute about it.
    pub dispute: u32,
    /// Whose stake it locks, beside the hub's.
    pub engaged: Vec<Who>,
}

impl Record {
    /// Whether its money is locked.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Locked | State::Proposed | State::Disputed)
    }

    fn gross(&self, settlement: &Settlement) -> Result<u64, Refusal> {
        let gross = settlement.payouts.iter().map(|(_, gross)| gross).sum();
        refuse_if(gross > self.order.cap, Refusal::AboveCap)?;
        Ok(gross)
    }
}

impl Economy {
    pub(super) fn use_nonce(&mut self, who: Who, nonce: u64) -> Result<(), Refusal> {
        refuse_if(!self.nonces.insert((who, nonce)), Refusal::NonceUsed)
    }

    pub(super) fn lock(
        &mut self,
        at: Moment,
        caller: Who,
        number: u32,
        order: &Order,
        signed: bool,
    ) -> Result<(), Refusal> {
        refuse_if(caller != order.hub, Refusal::NotTheHub)?;
        refuse_if(!signed, Refusal::BadSignature)?;
        let latest = at.now + self.terms.order_duration_max;
        refuse_if(order.deadline <= at.now || order.deadline > latest, Refusal::BadDeadline)?;
        refuse_if(order.bond < share(order.cap, self.terms.bond_share), Refusal::BondTooSmall)?;
        self.use_nonce(order.requester, order.nonce)?;
        self.take(order.requester, order.cap + order.bond)?;
        let locked = self.lock_for(Subject::Order(number), caller, caller, self.terms.hub_lock);
        refuse_if(!locked, Refusal::HubStakeMissing)?;
        let record = Record {
            order: order.clone(),
            state: State::Locked,
            bond: order.bond,
            share: self.terms.platform_share,
            final_at: 0,
            proposal: None,
            counter: None,
            dispute: 0,
            engaged: Vec::new(),
        };
        let before = self.orders.insert(number, record);
        assert!(before.is_none(), "a nonce is used once");
        Ok(())
    }

    pub(super) fn engage(&mut self, caller: Who, order: u32, providers: &[Who]) -> Result<(), Refusal> {
        let record = self.orders.get(&order).ok_or(Refusal::NotTheHub)?;
        refuse_if(caller != record.order.hub, Refusal::NotTheHub)?;
        refuse_if(record.state != State::Locked, Refusal::WrongState)?;
        let (amount, subject) = (self.terms.work_lock, Subject::Order(order));
        for provider in providers {
            if self.lock_of(subject, *provider) != 0 || self.bonded(*provider) < self.terms.minimum_stake {
                continue;
            }
            if self.lock_for(subject, caller, *provider, amount) && amount != 0 {
                self.record(order).engaged.push(*provider);
            }
        }
        Ok(())
    }

    pub(super) fn settle(
        &mut self,
        at: Moment,
        caller: Who,
        settlement: &Settlement,
        approval: Approval,
    ) -> Result<(), Refusal> {
        let record = self.orders.get(&settlement.order).ok_or(Refusal::NotTheHub)?;
        refuse_if(caller != record.order.hub, Refusal::NotTheHub)?;
        let state = record.state;
        match approval {
            Approval::None => self.propose_settlement(at, settlement),
            Approval::Signed | Approval::Forged => {
                refuse_if(!matches!(state, State::Locked | State::Proposed), Refusal::WrongState)?;
                refuse_if(approval == Approval::Forged, Refusal::BadSignature)?;
                self.pay(at, settlement)
            }
        }
    }

    fn propose_settlement(&mut self, at: Moment, settlement: &Settlement) -> Result<(), Refusal> {
        let final_at = at.now + self.terms.challenge_window;
        let record = self.expect_in(settlement.order, State::Locked)?;
        refuse_if(at.now > record.order.deadline, Refusal::DeadlinePassed)?;
        record.gross(settlement)?;
        (record.state, record.final_at, record.proposal) = (State::Proposed, final_at, Some(settlement.clone()));
        Ok(())
    }

    pub(super) fn accept(&mut self, at: Moment, caller: Who, settlement: &Settlement) -> Result<(), Refusal> {
        let record = self.orders.get(&settlement.order).ok_or(Refusal::NotTheRequester)?;
        refuse_if(caller != record.order.requester, Refusal::NotTheRequester)?;
        let record = self.expect_in(settlement.order, State::Proposed)?;
        refuse_if(record.proposal.as_ref() != Some(settlement), Refusal::WrongSettlement)?;
        self.pay(at, settlement)
    }

    pub(super) fn finalize(&mut self, at: Moment, settlement: &Settlement) -> Result<(), Refusal> {
        let record = self.expect_in(settlement.order, State::Proposed)?;
        refuse_if(at.now < record.final_at, Refusal::WindowOpen)?;
        refuse_if(record.proposal.as_ref() != Some(settlement), Refusal::WrongSettlement)?;
        self.pay(at, settlement)
    }

    pub(super) fn challenge(&mut self, at: Moment, caller: Who, counter: &Settlement) -> Result<(), Refusal> {
        let id = counter.order;
        let record = self.expect_in(id, State::Proposed)?.clone();
        refuse_if(at.now >= record.final_at, Refusal::WindowOver)?;
        refuse_if(record.proposal.as_ref() == Some(counter), Refusal::WrongSettlement)?;
        record.gross(counter)?;
        let Order { requester, hub, .. } = record.order;
        let party = caller == requester || self.lock_of(Subject::Order(id), caller) != 0;
        refuse_if(caller == hub || !party, Refusal::NotAParty)?;
        let bond = if caller == requester { record.bond } else { 0 };
        self.give(COURT, bond);
        let dispute = self.open_dispute(at, Subject::Order(id), [caller, hub, requester], bond, false);
        let record = self.record(id);
        record.bond -= bond;
        (record.state, record.counter, record.dispute) = (State::Disputed, Some(counter.clone()), dispute);
        Ok(())
    }

    pub(super) fn conclude(&mut self, at: Moment, winner: &Settlement) -> Result<(), Refusal> {
        let record = self.expect_in(winner.order, State::Disputed)?.clone();
        let dispute = &self.disputes[&record.dispute];
        refuse_if(dispute.status != Status::Decided, Refusal::NotDecided)?;
        let right = if dispute.ruling == 1 { record.proposal } else { record.counter };
        refuse_if(right.as_ref() != Some(winner), Refusal::WrongSettlement)?;
        self.pay(at, winner)
    }

    pub(super) fn release(&mut self, at: Moment, id: u32) -> Result<(), Refusal> {
        let record = self.orders.get(&id).ok_or(Refusal::WrongState)?.clone();
        match record.state {
            State::Disputed => {
                let expired = self.disputes[&record.dispute].status == Status::Expired;
                refuse_if(!expired, Refusal::NotDecided)?;
            }
            State::Locked => refuse_if(at.now <= record.order.deadline, Refusal::DeadlineAhead)?,
            State::Proposed | State::Settled | State::Released => return Err(Refusal::WrongState),
        }
        self.give(record.order.requester, record.order.cap + record.bond);
        self.end(id, State::Released);
        Ok(())
    }

    fn pay(&mut self, at: Moment, settlement: &Settlement) -> Result<(), Refusal> {
        let record = self.record(settlement.order).clone();
        let gross = record.gross(settlement)?;
        for (provider, gross) in &settlement.payouts {
            let fee = share(*gross, record.share);
            self.give(*provider, gross - fee);
            self.give(TREASURY, fee);
            self.payments.push(Payment { time: at.now, provider: *provider, gross: *gross, fee });
        }
        self.give(record.order.requester, record.order.cap - gross + record.bond);
        self.end(settlement.order, State::Settled);
        Ok(())
    }

    fn end(&mut self, id: u32, state: State) {
        let record = self.record(id);
        record.state = state;
        let hub = record.order.hub;
        for provider in std::mem::take(&mut record.engaged) {
            self.unlock(Subject::Order(id), provider);
        }
        self.unlock(Subject::Order(id), hub);
    }

    fn expect_in(&mut self, id: u32, state: State) -> Result<&mut Record, Refusal> {
        self.orders.get_mut(&id).filter(|record| record.state == state).ok_or(Refusal::WrongState)
    }

    fn record(&mut self, id: u32) -> &mut Record {
        self.orders.get_mut(&id).expect("the order was found before")
    }
}
