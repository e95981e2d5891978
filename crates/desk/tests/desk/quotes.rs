//! Binding quotes: what somebody has seen is what is reserved, and nothing else can be had for it.
use std::time::{SystemTime, UNIX_EPOCH};

use gleaner_wire::Amount;
use serde_json::{Value, json};

use crate::place::{Person, Place};
use crate::worker::{Worker, program};

/// How long a quote binds.
const BINDS_MS: u64 = 10 * 60_000;
/// Where the program lies. Its time is part of the dataset that the job reads, so another one would be another job.
const PROGRAM_AT: &str = "/files/wood/program.wasm?modified=1700000000000";

/// Ten elements of the same program from this one on: alike, and none of them known.
fn job(from: u32) -> String {
    let each = format!("{from}..{}", from + 9);
    format!(
        "name = \"trees\"\n[[task]]\nname = \"a\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\nargs = [\"{{index}}\"]\n\
         each = \"{each}\"\n"
    )
}

fn amount(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse::<Amount>().ok()).unwrap_or_else(|| panic!("{value} is an amount")).0
}

fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis()).expect("fits")
}

async fn quote(person: &Person<'_>, job: &str) -> Value {
    person.post("/desk/quote", &json!({ "job": job, "folder": "wood" })).await.ok().json()
}

fn choice<'a>(quote: &'a Value, name: &str) -> &'a Value {
    let choices = quote["choices"].as_array().expect("choices");
    choices.iter().find(|choice| choice["name"] == name).expect("each of the three")
}

/// A job that is ordered by what was quoted.
fn by(quote: &Value, job: &str, choice: &str) -> Value {
    json!({ "job": job, "folder": "wood", "quote": quote["quote"], "choice": choice })
}

