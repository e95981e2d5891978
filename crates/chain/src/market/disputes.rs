//! Accusations, and the votes that decide about them.
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{Eip712Domain, SolEvent, SolStruct};
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::{Market, ReadError, amount};
use crate::account::{self, Account};
use crate::contracts::Court;

mod typed {
    //! A vote as the contract names it; its name and fields are part of what is signed.
    alloy_sol_types::sol! {
        struct Vote { uint256 dispute; bytes32 subject; uint8 ruling; }
    }
}

/// For whom a vote is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The accused, or whoever defends what it did, is right.
    Defendant,
    /// Whoever began the dispute is right.
    Claimant,
}

impl Ruling {
    /// As the contract writes it.
    pub fn number(self) -> u8 {
        match self {
            Self::Defendant => 1,
            Self::Claimant => 2,
        }
    }
}

/// The vote of a member of a committee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DisputeVote))]
pub struct Vote {
    /// Whose.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub account: Address,
    /// For whom.
    pub ruling: Ruling,
    /// The member's signature.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x([0-9a-fA-F]{2})*$"))]
    pub signature: Bytes,
}

/// The contract that votes are written for, and what they are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The chain.
    pub chain_id: u64,
    /// The Court contract on it.
    pub court: Address,
    /// The dispute.
    pub dispute: U256,
    /// What it is about.
    pub subject: B256,
}

/// What a provider is accused of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accusation {
    /// The order in which.
    pub order: B256,
    /// Who.
    pub provider: Address,
    /// By whom.
    pub accuser: Address,
    /// The hash of what shows it.
    pub evidence: B256,
}

/// How a dispute ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What was taken of whoever lost.
    pub taken: Amount,
    /// By which transaction.
    pub transaction: B256,
}

impl Question {
    /// What a member of the committee signs.
    pub fn digest(&self, ruling: Ruling) -> B256 {
        let chain_id = Some(U256::from(self.chain_id));
        let (name, version) = (Some("Gleaner Court".into()), Some("1".into()));
        let domain = Eip712Domain::new(name, version, chain_id, Some(self.court), None);
        let vote = typed::Vote { dispute: self.dispute, subject: self.subject, ruling: ruling.number() };
        vote.eip712_signing_hash(&domain)
    }

    /// A member's vote.
    pub fn vote(&self, member: &Account, ruling: Ruling) -> Vote {
        Vote { account: member.address(), ruling, signature: member.sign_digest(self.digest(ruling)) }
    }

    /// Whether a vote is signed by whom it says.
    pub fn is_signed(&self, vote: &Vote) -> bool {
        account::recover(self.digest(vote.ruling), &vote.signature) == Ok(vote.account)
    }
}

/// The votes by which more than half of a committee agree, in the order in which the contract takes them; none as long
/// as there is no such majority.
pub fn majority(committee: &[Address], votes: &[Vote]) -> Option<Vec<Vote>> {
    [Ruling::Defendant, Ruling::Claimant].into_iter().find_map(|ruling| {
        let of = |member: &Address| votes.iter().find(|vote| vote.account == *member && vote.ruling == ruling);
        let mut agreed: Vec<Vote> = committee.iter().filter_map(of).cloned().collect();
        agreed.sort_by_key(|vote| vote.account);
        (agreed.len() * 2 > committee.len()).then_some(agreed)
    })
}

impl Market {
    /// The question that a dispute puts to its committee.
    pub fn question(&self, dispute: U256, subject: B256) -> Question {
        Question { chain_id: self.deployment.chain_id, court: self.deployment.court, dispute, subject }
    }

    /// The dispute about a provider's fault in an order, if there is or was one.
    pub async fn accusation_of(&self, order: B256, provider: Address) -> Result<Option<U256>, ReadError> {
        let asked = Court::accusationOfCall { order, provider };
        let dispute = self.read(self.deployment.court, &asked).await?;
        Ok((!dispute.is_zero()).then_some(dispute))
    }

    /// What a provider was accused of in an order, if it was.
    pub async fn accusation(&self, order: B256, provider: Address) -> Result<Option<Accusation>, ReadError> {
        let topics = [vec![Court::Accused::SIGNATURE_HASH], vec![order], vec![provider.into_word()], vec![]];
        let height = self.node.height().await?;
        let logs = self.all_logs(self.deployment.block, height, vec![self.deployment.court], topics).await?;
        let Some(entry) = logs.first() else { return Ok(None) };
        let event = Court::Accused::decode_log_data(&entry.log.data);
        let event = event.map_err(|error| ReadError::Answer(error.to_string()))?;
        Ok(Some(Accusation { order, provider, accuser: event.accuser, evidence: event.evidence }))
    }

    /// How a dispute ended: what was taken of whoever lost it, and by which transaction. Nothing while it is open.
    pub async fn ending_of(&self, dispute: U256) -> Result<Option<Ending>, ReadError> {
        let kinds = vec![Court::Penalized::SIGNATURE_HASH, Court::Expired::SIGNATURE_HASH];
        let topics = [kinds, vec![dispute.into()], vec![], vec![]];
        let height = self.node.height().await?;
        let logs = self.all_logs(self.deployment.block, height, vec![self.deployment.court], topics).await?;
        let Some(entry) = logs.last() else { return Ok(None) };
        let taken = match Court::Penalized::decode_log_data(&entry.log.data) {
            Ok(event) => amount(event.amount)?,
            // It expired, and nobody paid.
            Err(_) => Amount::ZERO,
        };
        Ok(Some(Ending { taken, transaction: entry.transaction }))
    }

    /// Hands in the votes of a majority.
    pub fn decide_by(&self, dispute: U256, votes: &[Vote]) -> super::Call {
        let (rulings, signatures) = votes.iter().map(|vote| (vote.ruling.number(), vote.signature.clone())).unzip();
        self.decide(dispute, rulings, signatures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question { chain_id: 7, court: Address::repeat_byte(1), dispute: U256::from(3), subject: B256::repeat_byte(2) }
    }

    #[test]
    fn a_vote_counts_for_one_ruling_of_one_dispute() {
        let (question, ann) = (question(), Account::from_words("ann"));
        let vote = question.vote(&ann, Ruling::Claimant);
        assert!(question.is_signed(&vote));
        assert!(!question.is_signed(&Vote { ruling: Ruling::Defendant, ..vote.clone() }));
        assert!(!question.is_signed(&Vote { account: Address::ZERO, ..vote.clone() }));
        assert!(!Question { dispute: U256::from(4), ..question }.is_signed(&vote));
        assert!(!Question { chain_id: 8, ..question }.is_signed(&vote));
    }

    #[test]
    fn more_than_half_of_the_whole_committee_decide() {
        let people = ["ann", "ben", "cleo", "dan"].map(Account::from_words);
        let mut committee: Vec<Address> = people.iter().map(Account::address).collect();
        committee.sort();
        let rule = |place: usize, ruling| question().vote(&people[place], ruling);
        let mut votes = vec![rule(3, Ruling::Claimant), rule(1, Ruling::Defendant), rule(0, Ruling::Claimant)];
        assert_eq!(majority(&committee, &votes), None, "two of four are not more than half");
        votes.push(rule(2, Ruling::Claimant));
        let agreed = majority(&committee, &votes).expect("three of four");
        assert!(agreed.len() == 3 && agreed.iter().all(|vote| vote.ruling == Ruling::Claimant));
        assert!(agreed.is_sorted_by_key(|vote| vote.account));
        let stranger = question().vote(&Account::from_words("eve"), Ruling::Defendant);
        assert_eq!(majority(&committee, &[stranger, rule(1, Ruling::Defendant)]), None);
    }
}
