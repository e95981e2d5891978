//! What the embedded chain makes of a damaged store, of forged blocks and of a full disk.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod token;

use alloy_primitives::{Address, B256};
use gleaner_chain::embedded::{Chain, Error, Options};
use gleaner_chain::node::SendError;
use rusqlite::{Connection, params};
use std::path::Path;
use token::{balance, deploy, key, transfer};

/// A chain with a token and ten transfers, closed. Returns the token and the state's hash.
async fn written(dir: &Path) -> (Address, B256) {
    let chain = Chain::open(&Options::testing(dir)).unwrap();
    let alice = key(1);
    let token = deploy(&chain, &alice).await;
    for nonce in 1..=10 {
        chain.send_raw(transfer(&alice, nonce, token, key(2).address(), 1)).await.unwrap();
    }
    (token, chain.state_hash())
}

fn database(dir: &Path) -> Connection {
    Connection::open(dir.join("chain.db")).unwrap()
}

fn checksum(parts: &[&[u8]]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.finalize().as_bytes().to_vec()
}

fn reopened(dir: &Path) -> Result<Chain, Error> {
    Chain::open(&Options { replay_all: true, ..Options::testing(dir) })
}

#[tokio::test(flavor = "multi_thread")]
async fn flipped_byte_in_any_column_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    for column in ["header", "body", "outcomes", "checksum"] {
        let read = format!("SELECT {column} FROM block WHERE number = 5");
        let write = format!("UPDATE block SET {column} = ?1 WHERE number = 5");
        let good: Vec<u8> = database(dir.path()).query_row(&read, [], |row| row.get(0)).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        database(dir.path()).execute(&write, [bad]).unwrap();
        assert!(matches!(reopened(dir.path()), Err(Error::Damaged { block: 5, .. })), "{column}");
        database(dir.path()).execute(&write, [good]).unwrap();
    }
    reopened(dir.path()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_sender_with_a_good_checksum_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    let db = database(dir.path());
    let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (header, mut body, outcomes): (Vec<u8>, Vec<u8>, Vec<u8>) =
        db.query_row("SELECT header, body, outcomes FROM block WHERE number = 5", [], columns).unwrap();
    let end = body.len() - 1;
    body[end] ^= 1;
    let sum = checksum(&[&header, &body, &outcomes]);
    db.execute("UPDATE block SET body = ?1, checksum = ?2 WHERE number = 5", params![body, sum]).unwrap();
    drop(db);
    let Err(Error::Damaged { block: 5, what }) = reopened(dir.path()) else { panic!("it was not noticed") };
    assert!(what.contains("signed"), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_block_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    database(dir.path()).execute("DELETE FROM block WHERE number = 5", []).unwrap();
    assert!(matches!(reopened(dir.path()), Err(Error::Damaged { block: 5, .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_snapshot_with_a_good_checksum_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let (token, state) = written(dir.path()).await;
    let db = database(dir.path());
    let (number, mut world): (u64, Vec<u8>) =
        db.query_row("SELECT number, world FROM snapshot", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    // The supply, 1,000,000,000, stands somewhere in the state: make it a little more.
    let supply = 1_000_000_000u32.to_be_bytes();
    let place = world.windows(4).position(|part| part == supply).expect("the supply is stored");
    world[place + 3] ^= 1;
    let sum = checksum(&[&number.to_be_bytes(), &world]);
    db.execute("UPDATE snapshot SET world = ?1, checksum = ?2", params![world, sum]).unwrap();
    drop(db);
    let chain = Chain::open(&Options::testing(dir.path())).unwrap();
    assert_eq!(chain.state_hash(), state);
    assert_eq!(balance(&chain, token, key(2).address()).await, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn full_disk_refuses_transactions_and_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    let (alice, bob) = (key(1), key(2).address());
    let chain = Chain::open(&Options { store_bytes_max: Some(256 * 1024), ..Options::testing(dir.path()) }).unwrap();
    let token = deploy(&chain, &alice).await;
    let mut taken = 0;
    let refusal = loop {
        match chain.send_raw(transfer(&alice, taken + 1, token, bob, 1)).await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 10_000, "the room is never used up");
    };
    assert!(matches!(refusal, SendError::Store(_)) && refusal.to_string().contains("the disk is full"), "{refusal}");
    assert_eq!(balance(&chain, token, bob).await, taken, "what was refused did not happen");
    let state = chain.state_hash();
    drop(chain);
    let chain = Chain::open(&Options::testing(dir.path())).unwrap();
    assert_eq!((chain.state_hash(), balance(&chain, token, bob).await), (state, taken));
    chain.send_raw(transfer(&alice, taken + 1, token, bob, 1)).await.unwrap();
}
