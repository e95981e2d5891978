//! Puts all contracts on a chain and carries out a genesis file.
//!
//! A deployment is a fixed list of transactions of one fresh account: the number of each is its place in the list. So
//! every address is known beforehand, contracts name each other without a wiring step, and a deployment that was
//! interrupted goes on at the account's next number.
use alloy_primitives::{Address, Bytes, U256, Uint, keccak256};
use alloy_sol_types::{SolCall, SolConstructor};
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::contracts::{
    Court, Escrow, GleanerGovernor, Licences, Parameters, Rewards, Stake, Timelock, Token, Vesting, Vouchers,
};
use crate::genesis::{self, Allocation, Genesis, Receiver};
use crate::market::{Market, ReadError};
use crate::node::{self, Node};
use crate::sender::{Failure, Sender};

/// How far back a deployment that goes on may have begun: a day of blocks of twelve seconds.
const RESUMED_BLOCKS_MAX: u64 = 7_200;

/// Where the contracts are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Deployment {
    /// The chain.
    pub chain_id: u64,
    /// A block from before the first step of the deployment: nothing of ours happened before it.
    pub block: u64,
    /// Owner of the parameters; the treasury.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub timelock: Address,
    /// GLN.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub token: Address,
    /// The numbers that votes may change.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub parameters: Address,
    /// Tokens that become someone's month by month.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub vesting: Address,
    /// Node licences.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub licences: Address,
    /// Collateral.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub stake: Address,
    /// Orders and free money.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub escrow: Address,
    /// Disputes.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub court: Address,
    /// Channels for small payments.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub vouchers: Address,
    /// Node rewards.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub rewards: Address,
    /// Votes.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub governor: Address,
}

