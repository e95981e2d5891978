//! A requester's objection to what a hub wants to be paid.
use gleaner_chain::ownership::Ownership;
use gleaner_worker::Provider;
use serde_json::json;

use crate::banker::{Banker, wallet_of};
use crate::liar::Liar;
use crate::place::{JOB, PROGRAM, Place};
use crate::worker::{self, Worker};

/// A worker that is paid to the wallet of somebody at the desk, who has staked there.
async fn worker_of(place: &Place, name: &'static str) -> Worker {
    let person = place.as_person(name);
    person.post("/desk/wallet/faucet", &json!({})).await.ok();
    person.post_with_key("/desk/stake/add", "s", &json!({ "amount": "50" })).await.ok();
    let (account, view) = (wallet_of(place, name), Banker::of(place).await.purse.view);
    let (chain_id, stake, owner, hub) = (view.deployment.chain_id, view.deployment.stake, account.address(), view.hub);
    let key = gleaner_worker::public_key(&worker::folder(place)).expect("a key");
    let proof = Ownership { chain_id, stake, owner, worker: key, hub }.sign(&account);
    let account = gleaner_wire::Address(owner.into_array());
    Worker::paid_to(place, Some(Provider { account, proof: proof.to_vec() }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_wants_to_be_paid_for_what_it_did_not_deliver_is_taken_to_court() {
    let place = Place::behind(Liar::new(), &[("challengeWindow", 600)]).await;
    let ada = place.as_person("ada");
    let _worker = worker_of(&place, "bob").await;
    ada.put("/files/scene/program.wasm", worker::program()).await.ok();
    ada.submit("k", JOB, Some("scene")).await.ok();
    let early = ada.get("/desk/jobs/1/dispute").await.ok().json();
    assert_eq!((&early["state"], &early["step"]), (&"none".into(), &"nothing".into()), "{early}");
    ada.post_with_key("/desk/jobs/1/dispute", "d", &json!({})).await.refused(409, "not-now");
    let wrong = ada.wait_for("/desk/jobs/1/dispute", |dispute| dispute["step"] == "challenge").await;
    assert_eq!((&wrong["state"], &wrong["delivered"]), (&"proposed".into(), &"0".into()), "{wrong}");
    assert!(wrong["claimed"] != "0" && wrong["bond"] != "0" && wrong["until"].is_u64(), "{wrong}");
    place.as_person("bob").post_with_key("/desk/jobs/1/dispute", "d", &json!({})).await.refused(404, "not-found");
    for _ in 0..2 {
        let done = ada.post_with_key("/desk/jobs/1/dispute", "d", &json!({})).await.ok().json();
        assert_eq!(done["step"], "challenge");
    }
    let open = ada.get("/desk/jobs/1/dispute").await.ok().json();
    assert_eq!((&open["state"], &open["step"], &open["bond"]), (&"disputed".into(), &"nothing".into(), &"0".into()));
    let waiting = ada.post_with_key("/desk/jobs/1/dispute", "e", &json!({})).await.refused(409, "not-now");
    assert!(waiting.contains("auditors"), "{waiting}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_paid_already_cannot_be_disputed() {
    let place = Place::with_chain().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    ada.submit("k", JOB, Some("scene")).await.ok();
    ada.post("/jobs/1/cancel", &json!(null)).await.ok();
    ada.wait_for_invoice(1, |invoice| !invoice["paid"].is_null()).await;
    let paid = ada.get("/desk/jobs/1/dispute").await.ok().json();
    assert_eq!((&paid["state"], &paid["step"]), (&"settled".into(), &"nothing".into()), "{paid}");
    let late = ada.post_with_key("/desk/jobs/1/dispute", "d", &json!({})).await.refused(409, "not-now");
    assert!(late.contains("closed"), "{late}");
}
