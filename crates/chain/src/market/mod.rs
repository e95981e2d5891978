//! What the hub and the command line ask of the contracts: calls to send, and answers with our own types.
//!
//! Writes are values: a [`Call`] says what a transaction would do, and the sender or the outbox sends it.
mod acts;
mod disputes;
mod epochs;
mod governance;
mod history;
mod open_orders;
mod order_end;
mod reads;
mod votes;
pub mod words;
mod writes;

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;
use gleaner_wire::Amount;

pub use acts::Act;
pub use disputes::{Accusation, Ending, Question, Ruling, Vote, majority};
pub use epochs::{EpochStage, EpochState};
pub use governance::{Ballot, Proposal, ProposalState, Stage};
pub use history::{Entry, Kind, PaidEvent};
pub use order_end::OrderEnd;
pub use reads::{ChannelState, DisputeStage, DisputeState, OrderState, State, Terms};
pub use votes::VotingRules;

use crate::deploy::Deployment;
use crate::node::{CallError, Node};
use crate::order::Domain;
pub use crate::sender::Call;

/// The contracts of one deployment on one chain.
#[derive(Clone, Debug)]
pub struct Market {
    /// The chain.
    pub node: Node,
    /// Where the contracts are.
    pub deployment: Deployment,
}

/// Why a question to a contract had no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The contract refused.
    #[error("the contract refused: {0}")]
    Refused(String),
    /// The node did not answer.
    #[error(transparent)]
    Node(#[from] crate::node::Error),
    /// The answer is not what the contract should say.
    #[error("the contract answered something else than it should: {0}")]
    Answer(String),
}

impl From<CallError> for ReadError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Reverted { data, .. } => Self::Refused(words::refusal(&data)),
            CallError::Failed(reason) => Self::Refused(reason),
            CallError::Node(error) => Self::Node(error),
        }
    }
}

impl Market {
    /// The contracts of a deployment.
    pub fn new(node: Node, deployment: Deployment) -> Self {
        Self { node, deployment }
    }

    /// What orders are signed for.
    pub fn domain(&self) -> Domain {
        Domain { chain_id: self.deployment.chain_id, escrow: self.deployment.escrow }
    }

    /// Asks a contract. Nobody in particular asks.
    pub async fn read<C: SolCall>(&self, to: Address, call: &C) -> Result<C::Return, ReadError> {
        let answer = self.node.call(Address::ZERO, to, call.abi_encode().into()).await?;
        C::abi_decode_returns(&answer).map_err(|error| ReadError::Answer(error.to_string()))
    }

    /// Whether a call would go through if it was sent now; else why not, in words.
    pub async fn preflight(&self, from: Address, call: &Call) -> Result<(), ReadError> {
        self.node.call(from, call.to, call.data.clone()).await?;
        Ok(())
    }
}

/// A number of the contracts as an amount. Whatever they hold of the token fits: its supply does.
pub(crate) fn amount(value: U256) -> Result<Amount, ReadError> {
    u64::try_from(value).map(Amount).map_err(|_| ReadError::Answer(format!("{value} is beyond any amount")))
}

pub(crate) fn units(amount: Amount) -> U256 {
    U256::from(amount.0)
}

pub(crate) fn call(to: Address, call: &impl SolCall) -> Call {
    Call { to, data: Bytes::from(call.abi_encode()) }
}
