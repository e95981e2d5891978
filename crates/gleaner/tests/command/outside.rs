//! A network whose money is on a chain outside: a real node, which goes away, comes back later, and lets time pass.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::anvil::Anvil;
use crate::network::{Network, PATIENCE};
use crate::programs;
use gleaner_chain::deploy::deploy;
use gleaner_chain::genesis::Genesis;
use gleaner_chain::market::Market;
use gleaner_chain::sender::Sender;
use gleaner_chain::{Account, wallet};
use gleaner_hub::money::{ReconcileView, SettlementView};
use gleaner_wire::api::JobState;
use gleaner_wire::{Amount, JobId};
use serde_json::{Value, json};

const MONTH: u64 = 31 * 86_400;

/// A node, the contracts on it, and a network of one worker that uses them.
struct Outside {
    anvil: Anvil,
    market: Market,
    network: Network,
    runtime: tokio::runtime::Runtime,
    _state: tempfile::TempDir,
}

impl Outside {
    /// `later` seconds pass between the deployment and the network's start.
    fn start(later: u64) -> Self {
        Self::with(later, "--no-tests")
    }

    /// The same with a hub that takes results as they come. One that checks them waits for a chain that is away.
    fn trusting() -> Self {
        Self::with(0, "--trust-workers")
    }

    fn with(later: u64, option: &str) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let state = tempfile::tempdir().expect("a folder");
        let file = state.path().join("anvil.json");
        let anvil = Anvil::start(&["--state", file.to_str().expect("a path in UTF-8")]);
        let mut market = None;
        let network = Network::with(
            |folder| {
                let deployed = runtime.block_on(prepare(&anvil, folder));
                runtime.block_on(pass(&anvil, later));
                let file = folder.join("deployment.json");
                std::fs::write(&file, serde_json::to_string(&deployed.deployment).expect("JSON")).expect("written");
                market = Some(deployed);
                let options = [option, "--chain", &anvil.url(), "--deployment", &file.display().to_string()];
                options.map(str::to_owned).into()
            },
            1,
        );
        Self { anvil, market: market.expect("prepared"), network, runtime, _state: state }
    }

    fn pass(&self, seconds: u64) {
        self.runtime.block_on(pass(&self.anvil, seconds));
    }

    fn settlement(&self, job: JobId) -> Option<SettlementView> {
        let path = format!("/jobs/{job}/settlement");
        self.network.ask(async |client| client.get(&path).await).ok()
    }

    /// Waits, and lets a minute pass on the chain between two looks.
    fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < deadline, "{what} in time");
            std::thread::sleep(Duration::from_millis(500));
            self.pass(60);
        }
    }
}

async fn pass(anvil: &Anvil, seconds: u64) {
    anvil.ask("evm_increaseTime", json!([seconds])).await;
    anvil.ask("evm_mine", json!([])).await;
}

/// Deploys the contracts, and gives everyone of a network of one worker tokens, gas and stake.
async fn prepare(anvil: &Anvil, folder: &Path) -> Market {
    let own = |file: &str| wallet::own(&folder.join(file)).expect("a wallet");
    let [deployer, liquidity] = ["deployer", "liquidity"].map(Account::from_words);
    let [hub, requester, worker] = ["hub/chain/hub.json", "wallet.json", "workers/1/wallet.json"].map(own);
    for account in [&deployer, &liquidity, &hub, &requester, &worker] {
        anvil.fund(account.address()).await;
    }
    let node = anvil.node();
    let sender = Sender::new(node.clone(), node.chain_id().await.expect("an answer"));
    let genesis = Genesis::preset("hub").and_then(|genesis| genesis.with_timings("local")).expect("a genesis");
    let deployed = deploy(&sender, &deployer, &genesis, liquidity.address()).await.expect("deployed");
    let market = Market::new(node, deployed);
    for account in [&hub, &requester, &worker] {
        let give = market.transfer(account.address(), Amount::gln(1000));
        sender.send(&liquidity, &give).await.expect("given");
    }
    for account in [&hub, &worker] {
        let stake = market.stake_with_permit(account, Amount::gln(500)).await.expect("a permit");
        sender.send(account, &stake).await.expect("staked");
        sender.send(account, &market.allow(hub.address(), Amount::gln(500))).await.expect("allowed");
    }
    market
}

