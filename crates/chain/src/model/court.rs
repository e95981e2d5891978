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

/// How long the list of auditors has stood still, because a draw was pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stillness {
    /// Disputes that wait for their draw.
    undrawn: u32,
    /// When the list last began to stand still.
    since: u64,
    /// Seconds before that.
    before: u64,
}

impl Stillness {
    fn begin(&mut self, now: u64) {
        if self.undrawn == 0 {
            self.since = now;
        }
        self.undrawn += 1;
    }

    fn end(&mut self, now: u64) {
        self.undrawn -= 1;
        if self.undrawn == 0 {
            self.before += now - self.since;
        }
    }

    /// Seconds in all.
    fn total(&self, now: u64) -> u64 {
        let running = if self.undrawn == 0 { 0 } else { now - self.since };
        self.before + running
    }
}

impl Economy {
    pub(super) fn enroll(&mut self, at: Moment, who: Who) -> Result<(), Refusal> {
        self.refuse_while_still()?;
        refuse_if(self.auditors.contains_key(&who), Refusal::AlreadyEnrolled)?;
        refuse_if(self.free_stake(who) < self.terms.minimum_stake, Refusal::StakeTooSmall)?;
        self.auditors.insert(who, self.list_time(at));
        Ok(())
    }

    pub(super) fn renew(&mut self, at: Moment, who: Who) -> Result<(), Refusal> {
        self.refuse_while_still()?;
        let time = self.list_time(at);
        *self.auditors.get_mut(&who).ok_or(Refusal::NotEnrolled)? = time;
        Ok(())
    }

    pub(super) fn resign(&mut self, who: Who) -> Result<(), Refusal> {
        self.refuse_while_still()?;
        refuse_if(self.auditors.remove(&who).is_none(), Refusal::NotEnrolled)
    }

    pub(super) fn evict(&mut self, at: Moment, who: Who) -> Result<(), Refusal> {
        let fit = self.is_present(at, who) && self.bonded(who) >= self.terms.minimum_stake;
        refuse_if(fit, Refusal::NoReasonToEvict)?;
        self.resign(who)
    }

    fn refuse_while_still(&self) -> Result<(), Refusal> {
        refuse_if(self.stillness.undrawn != 0, Refusal::DrawPending)
    }

    /// The clock by which auditors lapse: it does not go while the list stands still.
    fn list_time(&self, at: Moment) -> u64 {
        at.now - self.stillness.total(at.now)
    }

    /// The last second at which an auditor is present, as it looks now; none if it is not enrolled.
    pub fn present_until(&self, at: Moment, who: Who) -> Option<u64> {
        let heard = self.auditors.get(&who)?;
        Some(heard + self.terms.voting_window + self.stillness.total(at.now))
    }

    /// Whether somebody is an auditor and was heard of within the last voting window.
    pub fn is_present(&self, at: Moment, who: Who) -> bool {
        self.present_until(at, who).is_some_and(|until| at.now <= until)
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
        self.stillness.begin(at.now);
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
        self.stillness.end(at.now);
        self.open_one(number)?.drawing = false;
        let eligible = self.auditors.keys().filter(|who| self.may_sit(at, &dispute, **who)).count();
        // A whole committee or nobody, and no second draw.
        let size = self.terms.committee_size as usize;
        let wanted = if eligible < size { 0 } else { size };
        refuse_if(drawn.len() != wanted, Refusal::WrongCommittee)?;
        for who in drawn {
            let may = self.may_sit(at, &dispute, *who);
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

    fn may_sit(&self, at: Moment, dispute: &Dispute, who: Who) -> bool {
        self.is_present(at, who)
            && !dispute.parties.contains(&who)
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
        if dispute.drawing {
            self.stillness.end(at.now);
        }
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
