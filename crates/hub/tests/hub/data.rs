//! Chunks, datasets and wrapped keys over HTTP.
use crate::people::Somebody;
use crate::place::{Api, Place, array, config, gift, pins};
use crate::worker::Worker;
use gleaner_core::Params;
use gleaner_wire::api::{CheckView, DatasetsPage, KeysView, KeysWanted};
use gleaner_wire::{BlobRef, ByteSize, WorkerKey};
use reqwest::StatusCode;
use serde_json::{Value, json};

fn ids(chunks: &[&[u8]]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| BlobRef::of(chunk).id.0).collect()
}

async fn register(api: &Api, kind: &str, chunks: &[&[u8]]) -> StatusCode {
    let root = BlobRef::of(chunks[0]);
    let path = format!("/api/v1/datasets/{}?root_bytes={}&bytes=100&kind={kind}", root.id, root.bytes);
    api.put(&path).body(ids(chunks)).send().await.unwrap().status()
}

#[tokio::test]
async fn a_dataset_is_kept_once_all_of_it_is_there_and_removed_on_demand() {
    let mut place = Place::new().await;
    let chunks: [&[u8]; 3] = [b"root", b"one", b"two"];
    place.api.store(b"root").await;
    assert_eq!(register(&place.api, "pushed", &chunks).await, StatusCode::CONFLICT, "two chunks are missing");
    let given = place.api.post("/api/v1/chunks").body(gift(&chunks)).send().await.unwrap();
    assert!(given.status().is_success());
    assert_eq!(register(&place.api, "pushed", &chunks).await, StatusCode::CREATED);
    place.kill_and_start().await;
    let listed: DatasetsPage = serde_json::from_value(place.api.json("/api/v1/datasets").await).unwrap();
    let listed = listed.items;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].chunks, listed[0].held, listed[0].kind.as_str()), (3, 3, "pushed"));
    let root = BlobRef::of(b"root").id;
    let removed = place.api.post(&format!("/api/v1/datasets/{root}/remove")).send().await.unwrap();
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    let again = place.api.post(&format!("/api/v1/datasets/{root}/remove")).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_a_running_job_reads_is_not_removed() {
    let place = Place::new().await;
    let program = place.api.store(b"a program").await;
    assert_eq!(register(&place.api, "input", &[b"a program"]).await, StatusCode::CREATED);
    place.api.submit_array(2, 1).await;
    let path = format!("/api/v1/datasets/{}/remove", program.root.id);
    let refused = place.api.post(&path).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    assert!(refused.text().await.unwrap().contains("cancel the job"));
}