fn job(tasks: u32) -> String {
    format!(
        "name = \"array\"\n[[task]]\nname = \"square\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\n\
         args = [\"{{index}}\"]\neach = \"1..{tasks}\"\n"
    )
}

#[test]
fn work_goes_on_while_the_chain_is_away_for_an_hour_and_is_paid_once() {
    let mut outside = Outside::trusting();
    outside.network.write("program.wasm", programs::patterned(200, 100));
    let job = outside.network.submit("job.toml", &job(60));
    outside.network.wait_for_job(job, |view| view.summary.done >= 1);
    outside.anvil.stop(true);
    let done = outside.network.wait_for_job(job, |view| view.summary.state == JobState::Done);
    assert_eq!(done.summary.done, 60, "what was locked is worked on without a chain");
    // Long enough for the clerk and the outbox to have tried.
    std::thread::sleep(Duration::from_secs(3));
    outside.anvil.restart();
    outside.runtime.block_on(outside.anvil.ask("anvil_setNextBlockBaseFeePerGas", json!(["0x2540be400"])));
    outside.pass(3_600);
    let view = outside.until("it is settled", || outside.settlement(job).filter(|view| view.closed));
    let paid = outside.runtime.block_on(outside.market.payments_of(view.settlement.order)).expect("payments");
    assert_eq!(paid.len(), view.settlement.payouts.len(), "each payout was made once: {paid:?}");
    assert_eq!(paid.iter().map(|payment| payment.gross.0).sum::<u64>(), done.summary.spent.0);
    let found: ReconcileView =
        outside.network.ask(async |client| client.get("/reconcile").await).expect("the hub answers");
    assert!(found.agrees, "{:?}", found.differences);
}

#[test]
fn results_that_are_checked_wait_for_a_chain_that_is_away() {
    let mut outside = Outside::start(0);
    outside.network.write("program.wasm", programs::patterned(200, 100));
    let job = outside.network.submit("job.toml", &job(40));
    outside.network.wait_for_job(job, |view| view.summary.done >= 1);
    outside.anvil.stop(true);
    let waits = outside.network.wait_for_job(job, |view| view.groups.iter().any(|group| group.unchecked > 0));
    assert_eq!(waits.summary.state, JobState::Running, "nothing is done that was not drawn");
    outside.anvil.restart();
    outside.runtime.block_on(outside.anvil.ask("anvil_setNextBlockBaseFeePerGas", json!(["0x2540be400"])));
    let done = outside.network.wait_for_job(job, |view| view.summary.state == JobState::Done);
    assert_eq!(done.summary.done, 40);
    let view = outside.until("it is settled", || outside.settlement(job).filter(|view| view.closed));
    let paid = outside.runtime.block_on(outside.market.payments_of(view.settlement.order)).expect("payments");
    assert_eq!(paid.iter().map(|payment| payment.gross.0).sum::<u64>(), done.summary.spent.0);
}

#[test]
fn node_rewards_of_paid_work_are_shared_and_claimed() {
    let outside = Outside::start(MONTH);
    let network = &outside.network;
    network.write("program.wasm", programs::patterned(200, 50));
    network.write("job.toml", job(20));
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    let worker = network.folder().join("state/workers/1/wallet.json");
    let own = |args: &[&str]| network.run(&[args, &["--wallet", worker.to_str().expect("UTF-8")]].concat());
    let own = |args: &[&str]| {
        let password = worker.with_extension("password");
        own(&[args, &["--password-file", password.to_str().expect("UTF-8")]].concat())
    };
    let early = own(&["wallet", "rewards", "--claim", "--yes"]);
    assert!(early.code == 1 && early.stderr.contains("no node rewards to claim"), "{early:?}");
    let share = outside.until("shares are published and final", || {
        let listed: Value = serde_json::from_str(&own(&["wallet", "rewards", "--json"]).succeeded().stdout).ok()?;
        let epoch = listed.as_array()?.iter().find(|epoch| epoch["stage"] == "final")?.clone();
        assert_eq!(epoch["right"], true, "{epoch}");
        Some(epoch)
    });
    let tokens = |wallet: &Value| wallet["tokens"].as_str().expect("an amount").parse::<Amount>().expect("an amount");
    let wallet =
        || serde_json::from_str::<Value>(&own(&["wallet", "show", "--json"]).succeeded().stdout).expect("JSON");
    let before = tokens(&wallet());
    let claimed = own(&["wallet", "rewards", "--claim", "--yes"]).succeeded();
    let amount: Amount = share["share"].as_str().expect("an amount").parse().expect("an amount");
    assert!(amount > Amount::ZERO, "{share}");
    assert_eq!(tokens(&wallet()).0, before.0 + amount.0, "{}", claimed.stderr);
    let again = own(&["wallet", "rewards", "--claim", "--yes"]);
    assert!(again.code == 1 && again.stderr.contains("no node rewards to claim"), "{again:?}");
}

