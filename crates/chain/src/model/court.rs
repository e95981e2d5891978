//! Auditors, disputes and what they cost.
use super::{COURT, Economy, Moment, Refusal, Subject, TREASURY, Who, refuse_if, share};

/// How old a block may be for its hash to be known.
const BLOCKHASH_AGE_MAX: u64 = 256;

/// Whether a dispute has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the contract")]
pub enum Status {
    Open,
    Decided,
    Expired,
}

/// What is remembered of a dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    /// The order or the epoch it is about.
    pub subject: Subject,
    /// Claimant, defendant and the third party, if there is one.
    pub parties: [Who; 3],
    /// The claimant's security in the court's free money.
    pub bond: u64,
    /// Whether a provider's fault is disputed, not a settlement.
    pub accusation: bool,
    /// Whether it has ended.
    pub status: Status,
    /// 1 for the defendant, 2 for the claimant.
    pub ruling: u8,
    /// The block whose hash draws the committee.
    pub anchor: u64,
    /// Whether the draw is ahead.
    pub drawing: bool,
    /// Until when it can go on.
    pub ends: u64,
    /// Who decides; nobody before the draw, or if it found too few.
    pub committee: Vec<Who>,
}

impl Economy {
    pub(super) fn enroll(&mut self, who: Who) -> Result<(), Refusal> {
        refuse_if(self.undrawn != 0, Refusal::DrawPending)?;
        refuse_if(self.auditors.contains(&who), Refusal::AlreadyEnrolled)?;
        refuse_if(self.free_stake(who) < self.terms.minimum_stake, Refusal::StakeTooSmall)?;
        self.auditors.insert(who);
        Ok(())
    }

    pub(super) fn resign(&mut self, who: Who) -> Result<(), Refusal> {
        refuse_if(self.undrawn != 0, Refusal::DrawPending)?;
        refuse_if(!self.auditors.remove(&who), Refusal::NotEnrolled)
    }

    pub(super) fn open_dispute(
        &mut self,
        at: Moment,
        subject: Subject,
        parties: [Who; 3],
        bond: u64,
        accusation: bool,
    ) -> u32 {
        let number = self.disputes.len() as u32 + 1;
        self.undrawn += 1;
        let dispute = Dispute {
            subject,
            parties,
            bond,
            accusation,
            status: Status::Open,
            ruling: 0,
            anchor: at.height + 1,
            drawing: true,
            ends: at.now + self.terms.voting_window,
            committee: Vec::new(),
        };
        self.disputes.insert(number, dispute);
        number
    }

    pub(super) fn accuse(&mut self, at: Moment, caller: Who, order: u32, provider: Who) -> Result<(), Refusal> {
        let record = self.orders.get(&order).filter(|record| record.is_open()).ok_or(Refusal::OrderEnded)?;
        let (requester, hub) = (record.order.requester, record.order.hub);
        let party = (caller == requester || caller == hub) && caller != provider;
        refuse_if(!party, Refusal::NotAParty)?;
        refuse_if(!self.accusations.insert((order, provider)), Refusal::AlreadyAccused)?;
        let amount = self.hold(Subject::Order(order), provider);
        refuse_if(amount == 0, Refusal::NothingLocked)?;
        let third = if caller == hub { requester } else { hub };
        self.open_dispute(at, Subject::Order(order), [caller, provider, third], amount, true);
        self.shift(caller, COURT, amount)
    }

    pub(super) fn draw(&mut self, at: Moment, number: u32, drawn: &[Who]) -> Result<(), Refusal> {
        let dispute = self.open_one(number)?.clone();
        refuse_if(!dispute.drawing, Refusal::AlreadyDrawn)?;
        refuse_if(at.now > dispute.ends, Refusal::TooLate)?;
        refuse_if(at.height <= dispute.anchor, Refusal::TooEarly)?;
        if at.height - dispute.anchor > BLOCKHASH_AGE_MAX {
            self.open_one(number)?.anchor = at.height + 1;
            return refuse_if(!drawn.is_empty(), Refusal::WrongCommittee);
        }
        self.undrawn -= 1;
        self.open_one(number)?.drawing = false;
        let eligible = self.auditors.iter().filter(|who| self.may_sit(&dispute, **who)).count();
        // A whole committee or nobody, and no second draw.
        let size = self.terms.committee_size as usize;
        let wanted = if eligible < size { 0 } else { size };
        refuse_if(drawn.len() != wanted, Refusal::WrongCommittee)?;
        for who in drawn {
            let may = self.auditors.contains(who) && self.may_sit(&dispute, *who);
            let twice = self.lock_of(Subject::Seat(number), *who) != 0;
            let seated = self.lock_for(Subject::Seat(number), *who, *who, self.terms.work_lock);
            refuse_if(!may || twice || !seated, Refusal::WrongCommittee)?;
        }
        if !drawn.is_empty() {
            let ends = at.now + self.terms.voting_window;
            let dispute = self.open_one(number)?;
            (dispute.committee, dispute.ends) = (drawn.to_vec(), ends);
        }
        Ok(())
    }

