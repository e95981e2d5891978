//! Uploads: whole and in pieces, listed, removed, bounded, and never anywhere else.
use gleaner_desk::Limits;
use reqwest::Method;

use crate::place::{Answer, Person, Place};

async fn piece(person: &Person<'_>, path: &str, range: &str, content: &str) -> Answer {
    person.send(person.request(Method::PUT, path).header("content-range", range).body(content.to_owned())).await
}

async fn head(person: &Person<'_>, path: &str) -> (u16, String) {
    let answer = person.send(person.request(Method::HEAD, path)).await;
    (answer.status.as_u16(), answer.header("upload-offset").to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_comes_in_pieces_and_goes_on_where_it_broke_off() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    assert_eq!(head(&ada, "/files/scene/deep/a.txt").await, (404, "0".into()));
    let first = piece(&ada, "/files/scene/deep/a.txt", "bytes 0-3/8", "abcd").await;
    assert_eq!((first.status.as_u16(), first.header("upload-offset")), (202, "4"));
    assert_eq!(head(&ada, "/files/scene/deep/a.txt").await, (404, "4".into()));
    let again = piece(&ada, "/files/scene/deep/a.txt", "bytes 0-3/8", "abcd").await;
    again.refused(409, "offset");
    assert_eq!(again.header("upload-offset"), "4");
    let last = piece(&ada, "/files/scene/deep/a.txt", "bytes 4-7/8", "efgh").await;
    assert_eq!(last.status.as_u16(), 201);
    assert_eq!(head(&ada, "/files/scene/deep/a.txt").await, (200, "8".into()));
    assert_eq!(std::fs::read(place.files_of("scene").join("deep/a.txt")).expect("there"), b"abcdefgh");
    piece(&ada, "/files/scene/b", "bytes 9-1/8", "x").await.refused(400, "bad-request");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_their_owners_alone() {
    let place = Place::new().await;
    let (ada, bob) = (place.as_person("ada"), place.as_person("bob"));
    ada.put("/files/scene/a.txt", "text").await.ok();
    ada.put("/files/scene/deep/b.txt", "more").await.ok();
    let listed = ada.get("/files").await.ok().json();
    assert_eq!((&listed["items"][0]["name"], &listed["items"][0]["bytes"]), (&"scene".into(), &8.into()));
    let shown = ada.get("/files/scene").await.ok().json();
    assert_eq!((&shown["items"][0]["path"], &shown["items"][1]["path"]), (&"a.txt".into(), &"deep/b.txt".into()));
    assert_eq!(bob.get("/files").await.ok().json()["items"].as_array().map(Vec::len), Some(0));
    bob.get("/files/scene").await.refused(404, "not-found");
    bob.delete("/files/scene").await.refused(404, "not-found");
    assert_eq!(head(&bob, "/files/scene/a.txt").await.0, 404);
    assert_eq!(ada.delete("/files/scene").await.status.as_u16(), 204);
    ada.get("/files/scene").await.refused(404, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out_of_the_folder() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    for path in [
        "/files/..%2f..%2fx/a",
        "/files/scene/..%2f..%2fa",
        "/files/scene/%2e%2e/%2e%2e/a",
        "/files/scene/%2fetc%2fpasswd",
        "/files/scene/a%00b",
        "/files/scene//a",
        "/files/.hidden/a",
        "/files/scene/.gleaner-upload-1",
        "/files/%2e%2e/a",
    ] {
        let answer = ada.put(path, "x").await;
        assert!(answer.status.is_client_error(), "{path}: {}", answer.status);
    }
    let desk = place.folder.path().join("hub/desk");
    let mut files = Vec::new();
    let mut folders = vec![desk.join("files")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("read") {
            let path = entry.expect("read").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    assert_eq!(files, Vec::<std::path::PathBuf>::new());
    assert!(!place.folder.path().join("hub/a").exists() && !desk.join("a").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_in_the_way_is_not_followed() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/a", "text").await.ok();
    let outside = place.folder.path().join("outside");
    std::fs::create_dir(&outside).expect("made");
    std::os::unix::fs::symlink(&outside, place.files_of("scene").join("link")).expect("linked");
    ada.put("/files/scene/link/b", "text").await.refused(409, "in-the-way");
    assert_eq!(std::fs::read_dir(&outside).expect("there").count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_takes_no_more_room_than_it_may() {
    let limits = Limits { files_bytes_max: 20_000, ..Limits::default() };
    let place = Place::with(limits, false).await;
    let (ada, bob) = (place.as_person("ada"), place.as_person("bob"));
    ada.put("/files/scene/a", vec![0; 8_000]).await.ok();
    ada.put("/files/scene/b", vec![0; 20_000]).await.refused(507, "storage");
    piece(&ada, "/files/scene/c", "bytes 0-3/20000", "abcd").await.refused(507, "storage");
    bob.put("/files/scene/a", vec![0; 8_000]).await.ok();
    assert_eq!(ada.delete("/files/scene").await.status.as_u16(), 204);
    ada.put("/files/scene/a", vec![0; 8_000]).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_say_who_it_is_is_refused() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    let request =
        reqwest::Client::builder().no_proxy().build().expect("a client").get(format!("{}/api/v1/files", place.url()));
    ada.send(request).await.refused(401, "unauthorized");
}
