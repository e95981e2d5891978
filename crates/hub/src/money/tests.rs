//! Anchors and accusations on real chains, with processes that end in the middle.
use super::accuse::{Conviction, Prosecution};
use super::docket::Outcome;
use super::{Bell, ChainConfig, DisputeView, Money, open};
use crate::journal::{Archive, Journal};
use crate::{Config, Hub};
use gleaner_chain::genesis::Genesis;
use gleaner_chain::market::{Call, Market, Ruling, Vote};
use gleaner_chain::order::Order;
use gleaner_chain::primitives::U256;
use gleaner_chain::remote::Remote;
use gleaner_chain::rpc::Server;
use gleaner_chain::sender::Sender;
use gleaner_chain::{Account, Node, beacon};
use gleaner_core::Params;
use gleaner_wire::{self as wire, Amount, Hash, JobId, SignedOrder};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// How long anything may take in these tests.
const TIME_MAX: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
const JUDGES: [&str; 3] = ["cleo", "dan", "eve"];

fn named(name: &str) -> Account {
    Account::from_words(name)
}

fn config(dir: &Path) -> Config {
    let genesis = Genesis::preset("hub").and_then(|genesis| genesis.with_timings("local")).expect("a preset");
    let rpc = "127.0.0.1:0".parse().expect("an address");
    let chain = ChainConfig::Embedded { rpc, genesis: Box::new(genesis) };
    Config { chain, ..Config::new(dir, rpc) }
}

/// The money of a hub, without the hub.
async fn money(dir: &Path) -> (Money, Option<Server>) {
    let (path, params) = (dir.join("hub.db"), Params { orders: true, ..Params::default() });
    drop(Journal::open(&path, &params).expect("a journal"));
    let begun = Instant::now();
    loop {
        let archive = Archive::open(&path).expect("an archive");
        match open(&config(dir).chain, Vec::new(), None, None, dir, archive, Bell::default()).await {
            Ok(opened) => {
                let opened = opened.expect("a chain");
                return (opened.money, opened.server);
            }
            // Whoever had the chain before may take a moment to let go of it.
            Err(_) if begun.elapsed() < TIME_MAX => tokio::time::sleep(PAUSE).await,
            Err(error) => panic!("{error:?}"),
        }
    }
}

async fn hub(dir: &Path) -> Hub {
    let begun = Instant::now();
    loop {
        match crate::start(config(dir)).await {
            Ok(hub) => return hub,
            Err(_) if begun.elapsed() < TIME_MAX => tokio::time::sleep(PAUSE).await,
            Err(error) => panic!("{error:?}"),
        }
    }
}

impl Money {
    fn sender(&self) -> Sender {
        Sender::new(self.market.node.clone(), self.market.deployment.chain_id)
    }

    async fn does(&self, who: &Account, call: &Call) {
        self.sender().send(who, call).await.unwrap_or_else(|error| panic!("{}: {error:?}", who.address()));
    }

    /// Stakes of what the faucet gives.
    async fn stake_up(&self, who: &Account) {
        self.gift(wire::Address(who.address().into_array())).await.expect("given");
        let stake = self.market.stake_with_permit(who, Amount::gln(20)).await.expect("signed");
        self.does(who, &stake).await;
        self.does(who, &self.market.allow(self.account.address(), Amount::gln(20))).await;
    }

    /// An order for which ann works and is found to have lied, and three judges.
    async fn conviction(&self) -> Conviction {
        let requester = named("requester");
        self.gift(wire::Address(requester.address().into_array())).await.expect("given");
        let deposit = self.market.deposit_with_permit(&requester, Amount::gln(10)).await.expect("signed");
        self.does(&requester, &deposit).await;
        for name in JUDGES.into_iter().chain(["ann"]) {
            self.stake_up(&named(name)).await;
        }
        for name in JUDGES {
            self.does(&named(name), &self.market.enroll()).await;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let order = wire::Order {
            requester: wire::Address(requester.address().into_array()),
            hub: wire::Address(self.account.address().into_array()),
            job: Hash([1; 32]),
            cap: Amount::gln(1),
            bond: Amount::gln(1),
            deadline: now + 3_600,
            policy: Hash([0; 32]),
            nonce: 1,
        };
        let signed = Order::from(&order);
        let signature = signed.sign(&self.domain, &requester);
        self.does(&self.account, &self.market.lock(&signed, signature.clone())).await;
        let engage = self.market.engage(signed.id(&self.domain), vec![named("ann").address()]);
        self.does(&self.account, &engage).await;
        let evidence = self.keep_evidence(b"what was seen").expect("kept");
        let provider = wire::Address(named("ann").address().into_array());
        let order = SignedOrder { order, signature: signature.to_vec() };
        Conviction { order, job: JobId(1), provider, evidence }
    }
}

/// A hub as its auditors see it.
struct Court {
    url: String,
    client: reqwest::Client,
}

impl Court {
    fn of(hub: &Hub) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { url: format!("http://{}/api/v1", hub.address()), client: reqwest::Client::new() }
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> T {
        let response = self.client.get(format!("{}{path}", self.url)).send().await.expect("an answer");
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.json().await.expect("JSON")
    }

