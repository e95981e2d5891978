//! Node rewards: shares of an epoch published, contested, made final and claimed.
use super::{Economy, Moment, NOBODY, REWARDS, Refusal, Status, Subject, Who, refuse_if};
use std::collections::{BTreeMap, BTreeSet};

/// When epochs begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// When epoch 0 began.
    pub genesis: u64,
    /// How long every epoch is.
    pub length: u64,
}

impl Calendar {
    /// When an epoch ends.
    pub fn end_of(&self, epoch: u64) -> u64 {
        self.genesis + (epoch + 1) * self.length
    }
}

/// Who gets how much: the list stands for its Merkle root, and the total may be claimed wrongly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// In the order of accounts.
    pub shares: Vec<(Who, u64)>,
    /// What they are said to come to.
    pub total: u64,
}

/// How far an epoch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the contract")]
pub enum Stage {
    Published,
    Contested,
    Final,
}

/// What is remembered of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// How far it has come.
    pub stage: Stage,
    /// When it becomes final if nobody contests it.
    pub final_at: u64,
    /// The pool when it was published.
    pub pool: u64,
    /// The cap when it was published.
    pub cap: u64,
    /// Who has published it.
    pub publisher: Who,
    /// Who has contested it.
    pub contester: Who,
    /// What was published; after a contest that was won, the other.
    pub sharing: Sharing,
    /// What was said against it.
    pub counter: Sharing,
    /// The dispute about it.
    pub dispute: u32,
    /// What was claimed.
    pub claimed: u64,
    /// By whom.
    pub claimants: BTreeSet<Who>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Payment {
    pub time: u64,
    pub provider: Who,
    pub gross: u64,
    pub fee: u64,
}

impl Economy {
    pub(super) fn publish(&mut self, at: Moment, who: Who, epoch: u64, sharing: &Sharing) -> Result<(), Refusal> {
        refuse_if(self.epochs.contains_key(&epoch), Refusal::WrongState)?;
        refuse_if(at.now < self.calendar.end_of(epoch), Refusal::NotEnded)?;
        refuse_if(sharing.total > self.terms.emission, Refusal::AboveEmission)?;
        refuse_if(sharing.total > self.available(), Refusal::AboveFunds)?;
        let entry = Epoch {
            stage: Stage::Published,
            final_at: at.now + self.terms.challenge_window,
            pool: self.terms.emission.min(self.available()),
            cap: self.terms.reward_cap,
            publisher: who,
            contester: NOBODY,
            sharing: sharing.clone(),
            counter: Sharing::default(),
            dispute: 0,
            claimed: 0,
            claimants: BTreeSet::new(),
        };
        self.committed += sharing.total;
        self.epochs.insert(epoch, entry);
        let locked = self.lock_for(Subject::Epoch(epoch), who, who, self.terms.hub_stake);
        refuse_if(!locked, Refusal::TooLittleStake)
    }

    pub(super) fn contest(&mut self, at: Moment, who: Who, epoch: u64, counter: &Sharing) -> Result<(), Refusal> {
        let available = self.available();
        let entry = self.epoch_in(epoch, Stage::Published)?;
        refuse_if(at.now >= entry.final_at, Refusal::WindowOver)?;
        refuse_if(who == entry.publisher, Refusal::OwnPublication)?;
        refuse_if(*counter == entry.sharing, Refusal::SameAsPublished)?;
        refuse_if(counter.total > entry.pool, Refusal::AboveEmission)?;
        let more = counter.total.saturating_sub(entry.sharing.total);
        refuse_if(more > available, Refusal::AboveFunds)?;
        (entry.stage, entry.contester, entry.counter) = (Stage::Contested, who, counter.clone());
        let publisher = entry.publisher;
        self.committed += more;
        let locked = self.lock_for(Subject::Epoch(epoch), who, who, self.terms.minimum_stake);
        refuse_if(!locked, Refusal::TooLittleStake)?;
        let dispute = self.open_dispute(at, Subject::Epoch(epoch), [who, publisher, NOBODY], 0, false);
        self.epoch_in(epoch, Stage::Contested)?.dispute = dispute;
        Ok(())
    }