#[tokio::test]
async fn chunks_are_for_those_with_a_token_and_lists_for_those_whose_business_it_is() {
    let place = Place::new().await;
    let url = |path: &str| format!("{}{path}", place.api.url);
    for path in ["/api/v1/chunks/want", "/api/v1/chunks/missing", "/api/v1/chunks"] {
        let stranger = place.api.client.post(url(path)).bearer_auth("0".repeat(64)).body(vec![0; 32]);
        assert_eq!(stranger.send().await.unwrap().status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    let worker = Worker::join(&place.api, 1).await;
    let of_worker = Api { token: worker.token.clone(), ..place.api.clone() };
    of_worker.store(b"root").await;
    assert_eq!(register(&of_worker, "pushed", &[b"root"]).await, StatusCode::FORBIDDEN);
    let listed = of_worker.get("/api/v1/datasets").send().await.unwrap();
    assert_eq!(listed.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_full_store_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path(), Params::default());
    config.data_bytes_max = ByteSize(1_500_000);
    let hub = gleaner_hub::start(config).await.unwrap();
    let api = Api::of(&hub);
    api.store(&[1; 1_000_000]).await;
    assert_eq!(register(&api, "pushed", &[&[1; 1_000_000]]).await, StatusCode::CREATED);
    let response = api.post("/api/v1/chunks").body(gift(&[&[2; 1_000_000]])).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::INSUFFICIENT_STORAGE, "what is kept is not given up");
    hub.stop().await;
}

#[tokio::test]
async fn a_check_finds_flipped_bits() {
    let mut place = Place::new().await;
    let chunks: [&[u8]; 2] = [b"root", &[7; 5000]];
    place.api.post("/api/v1/chunks").body(gift(&chunks)).send().await.unwrap();
    assert_eq!(register(&place.api, "pushed", &chunks).await, StatusCode::CREATED);
    place.hub.take().unwrap().stop().await;
    flip_a_bit(&place.dir().join("chunks"));
    place.start().await;
    let checked = place.api.post("/api/v1/datasets/check").send().await.unwrap();
    let checked: CheckView = checked.json().await.unwrap();
    assert_eq!((checked.chunks, checked.bad), (2, 1));
    let view = place.api.json(&format!("/api/v1/datasets/{}", BlobRef::of(b"root").id)).await;
    assert_eq!(view["held"], json!(1));
    place.api.post("/api/v1/chunks").body(gift(&chunks[1..])).send().await.unwrap();
    assert_eq!(register(&place.api, "pushed", &chunks).await, StatusCode::CREATED, "it is whole again");
}

fn flip_a_bit(folder: &std::path::Path) {
    for entry in walk(folder) {
        let mut bytes = std::fs::read(&entry).unwrap();
        if let Some(at) = bytes.windows(100).position(|window| window == [7; 100]) {
            bytes[at + 50] ^= 1;
            return std::fs::write(entry, bytes).unwrap();
        }
    }
    panic!("the chunk is nowhere");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn keys_reach_the_worker_that_got_the_task_and_nobody_else() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let program = place.api.store(b"a program").await;
    let sent = place.api.send(&array(1, &program.to_string()), 0x77).await;
    let job = sent.json::<Value>().await.unwrap()["job"].clone();
    worker.starts().await;
    let (api, token) = (place.api.clone(), worker.token.clone());
    let path = format!("/api/v1/jobs/{job}/keys/0?wait=20");
    let asked = tokio::spawn(async move { Api { token, ..api }.get(&path).send().await.unwrap() });
    let wanted = place.api.json(&format!("/api/v1/jobs/{job}/keys?wait=20")).await;
    let wanted: Vec<KeysWanted> = serde_json::from_value(wanted).unwrap();
    assert_eq!((wanted.len(), wanted[0].group), (1, 0));
    let left = json!([{ "group": 0, "receiver": wanted[0].worker, "keys": "c0ffee" }]);
    let path = format!("/api/v1/keys/{:032x}?giver={}", 0x77, WorkerKey([3; 32]));
    assert!(place.api.post(&path).json(&left).send().await.unwrap().status().is_success());
    let keys: KeysView = asked.await.unwrap().json().await.unwrap();
    assert_eq!((keys.keys, keys.submission), (vec!["c0ffee".to_owned()], format!("{:032x}", 0x77)));
    assert_eq!((keys.owner, keys.attended), (WorkerKey([3; 32]), true));
    let idle = Worker::join(&place.api, 2).await;
    let of_idle = Api { token: idle.token.clone(), ..place.api.clone() };
    let refused = of_idle.get(&format!("/api/v1/jobs/{job}/keys/0")).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN, "it holds no attempt of the job");
    let path = format!("/api/v1/keys/{:032x}", 0x77);
    let sneaked = of_idle.post(&path).json(&left).send().await.unwrap();
    assert_eq!(sneaked.status(), StatusCode::BAD_REQUEST, "it has no keys to hand on");
    let of_worker = Api { token: worker.token.clone(), ..place.api.clone() };
    assert!(of_worker.post(&path).json(&left).send().await.unwrap().status().is_success(), "this one has");
    let other = WorkerKey([9; 32]);
    let none = place.api.get(&format!("/api/v1/jobs/{job}/keys/0?receiver={other}")).send().await.unwrap();
    assert_eq!(none.status(), StatusCode::NOT_FOUND);
}

/// Says of a root what is said of it, in the name of whoever asks.
async fn say(api: &Api, path: &str, body: Vec<u8>) -> (StatusCode, Value) {
    let response = api.put(path).body(body).send().await.unwrap();
    (response.status(), response.json().await.unwrap_or_default())
}

async fn requester(api: &Api, name: &str) -> Api {
    let scopes = json!({ "read": true, "submit": true, "spend": "10" });
    Somebody::sign_up(api, name, &["requester"]).await.token(&scopes).await.as_api()
}

