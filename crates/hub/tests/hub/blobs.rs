//! Blobs over HTTP.
use crate::place::{Place, config};
use gleaner_core::Params;
use gleaner_wire::{BlobRef, ByteSize};
use reqwest::StatusCode;

#[tokio::test]
async fn an_upload_goes_on_where_it_stopped_also_after_a_kill() {
    let mut place = Place::new().await;
    let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let blob = BlobRef::of(&content);
    let path = format!("/api/v1/blobs/{}", blob.id);
    let first = place.api.put(&path).header("content-range", "bytes 0-99999/400000").body(content[..100_000].to_vec());
    assert_eq!(first.send().await.unwrap().status(), StatusCode::ACCEPTED);
    place.kill_and_start().await;
    let head = place.api.client.head(format!("{}{path}", place.api.url)).bearer_auth(&place.api.token);
    let head = head.send().await.unwrap();
    assert_eq!(head.status(), StatusCode::NOT_FOUND);
    assert_eq!(head.headers()["upload-offset"], "100000");
    let wrong = place.api.put(&path).header("content-range", "bytes 5-9/400000").body(content[5..10].to_vec());
    let wrong = wrong.send().await.unwrap();
    assert_eq!((wrong.status(), &wrong.headers()["upload-offset"]), (StatusCode::CONFLICT, &"100000".parse().unwrap()));
    let rest = place.api.put(&path).header("content-range", "bytes 100000-399999/400000");
    assert_eq!(rest.body(content[100_000..].to_vec()).send().await.unwrap().status(), StatusCode::CREATED);
    assert_eq!(place.api.get(&path).send().await.unwrap().bytes().await.unwrap(), content);
    let again = place.api.put(&path).body(content.clone()).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::OK, "it is there already");
}

#[tokio::test]
async fn a_range_is_read_and_a_known_blob_is_not_sent_again() {
    let place = Place::new().await;
    let blob = place.api.store(b"0123456789").await;
    let path = format!("/api/v1/blobs/{}", blob.id);
    let part = place.api.get(&path).header("range", "bytes=4-").send().await.unwrap();
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(part.headers()["content-range"], "bytes 4-9/10");
    assert_eq!(part.text().await.unwrap(), "456789");
    let past = place.api.get(&path).header("range", "bytes=10-").send().await.unwrap();
    assert_eq!(past.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    let known = place.api.get(&path).header("if-none-match", format!("\"{}\"", blob.id)).send().await.unwrap();
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    let head = place.api.client.head(format!("{}{path}", place.api.url)).bearer_auth(&place.api.token);
    assert_eq!(head.send().await.unwrap().headers()["content-length"], "10");
}

#[tokio::test]
async fn bytes_that_do_not_match_their_name_are_refused() {
    let place = Place::new().await;
    let path = format!("/api/v1/blobs/{}", BlobRef::of(b"wheat").id);
    let response = place.api.put(&path).body("chaff").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(place.api.get(&path).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let response = place.api.get("/api/v1/blobs/xyz").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_full_store_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path(), Params::default());
    config.blobs_bytes_max = ByteSize(10);
    let hub = gleaner_hub::start(config).await.unwrap();
    let api = crate::place::Api::of(&hub);
    api.store(b"12345678").await;
    let path = format!("/api/v1/blobs/{}", BlobRef::of(b"90123").id);
    let response = api.put(&path).body("90123").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::INSUFFICIENT_STORAGE);
    assert!(response.text().await.unwrap().contains("larger limit"));
    hub.stop().await;
}

#[tokio::test]
async fn nobody_reads_or_writes_blobs_without_a_token() {
    let place = Place::new().await;
    let url = format!("{}/api/v1/blobs/{}", place.api.url, BlobRef::of(b"x").id);
    for request in [place.api.client.get(&url), place.api.client.put(&url).body("x")] {
        assert_eq!(request.bearer_auth("0".repeat(64)).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    }
}