/// Somebody whose program the hub knows, because it ran.
async fn known<'a>(place: &'a Place, name: &'a str) -> Person<'a> {
    let person = place.as_person(name);
    person.put(PROGRAM_AT, program()).await.ok();
    let first = person.submit("first", &job(0), Some("wood")).await.ok().json()["job"].as_u64().expect("a job");
    let invoice = person.wait_for_invoice(first, |invoice| !invoice["paid"].is_null()).await;
    assert_eq!(invoice["state"], "done", "{invoice}");
    person
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_ordered_for_exactly_the_price_that_was_seen() {
    let place = Place::new().await;
    let _worker = Worker::join(&place);
    let ada = known(&place, "ada").await;
    let (job, asked_at) = (job(100), now_ms());
    let quoted = quote(&ada, &job).await;
    for name in ["cheap", "balanced", "fast"] {
        let choice = choice(&quoted, name);
        let [low, expected, high] = ["low", "expected", "high"].map(|end| amount(&choice["price"][end]));
        assert!(0 < low && low <= expected && expected <= high, "{choice}");
        let [low, expected, high] =
            ["low", "expected", "high"].map(|end| choice["finish_ms"][end].as_u64().expect("a time"));
        assert!(low <= expected && expected <= high, "{choice}");
        assert!(amount(&choice["binding"]["price"]) >= amount(&choice["price"]["high"]), "{choice}");
        let until = choice["binding"]["until"].as_u64().expect("a moment");
        assert!((asked_at + BINDS_MS..=now_ms() + BINDS_MS).contains(&until), "{choice}");
        assert_eq!(choice["rests_on"], 10);
        assert_ne!(choice["sure"], "unknown");
        assert!(choice["why"].as_str().is_some_and(|why| why.contains("10 earlier tasks")), "{choice}");
    }
    let binding = &choice(&quoted, "fast")["binding"]["price"];
    let ordered = ada.post_with_key("/desk/jobs", "second", &by(&quoted, &job, "fast")).await.ok().json();
    assert_eq!(&ordered["reserved"], binding);
    let number = ordered["job"].as_u64().expect("a job");
    let invoice = ada.wait_for_invoice(number, |invoice| !invoice["paid"].is_null()).await;
    assert_eq!((&invoice["cap"], &invoice["choice"], &invoice["state"]), (binding, &"fast".into(), &"done".into()));
    assert!(amount(&invoice["paid"]) <= amount(binding), "{invoice}");
    assert_eq!(amount(&invoice["paid"]) + amount(&invoice["refunded"]), amount(binding), "{invoice}");
    let seen = ada.get(&format!("/jobs/{number}")).await.ok().json();
    assert_eq!((&seen["quoted"]["price"], &seen["price_max"]), (binding, binding));
    let again = ada.post_with_key("/desk/jobs", "second", &by(&quoted, &job, "fast")).await.ok().json();
    assert_eq!(again, ordered, "asked again, it is the same job");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_holds_for_its_job_its_account_and_ten_minutes() {
    let place = Place::new().await;
    let _worker = Worker::join(&place);
    let ada = known(&place, "ada").await;
    let bob = place.as_person("bob");
    bob.put("/files/wood/program.wasm", program()).await.ok();
    let (job, other) = (job(100), job(200));
    let quoted = quote(&ada, &job).await;
    ada.post_with_key("/desk/jobs", "a", &by(&quoted, &other, "cheap")).await.refused(409, "other-quote");
    bob.post_with_key("/desk/jobs", "b", &by(&quoted, &job, "cheap")).await.refused(409, "quote-expired");
    let nonsense = json!({ "quote": "none" });
    ada.post_with_key("/desk/jobs", "c", &by(&nonsense, &job, "cheap")).await.refused(409, "quote-expired");
    // The same job file over another program is another job.
    let longer = [program(), vec![0, 5, 1, b'x', 1, 2, 3]].concat();
    ada.put("/files/wood/program.wasm", longer).await.ok();
    ada.post_with_key("/desk/jobs", "d", &by(&quoted, &job, "cheap")).await.refused(409, "other-quote");
    ada.put(PROGRAM_AT, program()).await.ok();

    let until = choice(&quoted, "cheap")["binding"]["until"].as_u64().expect("a moment");
    rewrite_offers(&place, &format!("\"until\":{until}"), "\"until\":1");
    ada.post_with_key("/desk/jobs", "e", &by(&quoted, &job, "cheap")).await.refused(409, "quote-expired");
    // What the hub has signed cannot be made to last longer, nor to cost less, by who keeps it.
    rewrite_offers(&place, "\"until\":1", &format!("\"until\":{}", until + 1));
    let altered = ada.post_with_key("/desk/jobs", "f", &by(&quoted, &job, "cheap")).await;
    assert!(altered.refused(422, "job-refused").contains("not of this hub"), "{}", altered.text());
    rewrite_offers(&place, &format!("\"until\":{}", until + 1), &format!("\"until\":{until}"));
    ada.post_with_key("/desk/jobs", "g", &by(&quoted, &job, "cheap")).await.ok();
    assert_eq!(
        ada.get("/jobs").await.ok().json()["items"].as_array().map(Vec::len),
        Some(2),
        "the refused ones are no jobs"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_outlasts_the_hub_and_its_desk() {
    let mut place = Place::new().await;
    let worker = Worker::join(&place);
    let quoted = quote(&known(&place, "ada").await, &job(100)).await;
    drop(worker);
    place.restart().await;
    let ada = place.as_person("ada");
    let ordered = ada.post_with_key("/desk/jobs", "k", &by(&quoted, &job(100), "balanced")).await.ok().json();
    assert_eq!(ordered["reserved"], choice(&quoted, "balanced")["binding"]["price"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_price_is_over_the_jobs_own_cap_only_the_cap_holds() {
    let place = Place::new().await;
    let _worker = Worker::join(&place);
    let ada = known(&place, "ada").await;
    let tight = format!("{}[budget]\nprice_max = \"0.000000001 GLN\"\n", job(100));
    let quoted = quote(&ada, &tight).await;
    let cheap = choice(&quoted, "cheap");
    assert_eq!(cheap["binding"], Value::Null);
    assert!(cheap["why"].as_str().is_some_and(|why| why.contains("over the cap")), "{cheap}");
    let ordered = ada.post_with_key("/desk/jobs", "k", &by(&quoted, &tight, "cheap")).await.ok().json();
    assert_eq!(ordered["reserved"], "0.000000001");
}

/// Changes what the desk has kept of quotes.
fn rewrite_offers(place: &Place, from: &str, to: &str) {
    let books = rusqlite::Connection::open(place.folder.path().join("hub/desk/desk.db")).expect("the desk's books");
    let changed = books.execute("UPDATE quote SET offers = replace(offers, ?1, ?2)", (from, to)).expect("changed");
    assert!(changed > 0);
    let found: u32 =
        books.query_row("SELECT count(*) FROM quote WHERE instr(offers, ?1)", [to], |row| row.get(0)).expect("counted");
    assert!(found > 0, "{to} is there now");
}
