//! A process that runs a chain is killed at random moments; whatever it acknowledged must be there afterwards.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod token;

use alloy_primitives::{Address, B256};
use gleaner_chain::embedded::{Chain, Options};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use token::{balance, deploy, key, transfer};

const ROUNDS: usize = 20;
const FOLDER: &str = "GLEANER_TEST_CHAIN_FOLDER";

/// The child: sends transfers, eight at a time, and prints the hash of each that is acknowledged.
async fn send_until_killed(folder: &Path) -> ! {
    let chain = Chain::open(&Options::new(folder)).unwrap();
    let (alice, bob) = (key(1), key(2).address());
    let token = match chain.height().await.unwrap() {
        0 => deploy(&chain, &alice).await,
        _ => alice.address().create(0),
    };
    let mut nonce = chain.nonce(alice.address()).await.unwrap();
    let mut output = std::io::stdout();
    loop {
        let sent = (nonce..nonce + 8).map(|nonce| chain.send_raw(transfer(&alice, nonce, token, bob, 1)));
        for hash in futures_util::future::join_all(sent).await {
            writeln!(output, "ack {}", hash.unwrap()).unwrap();
        }
        nonce += 8;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_chain_keeps_everything_it_acknowledged() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        send_until_killed(Path::new(&folder)).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let (alice, bob) = (key(1), key(2).address());
    let token: Address = alice.address().create(0);
    let mut acknowledged: Vec<B256> = Vec::new();
    for round in 0..ROUNDS {
        acknowledged.extend(run_and_kill(dir.path()));
        let chain = Chain::open(&Options::testing(dir.path())).unwrap();
        for hash in &acknowledged {
            assert!(
                chain.receipt(*hash).await.unwrap().is_some_and(|receipt| receipt.success),
                "round {round}: {hash}"
            );
        }
        let (state, nonce) = (chain.state_hash(), chain.nonce(alice.address()).await.unwrap());
        assert!(nonce > acknowledged.len() as u64);
        assert_eq!(balance(&chain, token, bob).await, nonce - 1, "each transfer counts once");
        drop(chain);
        if round == ROUNDS - 1 {
            let chain = Chain::open(&Options { replay_all: true, ..Options::testing(dir.path()) }).unwrap();
            assert_eq!(chain.state_hash(), state);
        }
    }
    assert!(acknowledged.len() > ROUNDS);
}

/// Starts the child, kills it some moments after its first word, and returns what it acknowledged.
fn run_and_kill(dir: &Path) -> Vec<B256> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed_chain_keeps_everything_it_acknowledged", "--nocapture"])
        .env(FOLDER, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut hashes: Vec<B256> = lines.by_ref().find_map(|line| hash_in(&line)).into_iter().collect();
    let mut chance = [0u8; 1];
    getrandom::fill(&mut chance).unwrap();
    std::thread::sleep(Duration::from_micros(u64::from(chance[0]) * 500));
    child.kill().unwrap();
    child.wait().unwrap();
    hashes.extend(lines.filter_map(|line| hash_in(&line)));
    hashes
}

/// The hash in a whole line; the last one may be torn.
fn hash_in(line: &str) -> Option<B256> {
    line.split("ack ").nth(1)?.trim().parse().ok()
}
