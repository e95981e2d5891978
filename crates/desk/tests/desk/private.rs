//! What somebody has at the desk, with a job that has run: they see all of it, and nobody else any of it.
use serde_json::json;

use crate::place::{Answer, Person, Place};
use crate::worker::{Worker, program};

/// A picture of two tiles.
const JOB: &str = "name = \"harvest\"\n[[task]]\nname = \"field\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\nargs = \
                   [\"{index}\"]\ntiles = { width = 2, height = 1, tile_width = 1, tile_height = 1 }\n";

/// Everything of one job that can be looked at, and what its owner finds there.
const OF_THE_JOB: [(&str, &str); 5] = [
    ("results", "\"task\":\"field\""),
    ("results/field/0/output", "oak\n"),
    ("preview/field", "PNG"),
    ("archive", "oak\n"),
    ("invoice", "\"name\":\"harvest\""),
];

/// Whatever lists what is one's own, and what is in it then.
const LISTS: [(&str, &str); 4] =
    [("/files", "orchard"), ("/desk/invoices", "harvest"), ("/desk/invoices.csv", "harvest"), ("/desk/wallet", "@ada")];

/// What a refusal says, without the numbers in it.
fn said(answer: &Answer) -> Option<String> {
    answer.json()["detail"].as_str().map(|text| text.replace(char::is_numeric, ""))
}

async fn harvested<'a>(place: &'a Place, name: &'a str) -> (Person<'a>, u64) {
    let person = place.as_person(name);
    person.put("/files/orchard/program.wasm", program()).await.ok();
    let job = person.submit("k", JOB, Some("orchard")).await.ok().json()["job"].as_u64().expect("a job");
    let invoice = person.wait_for_invoice(job, |invoice| !invoice["paid"].is_null()).await;
    assert_eq!(invoice["state"], "done", "{invoice}");
    (person, job)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_ones_own_nobody_else_sees() {
    let place = Place::new().await;
    let _worker = Worker::join(&place);
    let (ada, job) = harvested(&place, "ada").await;
    let (bob, nobody) = (place.as_person("bob"), place.http().clone());
    for (path, holds) in OF_THE_JOB {
        let path = format!("/desk/jobs/{job}/{path}");
        let found = ada.get(&path).await.ok();
        assert!(found.text().contains(holds), "{path}: {}", found.text());
        let (hidden, missing) = (bob.get(&path).await, bob.get(&path.replace(&format!("/{job}/"), "/4242/")).await);
        hidden.refused(404, "not-found");
        assert_eq!(said(&hidden), said(&missing), "another's looks like none");
        let asked = nobody.get(format!("{}/api/v1{path}", place.url())).send().await.expect("answered");
        assert_eq!(asked.status().as_u16(), 401, "{path}");
    }
    for (path, mark) in LISTS {
        let (own, others) = (ada.get(path).await.ok().text(), bob.get(path).await.ok().text());
        assert!(own.contains(mark) && !others.contains(mark), "{path}: {own} {others}");
    }
    bob.get("/files/orchard").await.refused(404, "not-found");
    bob.delete("/files/orchard").await.refused(404, "not-found");
    let wanted = json!({ "job": JOB, "folder": "orchard" });
    bob.post("/desk/quote", &wanted).await.refused(404, "not-found");
    bob.post_with_key("/desk/jobs", "k", &wanted).await.refused(404, "not-found");
    assert_eq!(ada.get("/files").await.ok().json()["items"][0]["name"], "orchard", "it is as it was");
}