    /// Waits until the open disputes are as they should be.
    async fn wait(&self, until: impl Fn(&[DisputeView]) -> bool) -> Vec<DisputeView> {
        let begun = Instant::now();
        loop {
            let disputes: Vec<DisputeView> = self.get("/disputes").await;
            if until(&disputes) {
                return disputes;
            }
            assert!(begun.elapsed() < TIME_MAX, "{disputes:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn vote(&self, dispute: u64, vote: &Vote) -> u16 {
        let sent = self.client.post(format!("{}/disputes/{dispute}/votes", self.url)).json(vote).send().await;
        sent.expect("an answer").status().as_u16()
    }

    async fn market(&self) -> Market {
        let view: super::ChainView = self.get("/chain").await;
        Market::new(Node::Remote(Remote::connect(&view.url).expect("an address")), view.deployment)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_accused_provider_is_slashed_although_the_hub_is_killed_at_every_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let (money_before, server) = money(folder.path()).await;
    let conviction = money_before.conviction().await;
    money_before.convict(&[conviction.clone(), conviction.clone()]).expect("entered");
    drop((money_before, server));

    // Killed as soon as the accusation is on the chain, or soon after it.
    let running = hub(folder.path()).await;
    Court::of(&running).wait(|disputes| disputes.len() == 1).await;
    drop(running);

    let running = hub(folder.path()).await;
    let court = Court::of(&running);
    let view = court.wait(|disputes| disputes.iter().any(|view| view.committee.len() == 3)).await.remove(0);
    let question = court.market().await.question(U256::from(view.dispute), view.subject);
    let document = court.client.get(format!("{}/evidence/{}", court.url, view.evidence)).send().await;
    assert_eq!(&document.expect("an answer").bytes().await.expect("bytes")[..], b"what was seen");
    let first = question.vote(&named("dan"), Ruling::Claimant);
    assert_eq!(court.vote(view.dispute, &Vote { ruling: Ruling::Defendant, ..first.clone() }).await, 422);
    assert_eq!(court.vote(view.dispute, &question.vote(&named("ann"), Ruling::Defendant)).await, 422, "no member");
    assert_eq!(court.vote(view.dispute + 1, &first).await, 404);
    assert_eq!(court.vote(view.dispute, &first).await, 200);
    drop(running);

    let running = hub(folder.path()).await;
    let court = Court::of(&running);
    let view = court.wait(|disputes| !disputes.is_empty()).await.remove(0);
    assert_eq!(view.voted, [named("dan").address()], "a vote that was taken is kept");
    assert_eq!(court.vote(view.dispute, &question.vote(&named("eve"), Ruling::Claimant)).await, 200);
    court.wait(<[DisputeView]>::is_empty).await;
    let market = court.market().await;
    let slashed = Amount(Amount::gln(20).0 - 500_000_000);
    assert_eq!(market.stake_of(named("ann").address()).await.expect("read"), slashed);
    assert_eq!(market.escrow_balance(named("eve").address()).await.expect("read"), Amount(125_000_000));
    assert_eq!(market.escrow_balance(named("cleo").address()).await.expect("read"), Amount::ZERO);
    drop((market, court));
    running.stop().await;

    let (money_after, _server) = money(folder.path()).await;
    assert_eq!(money_after.outcome(&conviction).expect("read"), Some(Outcome::Slashed));
    money_after.convict(&[conviction]).expect("entered again");
    assert!(money_after.docket.open_cases().expect("read").is_empty(), "nobody is accused twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_not_held_up_by_an_accusation_that_cannot_be_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let (money, _server) = money(folder.path()).await;
    let mut conviction = money.conviction().await;
    conviction.order.order.nonce = 2;
    money.convict(&[conviction.clone()]).expect("entered");
    assert!(money.docket.awaits_accusation(JobId(1)).expect("read"), "its settlement waits");
    assert!(!money.prosecute(&mut Prosecution::default()).await.expect("looked at"));
    let Some(Outcome::Dropped(why)) = money.outcome(&conviction).expect("read") else { panic!("it goes on") };
    assert_eq!(why, "its order is not open");
    assert!(!money.docket.awaits_accusation(JobId(1)).expect("read"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_has_one_seed_although_the_hub_ends_before_it_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Hash([9; 32]);
    let (first, server) = money(folder.path()).await;
    assert!(tokio::time::timeout(PAUSE, first.anchor(7, root)).await.is_err(), "nobody sends what is handed in");
    let before = first.market.node.nonce(first.account.address()).await.expect("read");
    drop((first, server));

    let (second, server) = money(folder.path()).await;
    assert_eq!(second.beacon(7).expect("read"), None);
    let (_stop, stopping) = watch::channel(false);
    second.desk.start(stopping);
    let found = tokio::time::timeout(TIME_MAX, second.anchor(7, root)).await.expect("in time");
    assert_eq!(beacon::verify(&found, root), Ok(found.seed));
    assert_eq!(beacon::inspect(&found, root).expect("a proof").account, second.account.address());
    assert!(beacon::is_on(&second.market.node, &found).await.expect("asked"));
    let after = second.market.node.nonce(second.account.address()).await.expect("read");
    assert_eq!(after - before, 2, "one anchor, and one transaction for the block after it");
    assert_eq!(second.anchor(7, root).await, found, "asked again, it is the same");
    let other = tokio::time::timeout(TIME_MAX, second.anchor(8, root)).await.expect("in time");
    assert_ne!(other.seed, found.seed);
    drop((second, server, _stop));

    let (third, _server) = money(folder.path()).await;
    assert_eq!(third.beacon(7).expect("read"), Some(found));
    assert_eq!(third.beacon(8).expect("read"), Some(other));
}
