//! Proposals: voted on, queued, carried out after a delay.
use super::{Economy, Moment, Refusal, TREASURY, Who, refuse_if};
use std::collections::BTreeSet;

/// How votes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Seconds from a proposal to its vote.
    pub delay: u64,
    /// Seconds that a vote lasts.
    pub period: u64,
    /// Seconds from a passed vote that was queued to its execution.
    pub timelock: u64,
    /// Votes that a proposer needs.
    pub threshold: u64,
    /// Percent of all tokens that must take part.
    pub quorum: u64,
}

/// What a passed vote does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Gives a parameter another value.
    Set {
        /// Its name in genesis files.
        parameter: &'static str,
        /// The value.
        value: u64,
    },
    /// Pays tokens that the treasury holds.
    PayTokens {
        /// To whom.
        to: Who,
        /// How much.
        amount: u64,
    },
    /// Pays out of the platform's share.
    PayShare {
        /// To whom.
        to: Who,
        /// How much.
        amount: u64,
    },
    /// Makes a licence.
    Mint {
        /// For whom.
        to: Who,
    },
    /// Hands a schedule over.
    Assign {
        /// Which one.
        schedule: u64,
        /// To whom.
        to: Who,
    },
}

/// Where a proposal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the contract")]
pub enum Standing {
    Pending,
    Active,
    Canceled,
    Defeated,
    Succeeded,
    Queued,
    Executed,
}

/// What is remembered of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What it would do.
    pub deeds: Vec<Deed>,
    /// Who proposed it.
    pub proposer: Who,
    /// The moment as of which votes count.
    pub start: u64,
    /// The last moment of the vote.
    pub end: u64,
    /// Against, for, and for the quorum only.
    pub votes: [u64; 3],
    /// Who has voted.
    pub voters: BTreeSet<Who>,
    /// From when it can be carried out; 0 if it is not queued.
    pub ready: u64,
    canceled: bool,
    executed: bool,
}

impl Economy {
    /// Where a proposal stands at a moment.
    pub fn standing(&self, now: u64, number: u32) -> Result<Standing, Refusal> {
        let proposal = self.proposals.get(&number).ok_or(Refusal::GovernorNonexistentProposal)?;
        let [against, yes, abstained] = proposal.votes;
        let enough = u128::from(yes) + u128::from(abstained) >= self.quorum();
        Ok(match proposal {
            Proposal { executed: true, .. } => Standing::Executed,
            Proposal { canceled: true, .. } => Standing::Canceled,
            Proposal { start, .. } if now <= *start => Standing::Pending,
            Proposal { end, .. } if now <= *end => Standing::Active,
            _ if !enough || yes <= against => Standing::Defeated,
            Proposal { ready: 0, .. } => Standing::Succeeded,
            Proposal { .. } => Standing::Queued,
        })
    }

    fn quorum(&self) -> u128 {
        let supply: u128 = self.tokens.values().map(|tokens| u128::from(*tokens)).sum();
        supply * u128::from(self.rules.quorum) / 100
    }

    pub(super) fn propose(&mut self, at: Moment, who: Who, number: u32, deeds: &[Deed]) -> Result<(), Refusal> {
        let few = self.votes_at(who, at.now - 1) < self.rules.threshold;
        refuse_if(few, Refusal::GovernorInsufficientProposerVotes)?;
        refuse_if(self.proposals.contains_key(&number), Refusal::GovernorUnexpectedProposalState)?;
        let start = at.now + self.rules.delay;
        let proposal = Proposal {
            deeds: deeds.to_vec(),
            proposer: who,
            start,
            end: start + self.rules.period,
            votes: [0; 3],
            voters: BTreeSet::new(),
            ready: 0,
            canceled: false,
            executed: false,
        };
        self.proposals.insert(number, proposal);
        Ok(())
    }

    pub(super) fn cast(&mut self, at: Moment, who: Who, number: u32, support: u8) -> Result<(), Refusal> {
        let proposal = self.proposal_in(at, number, Standing::Active)?;
        refuse_if(!proposal.voters.insert(who), Refusal::GovernorAlreadyCastVote)?;
        refuse_if(support > 2, Refusal::GovernorInvalidVoteType)?;
        let start = proposal.start;
        let votes = self.votes_at(who, start);
        self.proposal_in(at, number, Standing::Active)?.votes[usize::from(support)] += votes;
        Ok(())
    }

    pub(super) fn queue(&mut self, at: Moment, number: u32) -> Result<(), Refusal> {
        let ready = at.now + self.rules.timelock;
        self.proposal_in(at, number, Standing::Succeeded)?.ready = ready;
        Ok(())
    }

    pub(super) fn execute(&mut self, at: Moment, number: u32) -> Result<(), Refusal> {
        let proposal = self.proposal_in(at, number, Standing::Queued)?;
        refuse_if(at.now < proposal.ready, Refusal::TimelockUnexpectedOperationState)?;
        proposal.executed = true;
        for deed in proposal.deeds.clone() {
            self.carry_out(at, TREASURY, &deed)?;
        }
        Ok(())
    }

    pub(super) fn cancel(&mut self, at: Moment, who: Who, number: u32) -> Result<(), Refusal> {
        let pending = self.standing(at.now, number)? == Standing::Pending;
        let proposal = self.proposals.get_mut(&number).ok_or(Refusal::GovernorNonexistentProposal)?;
        refuse_if(!pending || who != proposal.proposer, Refusal::GovernorUnableToCancel)?;
        proposal.canceled = true;
        Ok(())
    }

    /// What the treasury does when a vote has passed, and what nobody else can do with what is not theirs.
    pub(super) fn carry_out(&mut self, at: Moment, who: Who, deed: &Deed) -> Result<(), Refusal> {
        let owner = who == TREASURY;
        match deed {
            Deed::Set { .. } | Deed::Mint { .. } if !owner => Err(Refusal::OwnableUnauthorizedAccount),
            Deed::Set { parameter, value } => self.terms.set(parameter, *value),
            Deed::Mint { to } => self.mint(at, *to),
            Deed::PayTokens { to, amount } => self.transfer(who, *to, *amount),
            Deed::PayShare { to, amount } => self.withdraw(who, *to, *amount),
            Deed::Assign { schedule, to } => self.assign(who, *schedule, *to),
        }
    }

    fn proposal_in(&mut self, at: Moment, number: u32, standing: Standing) -> Result<&mut Proposal, Refusal> {
        let found = self.standing(at.now, number)?;
        refuse_if(found != standing, Refusal::GovernorUnexpectedProposalState)?;
        self.proposals.get_mut(&number).ok_or(Refusal::GovernorNonexistentProposal)
    }
}