    pub(super) fn conclude_epoch(&mut self, epoch: u64) -> Result<(), Refusal> {
        let entry = self.epoch_in(epoch, Stage::Contested)?.clone();
        let dispute = self.disputes[&entry.dispute].clone();
        refuse_if(dispute.status == Status::Open, Refusal::Undecided)?;
        self.committed -= entry.sharing.total.max(entry.counter.total);
        if dispute.status == Status::Decided {
            let sharing = if dispute.ruling == 1 { entry.sharing } else { entry.counter };
            self.committed += sharing.total;
            let found = self.epoch_in(epoch, Stage::Contested)?;
            (found.stage, found.sharing) = (Stage::Final, sharing);
        } else {
            self.epochs.remove(&epoch);
        }
        self.unlock(Subject::Epoch(epoch), entry.publisher);
        self.unlock(Subject::Epoch(epoch), entry.contester);
        Ok(())
    }

    pub(super) fn finish_epoch(&mut self, at: Moment, epoch: u64) -> Result<(), Refusal> {
        let entry = self.epoch_in(epoch, Stage::Published)?;
        refuse_if(at.now < entry.final_at, Refusal::WindowOpen)?;
        entry.stage = Stage::Final;
        let publisher = entry.publisher;
        self.unlock(Subject::Epoch(epoch), publisher);
        Ok(())
    }

    pub(super) fn claim_reward(
        &mut self,
        at: Moment,
        epoch: u64,
        account: Who,
        amount: u64,
        proved: bool,
    ) -> Result<(), Refusal> {
        if self.epoch_in(epoch, Stage::Published).is_ok() {
            self.finish_epoch(at, epoch)?;
        }
        let entry = self.epoch_in(epoch, Stage::Final)?;
        refuse_if(entry.claimants.contains(&account), Refusal::AlreadyClaimed)?;
        let shown = proved && entry.sharing.shares.contains(&(account, amount));
        refuse_if(!shown, Refusal::WrongProof)?;
        refuse_if(amount > entry.sharing.total - entry.claimed, Refusal::AboveTotal)?;
        entry.claimants.insert(account);
        entry.claimed += amount;
        self.committed -= amount;
        self.transfer(REWARDS, account, amount)
    }

    /// The shares that are right: paid work, at most the capped part of it, at most the fees that were paid for it.
    pub fn reckon(&self, epoch: u64) -> Sharing {
        let (pool, cap) = match self.epochs.get(&epoch) {
            Some(entry) => (entry.pool, entry.cap),
            None => (self.terms.emission.min(self.available()), self.terms.reward_cap),
        };
        let end = self.calendar.end_of(epoch);
        let during = |payment: &&Payment| payment.time < end && payment.time >= end - self.calendar.length;
        let mut work = BTreeMap::<Who, (u128, u128)>::new();
        for payment in self.payments.iter().filter(during) {
            let entry = work.entry(payment.provider).or_default();
            *entry = (entry.0 + u128::from(payment.gross), entry.1 + u128::from(payment.fee));
        }
        let all: u128 = work.values().map(|work| work.0).sum();
        let share = |(gross, fee): (u128, u128)| {
            let proportion = (gross * u128::from(pool)).checked_div(all).unwrap_or(0);
            u64::try_from(proportion.min(gross * u128::from(cap) / 10_000).min(fee)).expect("at most the pool")
        };
        let shares = work.into_iter().map(|(who, work)| (who, share(work))).filter(|(_, amount)| *amount > 0);
        let shares: Vec<_> = shares.collect();
        Sharing { total: shares.iter().map(|(_, amount)| amount).sum(), shares }
    }

    /// Tokens of the rewards that are promised to nobody.
    pub fn available(&self) -> u64 {
        self.tokens_of(REWARDS) - self.committed
    }

    fn epoch_in(&mut self, epoch: u64, stage: Stage) -> Result<&mut Epoch, Refusal> {
        self.epochs.get_mut(&epoch).filter(|entry| entry.stage == stage).ok_or(Refusal::WrongState)
    }
}
