//! What the chain does to the world, and what the hub's clerk sees of it.
use gleaner_core::{Event, Session};
use gleaner_wire::{Address, Amount, JobId};

use crate::chain::{Chain, Step};
use crate::scenario::MILLISECOND;
use crate::world::{What, World};

/// The clerk looks again at what could not be closed.
const CLERK_RETRY: u64 = 1000 * MILLISECOND;

impl World<'_> {
    /// Something happens on the chain, whether or not the hub is there to see it.
    pub fn chain_step(&mut self, step: Step) -> Result<(), String> {
        let Some(chain) = &mut self.chain else { return Ok(()) };
        match step {
            Step::Terms { share_points, stake_min } => {
                (chain.share_points, chain.stake_min) = (share_points, stake_min);
                self.see_terms()
            }
            Step::Stake { provider, stake } => {
                chain.set_stake(provider, stake);
                self.see_stake(provider)
            }
            Step::Lock(job) => {
                let seen = chain.lock(job);
                let at = self.now + chain.delay();
                self.agenda.note(at, What::Chain(seen));
                Ok(())
            }
            Step::SeeLock(job) => self.see_lock(job),
            Step::SeeRefusal(job) if self.hub_up => {
                self.tell(Event::OrderRefused { job, reason: "too little money".into() })
            }
            Step::SeeRefusal(_) => Ok(()),
            Step::Close(job) => self.close_order(job),
        }
    }

    fn see_lock(&mut self, job: JobId) -> Result<(), String> {
        let Some(chain) = self.chain.as_mut().filter(|_| self.hub_up) else { return Ok(()) };
        let share_points = chain.share_of(job).ok_or("the hub saw a lock that is not there")?;
        let late = self.hub.core.job_summary(job).is_none_or(|summary| summary.state.has_ended());
        chain.seen.locks_late += u64::from(late);
        self.tell(Event::OrderLocked { job, share_points })
    }

    /// The journal marks the order as closed in the commit that tells the core, so it is told once.
    fn close_order(&mut self, job: JobId) -> Result<(), String> {
        let Some(chain) = &mut self.chain else { return Ok(()) };
        let closing = if self.hub_up { chain.close(job) } else { None };
        if let Some(closing) = closing {
            return self.tell(Event::OrderClosed(closing));
        }
        if chain.is_open(job) {
            self.agenda.note(self.now + CLERK_RETRY, What::Chain(Step::Close(job)));
        }
        Ok(())
    }

    /// Has an order locked, perhaps not for the first time.
    pub fn send_lock(&mut self, job: JobId) {
        let Some(chain) = &mut self.chain else { return };
        chain.send_lock(job);
        let at = self.now + chain.delay();
        self.agenda.note(at, What::Chain(Step::Lock(job)));
    }

    /// The journal keeps what is to be settled before the core forgets the job.
    pub fn keep_order(&mut self, job: JobId) {
        let Some(chain) = &mut self.chain else { return };
        if chain.keep(&self.hub.core, job) {
            let at = self.now + chain.delay();
            self.agenda.note(at, What::Chain(Step::Close(job)));
        }
    }

    /// Tells the hub of the chain's terms if they have changed.
    pub fn see_terms(&mut self) -> Result<(), String> {
        let Some(chain) = self.chain.as_mut().filter(|_| self.hub_up) else { return Ok(()) };
        let terms = chain.terms();
        if self.hub.core.chain_terms() == terms {
            return Ok(());
        }
        chain.seen.terms += 1;
        self.tell(Event::TermsSeen(terms))
    }

    /// Tells the hub what is locked of those whose claims are about to be drawn.
    pub fn see_locks(&mut self) -> Result<(), String> {
        for (job, _, provider) in self.hub.core.locks_unseen() {
            // It may die between two of them.
            if !self.hub_up {
                break;
            }
            let locked = self.chain.as_ref().map_or(Amount::ZERO, |chain| chain.lock_of(job, provider));
            self.tell(Event::LockSeen { job, provider, locked })?;
        }
        Ok(())
    }

    /// Tells the hub of a provider's stake if it has changed.
    pub fn see_stake(&mut self, provider: Address) -> Result<(), String> {
        let Some(chain) = self.chain.as_mut().filter(|_| self.hub_up) else { return Ok(()) };
        let stake = chain.stake(provider);
        if self.hub.core.stake(provider) == stake {
            return Ok(());
        }
        chain.seen.stakes += 1;
        self.tell(Event::StakeSeen { provider, stake })
    }

    /// The hub closes a connection whose worker it does not let in.
    pub fn refuse_worker(&mut self, session: Session) {
        let (worker, session) = (session.0 as u32, session.0);
        if let Some(chain) = &mut self.chain {
            chain.seen.workers_refused += 1;
        }
        if self.sessions[worker as usize] == Some(session) {
            self.sessions[worker as usize] = None;
            let seen = self.now + self.latency(worker);
            self.agenda.note(seen, What::Cut { worker, session });
        }
    }

    /// Whether every order of an ended job is closed.
    pub fn is_settled(&self) -> bool {
        self.chain.as_ref().is_none_or(Chain::is_settled)
    }
}
