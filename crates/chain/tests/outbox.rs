//! The outbox against a real node: crashes between any two steps, outages, re-organisations, fees, foreign numbers.
mod world;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, U256};
use gleaner_chain::account::{Account, Draft};
use gleaner_chain::market::{Call, Market};
use gleaner_chain::node::Node;
use gleaner_chain::outbox::{Error, Outbox, Status};
use gleaner_chain::sender::Policy;
use gleaner_wire::Amount;
use serde_json::json;
use world::{POLICY, World, address, named, pause, remote, wall_clock};

/// Who sends in these tests.
const SENDER: &str = "ann";

async fn outbox(world: &World, folder: &Path, policy: Policy) -> Outbox {
    Outbox::open(&folder.join("outbox"), world.market.node.clone(), named(SENDER), policy).await.expect("an outbox")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A receiver that nobody else pays.
fn receiver(number: u64) -> Address {
    Address::from_word(U256::from(0xAA00_0000 + number).into())
}

async fn received(market: &Market, to: Address) -> Amount {
    market.token_balance(to).await.expect("read")
}

/// Waits for a node that mines a moment after it has answered.
async fn eventually(market: &Market, to: Address, amount: Amount) {
    for _ in 0..200 {
        if received(market, to).await == amount {
            return;
        }
        pause(20).await;
    }
    panic!("{to} never got {amount} GLN");
}

/// Runs the outbox until an intent has ended, at most half a minute.
async fn finish(outbox: &Outbox, key: &str) -> Status {
    let run = async {
        tokio::select! {
            error = outbox.run() => panic!("{error}"),
            status = outbox.settled(key) => status.expect("read"),
        }
    };
    tokio::time::timeout(Duration::from_secs(30), run).await.unwrap_or_else(|_| panic!("{key} does not end"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_key_twice_is_sent_once() {
    let (world, folder) = (World::embedded(wall_clock()).await, folder());
    let outbox = outbox(&world, folder.path(), Policy::EMBEDDED).await;
    let call = world.market.transfer(receiver(1), Amount(5));
    outbox.push("pay 1", &call).expect("queued");
    outbox.push("pay 1", &call).expect("queued again");
    assert!(matches!(finish(&outbox, "pay 1").await, Status::Done { .. }));
    outbox.push("pay 1", &call).expect("known");
    assert_eq!(outbox.backlog().expect("read"), 0);
    assert_eq!(received(&world.market, receiver(1)).await, Amount(5));
    let other = world.market.transfer(receiver(1), Amount(6));
    assert!(matches!(outbox.push("pay 1", &other), Err(Error::OtherCall(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_contract_would_refuse_fails_in_words_and_stops_nothing() {
    let (world, folder) = (World::embedded(wall_clock()).await, folder());
    let outbox = outbox(&world, folder.path(), Policy::EMBEDDED).await;
    outbox.push("too much", &world.market.withdraw(Amount(1))).expect("queued");
    outbox.push("fine", &world.market.transfer(receiver(1), Amount(5))).expect("queued");
    assert!(matches!(finish(&outbox, "fine").await, Status::Done { .. }));
    let Status::Failed { reason } = outbox.status("too much").expect("read").expect("known") else { panic!() };
    assert!(reason.contains("NotCovered"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_build_on_each_other_go_out_in_order() {
    let (world, folder) = (World::embedded(wall_clock()).await, folder());
    let outbox = outbox(&world, folder.path(), Policy::EMBEDDED).await;
    outbox.push("1", &world.market.approve(world.market.deployment.escrow, Amount(9))).expect("queued");
    outbox.push("2", &world.market.deposit(Amount(9))).expect("queued");
    outbox.push("3", &world.market.withdraw(Amount(9))).expect("queued");
    assert!(matches!(finish(&outbox, "3").await, Status::Done { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outbox_belongs_to_one_account() {
    let (world, folder) = (World::embedded(wall_clock()).await, folder());
    outbox(&world, folder.path(), Policy::EMBEDDED).await;
    let path = folder.path().join("outbox");
    let other = Outbox::open(&path, world.market.node.clone(), named("ben"), Policy::EMBEDDED).await;
    assert!(matches!(other, Err(Error::Foreign { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_sent_twice_while_the_node_is_away() {
    let folder = folder();
    let state = folder.path().join("anvil.json");
    let state = state.to_str().expect("a path in UTF-8").to_owned();
    let mut world = World::anvil_with(wall_clock(), &["--state", &state]).await;
    let outbox = outbox(&world, folder.path(), POLICY).await;
    outbox.push("before", &world.market.transfer(receiver(1), Amount(1))).expect("queued");
    finish(&outbox, "before").await;
    world.process().stop(true);
    let running = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.run().await }
    });
    for number in 0..20 {
        let call = world.market.transfer(receiver(2), Amount(1));
        outbox.push(&format!("during {number}"), &call).expect("queueing needs no node");
    }
    pause(1_500).await;
    assert_eq!(outbox.backlog().expect("read"), 20, "work goes on, nothing goes out");
    world.process().restart();
    let all = async {
        for number in 0..20 {
            let status = outbox.settled(&format!("during {number}")).await.expect("read");
            assert!(matches!(status, Status::Done { .. }), "{status:?}");
        }
    };
    tokio::time::timeout(Duration::from_secs(40), all).await.expect("all go out after the outage");
    running.abort();
    assert_eq!(received(&world.market, receiver(1)).await, Amount(1));
    assert_eq!(received(&world.market, receiver(2)).await, Amount(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_a_reorganisation_drops_is_sent_again() {
    let (mut world, folder) = (World::anvil(wall_clock()).await, folder());
    let policy = Policy { confirmations: 3, ..POLICY };
    let outbox = outbox(&world, folder.path(), policy).await;
    outbox.push("pay", &world.market.transfer(receiver(1), Amount(5))).expect("queued");
    outbox.pass().await.expect("sent");
    eventually(&world.market, receiver(1), Amount(5)).await;
    outbox.pass().await.expect("looked");
    assert!(matches!(outbox.status("pay"), Ok(Some(Status::Underway { .. }))));
    world.process().ask("anvil_reorg", json!([1, []])).await;
    assert_eq!(received(&world.market, receiver(1)).await, Amount::ZERO, "the re-organisation took it away");
    outbox.pass().await.expect("sent again");
    eventually(&world.market, receiver(1), Amount(5)).await;
    world.process().ask("anvil_mine", json!(["0x3"])).await;
    assert!(matches!(finish(&outbox, "pay").await, Status::Done { .. }));
    assert_eq!(received(&world.market, receiver(1)).await, Amount(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_lies_too_long_gets_a_higher_fee_under_the_same_number() {
    let (mut world, folder) = (World::anvil(wall_clock()).await, folder());
    let policy = Policy { bump_after: Duration::from_secs(1), ..POLICY };
    let outbox = outbox(&world, folder.path(), policy).await;
    world.process().ask("evm_setAutomine", json!([false])).await;
    outbox.push("pay", &world.market.transfer(receiver(1), Amount(5))).expect("queued");
    outbox.pass().await.expect("sent");
    let Some(Status::Underway { nonce }) = outbox.status("pay").expect("read") else { panic!("underway") };
    world.process().ask("anvil_setNextBlockBaseFeePerGas", json!(["0x174876e800"])).await;
    world.process().ask("anvil_mine", json!(["0x1"])).await;
    assert_eq!(received(&world.market, receiver(1)).await, Amount::ZERO, "the fee is too low for this block");
    pause(2_100).await;
    outbox.pass().await.expect("raised");
    world.process().ask("anvil_mine", json!(["0x1"])).await;
    assert_eq!(received(&world.market, receiver(1)).await, Amount(5));
    assert!(matches!(finish(&outbox, "pay").await, Status::Done { .. }));
    assert_eq!(world.market.node.nonce(address(SENDER)).await.expect("read"), nonce + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_that_somebody_else_used_is_replaced_only_when_that_is_deep_enough() {
    let (mut world, folder) = (World::anvil(wall_clock()).await, folder());
    let policy = Policy { confirmations: 3, ..POLICY };
    let outbox = outbox(&world, folder.path(), policy).await;
    world.process().ask("evm_setAutomine", json!([false])).await;
    outbox.push("pay", &world.market.transfer(receiver(1), Amount(5))).expect("queued");
    outbox.pass().await.expect("sent");
    let Some(Status::Underway { nonce }) = outbox.status("pay").expect("read") else { panic!("underway") };
    foreign(&world.market, nonce).await;
    world.process().ask("anvil_mine", json!(["0x1"])).await;
    assert_eq!(received(&world.market, receiver(9)).await, Amount(1), "the foreign one came first");
    for _ in 0..2 {
        outbox.pass().await.expect("looked");
        assert_eq!(outbox.status("pay").expect("read"), Some(Status::Underway { nonce }), "not deep enough");
    }
    world.process().ask("anvil_mine", json!(["0x5"])).await;
    outbox.pass().await.expect("a new number");
    assert_eq!(outbox.status("pay").expect("read"), Some(Status::Underway { nonce: nonce + 1 }));
    world.process().ask("anvil_mine", json!(["0x4"])).await;
    assert!(matches!(finish(&outbox, "pay").await, Status::Done { .. }));
    assert_eq!(received(&world.market, receiver(1)).await, Amount(5));
}

/// The same key, used outside the outbox, with the same number and a much higher fee.
async fn foreign(market: &Market, nonce: u64) {
    let Call { to, data } = market.transfer(receiver(9), Amount(1));
    let draft = Draft {
        chain_id: market.deployment.chain_id,
        nonce,
        to: Some(to),
        value: U256::ZERO,
        data,
        gas: 200_000,
        fee_max: 100_000_000_000,
        priority: 50_000_000_000,
    };
    let account: Account = named(SENDER);
    market.node.send_raw(account.sign(&draft).raw).await.expect("replaced");
}

// ── crashes ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// How the child is told what to do: node, store, token, receiver, and the point at which to die.
const ORDERS: &str = "GLEANER_TEST_OUTBOX";
const PAYMENTS: u64 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_between_any_two_steps_neither_loses_nor_repeats_a_payment() {
    let (mut world, folder) = (World::anvil(wall_clock()).await, folder());
    let url = world.process().url();
    let token = world.market.deployment.token;
    let mut points = 0;
    for die_at in 1.. {
        let (store, to) = (folder.path().join(format!("outbox {die_at}")), receiver(die_at));
        let survived = child(&url, &store, token, to, die_at);
        if survived {
            break;
        }
        points += 1;
        assert!(child(&url, &store, token, to, u64::MAX), "the second run comes to its end");
        assert_eq!(received(&world.market, to).await, Amount(PAYMENTS), "after a crash at point {die_at}");
    }
    assert!(points >= 4 * PAYMENTS, "only {points} points were crashed at");
}

fn child(url: &str, store: &Path, token: Address, to: Address, die_at: u64) -> bool {
    let orders = format!("{url}|{}|{token}|{to}|{die_at}", store.display());
    let test = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "crashing_child", "--nocapture"])
        .env(ORDERS, orders)
        .output()
        .expect("the child runs");
    test.status.success()
}

/// Not a test of its own: what the parent above starts and lets die.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashing_child() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Vec<&str> = orders.split('|').collect();
    let [url, store, token, to, die_at] = orders[..] else { panic!("five orders") };
    let (node, store): (Node, PathBuf) = (remote(url), store.into());
    let (token, to): (Address, Address) = (token.parse().expect("hex"), to.parse().expect("hex"));
    let die_at: usize = die_at.parse().unwrap_or(usize::MAX);
    let passed = Arc::new(AtomicUsize::new(0));
    let outbox = Outbox::open(&store, node.clone(), named(SENDER), POLICY).await.expect("an outbox");
    let outbox = outbox.watched(Arc::new(move |_| {
        if passed.fetch_add(1, Ordering::SeqCst) + 1 == die_at {
            std::process::abort();
        }
    }));
    let deployment = gleaner_chain::deploy::Deployment {
        token,
        ..gleaner_chain::deploy::Deployment::predicted(6_777_966, address("deployer"))
    };
    let market = Market::new(node, deployment);
    for number in 0..PAYMENTS {
        outbox.push(&format!("pay {number}"), &market.transfer(to, Amount(1))).expect("queued");
    }
    for number in 0..PAYMENTS {
        assert!(matches!(finish(&outbox, &format!("pay {number}")).await, Status::Done { .. }));
    }
}