    fn may_sit(&self, dispute: &Dispute, who: Who) -> bool {
        !dispute.parties.contains(&who)
            && self.lock_of(dispute.subject, who) == 0
            && self.bonded(who) >= self.terms.minimum_stake
            && self.free_stake(who) >= self.terms.work_lock
    }

    pub(super) fn decide(&mut self, at: Moment, number: u32, votes: &[(Who, u8)]) -> Result<(), Refusal> {
        let dispute = self.open_one(number)?.clone();
        refuse_if(dispute.committee.is_empty(), Refusal::NotDrawn)?;
        refuse_if(at.now > dispute.ends, Refusal::TooLate)?;
        for (voter, ruling) in votes {
            refuse_if(!matches!(ruling, 1 | 2), Refusal::BadRuling)?;
            refuse_if(!dispute.committee.contains(voter), Refusal::NotOnCommittee)?;
        }
        let with = |ruling| votes.iter().filter(|vote| vote.1 == ruling).map(|vote| vote.0).collect::<Vec<_>>();
        let ruling = if with(2).len() > with(1).len() { 2 } else { 1 };
        let majority = with(ruling);
        refuse_if(majority.len() * 2 <= dispute.committee.len(), Refusal::NoMajority)?;
        let record = self.open_one(number)?;
        (record.status, record.ruling) = (Status::Decided, ruling);
        for member in &dispute.committee {
            self.unlock(Subject::Seat(number), *member);
        }
        let [claimant, defendant, _] = dispute.parties;
        let (winner, taken) = match ruling {
            1 => (defendant, self.take_from_claimant(&dispute)?),
            _ => (claimant, self.take_from_defendant(&dispute)?),
        };
        self.share_out(winner, taken, &majority)
    }

    fn take_from_defendant(&mut self, dispute: &Dispute) -> Result<u64, Refusal> {
        let taken = self.slash(dispute.subject, dispute.parties[1]);
        self.shift(COURT, dispute.parties[0], dispute.bond)?;
        Ok(taken)
    }

    fn take_from_claimant(&mut self, dispute: &Dispute) -> Result<u64, Refusal> {
        let subject = dispute.subject;
        if dispute.accusation {
            self.let_go(subject, dispute.parties[1]);
        }
        if dispute.bond == 0 {
            return Ok(self.slash(subject, dispute.parties[0]));
        }
        let taken = share(dispute.bond, self.terms.slash_share);
        self.shift(COURT, dispute.parties[0], dispute.bond - taken)?;
        Ok(taken)
    }

    fn share_out(&mut self, winner: Who, taken: u64, majority: &[Who]) -> Result<(), Refusal> {
        let half = taken / 2;
        let each = (taken - half) / majority.len() as u64;
        self.shift(COURT, winner, half)?;
        for auditor in majority {
            self.shift(COURT, *auditor, each)?;
        }
        self.shift(COURT, TREASURY, taken - half - each * majority.len() as u64)
    }

    pub(super) fn expire(&mut self, at: Moment, number: u32) -> Result<(), Refusal> {
        let dispute = self.open_one(number)?.clone();
        refuse_if(at.now <= dispute.ends, Refusal::TooEarly)?;
        self.undrawn -= u32::from(dispute.drawing);
        let record = self.open_one(number)?;
        (record.status, record.drawing) = (Status::Expired, false);
        for member in &dispute.committee {
            self.unlock(Subject::Seat(number), *member);
        }
        if dispute.accusation {
            self.let_go(dispute.subject, dispute.parties[1]);
        }
        self.shift(COURT, dispute.parties[0], dispute.bond)
    }

    fn open_one(&mut self, number: u32) -> Result<&mut Dispute, Refusal> {
        self.disputes.get_mut(&number).filter(|dispute| dispute.status == Status::Open).ok_or(Refusal::NotOpen)
    }
}