/// Why a deployment did not come about.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A transaction failed.
    #[error("step {step} of {steps} of the deployment failed")]
    Step {
        /// Which one, from 1.
        step: usize,
        /// How many there are.
        steps: usize,
        /// Why.
        source: Failure,
    },
    /// The account has sent other transactions before.
    #[error("{account} has sent {nonce} transactions already: deploy from an account that is used for nothing else")]
    UsedAccount {
        /// The account.
        account: Address,
        /// How many.
        nonce: u64,
    },
    /// The genesis file is wrong.
    #[error(transparent)]
    Genesis(#[from] genesis::Error),
    /// The node did not answer.
    #[error(transparent)]
    Node(#[from] node::Error),
    /// What is on the chain is not what was meant.
    #[error("the deployment is not as it should be: {0}")]
    Unexpected(String),
    /// The result could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// One transaction of a deployment.
struct Step {
    to: Option<Address>,
    data: Bytes,
}

impl Deployment {
    /// Where everything will be if `deployer` carries the deployment out.
    pub fn predicted(chain_id: u64, deployer: Address) -> Self {
        let at = |nonce| deployer.create(nonce);
        Self {
            chain_id,
            block: 0,
            timelock: at(0),
            token: at(1),
            parameters: at(2),
            vesting: at(3),
            licences: at(4),
            stake: at(5),
            escrow: at(6),
            court: at(7),
            vouchers: at(8),
            rewards: at(9),
            governor: at(10),
        }
    }

    fn receiver(&self, to: Receiver, liquidity: Address) -> Address {
        match to {
            Receiver::Treasury => self.timelock,
            Receiver::Rewards => self.rewards,
            Receiver::Licences => self.licences,
            Receiver::Liquidity => liquidity,
            Receiver::Account(account) => account,
        }
    }
}

/// Deploys everything from a fresh account, or goes on with a deployment of that account that was interrupted.
/// `liquidity` receives the tokens meant for markets; on an embedded chain it is the faucet.
pub async fn deploy(
    sender: &Sender,
    deployer: &Account,
    genesis: &Genesis,
    liquidity: Address,
) -> Result<Deployment, Error> {
    let node = &sender.node;
    let mut deployment = Deployment::predicted(node.chain_id().await?, deployer.address());
    let launch = newest_timestamp(node).await?;
    let steps = steps(genesis, &deployment, deployer.address(), liquidity, launch)?;
    let done = node.nonce(deployer.address()).await?;
    let resumed = usize::try_from(done).ok().filter(|done| *done <= steps.len());
    let Some(resumed) = resumed else { return Err(Error::UsedAccount { account: deployer.address(), nonce: done }) };
    if done > 0 && node.code(deployment.timelock).await?.is_empty() {
        return Err(Error::UsedAccount { account: deployer.address(), nonce: done });
    }
    let height = node.height().await?;
    deployment.block = if done == 0 { height } else { height.saturating_sub(RESUMED_BLOCKS_MAX) };
    let count = steps.len();
    for (place, step) in steps.into_iter().enumerate().skip(resumed) {
        let sent = sender.send_to(deployer, step.to, step.data).await;
        sent.map_err(|source| Error::Step { step: place + 1, steps: count, source })?;
    }
    check(node, &deployment, deployer.address(), genesis).await?;
    Ok(deployment)
}

async fn newest_timestamp(node: &Node) -> Result<u64, Error> {
    let height = node.height().await?;
    let block = node.block(height).await?;
    block.map(|block| block.timestamp).ok_or_else(|| Error::Unexpected(format!("block {height} is missing")))
}

fn steps(
    genesis: &Genesis,
    at: &Deployment,
    deployer: Address,
    liquidity: Address,
    launch: u64,
) -> Result<Vec<Step>, Error> {
    let mut steps = creations(genesis, at, deployer)?;
    let call = |to: Address, data: Vec<u8>| Step { to: Some(to), data: data.into() };
    let approve = |value| call(at.token, Token::approveCall { spender: at.vesting, value }.abi_encode());
    steps.push(approve(U256::MAX));
    for entry in &genesis.allocations {
        steps.extend(allocation(genesis, at, entry, liquidity, launch));
    }
    steps.push(approve(U256::ZERO));
    for role in ["PROPOSER_ROLE", "CANCELLER_ROLE"] {
        let grant = Timelock::grantRoleCall { role: keccak256(role), account: at.governor };
        steps.push(call(at.timelock, grant.abi_encode()));
    }
    // The role of all roles is the number zero; without it nobody but a passed vote changes anything.
    let renounce = Timelock::renounceRoleCall { role: Default::default(), callerConfirmation: deployer };
    steps.push(call(at.timelock, renounce.abi_encode()));
    Ok(steps)
}

fn creations(genesis: &Genesis, at: &Deployment, deployer: Address) -> Result<Vec<Step>, Error> {
    let supply = U256::from(genesis.supply()?.0);
    let values = genesis.parameter_values().into_iter().map(U256::from).collect();
    let votes = genesis.governance;
    let too_long = || Error::Unexpected("the voting delay or period is too long".into());
    let delay = U256::from(votes.timelock_delay);
    let voting_delay = Uint::<48, 1>::checked_from_limbs_slice(&[votes.voting_delay]).ok_or_else(too_long)?;
    let voting_period = u32::try_from(votes.voting_period).map_err(|_| too_long())?;
    let create = |code: &Bytes, arguments: Vec<u8>| Step { to: None, data: [code, &arguments[..]].concat().into() };
    let licences = Licences::constructorCall {
        token_: at.token,
        owner: at.timelock,
        count_: U256::from(genesis.licences.count),
        share_: U256::from(genesis.licence_share().0),
    };
    let governor = GleanerGovernor::constructorCall {
        token: at.token,
        timelock: at.timelock,
        votingDelay_: voting_delay,
        votingPeriod_: voting_period,
        proposalThreshold_: U256::from(votes.proposal_threshold),
        quorumPercent: U256::from(votes.quorum_percent),
    };
    Ok(vec![
        create(&Timelock::BYTECODE, Timelock::constructorCall { delay, admin: deployer }.abi_encode()),
        create(&Token::BYTECODE, Token::constructorCall { supply, holder: deployer }.abi_encode()),
        create(&Parameters::BYTECODE, Parameters::constructorCall { owner: at.timelock, values }.abi_encode()),
        create(&Vesting::BYTECODE, Vesting::constructorCall { token_: at.token }.abi_encode()),
        create(&Licences::BYTECODE, licences.abi_encode()),
        create(&Stake::BYTECODE, stake(at).abi_encode()),
        create(&Escrow::BYTECODE, escrow(at).abi_encode()),
        create(&Court::BYTECODE, court(at).abi_encode()),
        create(&Vouchers::BYTECODE, vouchers(at).abi_encode()),
        create(&Rewards::BYTECODE, rewards(at).abi_encode()),
        create(&GleanerGovernor::BYTECODE, governor.abi_encode()),
    ])
}

fn stake(at: &Deployment) -> Stake::constructorCall {
    Stake::constructorCall {
        token_: at.token,
        parameters_: at.parameters,
        escrow_: at.escrow,
        court_: at.court,
        rewards_: at.rewards,
    }
}

fn escrow(at: &Deployment) -> Escrow::constructorCall {
    Escrow::constructorCall {
        token_: at.token,
        parameters_: at.parameters,
        stake_: at.stake,
        court_: at.court,
        vouchers_: at.vouchers,
    }
}

fn court(at: &Deployment) -> Court::constructorCall {
    Court::constructorCall { parameters_: at.parameters, stake_: at.stake, escrow_: at.escrow, rewards_: at.rewards }
}

fn vouchers(at: &Deployment) -> Vouchers::constructorCall {
    Vouchers::constructorCall { escrow_: at.escrow, parameters_: at.parameters }
}

fn rewards(at: &Deployment) -> Rewards::constructorCall {
    Rewards::constructorCall { token_: at.token, parameters_: at.parameters, stake_: at.stake, court_: at.court }
}

/// The transfers of one line of the allocation.
fn allocation(genesis: &Genesis, at: &Deployment, entry: &Allocation, liquidity: Address, launch: u64) -> Vec<Step> {
    let amount = genesis.amount(entry);
    let transfer = |to, units: u64| {
        let call = Token::transferCall { to, value: U256::from(units) };
        Step { to: Some(at.token), data: call.abi_encode().into() }
    };
    if entry.to == Receiver::Licences {
        let pool = genesis.licence_share().0 * genesis.licences.count;
        return vec![transfer(at.licences, pool), transfer(at.timelock, amount.0 - pool)];
    }
    let beneficiary = at.receiver(entry.to, liquidity);
    if entry.cliff_months == 0 && entry.duration_months == 0 {
        return vec![transfer(beneficiary, amount.0)];
    }
    let call = Vesting::createCall {
        beneficiary,
        start: launch,
        total: U256::from(amount.0),
        atLaunch: U256::from(amount.basis_points(entry.launch_bps).0),
        cliffMonths: entry.cliff_months,
        durationMonths: entry.duration_months,
    };
    vec![Step { to: Some(at.vesting), data: call.abi_encode().into() }]
}

/// Looks at what the chain has now: code everywhere, the supply, and that nobody but a vote has power.
async fn check(node: &Node, at: &Deployment, deployer: Address, genesis: &Genesis) -> Result<(), Error> {
    let unexpected = |what: &str| Err(Error::Unexpected(what.into()));
    for contract in [at.timelock, at.token, at.parameters, at.stake, at.escrow, at.court, at.governor] {
        if node.code(contract).await?.is_empty() {
            return unexpected("a contract is missing");
        }
    }
    let market = Market::new(node.clone(), at.clone());
    let supply = market.read(at.token, &Token::totalSupplyCall {}).await?;
    let kept = market.read(at.token, &Token::balanceOfCall { account: deployer }).await?;
    if supply != U256::from(genesis.supply()?.0) || !kept.is_zero() {
        return unexpected("the tokens are not where the genesis file wants them");
    }
    let has = |role, account| Timelock::hasRoleCall { role, account };
    let proposes = market.read(at.timelock, &has(keccak256("PROPOSER_ROLE"), at.governor)).await?;
    let rules = market.read(at.timelock, &has(Default::default(), deployer)).await?;
    if !proposes || rules {
        return unexpected("the roles of the timelock are wrong");
    }
    Ok(())
}
