//! Running code: blocks, calls and estimates, with revm over the state in memory.
use super::admit::TRANSACTION_GAS_MAX;
use super::block::{BLOCK_GAS_MAX, Frame, Outcome, SentTransaction};
use super::state::State;
use super::world::Changes;
use crate::node::{CallError, SendError};
use alloy_consensus::Transaction;
use alloy_eips::Typed2718;
use alloy_primitives::{Address, Bytes, TxKind, U256};
use revm::context::result::{EVMError, ExecutionResult, InvalidTransaction};
use revm::context::{BlockEnv, CfgEnv, TxEnv};
use revm::database::{CacheDB, WrapDatabaseRef};
use revm::handler::MainnetContext;
use revm::primitives::hardfork::SpecId;
use revm::{Context, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext};
use std::convert::Infallible;

/// The rules of the machine. Osaka's lower gas limit for a transaction would cut our batches of settlements in pieces.
const RULES: SpecId = SpecId::PRAGUE;

/// What running a list of transactions gave.
pub(crate) struct Ran {
    /// What happened to those that ran; the others are not part of the block.
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) changes: Changes,
}

/// What to do with a transaction that was to run.
pub(crate) enum Verdict {
    /// It is in the block, whether it reverted or not.
    Ran,
    /// It can never run, or not now.
    Refused(SendError),
    /// The block is full.
    Left,
}

/// Runs transactions in order on top of a state, which stays as it is.
pub(crate) fn run(state: &State, chain_id: u64, frame: Frame, transactions: &[SentTransaction]) -> Ran {
    let mut outcomes = Vec::with_capacity(transactions.len());
    let mut verdicts = Vec::with_capacity(transactions.len());
    let context = Context::mainnet().with_db(CacheDB::new(state)).with_cfg(rules(chain_id)).with_block(block(frame));
    let mut evm = context.build_mainnet();
    let mut gas = 0u64;
    for transaction in transactions {
        if gas + transaction.envelope.gas_limit() > BLOCK_GAS_MAX {
            verdicts.push(Verdict::Left);
            continue;
        }
        match evm.transact_commit(machine_transaction(transaction)) {
            Ok(result) => {
                let outcome = outcome(result);
                gas += outcome.gas_used;
                outcomes.push(outcome);
                verdicts.push(Verdict::Ran);
            }
            Err(error) => verdicts.push(Verdict::Refused(refusal(error))),
        }
    }
    let changes = state.world.changes(evm.ctx.journaled_state.database.cache);
    Ran { outcomes, verdicts, changes }
}

/// What a caller asks for when nothing is to be kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) from: Address,
    pub(crate) to: Option<Address>,
    pub(crate) value: U256,
    pub(crate) data: Bytes,
    pub(crate) gas: Option<u64>,
}

/// Runs a call as if it were in the next block, and keeps nothing.
pub(crate) fn call(state: &State, chain_id: u64, frame: Frame, request: &Request) -> Result<Bytes, CallError> {
    let gas = request.gas.unwrap_or(TRANSACTION_GAS_MAX).min(TRANSACTION_GAS_MAX);
    match try_run(state, chain_id, frame, request, gas)? {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { output, .. } => Err(CallError::reverted(output)),
        ExecutionResult::Halt { reason, .. } => Err(CallError::Failed(format!("{reason:?}"))),
    }
}

/// The smallest gas limit that is enough, to within one part in a hundred.
pub(crate) fn estimate(state: &State, chain_id: u64, frame: Frame, request: &Request) -> Result<u64, CallError> {
    let most = request.gas.unwrap_or(TRANSACTION_GAS_MAX).min(TRANSACTION_GAS_MAX);
    let used = match try_run(state, chain_id, frame, request, most)? {
        ExecutionResult::Success { gas, .. } => gas.tx_gas_used(),
        ExecutionResult::Revert { output, .. } => return Err(CallError::reverted(output)),
        ExecutionResult::Halt { reason, .. } => return Err(CallError::Failed(format!("{reason:?}"))),
    };
    // What was used is a lower bound: refunds come at the end, and calls hold back a part of what is left.
    let enough = |gas| matches!(try_run(state, chain_id, frame, request, gas), Ok(result) if result.is_success());
    if enough(used) {
        return Ok(used);
    }
    let (mut low, mut high) = (used, most);
    let likely = used.saturating_mul(64) / 63 + 2_300;
    if likely < high && enough(likely) {
        high = likely;
    }
    while high - low > high / 100 {
        let middle = low + (high - low) / 2;
        match enough(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    Ok(high)
}

fn try_run(
    state: &State,
    chain_id: u64,
    frame: Frame,
    request: &Request,
    gas_limit: u64,
) -> Result<ExecutionResult, CallError> {
    let mut rules = rules(chain_id);
    // A call may come from anybody, also from a contract, at any time.
    rules.disable_nonce_check = true;
    rules.disable_eip3607 = true;
    let transaction = TxEnv {
        caller: request.from,
        gas_limit,
        gas_price: 0,
        kind: request.to.map_or(TxKind::Create, TxKind::Call),
        value: request.value,
        data: request.data.clone(),
        chain_id: Some(chain_id),
        ..TxEnv::default()
    };
    let context: MainnetContext<WrapDatabaseRef<&State>> =
        Context::mainnet().with_db(WrapDatabaseRef(state)).with_cfg(rules).with_block(block(frame));
    let ran = context.build_mainnet().transact(transaction);
    ran.map(|ran| ran.result).map_err(|error| CallError::Failed(error.to_string()))
}

fn rules(chain_id: u64) -> CfgEnv {
    let mut rules = CfgEnv::new_with_spec(RULES).with_chain_id(chain_id);
    rules.tx_gas_limit_cap = Some(TRANSACTION_GAS_MAX);
    rules
}

fn block(frame: Frame) -> BlockEnv {
    BlockEnv {
        number: U256::from(frame.number),
        timestamp: U256::from(frame.timestamp),
        gas_limit: BLOCK_GAS_MAX,
        basefee: 0,
        prevrandao: Some(frame.mix),
        ..BlockEnv::default()
    }
}

fn machine_transaction(transaction: &SentTransaction) -> TxEnv {
    let envelope = &transaction.envelope;
    TxEnv {
        tx_type: envelope.ty(),
        caller: transaction.sender,
        gas_limit: envelope.gas_limit(),
        gas_price: envelope.max_fee_per_gas(),
        kind: envelope.kind(),
        value: envelope.value(),
        data: envelope.input().clone(),
        nonce: envelope.nonce(),
        chain_id: envelope.chain_id(),
        access_list: envelope.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: envelope.max_priority_fee_per_gas(),
        ..TxEnv::default()
    }
}

fn outcome(result: ExecutionResult) -> Outcome {
    let gas_used = result.tx_gas_used();
    match result {
        ExecutionResult::Success { logs, .. } => Outcome { success: true, gas_used, logs },
        // What a reverted transaction announced did not happen.
        ExecutionResult::Revert { .. } | ExecutionResult::Halt { .. } => {
            Outcome { success: false, gas_used, logs: Vec::new() }
        }
    }
}

fn refusal(error: EVMError<Infallible>) -> SendError {
    let text = error.to_string();
    let EVMError::Transaction(error) = error else { return SendError::Invalid(text) };
    match error {
        InvalidTransaction::NonceTooLow { .. } => SendError::NonceTooLow(text),
        InvalidTransaction::NonceTooHigh { .. } => SendError::NonceTooHigh(text),
        InvalidTransaction::LackOfFundForMaxFee { .. } => SendError::InsufficientFunds(text),
        _ => SendError::Invalid(text),
    }
}
