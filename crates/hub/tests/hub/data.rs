//! Chunks, datasets and wrapped keys over HTTP.
use crate::place::{Api, Place, array, config, gift};
use crate::worker::Worker;
use gleaner_core::Params;
use gleaner_wire::api::{CheckView, DatasetView, KeysView, KeysWanted};
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
    let listed: Vec<DatasetView> = serde_json::from_value(place.api.json("/api/v1/datasets").await).unwrap();
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