#[test]
fn a_dead_hub_freezes_money_until_the_deadline_and_no_longer() {
    let mut outside = Outside::start(0);
    outside.network.write("program.wasm", programs::patterned(200, 100));
    let job = outside.network.submit("job.toml", &job(1000));
    outside.network.wait_for_job(job, |view| view.summary.done >= 1);
    outside.network.kill_hub();
    let url = outside.anvil.url();
    let alone = |args: &[&str]| {
        let place = ["--chain", &url, "--deployment", "state/deployment.json"];
        outside.network.run(&[args, &place].concat())
    };
    let early = alone(&["wallet", "release", "--yes"]);
    assert!(early.code == 1 && early.stderr.contains("the next deadline is in"), "{early:?}");
    let shown = |name: &str| {
        let wallet = alone(&["wallet", "show", "--json"]).succeeded();
        let wallet: Value = serde_json::from_str(&wallet.stdout).expect("JSON");
        wallet[name].as_str().expect("an amount").parse::<Amount>().expect("an amount")
    };
    let (locked, free) = (shown("locked"), shown("deposited"));
    assert!(locked > Amount::ZERO);
    outside.pass(90 * 86_400);
    alone(&["wallet", "release", "--yes"]).succeeded();
    assert_eq!((shown("locked"), shown("deposited").0), (Amount::ZERO, free.0 + locked.0));
}

#[test]
fn approvals_that_are_none_are_refused_and_a_right_settlement_is_not_disputed() {
    let outside = Outside::start(0);
    outside.network.write("program.wasm", programs::echo());
    let job = outside.network.submit("job.toml", &job(20));
    outside.network.wait_for_job(job, |view| view.summary.state == JobState::Done);
    let is_proposed = |view: &SettlementView| view.order.state == gleaner_chain::market::State::Proposed;
    let path = format!("/jobs/{job}/approval");
    let view = outside.until("it is proposed without an approval", || {
        for signature in ["0x00".to_owned(), format!("0x{}", "11".repeat(65))] {
            let approval = json!({ "signature": signature });
            let answer = outside.network.ask(async |client| client.put_in::<Value>(&path, &approval).await);
            assert!(answer.is_err(), "{signature} approves nothing");
        }
        outside.settlement(job).filter(is_proposed)
    });
    let dispute = outside.network.run(&["job", "dispute", &view.job.to_string(), "--yes"]);
    assert!(dispute.code == 1 && dispute.stderr.contains("every receipt of job 1 is in order"), "{dispute:?}");
}

#[test]
fn a_hub_keeps_to_the_contracts_that_its_orders_are_locked_in() {
    let mut outside = Outside::start(0);
    outside.network.kill_hub();
    let file = outside.network.folder().join("state/deployment.json");
    let mut deployment: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    deployment["escrow"] = deployment["token"].clone();
    std::fs::write(&file, deployment.to_string()).expect("written");
    let url = outside.anvil.url();
    let hub = outside.network.run(&[
        "hub",
        "--listen",
        "127.0.0.1:0",
        "--chain",
        &url,
        "--deployment",
        "state/deployment.json",
    ]);
    assert!(hub.code == 1 && hub.stderr.contains("has worked with the escrow contract"), "{hub:?}");
}
