//! An account's money on a chain: given, deposited, locked, given back, withdrawn, written down.
use gleaner_wire::Amount;
use serde_json::{Value, json};

use crate::place::{JOB, PROGRAM, Place};

fn amount(value: &Value) -> Amount {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value} is an amount"))
}

#[tokio::test(flavor = "multi_thread")]
async fn money_moves_between_wallet_and_escrow_once_for_each_key() {
    let place = Place::with_chain().await;
    let ada = place.as_person("ada");
    let new = ada.get("/desk/wallet").await.ok().json();
    assert_eq!((&new["balance"], &new["faucet"], &new["chain"]), (&"0".into(), &true.into(), &true.into()));
    assert!(new["address"].as_str().is_some_and(|address| address.starts_with("0x")), "{new}");
    assert_eq!(ada.post("/desk/wallet/faucet", &json!({})).await.ok().json()["amount"], "1000");
    ada.post("/desk/wallet/faucet", &json!({})).await.refused(409, "not-new");
    for _ in 0..2 {
        let moved = ada.post_with_key("/desk/wallet/deposit", "d", &json!({ "amount": "30" })).await.ok().json();
        assert_eq!(moved["amount"], "30");
    }
    let wallet = ada.get("/desk/wallet").await.ok().json();
    assert_eq!((&wallet["balance"], &wallet["deposited"]), (&"970".into(), &"30".into()));
    ada.post_with_key("/desk/wallet/deposit", "d", &json!({ "amount": "31" }))
        .await
        .refused(422, "idempotency-key-reused");
    ada.post_with_key("/desk/wallet/deposit", "e", &json!({ "amount": "0" })).await.refused(400, "bad-request");
    ada.post_with_key("/desk/wallet/withdraw", "w", &json!({ "amount": "31" })).await.refused(400, "bad-request");
    ada.post_with_key("/desk/wallet/withdraw", "w", &json!({ "amount": "10" })).await.ok();
    let to = "0x00000000000000000000000000000000000000aa";
    ada.post_with_key("/desk/wallet/withdraw", "x", &json!({ "amount": "all", "to": to })).await.ok();
    let wallet = ada.get("/desk/wallet").await.ok().json();
    assert_eq!((&wallet["balance"], &wallet["deposited"]), (&"980".into(), &"0".into()));
    for to in ["0x12", "0x0000000000000000000000000000000000000000", "ada"] {
        ada.post_with_key("/desk/wallet/withdraw", "y", &json!({ "amount": "all", "to": to }))
            .await
            .refused(400, "bad-request");
    }
    let history = ada.get("/desk/wallet/history?limit=3").await.ok().json();
    let kinds: Vec<_> = history["items"].as_array().expect("a list").iter().map(|line| &line["kind"]).collect();
    assert_eq!(kinds, ["withdrawn", "withdrawn", "deposited"]);
    let whole = ada.get("/desk/wallet/history").await.ok().json();
    assert_eq!(whole["next"], json!(null), "there is no more");
    let (mut found, mut path) = (Vec::new(), "/desk/wallet/history?limit=2".to_owned());
    loop {
        let page = ada.get(&path).await.ok().json();
        let items = page["items"].as_array().expect("a list").clone();
        assert!((1..=2).contains(&items.len()), "{page}");
        found.extend(items);
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/desk/wallet/history?limit=2&cursor={next}");
    }
    assert!(found.len() > 3, "{found:?}");
    assert_eq!(Some(&found), whole["items"].as_array(), "page by page it is the whole");
    ada.get("/desk/wallet/history?cursor=yesterday").await.refused(400, "bad-request");
    let bob = place.as_person("bob");
    assert_eq!(bob.get("/desk/wallet").await.ok().json()["balance"], "0");
    assert_ne!(bob.get("/desk/wallet").await.ok().json()["address"], new["address"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_cancelled_gives_its_money_back_and_its_invoice_says_so() {
    let place = Place::with_chain().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    let ordered = ada.submit("k", JOB, Some("scene")).await.ok().json();
    assert_eq!(ordered["reserved"], "1");
    assert!(amount(&ordered["deposited"]) >= Amount::gln(1), "the faucet filled the wallet: {ordered}");
    let order = ordered["order"].as_str().expect("its order").to_owned();
    ada.wait_for("/jobs/1", |job| job["state"] == "running").await;
    let locked = ada.get("/desk/wallet").await.ok().json();
    assert!(amount(&locked["locked"]) >= Amount::gln(1), "{locked}");
    ada.post("/jobs/1/cancel", &json!(null)).await.ok();
    let invoice = ada.wait_for_invoice(1, |invoice| !invoice["paid"].is_null()).await;
    assert_eq!((&invoice["state"], &invoice["paid"], &invoice["fee"]), (&"cancelled".into(), &"0".into(), &"0".into()));
    assert_eq!((invoice["order"].as_str(), amount(&invoice["refunded"]) >= Amount::gln(1)), (Some(&order[..]), true));
    assert!(invoice["transaction"].as_str().is_some_and(|transaction| transaction.len() == 66), "{invoice}");
    let wallet = ada.get("/desk/wallet").await.ok().json();
    assert_eq!(amount(&wallet["balance"]).0 + amount(&wallet["deposited"]).0, Amount::gln(1000).0, "{wallet}");
    assert_eq!((&wallet["locked"], &wallet["open_orders"]), (&"0".into(), &0.into()));
    let csv = ada.get("/desk/invoices.csv").await.ok();
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    let lines: Vec<String> = csv.text().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("job,name,submitted,") && lines[1].starts_with("1,x,20"), "{lines:?}");
    assert!(lines[1].contains(&order), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_is_approved_by_the_desk_that_is_opened_again() {
    let mut place = Place::with_chain().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    ada.submit("k", JOB, Some("scene")).await.ok();
    ada.wait_for("/jobs/1", |job| job["state"] == "running").await;
    place.restart().await;
    let ada = place.as_person("ada");
    ada.post("/jobs/1/cancel", &json!(null)).await.ok();
    let invoice = ada.wait_for_invoice(1, |invoice| !invoice["transaction"].is_null()).await;
    assert_eq!(invoice["paid"], "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_beyond_the_wallet_is_refused_and_nothing_is_spent() {
    let place = Place::with_chain().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    let dear = format!("{JOB}[budget]\nprice_max = \"5000 GLN\"\n");
    let detail = ada.submit("k", &dear, Some("scene")).await.refused(402, "too-poor");
    assert!(detail.contains("are needed"), "{detail}");
    assert_eq!(ada.get("/desk/wallet").await.ok().json()["balance"], "1000");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_chain_there_is_credit_and_nothing_to_withdraw() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    ada.submit("k", JOB, Some("scene")).await.ok();
    let wallet = ada.get("/desk/wallet").await.ok().json();
    assert_eq!((&wallet["address"], &wallet["chain"]), (&"@ada".into(), &false.into()));
    ada.post("/desk/wallet/faucet", &json!({})).await.refused(404, "no-chain");
    ada.post_with_key("/desk/wallet/withdraw", "w", &json!({ "amount": "all" })).await.refused(404, "no-chain");
    ada.post("/jobs/1/cancel", &json!(null)).await.ok();
    let invoice = ada.wait_for_invoice(1, |invoice| !invoice["paid"].is_null()).await;
    assert_eq!(
        (&invoice["paid"], &invoice["order"], &invoice["transaction"]),
        (&"0".into(), &json!(null), &json!(null))
    );
}