#[tokio::test]
async fn nobody_lets_go_of_anothers_dataset_and_a_broken_list_of_nothing() {
    let place = Place::new().await;
    let (owner, thief) = (requester(&place.api, "owner").await, requester(&place.api, "thief").await);
    let chunks: [&[u8]; 3] = [b"root", b"one", b"two"];
    owner.post("/api/v1/chunks").body(gift(&chunks)).send().await.unwrap();
    assert_eq!(register(&owner, "pushed", &chunks).await, StatusCode::CREATED);
    let root = BlobRef::of(b"root").id.to_string();
    assert_eq!(pins(place.dir(), &root), 3);
    let path = |kind: &str| format!("/api/v1/datasets/{root}?kind={kind}&root_bytes=1&bytes=1");
    let foreign = [ids(&[b"root"]), vec![9; 32]].concat();
    for body in [vec![], foreign.clone(), ids(&[b"one"]), vec![1, 2, 3], ids(&[b"root"])] {
        let (status, problem) = say(&thief, &path("pushed"), body).await;
        assert_eq!((status, problem["code"].as_str()), (StatusCode::CONFLICT, Some("in-use")), "{problem}");
        assert_eq!(pins(place.dir(), &root), 3);
    }
    // A worker leaves what it likes as a result of its own job, and changes nothing of what is another's.
    let mut worker = Worker::join(&place.api, 1).await;
    let job = thief.submit_array(1, 5).await.job;
    worker.starts().await;
    let of_worker = Api { token: worker.token.clone(), ..place.api.clone() };
    for body in [vec![], foreign.clone(), ids(&[b"root"])] {
        let (status, problem) = say(&of_worker, &format!("{}&job={job}", path("output")), body).await;
        assert_ne!(status, StatusCode::FORBIDDEN, "it works on it: {problem}");
        assert_eq!(pins(place.dir(), &root), 3);
    }
    // Its owner's own mistakes cost nothing either.
    for body in [vec![], foreign, vec![1, 2, 3]] {
        assert!(say(&owner, &path("pushed"), body).await.0.is_client_error());
        assert_eq!(pins(place.dir(), &root), 3);
    }
    let view = owner.json(&format!("/api/v1/datasets/{root}")).await;
    assert_eq!((&view["held"], &view["owner"]), (&json!(3), &json!("@owner")));
}

#[tokio::test]
async fn an_account_keeps_no_more_than_its_share_and_hears_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path(), Params::default());
    config.data_bytes_max = ByteSize(6_000_000);
    let hub = gleaner_hub::start(config).await.unwrap();
    let api = Api::of(&hub);
    let (owner, other) = (requester(&api, "owner").await, requester(&api, "other").await);
    let (first, second) = (vec![1; 900_000], vec![2; 700_000]);
    owner.store(&first).await;
    assert_eq!(register(&owner, "pushed", &[&first]).await, StatusCode::CREATED);
    // A quarter is 1.5 MB, whatever somebody says of the size.
    let refused = owner.post("/api/v1/chunks").body(gift(&[&second])).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::INSUFFICIENT_STORAGE);
    assert!(refused.text().await.unwrap().contains("remove datasets"));
    other.store(&second).await;
    let root = BlobRef::of(&second).id;
    let (status, problem) =
        say(&owner, &format!("/api/v1/datasets/{root}?kind=pushed&root_bytes=1&bytes=1"), ids(&[&second])).await;
    assert_eq!((status, problem["code"].as_str()), (StatusCode::INSUFFICIENT_STORAGE, Some("over-quota")), "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("keeps 900000 of at most 1500000 bytes") && detail.contains("remove datasets"), "{detail}");
    // The same in its name, as the desk says it.
    let named = api.put(&format!("/api/v1/datasets/{root}?kind=input&root_bytes=1&bytes=1"));
    let named = named.header("gleaner-requester", "@owner").body(ids(&[&second])).send().await.unwrap();
    assert_eq!(named.status(), StatusCode::INSUFFICIENT_STORAGE);
    assert_eq!(pins(dir.path(), &root.to_string()), 0);
    let removed = owner.post(&format!("/api/v1/datasets/{}/remove", BlobRef::of(&first).id)).send().await.unwrap();
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    owner.store(&second).await;
    assert_eq!(register(&owner, "pushed", &[&second]).await, StatusCode::CREATED);
    hub.stop().await;
}

#[tokio::test]
async fn lists_of_datasets_are_pages_that_follow_each_other() {
    let place = Place::new().await;
    for name in [&b"one"[..], b"two", b"three"] {
        place.api.store(name).await;
        assert_eq!(register(&place.api, "pushed", &[name]).await, StatusCode::CREATED);
    }
    let (mut found, mut path) = (Vec::new(), "/api/v1/datasets?limit=2".to_owned());
    loop {
        let page: DatasetsPage = serde_json::from_value(place.api.json(&path).await).unwrap();
        assert!(page.items.len() <= 2);
        found.extend(page.items.into_iter().map(|view| view.data.root.id.to_string()));
        let Some(next) = page.next else { break };
        path = format!("/api/v1/datasets?limit=2&cursor={next}");
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 3);
    for wrong in ["limit=0", "limit=1001", "cursor=elsewhere", "colour=red"] {
        let answer = place.api.get(&format!("/api/v1/datasets?{wrong}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{wrong}");
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["at"].as_str(), wrong.split('=').next(), "{problem}");
    }
}
