//! Votes about the numbers of the economy and the treasury, with the tokens of an account.
use gleaner_chain::market::{Act, Ballot, Market, ProposalState, Stage};
use gleaner_chain::primitives::{Address, B256, Bytes};
use gleaner_requester::Purse;
use gleaner_wire::{Amount, Asker};
use serde::{Deserialize, Serialize};

use crate::wallet::{address, turn};
use crate::{Desk, Error};

/// Proposals that are shown, newest first.
const SHOWN_MAX: usize = 50;

/// An account's votes, and what there is to vote on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = DeskVotes)]
pub(crate) struct VotesView {
    /// The account's wallet.
    #[schema(value_type = String)]
    address: Address,
    /// Tokens in the wallet: what is deposited or staked does not vote.
    tokens: Amount,
    /// The votes that the account has, its own and others'.
    votes: Amount,
    /// Who votes with its tokens; nobody does until it says so.
    #[schema(value_type = Option<String>)]
    delegate: Option<Address>,
    /// The proposals, newest first; at most 50 of them.
    items: Vec<ProposalView>,
    /// Always null: there is no next page.
    next: Option<String>,
}

/// A proposal and what it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = Proposal)]
pub(crate) struct ProposalView {
    /// Its id.
    #[schema(value_type = String, pattern = "^0x[0-9a-f]{64}$")]
    id: B256,
    /// Where it stands.
    #[schema(value_type = String, pattern = "^(pending|active|canceled|defeated|succeeded|queued|expired|executed)$")]
    stage: Stage,
    /// Who proposed it.
    #[schema(value_type = String)]
    proposer: Address,
    /// What it would do, read from its calls.
    acts: Vec<ActView>,
    /// Why, as its author says.
    why: String,
    /// Unix seconds at which votes are counted from.
    vote_start: u64,
    /// Unix seconds at which the vote ends.
    vote_end: u64,
    /// Votes for it.
    votes_for: Amount,
    /// Votes against it.
    votes_against: Amount,
    /// Votes that must take part at least; unknown until the vote has begun.
    quorum: Option<Amount>,
    /// Unix seconds from which a queued one can be carried out.
    ready_at: Option<u64>,
    /// The votes of the account that count for this one; unknown until the vote has begun.
    own_votes: Option<Amount>,
    /// Whether the account has voted.
    voted: bool,
}

/// One thing that a proposal would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = ProposalAct)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ActView {
    /// Give a parameter another value.
    Set {
        /// Its name in genesis files.
        parameter: String,
        /// The value, as the contract counts it, in decimal digits.
        value: String,
    },
    /// Pay tokens that the treasury holds itself.
    PayTokens {
        /// To whom.
        #[schema(value_type = String)]
        to: Address,
        /// How much.
        amount: Amount,
    },
    /// Pay out of the platform's share.
    PayShare {
        /// To whom.
        #[schema(value_type = String)]
        to: Address,
        /// How much.
        amount: Amount,
    },
    /// Something else.
    Other {
        /// The contract that it calls.
        #[schema(value_type = String)]
        target: Address,
        /// The call.
        #[schema(value_type = String)]
        data: Bytes,
    },
}

/// A vote that somebody wants to cast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = WantedVote)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vote {
    /// The proposal's id.
    #[schema(value_type = String, pattern = "^0x[0-9a-f]{64}$")]
    proposal: B256,
    /// The vote, which cannot be changed.
    choice: Choice,
}

/// How to vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = VoteChoice)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Choice {
    /// Yes.
    For,
    /// No.
    Against,
    /// Neither; counts for the quorum only.
    Abstain,
}

/// Who is to vote with an account's tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = WantedDelegate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delegation {
    /// Whose address; none: the account itself.
    #[serde(default)]
    to: Option<String>,
}

/// Votes that were cast or given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct Voted {
    /// How many.
    votes: Amount,
    /// The block in which they were.
    block: u64,
}

impl Desk {
    /// An account's votes, and the proposals.
    pub(crate) async fn votes(&self, asker: &Asker) -> Result<VotesView, Error> {
        let (_, purse) = self.purse(asker).await?;
        Ok(look(&purse).await?)
    }

