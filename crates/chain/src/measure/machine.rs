//! The floor: revm by itself on the same transactions. No queue, no blocks, no signatures, no disk, no hash of the state.
use super::Error;
use super::play::Script;
use super::stage::{Closed, blocks};
use super::timing::{Stopwatch, Timing};
use crate::embedded::{Block, CHAIN_ID};
use alloy_consensus::{Transaction, TxEnvelope};
use alloy_eips::Typed2718;
use alloy_primitives::{Address, U256};
use revm::context::{BlockEnv, CfgEnv, TxEnv};
use revm::database::{CacheDB, EmptyDB};
use revm::primitives::hardfork::SpecId;
use revm::{Context, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext};

/// Brings a machine to where the prepared chain is, then runs the script on it against the clock.
pub(super) async fn alone(closed: &Closed, script: &Script) -> Result<Timing, Error> {
    let copy = closed.copy(false).await?;
    let rules = CfgEnv::new_with_spec(SpecId::PRAGUE).with_chain_id(CHAIN_ID);
    let context = Context::mainnet().with_db(CacheDB::<EmptyDB>::default()).with_cfg(rules);
    let mut machine = context.build_mainnet();
    for block in blocks(&copy.chain, 1).await? {
        machine.set_block(frame(&block));
        for (sent, outcome) in block.transactions.iter().zip(&block.outcomes) {
            let result =
                machine.transact_commit(transaction(&sent.envelope, sent.sender)).map_err(|error| refused(&error))?;
            if result.tx_gas_used() != outcome.gas_used {
                return Err(Error::worthless("revm alone and the chain do not agree on the gas of a transaction"));
            }
        }
    }
    let ready = script.lanes.iter().flatten();
    let list: Vec<TxEnv> = ready.map(|ready| transaction(&ready.recovered, ready.recovered.signer())).collect();
    let mut results = Vec::with_capacity(list.len());
    let watch = Stopwatch::start();
    for transaction in list {
        results.push(machine.transact_commit(transaction).map_err(|error| refused(&error))?);
    }
    let timing = watch.stop();
    let succeeded = results.iter().filter(|result| result.is_success()).count();
    script.demand(succeeded, script.proofs(results.iter().flat_map(|result| result.logs())))?;
    Ok(timing)
}

fn refused(error: &impl ToString) -> Error {
    Error::worthless(format!("revm alone refused a transaction: {}", error.to_string()))
}

fn frame(block: &Block) -> BlockEnv {
    BlockEnv {
        number: U256::from(block.header.number),
        timestamp: U256::from(block.header.timestamp),
        gas_limit: block.header.gas_limit,
        basefee: 0,
        prevrandao: Some(block.header.mix_hash),
        ..BlockEnv::default()
    }
}

fn transaction(envelope: &TxEnvelope, caller: Address) -> TxEnv {
    TxEnv {
        tx_type: envelope.ty(),
        caller,
        gas_limit: envelope.gas_limit(),
        gas_price: envelope.max_fee_per_gas(),
        kind: envelope.kind(),
        value: envelope.value(),
        data: envelope.input().clone(),
        nonce: envelope.nonce(),
        chain_id: envelope.chain_id(),
        gas_priority_fee: envelope.max_priority_fee_per_gas(),
        ..TxEnv::default()
    }
}
