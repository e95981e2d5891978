//! An account's stake on a chain: added, locked by nobody yet, on its way out, claimed.
use serde_json::json;

use crate::place::Place;

#[tokio::test(flavor = "multi_thread")]
async fn stake_is_added_once_for_each_key_and_comes_back_after_its_time() {
    let place = Place::with_numbers(&[("unbondingDelay", 5)]).await;
    let ada = place.as_person("ada");
    let none = ada.get("/desk/stake").await.ok().json();
    assert_eq!((&none["total"], &none["minimum"], &none["verdict_max"]), (&"0".into(), &"10".into(), &"0".into()));
    ada.post("/desk/wallet/faucet", &json!({})).await.ok();
    for _ in 0..2 {
        let moved = ada.post_with_key("/desk/stake/add", "a", &json!({ "amount": "30" })).await.ok().json();
        assert_eq!(moved["amount"], "30");
    }
    let staked = ada.get("/desk/stake").await.ok().json();
    assert_eq!((&staked["total"], &staked["free"], &staked["locked"]), (&"30".into(), &"30".into(), &"0".into()));
    assert_eq!((&staked["allowed"], &staked["tokens"]), (&"30".into(), &"970".into()), "the hub may lock it");
    assert_eq!((&staked["verdict_max"], &staked["at_risk"]), (&"0.5".into(), &"0".into()));
    ada.post_with_key("/desk/stake/add", "a", &json!({ "amount": "31" })).await.refused(422, "idempotency-key-reused");
    ada.post_with_key("/desk/stake/add", "b", &json!({ "amount": "971" })).await.refused(400, "bad-request");
    ada.post("/desk/stake/add", &json!({ "amount": "1" })).await.refused(400, "idempotency-key-missing");
    ada.post_with_key("/desk/stake/add", "b", &json!({ "amount": "5", "allow": false })).await.ok();
    let quietly = ada.get("/desk/stake").await.ok().json();
    assert_eq!((&quietly["total"], &quietly["allowed"]), (&"35".into(), &"30".into()), "no more than was allowed");

    ada.post_with_key("/desk/stake/claim", "c", &json!({})).await.refused(409, "not-now");
    ada.post_with_key("/desk/stake/unbond", "u", &json!({ "amount": "36" })).await.refused(400, "bad-request");
    ada.post_with_key("/desk/stake/unbond", "u", &json!({ "amount": "15" })).await.ok();
    let leaving = ada.get("/desk/stake").await.ok().json();
    assert_eq!((&leaving["total"], &leaving["unbonding"]), (&"20".into(), &"15".into()));
    assert_eq!((&leaving["ready"], leaving["ready_at"].is_u64()), (&false.into(), true), "{leaving}");
    let early = ada.post_with_key("/desk/stake/claim", "c", &json!({})).await.refused(409, "not-now");
    assert!(early.contains("15 GLN"), "{early}");
    ada.wait_for("/desk/stake", |stake| stake["ready"] == true).await;
    for _ in 0..2 {
        let claimed = ada.post_with_key("/desk/stake/claim", "c", &json!({})).await.ok().json();
        assert_eq!(claimed["amount"], "15");
    }
    let after = ada.get("/desk/stake").await.ok().json();
    assert_eq!((&after["total"], &after["unbonding"], &after["ready_at"]), (&"20".into(), &"0".into(), &json!(null)));
    assert_eq!(ada.get("/desk/wallet").await.ok().json()["balance"], "980");
    assert_eq!(place.as_person("bob").get("/desk/stake").await.ok().json()["total"], "0", "nobody else's");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_chain_there_is_no_stake_no_reward_and_no_vote() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    for path in ["/desk/stake", "/desk/rewards", "/desk/wallet/overdue", "/desk/votes"] {
        ada.get(path).await.refused(404, "no-chain");
    }
    ada.post_with_key("/desk/stake/add", "a", &json!({ "amount": "1" })).await.refused(404, "no-chain");
    ada.post_with_key("/desk/votes/delegate", "d", &json!({})).await.refused(404, "no-chain");
}
