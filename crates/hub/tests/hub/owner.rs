//! Whose a worker is: nobody works, lies or earns under an account that has not signed for it.
use crate::people::Somebody;
use crate::place::{Api, PATIENCE, config};
use crate::worker::Connection;
use ed25519_dalek::SigningKey;
use gleaner_chain::genesis::Genesis;
use gleaner_chain::market::Market;
use gleaner_chain::ownership::Ownership;
use gleaner_chain::primitives::Address;
use gleaner_chain::remote::Remote;
use gleaner_chain::sender::Sender;
use gleaner_chain::views::ChainView;
use gleaner_chain::{Account, Node};
use gleaner_core::Params;
use gleaner_hub::money::ChainConfig;
use gleaner_hub::{Config, Hub};
use gleaner_wire::{Amount, ToHub, ToWorker, WorkerKey};
use reqwest::StatusCode;
use serde_json::json;

/// A hub with a chain inside, on which somebody has staked.
struct Court {
    _hub: Hub,
    _dir: tempfile::TempDir,
    api: Api,
    view: ChainView,
    owner: Account,
}

impl Court {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let genesis = Genesis::preset("hub").and_then(|genesis| genesis.with_timings("local")).unwrap();
        let rpc = "127.0.0.1:0".parse().unwrap();
        let chain = ChainConfig::Embedded { rpc, genesis: Box::new(genesis) };
        let hub = gleaner_hub::start(Config { chain, ..config(dir.path(), Params::default()) }).await.unwrap();
        let api = Api::of(&hub);
        let view: ChainView = serde_json::from_value(api.json("/api/v1/chain").await).unwrap();
        let court = Self { _hub: hub, _dir: dir, api, view, owner: Account::from_words("an owner") };
        court.stake_up().await;
        court
    }

    async fn stake_up(&self) {
        let newcomer = json!({ "account": self.owner.address().to_string().to_lowercase() });
        let given = self.api.post("/api/v1/faucet").json(&newcomer).send().await.unwrap();
        assert!(given.status().is_success(), "{given:?}");
        let node = Node::Remote(Remote::connect(&self.view.url).unwrap());
        let market = Market::new(node.clone(), self.view.deployment.clone());
        let sender = Sender::new(node, self.view.deployment.chain_id);
        let stake = market.stake_with_permit(&self.owner, Amount::gln(20)).await.unwrap();
        sender.send(&self.owner, &stake).await.unwrap();
    }

    /// That the worker of this seed is the owner's, on this hub.
    fn statement(&self, seed: u8) -> Ownership {
        let (chain_id, stake) = (self.view.deployment.chain_id, self.view.deployment.stake);
        Ownership { chain_id, stake, owner: self.owner.address(), worker: worker(seed), hub: self.view.hub }
    }

    /// What the hub says to a worker that names an account and shows a proof.
    async fn answer(&self, seed: u8, named: Address, proof: &[u8]) -> Result<Connection, String> {
        let mut connection = Connection::open(&self.api).await;
        let hello = naming(connection.hello(seed, Vec::new()), named, proof);
        connection.send(&hello).await;
        match tokio::time::timeout(PATIENCE, connection.receive()).await.unwrap() {
            Some(ToWorker::Welcome { .. }) => Ok(connection),
            Some(ToWorker::Refused { reason }) => Err(reason),
            other => panic!("{other:?}"),
        }
    }

    /// How many workers the hub has ever let in.
    async fn workers(&self) -> u32 {
        let mut known = 0;
        while self.api.get(&format!("/api/v1/workers/{known}")).send().await.unwrap().status() == StatusCode::OK {
            known += 1;
        }
        known
    }
}

fn worker(seed: u8) -> WorkerKey {
    WorkerKey(SigningKey::from_bytes(&[seed; 32]).verifying_key().to_bytes())
}

/// The same hello with another account and proof.
fn naming(hello: ToHub, named: Address, proof: &[u8]) -> ToHub {
    let ToHub::Hello { protocol, key, signature, mut offer, resting, held, .. } = hello else { panic!("a hello") };
    offer.provider = Some(gleaner_wire::Address(named.into_array()));
    ToHub::Hello { protocol, key, signature, offer, owner_proof: proof.to_vec(), resting, held }
}

