//! How votes are held: what a proposal needs, whose votes count, and when.
use alloy_primitives::{Address, U256};
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::reads::name;
use super::{Market, ReadError, amount};
use crate::contracts::{Court, GleanerGovernor, Parameters, Timelock, Token};

/// The rules of votes as they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VotingRules {
    /// Seconds from a proposal to the beginning of its vote.
    pub delay: u64,
    /// Seconds that a vote lasts.
    pub period: u64,
    /// Seconds from a passed vote that was queued to its execution.
    pub timelock_delay: u64,
    /// Votes that a proposer needs.
    pub threshold: Amount,
}

impl Market {
    /// The rules of votes.
    pub async fn voting_rules(&self) -> Result<VotingRules, ReadError> {
        let governor = self.deployment.governor;
        let delay = self.read(governor, &GleanerGovernor::votingDelayCall {}).await?;
        let period = self.read(governor, &GleanerGovernor::votingPeriodCall {}).await?;
        let timelock_delay = self.read(self.deployment.timelock, &Timelock::getMinDelayCall {}).await?;
        let threshold = self.read(governor, &GleanerGovernor::proposalThresholdCall {}).await?;
        Ok(VotingRules {
            delay: delay.saturating_to(),
            period: period.saturating_to(),
            timelock_delay: timelock_delay.saturating_to(),
            threshold: amount(threshold)?,
        })
    }

    /// The time by which votes are held, in Unix seconds.
    pub async fn now(&self) -> Result<u64, ReadError> {
        Ok(self.read(self.deployment.governor, &GleanerGovernor::clockCall {}).await?.to())
    }

    /// Votes that must take part at least, as of a moment in the past.
    pub async fn quorum_at(&self, moment: u64) -> Result<Amount, ReadError> {
        let quorum = GleanerGovernor::quorumCall { timepoint: U256::from(moment) };
        amount(self.read(self.deployment.governor, &quorum).await?)
    }

    /// Votes of an account at a moment in the past.
    pub async fn votes_at(&self, account: Address, moment: u64) -> Result<Amount, ReadError> {
        let votes = Token::getPastVotesCall { account, timepoint: U256::from(moment) };
        amount(self.read(self.deployment.token, &votes).await?)
    }

    /// Who votes with the tokens of an account, if anybody does.
    pub async fn delegate_of(&self, account: Address) -> Result<Option<Address>, ReadError> {
        let delegate = self.read(self.deployment.token, &Token::delegatesCall { account }).await?;
        Ok((!delegate.is_zero()).then_some(delegate))
    }

    /// Whether an account has voted on a proposal.
    pub async fn has_voted(&self, id: U256, account: Address) -> Result<bool, ReadError> {
        self.read(self.deployment.governor, &GleanerGovernor::hasVotedCall { proposalId: id, account }).await
    }

    /// Unix seconds from which a queued proposal can be carried out; zero if it is not queued.
    pub async fn ready_at(&self, id: U256) -> Result<u64, ReadError> {
        let ready = self.read(self.deployment.governor, &GleanerGovernor::proposalEtaCall { proposalId: id }).await?;
        Ok(ready.saturating_to())
    }

    /// The smallest and the largest value that a vote can give a parameter.
    pub async fn parameter_bounds(&self, parameter: &str) -> Result<(U256, U256), ReadError> {
        if parameter.len() > 32 {
            return Err(ReadError::Refused(format!("there is no parameter `{parameter}`")));
        }
        let bounds = self.read(self.deployment.parameters, &Parameters::boundsCall { name: name(parameter) }).await?;
        Ok((bounds.min, bounds.max))
    }

    /// Whether an account is on the list of auditors. Whether it can be drawn also depends on its presence.
    pub async fn is_auditor(&self, account: Address) -> Result<bool, ReadError> {
        self.read(self.deployment.court, &Court::isAuditorCall { account }).await
    }

    /// The last Unix second at which an auditor is present, unless it renews before; none if it is not on the list.
    /// That second moves on with the time while a draw is pending.
    pub async fn present_until(&self, account: Address) -> Result<Option<u64>, ReadError> {
        let until = self.read(self.deployment.court, &Court::presentUntilCall { account }).await?;
        Ok((!until.is_zero()).then(|| until.saturating_to()))
    }
}
