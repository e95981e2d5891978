//! What an account is owed: orders that their hub never settled, and shares of the node rewards.
use gleaner_wire::Amount;
use serde_json::json;

use crate::banker::{Banker, wallet_of};
use crate::place::Place;

/// How long an order of these tests has to be settled, in seconds.
const TERM: u64 = 6;

#[tokio::test(flavor = "multi_thread")]
async fn money_of_an_order_that_nobody_settled_is_released_after_its_deadline() {
    let place = Place::with_chain().await;
    let (ada, banker) = (place.as_person("ada"), Banker::of(&place).await);
    ada.post("/desk/wallet/faucet", &json!({})).await.ok();
    ada.post_with_key("/desk/wallet/deposit", "d", &json!({ "amount": "10" })).await.ok();
    banker.stake(Amount::gln(20)).await;
    let deadline = banker.now().await + TERM;
    banker.lock(&wallet_of(&place, "ada"), Amount::gln(4), deadline).await;
    let waiting = ada.get("/desk/wallet/overdue").await.ok().json();
    assert_eq!((&waiting["orders"], &waiting["next_deadline"]), (&0.into(), &deadline.into()), "{waiting}");
    ada.post_with_key("/desk/wallet/release", "r", &json!({})).await.refused(409, "not-now");
    let late = ada.wait_for("/desk/wallet/overdue", |overdue| overdue["orders"] == 1).await;
    assert_eq!((&late["amount"], &late["next_deadline"]), (&"8".into(), &json!(null)), "cap and bond");
    place.as_person("bob").post_with_key("/desk/wallet/release", "r", &json!({})).await.refused(409, "not-now");
    for _ in 0..2 {
        let released = ada.post_with_key("/desk/wallet/release", "r", &json!({})).await.ok().json();
        assert_eq!(released["amount"], "8");
    }
    let wallet = ada.get("/desk/wallet").await.ok().json();
    assert_eq!((&wallet["deposited"], &wallet["locked"]), (&"10".into(), &"0".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_of_the_node_rewards_is_listed_and_claimed_once() {
    let place = Place::with_numbers(&[("epochLength", 10), ("challengeWindow", 2)]).await;
    let (ada, bob, banker) = (place.as_person("ada"), place.as_person("bob"), Banker::of(&place).await);
    assert_eq!(ada.get("/desk/rewards").await.ok().json()["items"], json!([]));
    ada.post_with_key("/desk/rewards/claim", "c", &json!({})).await.refused(409, "not-now");
    bob.post("/desk/wallet/faucet", &json!({})).await.ok();
    bob.post_with_key("/desk/wallet/deposit", "d", &json!({ "amount": "100" })).await.ok();
    banker.stake(Amount::gln(20)).await;
    // Rewards are paid from what has come to their contract, whoever sent it.
    banker.send(&banker.purse.market.transfer(banker.purse.market.deployment.rewards, Amount::gln(50))).await;
    let (requester, provider) = (wallet_of(&place, "bob"), wallet_of(&place, "ada").address());
    let order = banker.lock(&requester, Amount::gln(20), banker.now().await + 3_600).await;
    banker.settle(order, &requester, provider, Amount::gln(20)).await;
    // Nobody can say what was paid in an epoch before a block came after it.
    let market = &banker.purse.market;
    let (_, end) = market.epoch_span(market.epoch_now().await.expect("an epoch")).await.expect("its span");
    banker.block_after(end).await;

    let due = ada.wait_for("/desk/rewards", |rewards| rewards["due"] != "0").await;
    let line = &due["items"][0];
    assert_eq!((&line["share"], &line["right"], &line["due"]), (&due["due"], &true.into(), &true.into()), "{due}");
    let share: Amount = line["share"].as_str().expect("an amount").parse().expect("an amount");
    assert!(share > Amount::ZERO && share <= Amount::gln(3), "at most 15 % of the work: {due}");
    assert_eq!(bob.get("/desk/rewards").await.ok().json()["due"], "0", "who pays has no share");
    for _ in 0..2 {
        let claimed = ada.post_with_key("/desk/rewards/claim", "c", &json!({})).await.ok().json();
        assert_eq!(claimed["amount"], due["due"]);
    }
    assert_eq!(ada.get("/desk/wallet").await.ok().json()["balance"], due["due"]);
    let after = ada.get("/desk/rewards").await.ok().json();
    let line = after["items"].as_array().expect("a list").iter().find(|line| line["share"] != "0").expect("its line");
    assert_eq!((&after["due"], &line["claimed"], &line["due"]), (&"0".into(), &true.into(), &false.into()));
    ada.post_with_key("/desk/rewards/claim", "again", &json!({})).await.refused(409, "not-now");
}
