//! Jobs that are paid on a chain: locked before they run, settled when they have ended, whatever dies in between.

use std::time::{Duration, Instant};

use crate::network::{Network, PATIENCE};
use crate::programs::{self, ARRAY};
use gleaner_hub::money::{ReconcileView, SettlementView};
use gleaner_wire::JobId;
use gleaner_wire::api::JobState;

/// Waits until the books have followed the chain.
fn settled(network: &Network, job: JobId) -> SettlementView {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let path = format!("/jobs/{job}/settlement");
        let view = network.ask(async |client| client.get::<SettlementView>(&path).await);
        match view {
            Ok(view) if view.closed => return view,
            Ok(_) | Err(_) => assert!(Instant::now() < deadline, "job {job} is settled in time"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn reconciled(network: &Network) -> ReconcileView {
    network.ask(async |client| client.get("/reconcile").await).expect("the hub answers")
}

#[test]
fn a_job_is_paid_on_the_chain_and_the_books_agree() {
    let network = Network::with_chain(2);
    network.write("program.wasm", programs::echo());
    network.write("job.toml", ARRAY);
    let ended = network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    assert!(
        ended.stderr.contains("the faucet gave 1,000 GLN") || ended.stderr.contains("the faucet gave 1000 GLN"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("settled on the chain"), "{}", ended.stderr);
    let view = settled(&network, JobId(1));
    let job = network.ask(async |client| client.job(JobId(1)).await).expect("it is there");
    assert_eq!(view.settlement.gross(), Some(job.summary.spent));
    assert_eq!(view.receipts, 20);
    let workers = network.wait_for_workers(2);
    assert!(workers.iter().all(|worker| worker.earned == worker.settled), "{workers:?}");
    let reconcile = network.run(&["hub", "reconcile"]).succeeded();
    assert!(reconcile.stdout.contains("the books and the chain agree: 1 order"), "{}", reconcile.stdout);
}

#[test]
fn books_that_were_tampered_with_do_not_agree() {
    let mut network = Network::with_chain(1);
    network.write("program.wasm", programs::echo());
    network.write("job.toml", ARRAY);
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    assert!(reconciled(&network).agrees);
    network.kill_hub();
    let books = rusqlite::Connection::open(network.folder().join("state/hub/hub.db")).expect("the books open");
    books.execute("DELETE FROM order_end", []).expect("an order is forgotten");
    drop(books);
    network.start_hub();
    let reconcile = network.run(&["hub", "reconcile"]);
    assert_eq!(reconcile.code, 1, "{reconcile:?}");
    assert!(reconcile.stderr.contains("of which this hub knows nothing"), "{}", reconcile.stderr);
}

#[test]
fn a_hub_that_dies_before_it_settles_settles_once_when_it_is_back() {
    let mut network = Network::with_chain(1);
    network.write("program.wasm", programs::echo());
    let job = network.submit("job.toml", ARRAY);
    network.wait_for_job(job, |view| view.summary.state == JobState::Done);
    network.kill_hub();
    network.start_hub();
    // Nobody approves it: it is proposed after a while, and final when its window has passed.
    let view = settled(&network, job);
    assert_eq!(view.order.state, gleaner_chain::market::State::Settled);
    let found = reconciled(&network);
    assert!(found.agrees, "{:?}", found.differences);
    assert_eq!(found.paid.0 + found.fees.0, view.settlement.gross().expect("small sums").0);
}

#[test]
fn a_cap_beyond_the_wallet_is_refused_with_what_to_do() {
    let network = Network::with_chain(1);
    network.write("program.wasm", programs::echo());
    network.write("job.toml", format!("{ARRAY}\n[budget]\nprice_max = \"5000 GLN\"\n"));
    let ended = network.run(&["run", "job.toml"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("lower budget.price_max"), "{}", ended.stderr);
}

#[test]
fn a_cancelled_job_costs_what_was_delivered_and_the_rest_comes_back() {
    let network = Network::with_chain(1);
    network.write("program.wasm", programs::patterned(200, 100));
    let job = network.submit("job.toml", &ARRAY.replace("1..20", "1..1000"));
    network.wait_for_job(job, |view| view.summary.done >= 4);
    network.run(&["job", "cancel", &job.to_string()]).succeeded();
    let view = settled(&network, job);
    let spent = network.ask(async |client| client.job(job).await).expect("it is there").summary.spent;
    assert_eq!(view.settlement.gross(), Some(spent));
    assert!(spent.0 > 0);
    assert!(reconciled(&network).agrees);
}