#[tokio::test]
async fn a_stranger_cannot_work_under_anothers_stake() {
    let court = Court::new().await;
    let (owner, stranger) = (court.owner.address(), Account::from_words("a stranger"));
    let ours = court.statement(1);
    let proofs = [
        ("none", vec![]),
        ("its own wallet's", ours.sign(&stranger).to_vec()),
        ("that of another worker", court.statement(2).sign(&court.owner).to_vec()),
        ("that for another hub", Ownership { hub: stranger.address(), ..ours }.sign(&court.owner).to_vec()),
        ("that of another chain", Ownership { chain_id: 1, ..ours }.sign(&court.owner).to_vec()),
        ("that for other contracts", Ownership { stake: Address::ZERO, ..ours }.sign(&court.owner).to_vec()),
        ("that for another owner", Ownership { owner: stranger.address(), ..ours }.sign(&stranger).to_vec()),
        ("too much of it", vec![1; 100_000]),
    ];
    for (which, proof) in proofs {
        let Err(reason) = court.answer(1, owner, &proof).await else { panic!("let in with a proof: {which}") };
        assert!(reason.contains("prove that it is this account's own"), "{which}: {reason}");
        assert!(reason.contains("--owner-proof") && reason.contains(&court.view.hub.to_string()), "{which}: {reason}");
    }
    assert_eq!(court.workers().await, 0, "nobody's record has another worker on it");
}

#[tokio::test]
async fn an_owners_worker_is_let_in_with_its_proof_again_and_again() {
    let court = Court::new().await;
    let proof = court.statement(1).sign(&court.owner);
    for _ in 0..2 {
        let Ok(mut connection) = court.answer(1, court.owner.address(), &proof).await else { panic!("refused") };
        connection.send(&ToHub::Leaving).await;
        connection.closed().await;
    }
    assert_eq!(court.workers().await, 1);
    // Whoever has the proof and not the worker's key is a stranger.
    assert!(court.answer(2, court.owner.address(), &proof).await.is_err());
}

#[tokio::test]
async fn where_money_is_on_no_chain_nobody_names_an_account() {
    let place = crate::place::Place::new().await;
    let mut connection = Connection::open(&place.api).await;
    let hello = naming(connection.hello(1, Vec::new()), Address::repeat_byte(7), &[1; 65]);
    connection.send(&hello).await;
    let reason = connection.refusal().await;
    assert!(reason.contains("on no chain"), "{reason}");
}

#[tokio::test]
async fn a_worker_that_is_paid_to_an_accounts_wallet_is_among_its_machines() {
    let court = Court::new().await;
    let owner = Somebody::sign_up(&court.api, "owner", &["provider"]).await;
    let stranger = Somebody::sign_up(&court.api, "stranger", &["provider"]).await;
    let id = owner.json("/api/v1/session").await["account"]["id"].to_string();
    let wallet = gleaner_wire::Address(court.owner.address().into_array());
    let kept = court.api.put(&format!("/api/v1/accounts/{id}/wallets/{wallet}")).send().await.unwrap();
    assert_eq!(kept.status(), StatusCode::NO_CONTENT);
    let proof = court.statement(1).sign(&court.owner);
    let _worker = court.answer(1, court.owner.address(), &proof).await.unwrap();
    let mine = owner.json("/api/v1/machines").await;
    assert_eq!(mine["items"].as_array().unwrap().len(), 1, "{mine}");
    let machine = owner.json("/api/v1/machines/0").await;
    let paid = machine["offer"]["provider"].as_str().unwrap().to_lowercase();
    assert_eq!((paid, &machine["penalties"]), (wallet.to_string().to_lowercase(), &json!([])));
    assert_eq!(stranger.json("/api/v1/machines").await["items"], json!([]));
    assert_eq!(owner.delete("/api/v1/machines/0").await, StatusCode::CONFLICT, "it has not claimed it");
}

#[tokio::test]
async fn a_key_of_one_newcomer_is_not_in_the_way_of_another() {
    let court = Court::new().await;
    for words in ["a newcomer", "another newcomer"] {
        let newcomer = json!({ "account": Account::from_words(words).address().to_string().to_lowercase() });
        let ask = || {
            let request = court.api.client.post(format!("{}/api/v1/faucet", court.api.url));
            request.header("idempotency-key", "the-same").json(&newcomer).send()
        };
        assert_eq!(ask().await.unwrap().status(), StatusCode::OK, "{words}");
        let again = ask().await.unwrap();
        assert_eq!(again.status(), StatusCode::OK, "{words}");
        assert_eq!(again.headers()["idempotency-replayed"], "true");
    }
}
