//! Votes with an account's tokens: made, given away, cast once.
use gleaner_chain::primitives::U256;
use serde_json::json;

use crate::banker::Banker;
use crate::place::Place;

#[tokio::test(flavor = "multi_thread")]
async fn a_vote_is_cast_with_the_tokens_that_were_there_when_it_began() {
    let place = Place::with_chain().await;
    let (ada, bob, banker) = (place.as_person("ada"), place.as_person("bob"), Banker::of(&place).await);
    ada.post("/desk/wallet/faucet", &json!({})).await.ok();
    let silent = ada.get("/desk/votes").await.ok().json();
    assert_eq!((&silent["tokens"], &silent["votes"], &silent["delegate"]), (&"1000".into(), &"0".into(), &json!(null)));
    for _ in 0..2 {
        let given = ada.post_with_key("/desk/votes/delegate", "d", &json!({})).await.ok().json();
        assert_eq!(given["votes"], "1000");
    }
    ada.post_with_key("/desk/votes/delegate", "e", &json!({})).await.refused(409, "not-now");
    ada.post_with_key("/desk/votes/delegate", "e", &json!({ "to": "ada" })).await.refused(400, "bad-request");
    assert_eq!(ada.get("/desk/votes").await.ok().json()["votes"], "1000");

    let market = &banker.purse.market;
    banker.send(&market.delegate(banker.purse.account.address())).await;
    let change = market.parameter_change("platformShareBps", U256::from(1_200), "cheaper work").expect("a parameter");
    // Votes count from the second after they were made.
    banker.block_after(banker.now().await + 1).await;
    banker.send(&market.propose(&change)).await;
    let listed = ada.wait_for("/desk/votes", |votes| votes["items"][0]["stage"] == "active").await;
    let proposal = &listed["items"][0];
    assert_eq!(proposal["acts"], json!([{ "kind": "set", "parameter": "platformShareBps", "value": "1200" }]));
    assert_eq!((&proposal["why"], &proposal["voted"]), (&"cheaper work".into(), &false.into()));
    assert_eq!(proposal["own_votes"], "1000", "{proposal}");
    let vote = json!({ "proposal": proposal["id"], "choice": "against" });
    let late = bob.post_with_key("/desk/votes/cast", "v", &vote).await.refused(409, "not-now");
    assert!(late.contains("no votes"), "{late}");
    let unknown = json!({ "proposal": format!("0x{}", "12".repeat(32)), "choice": "for" });
    ada.post_with_key("/desk/votes/cast", "n", &unknown).await.refused(404, "not-found");
    for _ in 0..2 {
        let cast = ada.post_with_key("/desk/votes/cast", "v", &vote).await.ok().json();
        assert_eq!(cast["votes"], "1000");
    }
    ada.post_with_key("/desk/votes/cast", "w", &vote).await.refused(409, "not-now");
    let after = ada.get("/desk/votes").await.ok().json();
    assert_eq!((&after["items"][0]["votes_against"], &after["items"][0]["voted"]), (&"1000".into(), &true.into()));
}
