//! The embedded chain: what it takes and refuses, what it remembers, and what it notices.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod token;

use alloy_consensus::TxLegacy;
use alloy_consensus::{SignableTransaction, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes, TxKind, U256};
use alloy_signer::SignerSync;
use alloy_sol_types::{SolCall, SolEvent};
use gleaner_chain::embedded::{Chain, Error, Options};
use gleaner_chain::node::{self, CallError, LogFilter, SendError};
use std::path::Path;
use token::{balance, deploy, key, raw, signed, transfer, unsigned};

fn open(dir: &Path) -> Chain {
    Chain::open(&Options::testing(dir)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_is_in_a_block_with_its_receipt_and_log() {
    let dir = tempfile::tempdir().unwrap();
    let chain = open(dir.path());
    let (alice, bob) = (key(1), key(2).address());
    let token = deploy(&chain, &alice).await;
    let hash = chain.send_raw(transfer(&alice, 1, token, bob, 7)).await.unwrap();
    let receipt = chain.receipt(hash).await.unwrap().unwrap();
    assert!(receipt.success);
    let event = token::Transfer::decode_log(&receipt.logs[0]).unwrap();
    assert_eq!((event.from, event.to, event.value), (alice.address(), bob, U256::from(7)));
    assert_eq!(balance(&chain, token, bob).await, 7);
    assert_eq!(chain.height().await.unwrap(), 2);
    let block = chain.block(2).await.unwrap().unwrap();
    assert_eq!((block.hash, block.number), (receipt.block_hash, receipt.block_number));
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_there_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let (alice, bob) = (key(1), key(2).address());
    let chain = open(dir.path());
    let token = deploy(&chain, &alice).await;
    let hash = chain.send_raw(transfer(&alice, 1, token, bob, 7)).await.unwrap();
    let (state, height) = (chain.state_hash(), chain.height().await.unwrap());
    drop(chain);
    for replay_all in [false, true] {
        let chain = Chain::open(&Options { replay_all, ..Options::testing(dir.path()) }).unwrap();
        assert_eq!((chain.state_hash(), chain.height().await.unwrap()), (state, height));
        assert_eq!(balance(&chain, token, bob).await, 7);
        assert!(chain.receipt(hash).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_serves_one_chain_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let _chain = open(dir.path());
    assert!(matches!(Chain::open(&Options::testing(dir.path())), Err(Error::Locked { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_of_another_chain_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let other = Options { chain_id: 5, ..Options::testing(dir.path()) };
    assert!(matches!(Chain::open(&other), Err(Error::OtherChain { wanted: 5, .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_in_any_order_run_by_nonce() {
    let dir = tempfile::tempdir().unwrap();
    let chain = open(dir.path());
    let (alice, bob) = (key(1), key(2).address());
    let token = deploy(&chain, &alice).await;
    let sent = (1..=50u64).rev().map(|nonce| chain.send_raw(transfer(&alice, nonce, token, bob, 1)));
    for result in futures_util::future::join_all(sent).await {
        result.unwrap();
    }
    assert_eq!(balance(&chain, token, bob).await, 50);
    assert_eq!(chain.nonce(alice.address()).await.unwrap(), 51);
}

#[tokio::test(flavor = "multi_thread")]
async fn transaction_sent_again_is_answered_and_not_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let chain = open(dir.path());
    let (alice, bob) = (key(1), key(2).address());
    let token = deploy(&chain, &alice).await;
    let raw = transfer(&alice, 1, token, bob, 7);
    let first = chain.send_raw(raw.clone()).await.unwrap();
    assert_eq!(chain.send_raw(raw).await.unwrap(), first);
    assert_eq!(balance(&chain, token, bob).await, 7);
    let other = chain.send_raw(transfer(&alice, 1, token, bob, 8)).await;
    assert!(matches!(other, Err(SendError::NonceTooLow(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_paid_read_or_signed_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let chain = open(dir.path());
    let alice = key(1);
    let to = TxKind::Call(key(2).address());
    let base = unsigned(0, to, Bytes::new());
    let send = |transaction| chain.send_raw(signed(&alice, transaction).encoded_2718().into());

    let mut foreign = base.clone();
    foreign.chain_id = 1;
    assert!(matches!(send(foreign).await, Err(SendError::Invalid(_))));
    let mut dear = base.clone();
    dear.max_fee_per_gas = 1;
    assert!(matches!(send(dear).await, Err(SendError::InsufficientFunds(_))));
    let mut rich = base.clone();
    rich.value = U256::from(1);
    assert!(matches!(send(rich).await, Err(SendError::InsufficientFunds(_))));
    let mut starved = base.clone();
    starved.gas_limit = 20_000;
    assert!(matches!(send(starved).await, Err(SendError::Invalid(_))));
    let mut greedy = base.clone();
    greedy.gas_limit = 100_000_001;
    assert!(matches!(send(greedy).await, Err(SendError::Invalid(_))));
    let mut large = base.clone();
    large.input = vec![1; 200_000].into();
    assert!(matches!(send(large).await, Err(SendError::Invalid(_))));
    let mut early = base.clone();
    early.nonce = 9;
    assert!(matches!(send(early).await, Err(SendError::NonceTooHigh(_))));
    for garbage in [&b""[..], b"\x02", b"\xc0", &[0xff; 300]] {
        assert!(matches!(chain.send_raw(Bytes::copy_from_slice(garbage)).await, Err(SendError::Invalid(_))));
    }
    let repeatable = TxLegacy { gas_limit: 21_000, to, ..TxLegacy::default() };
    let signature = alice.sign_hash_sync(&repeatable.signature_hash()).unwrap();
    let repeatable: TxEnvelope = repeatable.into_signed(signature).into();
    assert!(matches!(chain.send_raw(repeatable.encoded_2718().into()).await, Err(SendError::Invalid(_))));
    assert_eq!(chain.height().await.unwrap(), 0, "nothing of this made a block");
    send(base).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn second_signature_that_fits_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let chain = open(dir.path());
    let transaction = unsigned(0, TxKind::Call(Address::ZERO), Bytes::new());
    let signature = key(1).sign_hash_sync(&transaction.signature_hash()).unwrap();
    let order = U256::from_str_radix("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16).unwrap();
    let twin = alloy_primitives::Signature::new(signature.r(), order - signature.s(), !signature.v());
    let twin: TxEnvelope = transaction.into_signed(twin).into();
    assert!(matches!(chain.send_raw(twin.encoded_2718().into()).await, Err(SendError::Invalid(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_of_a_contract_carries_its_error() {
    let dir = tempfile::tempdir().unwrap();
    let chain = open(dir.path());
    let (alice, bob) = (key(1), key(2));
    let token = deploy(&chain, &alice).await;
    let data: Bytes = token::transferCall { to: alice.address(), value: U256::from(1) }.abi_encode().into();
    for error in [
        chain.call(bob.address(), token, data.clone()).await.unwrap_err(),
        chain.estimate(bob.address(), Some(token), data).await.unwrap_err(),
    ] {
        let CallError::Reverted { data, .. } = error else { panic!("{error}") };
        let error = <token::ERC20InsufficientBalance as alloy_sol_types::SolError>::abi_decode(&data).unwrap();
        assert_eq!((error.sender, error.needed), (bob.address(), U256::from(1)));
    }
    let hash = chain.send_raw(transfer(&bob, 0, token, alice.address(), 1)).await.unwrap();
    let receipt = chain.receipt(hash).await.unwrap().unwrap();
    assert!(!receipt.success && receipt.logs.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn estimated_gas_is_enough_and_hardly_more() {
    let dir = tempfile::tempdir().unwrap();
    let chain = open(dir.path());
    let alice = key(1);
    let token = deploy(&chain, &alice).await;
    let data: Bytes = token::transferCall { to: key(2).address(), value: U256::from(1) }.abi_encode().into();
    let gas = chain.estimate(alice.address(), Some(token), data.clone()).await.unwrap();
    let mut transaction = unsigned(1, TxKind::Call(token), data);
    transaction.gas_limit = gas;
    let hash = chain.send_raw(signed(&alice, transaction).encoded_2718().into()).await.unwrap();
    let receipt = chain.receipt(hash).await.unwrap().unwrap();
    assert!(receipt.success);
    assert!(gas <= receipt.gas_used + receipt.gas_used / 50, "{gas} for {}", receipt.gas_used);
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_found_by_address_topic_and_block() {
    let dir = tempfile::tempdir().unwrap();
    let chain = open(dir.path());
    let alice = key(1);
    let token = deploy(&chain, &alice).await;
    for nonce in 1..=20u64 {
        let to = key(10 + u8::try_from(nonce % 2).unwrap()).address();
        chain.send_raw(transfer(&alice, nonce, token, to, nonce)).await.unwrap();
    }
    let to_ten = vec![key(10).address().into_word()];
    let name = vec![token::Transfer::SIGNATURE_HASH];
    let filter = LogFilter { addresses: vec![token], topics: [name, vec![], to_ten, vec![]], ..LogFilter::default() };
    let found = chain.logs(filter.clone()).await.unwrap();
    assert_eq!(found.len(), 10);
    assert!(found.windows(2).all(|pair| pair[0].block_number < pair[1].block_number));
    let some = LogFilter { from_block: 3, to_block: Some(5), ..filter.clone() };
    assert_eq!(chain.logs(some).await.unwrap().len(), 2);
    let elsewhere = LogFilter { addresses: vec![alice.address()], ..filter };
    assert!(chain.logs(elsewhere).await.unwrap().is_empty());
    assert_eq!(chain.logs(LogFilter::default()).await.unwrap().len(), 21, "and one from the token's making");
}

#[tokio::test(flavor = "multi_thread")]
async fn time_passes_only_on_chains_for_tests_and_never_back() {
    let dir = tempfile::tempdir().unwrap();
    let chain = open(dir.path());
    let before = chain.block(0).await.unwrap().unwrap().timestamp;
    chain.advance(1_000_000).await.unwrap();
    let after = chain.block(1).await.unwrap().unwrap().timestamp;
    assert!((1_000_000..1_000_060).contains(&(after - before)));
    drop(chain);
    let chain = Chain::open(&Options { interval: None, ..Options::new(dir.path()) }).unwrap();
    assert!(matches!(chain.advance(1).await, Err(node::Error::Refused { .. })));
    chain.send_raw(raw(&key(1), 0, TxKind::Call(Address::ZERO), Bytes::new())).await.unwrap();
    assert_eq!(chain.block(2).await.unwrap().unwrap().timestamp, after, "the clock on the wall is behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_chain_seals_blocks_at_its_interval() {
    let dir = tempfile::tempdir().unwrap();
    let interval = Some(std::time::Duration::from_millis(20));
    let chain = Chain::open(&Options { interval, ..Options::new(dir.path()) }).unwrap();
    let reached = async {
        while chain.height().await.unwrap() < 3 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), reached).await.expect("blocks come by themselves");
}
