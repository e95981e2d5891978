//! Lists in pages: jobs and workers, with conditions, and mistakes that are named.
use crate::place::{Api, PATIENCE, Place};
use crate::worker::{Connection, Worker, offer};
use gleaner_wire::api::JobsPage;
use gleaner_wire::query::WorkersPage;
use gleaner_wire::{Amount, ByteSize, DeviceKind, ToHub, ToWorker};
use reqwest::StatusCode;
use serde_json::Value;

async fn jobs(api: &Api, query: &str) -> JobsPage {
    api.get(&format!("/api/v1/jobs{query}")).send().await.unwrap().json().await.unwrap()
}

async fn workers(api: &Api, query: &str) -> WorkersPage {
    api.get(&format!("/api/v1/workers{query}")).send().await.unwrap().json().await.unwrap()
}

fn numbers(page: &JobsPage) -> Vec<u64> {
    page.items.iter().map(|job| job.id.0).collect()
}

fn names(page: &WorkersPage) -> Vec<&str> {
    page.items.iter().map(|worker| worker.offer.name.as_str()).collect()
}

async fn mistake(api: &Api, path: &str) -> String {
    let answer = api.get(path).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{path}");
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["code"], "bad-request");
    problem["at"].as_str().unwrap_or_else(|| panic!("{problem}")).to_owned()
}

#[tokio::test]
async fn jobs_come_in_pages_and_by_state_and_requester() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    for key in 1..=4 {
        place.api.submit_array(1, key).await;
        worker.work(1).await;
    }
    drop(worker);
    let program = place.api.store(b"a program").await.to_string();
    let of_ada = place.api.post("/api/v1/jobs").header("gleaner-requester", "ada");
    let of_ada = of_ada.json(&crate::place::array(1, &program)).send().await.unwrap();
    assert_eq!(of_ada.status(), StatusCode::CREATED);
    // Ended jobs leave the core a moment later; which of the two has them makes no difference.
    assert_eq!(numbers(&jobs(&place.api, "").await), [5, 4, 3, 2, 1]);
    let first = jobs(&place.api, "?limit=2").await;
    assert_eq!(numbers(&first), [5, 4]);
    let second = jobs(&place.api, &format!("?limit=2&cursor={}", first.next.unwrap())).await;
    assert_eq!(numbers(&second), [3, 2]);
    let last = jobs(&place.api, &format!("?limit=2&cursor={}", second.next.unwrap())).await;
    assert_eq!((numbers(&last), last.next), (vec![1], None));
    assert_eq!(numbers(&jobs(&place.api, "?state=done&limit=3").await), [4, 3, 2]);
    assert_eq!(numbers(&jobs(&place.api, "?state=running").await), [5]);
    assert_eq!(numbers(&jobs(&place.api, "?requester=ada").await), [5]);
    assert_eq!(numbers(&jobs(&place.api, "?requester=local&state=failed").await), [0; 0]);
    for (path, at) in [
        ("/api/v1/jobs?state=asleep", "state"),
        ("/api/v1/jobs?limit=0", "limit"),
        ("/api/v1/jobs?limit=many", "limit"),
        ("/api/v1/jobs?cursor=yesterday", "cursor"),
        ("/api/v1/jobs?stat=done", "stat"),
    ] {
        assert_eq!(mistake(&place.api, path).await, at, "{path}");
    }
}

/// Joins with an offer of its own.
async fn join(api: &Api, seed: u8, kind: DeviceKind, gib: u64, price: u64, region: &str) -> Connection {
    let mut connection = Connection::open(api).await;
    let ToHub::Hello { protocol, key, signature, owner_proof, resting, held, .. } = connection.hello(seed, Vec::new())
    else {
        panic!("a hello")
    };
    let mut offer = offer(seed);
    region.clone_into(&mut offer.region);
    offer.devices[0].kind = kind;
    offer.devices[0].memory = ByteSize::mib(gib * 1024);
    offer.devices[0].price_per_second = Amount(price);
    offer.devices[0].runtimes[0].score = u32::from(seed) * 100;
    connection.send(&ToHub::Hello { protocol, key, signature, offer, owner_proof, resting, held }).await;
    let welcome = tokio::time::timeout(PATIENCE, connection.receive()).await.unwrap();
    assert!(matches!(welcome, Some(ToWorker::Welcome { .. })));
    connection
}

#[tokio::test]
async fn workers_are_found_by_plain_parameters_in_any_order() {
    let place = Place::new().await;
    let api = &place.api;
    let _one = join(api, 1, DeviceKind::Nvidia, 24, 300, "eu").await;
    let _two = join(api, 2, DeviceKind::Nvidia, 8, 100, "eu").await;
    let _three = join(api, 3, DeviceKind::Amd, 16, 200, "us").await;
    assert_eq!(names(&workers(api, "").await), ["worker-2", "worker-3", "worker-1"]);
    let found = workers(api, "?device=nvidia&memory_min=20GiB&region=eu&sort=price").await;
    assert_eq!((names(&found), found.matches, found.exact), (vec!["worker-1"], 1, true));
    assert_eq!(names(&workers(api, "?device=gpu&score_min=200&price_max=0.5").await), ["worker-2", "worker-3"]);
    assert_eq!(names(&workers(api, "?price_max=0.0005").await), ["worker-2"]);
    for (sort, order) in [
        ("-price", ["worker-1", "worker-3", "worker-2"]),
        ("-score", ["worker-3", "worker-2", "worker-1"]),
        ("score", ["worker-1", "worker-2", "worker-3"]),
        ("memory", ["worker-2", "worker-3", "worker-1"]),
        ("id", ["worker-1", "worker-2", "worker-3"]),
    ] {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = workers(api, &format!("?sort={sort}&limit=1{cursor}")).await;
            all.extend(page.items.iter().map(|worker| worker.offer.name.clone()));
            let Some(next) = page.next else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(all, order, "by {sort}");
    }
    for (path, at) in [
        ("/api/v1/workers?device=potato", "device"),
        ("/api/v1/workers?memory_min=much", "memory_min"),
        ("/api/v1/workers?price_max=-1", "price_max"),
        ("/api/v1/workers?score_min=high", "score_min"),
        ("/api/v1/workers?sort=beauty", "sort"),
        ("/api/v1/workers?sort=-score&cursor=7", "cursor"),
        ("/api/v1/workers?limit=1001", "limit"),
        ("/api/v1/workers?devise=gpu", "devise"),
        ("/api/v1/workers?query=prize<1", "query[0..5]"),
    ] {
        assert_eq!(mistake(api, path).await, at, "{path}");
    }
}
