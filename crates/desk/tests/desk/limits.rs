//! Tokens that may spend only so much.
use gleaner_client::{Client, Token};
use gleaner_desk::{Config, Desk, Error, Limits, Wanted};
use gleaner_wire::{Amount, Asker, SpendLimit};

use crate::place::Place;

fn asker(token: &str) -> Asker {
    let limit = SpendLimit { token: token.to_owned(), max: Amount(1_500_000_000) };
    Asker { account: "1".into(), name: "ada".into(), limit: Some(limit) }
}

/// A job that needs no files.
fn wanted(price: &str) -> Wanted {
    let job = format!(
        "name = \"x\"\n[budget]\nprice_max = \"{price}\"\n[[task]]\nname = \"a\"\nruntime = \"container\"\n[task.container]\nimage = \
         \"docker.io/library/x@sha256:{}\"\n",
        "0".repeat(64)
    );
    Wanted { job, folder: None, choice: None, quote: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_orders_jobs_within_its_limit_and_gets_back_what_they_did_not_cost() {
    let place = Place::new().await;
    let (hub, token) = (place.url(), Token::new(place.token()));
    let client = Client::new(&hub, token.clone(), "operator").expect("an address");
    let desk = Desk::open(Config { dir: place.folder.path().join("desk"), hub, token, limits: Limits::default() });
    let desk = desk.expect("opens");
    let first = desk.submit(&asker("one"), "a", &wanted("1 GLN")).await.expect("within the limit");
    assert_eq!(desk.submit(&asker("one"), "a", &wanted("1 GLN")).await.expect("the same").job, first.job);
    let over = desk.submit(&asker("one"), "b", &wanted("0.6 GLN")).await.expect_err("too much");
    assert!(matches!(over, Error::OverLimit { spent, .. } if spent == Amount::gln(1)), "{over}");
    desk.submit(&asker("two"), "c", &wanted("0.6 GLN")).await.expect("it is another token");
    client.cancel(first.job).await.expect("cancelled");
    while desk.invoice(&asker("one"), first.job).await.expect("hers").paid.is_none() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    desk.submit(&asker("one"), "b", &wanted("0.6 GLN")).await.expect("nothing was spent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_holds_for_requests_that_come_together() {
    let place = Place::new().await;
    let (hub, token) = (place.url(), Token::new(place.token()));
    let desk = Desk::open(Config { dir: place.folder.path().join("desk"), hub, token, limits: Limits::default() });
    let desk = desk.expect("opens");
    let keys = ["a", "b", "c", "d"];
    let (asker, wanted) = (asker("one"), wanted("1 GLN"));
    let all = futures_util::future::join_all(keys.map(|key| desk.submit(&asker, key, &wanted))).await;
    assert_eq!(all.iter().filter(|ordered| ordered.is_ok()).count(), 1);
}
