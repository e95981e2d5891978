//! Proposals: what they would do, where they stand, and the calls that move them on.
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{SolCall, SolEvent};
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::reads::name;
use super::{Call, Market, ReadError, amount, call, units};
use crate::contracts::{Escrow, GleanerGovernor, Parameters, Token};

/// What a passed vote would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The contracts it calls.
    pub targets: Vec<Address>,
    /// The calls.
    pub calls: Vec<Bytes>,
    /// Why, in words; part of what is voted on.
    pub description: String,
}

/// A vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ballot {
    /// No.
    Against,
    /// Yes.
    For,
    /// Counts for the quorum only.
    Abstain,
}

/// Where a proposal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The vote has not begun.
    Pending,
    /// The vote is on.
    Active,
    /// Taken back.
    Canceled,
    /// Not passed.
    Defeated,
    /// Passed; can be queued.
    Succeeded,
    /// Waits for the timelock.
    Queued,
    /// Too old.
    Expired,
    /// Done.
    Executed,
}

/// A proposal as it stands on the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalState {
    /// Its id.
    pub id: U256,
    /// Who proposed it.
    pub proposer: Address,
    /// What it would do.
    pub proposal: Proposal,
    /// Where it stands.
    pub stage: Stage,
    /// Unix seconds at which votes are counted from.
    pub vote_start: u64,
    /// Unix seconds at which the vote ends.
    pub vote_end: u64,
    /// Votes for it.
    pub votes_for: Amount,
    /// Votes against it.
    pub votes_against: Amount,
}

impl Proposal {
    fn values(&self) -> Vec<U256> {
        vec![U256::ZERO; self.targets.len()]
    }

    fn description_hash(&self) -> B256 {
        keccak256(&self.description)
    }
}

impl Market {
    /// A proposal to change one parameter.
    pub fn parameter_change(&self, parameter: &str, value: U256, why: &str) -> Result<Proposal, ReadError> {
        if parameter.len() > 32 {
            return Err(ReadError::Refused(format!("there is no parameter `{parameter}`")));
        }
        let data = Parameters::setCall { name: name(parameter), value }.abi_encode();
        Ok(self.proposal(self.deployment.parameters, data, why))
    }

    /// A proposal to pay tokens that the treasury holds itself.
    pub fn treasury_payment(&self, to: Address, value: Amount, why: &str) -> Proposal {
        self.proposal(self.deployment.token, Token::transferCall { to, value: units(value) }.abi_encode(), why)
    }

    /// A proposal to pay out of the platform's share, which lies in Escrow.
    pub fn platform_payment(&self, to: Address, value: Amount, why: &str) -> Proposal {
        let data = Escrow::withdrawToCall { to, amount: units(value) }.abi_encode();
        self.proposal(self.deployment.escrow, data, why)
    }

    fn proposal(&self, target: Address, data: Vec<u8>, why: &str) -> Proposal {
        Proposal { targets: vec![target], calls: vec![data.into()], description: why.into() }
    }

    /// Puts a proposal to the vote.
    pub fn propose(&self, proposal: &Proposal) -> Call {
        let propose = GleanerGovernor::proposeCall {
            targets: proposal.targets.clone(),
            values: proposal.values(),
            calldatas: proposal.calls.clone(),
            description: proposal.description.clone(),
        };
        call(self.deployment.governor, &propose)
    }

    /// Votes.
    pub fn cast(&self, id: U256, ballot: Ballot) -> Call {
        let support = match ballot {
            Ballot::Against => 0,
            Ballot::For => 1,
            Ballot::Abstain => 2,
        };
        call(self.deployment.governor, &GleanerGovernor::castVoteCall { proposalId: id, support })
    }

    /// Hands a passed proposal to the timelock.
    pub fn queue(&self, proposal: &Proposal) -> Call {
        let queue = GleanerGovernor::queueCall {
            targets: proposal.targets.clone(),
            values: proposal.values(),
            calldatas: proposal.calls.clone(),
            descriptionHash: proposal.description_hash(),
        };
        call(self.deployment.governor, &queue)
    }

    /// Carries a queued proposal out.
    pub fn execute(&self, proposal: &Proposal) -> Call {
        let execute = GleanerGovernor::executeCall {
            targets: proposal.targets.clone(),
            values: proposal.values(),
            calldatas: proposal.calls.clone(),
            descriptionHash: proposal.description_hash(),
        };
        call(self.deployment.governor, &execute)
    }

    /// The id under which a proposal is voted on.
    pub async fn proposal_id(&self, proposal: &Proposal) -> Result<U256, ReadError> {
        let hash = GleanerGovernor::hashProposalCall {
            targets: proposal.targets.clone(),
            values: proposal.values(),
            calldatas: proposal.calls.clone(),
            descriptionHash: proposal.description_hash(),
        };
        self.read(self.deployment.governor, &hash).await
    }

    /// Where a proposal stands.
    pub async fn proposal_stage(&self, id: U256) -> Result<Stage, ReadError> {
        let code = self.read(self.deployment.governor, &GleanerGovernor::stateCall { proposalId: id }).await?;
        Ok(match code {
            0 => Stage::Pending,
            1 => Stage::Active,
            2 => Stage::Canceled,
            3 => Stage::Defeated,
            4 => Stage::Succeeded,
            5 => Stage::Queued,
            6 => Stage::Expired,
            7 => Stage::Executed,
            other => return Err(ReadError::Answer(format!("a proposal in state {other}"))),
        })
    }

    /// All proposals so far, oldest first.
    pub async fn proposals(&self) -> Result<Vec<ProposalState>, ReadError> {
        let topics = [vec![GleanerGovernor::ProposalCreated::SIGNATURE_HASH], vec![], vec![], vec![]];
        let newest = self.node.height().await?;
        let logs = self.all_logs(self.deployment.block, newest, vec![self.deployment.governor], topics).await?;
        let mut proposals = Vec::new();
        for entry in logs {
            let event = GleanerGovernor::ProposalCreated::decode_log_data(&entry.log.data)
                .map_err(|error| ReadError::Answer(error.to_string()))?;
            proposals.push(self.proposal_state(event).await?);
        }
        Ok(proposals)
    }

    async fn proposal_state(&self, event: GleanerGovernor::ProposalCreated) -> Result<ProposalState, ReadError> {
        let id = event.proposalId;
        let votes = self.read(self.deployment.governor, &GleanerGovernor::proposalVotesCall { proposalId: id }).await?;
        Ok(ProposalState {
            id,
            proposer: event.proposer,
            proposal: Proposal { targets: event.targets, calls: event.calldatas, description: event.description },
            stage: self.proposal_stage(id).await?,
            vote_start: event.voteStart.saturating_to(),
            vote_end: event.voteEnd.saturating_to(),
            votes_for: amount(votes.forVotes)?,
            votes_against: amount(votes.againstVotes)?,
        })
    }
}