    /// Votes on a proposal.
    pub(crate) async fn cast(&self, asker: &Asker, key: &str, vote: &Vote) -> Result<Voted, Error> {
        let (account, purse) = self.purse(asker).await?;
        self.once(&account, key, ("vote", vote), async || {
            let _turn = turn(&purse).await?;
            let votes = counting(&purse, vote.proposal).await?;
            let ballot = match vote.choice {
                Choice::For => Ballot::For,
                Choice::Against => Ballot::Against,
                Choice::Abstain => Ballot::Abstain,
            };
            let receipt = purse.send(&purse.market.cast(vote.proposal.into(), ballot)).await?;
            Ok(Voted { votes, block: receipt.block_number })
        })
        .await
    }

    /// Makes votes of the wallet's tokens, or gives them to somebody.
    pub(crate) async fn delegate(&self, asker: &Asker, key: &str, wanted: &Delegation) -> Result<Voted, Error> {
        let (account, purse) = self.purse(asker).await?;
        let own = purse.account.address();
        let to = wanted.to.as_deref().map(address).transpose()?.unwrap_or(own);
        self.once(&account, key, ("delegate", wanted), async || {
            let _turn = turn(&purse).await?;
            let read = gleaner_requester::Error::from;
            if purse.market.delegate_of(own).await.map_err(read)? == Some(to) {
                return Err(Error::NotNow(format!("the votes of your tokens are with {to} already")));
            }
            let votes = purse.market.token_balance(own).await.map_err(read)?;
            let receipt = purse.send(&purse.market.delegate(to)).await?;
            Ok(Voted { votes, block: receipt.block_number })
        })
        .await
    }
}

/// The votes that count for a proposal; refuses if there are none, or if it is not the time.
async fn counting(purse: &Purse, id: B256) -> Result<Amount, Error> {
    let (market, own, read) = (&purse.market, purse.account.address(), gleaner_requester::Error::from);
    let proposals = market.proposals().await.map_err(read)?;
    let found = proposals.iter().find(|state| B256::from(state.id) == id);
    let state = found.ok_or_else(|| Error::not_found(format!("there is no proposal {id}")))?;
    if state.stage != Stage::Active {
        return Err(Error::NotNow("the vote on this proposal has not begun, or has ended".into()));
    }
    if market.has_voted(state.id, own).await.map_err(read)? {
        return Err(Error::NotNow("you have voted on this proposal, and a vote cannot be changed".into()));
    }
    let votes = market.votes_at(own, state.vote_start).await.map_err(read)?;
    if votes == Amount::ZERO {
        let why = "you had no votes when the vote began: make votes of your tokens, for votes that begin later";
        return Err(Error::NotNow(why.into()));
    }
    Ok(votes)
}

async fn look(purse: &Purse) -> Result<VotesView, gleaner_requester::Error> {
    let (market, address) = (&purse.market, purse.account.address());
    let (proposals, now) = (market.proposals().await?, market.now().await?);
    let mut items = Vec::new();
    for state in proposals.into_iter().rev().take(SHOWN_MAX) {
        items.push(seen(market, address, state, now).await?);
    }
    Ok(VotesView {
        address,
        tokens: market.token_balance(address).await?,
        votes: market.votes(address).await?,
        delegate: market.delegate_of(address).await?,
        items,
        next: None,
    })
}

async fn seen(
    market: &Market,
    account: Address,
    state: ProposalState,
    now: u64,
) -> Result<ProposalView, gleaner_requester::Error> {
    let (quorum, own_votes) = match state.vote_start < now {
        true => {
            let own = market.votes_at(account, state.vote_start).await?;
            (Some(market.quorum_at(state.vote_start).await?), Some(own))
        }
        false => (None, None),
    };
    Ok(ProposalView {
        id: state.id.into(),
        stage: state.stage,
        proposer: state.proposer,
        acts: market.acts(&state.proposal).into_iter().map(ActView::from).collect(),
        why: state.proposal.description,
        vote_start: state.vote_start,
        vote_end: state.vote_end,
        votes_for: state.votes_for,
        votes_against: state.votes_against,
        quorum,
        ready_at: Some(market.ready_at(state.id).await?).filter(|ready| *ready > 0),
        own_votes,
        voted: market.has_voted(state.id, account).await?,
    })
}

impl From<Act> for ActView {
    fn from(act: Act) -> Self {
        match act {
            Act::Set { parameter, value } => Self::Set { parameter, value: value.to_string() },
            Act::PayTokens { to, amount } => Self::PayTokens { to, amount },
            Act::PayShare { to, amount } => Self::PayShare { to, amount },
            Act::Other { target, data } => Self::Other { target, data },
        }
    }
}
