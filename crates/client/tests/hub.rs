//! The client against a real hub.
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use gleaner_client::blobs::{BlobClient, Held, PIECE_BYTES_MAX};
use gleaner_client::{Client, Draft, Error, Heard, Token};
use gleaner_hub::{Config, Hub};
use gleaner_wire::BlobRef;

struct Place {
    folder: tempfile::TempDir,
    hub: Hub,
}

impl Place {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let hub = start(&folder, 0).await;
        Self { folder, hub }
    }

    fn url(&self) -> String {
        format!("http://{}", self.hub.address())
    }

    fn token(&self) -> Token {
        Token::read(self.hub.token_file()).expect("the hub made its token")
    }

    fn client(&self) -> Client {
        Client::new(&self.url(), self.token(), "ada").expect("an address")
    }

    fn blobs(&self) -> BlobClient {
        self.client().blobs()
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }

    /// The hub's own file of a blob.
    fn stored(&self, blob: BlobRef) -> PathBuf {
        let name = blob.id.to_string();
        let folder = self.folder.path().join("hub/blobs").join(&name[..2]);
        let mut entries = folder.read_dir().expect("the blob's folder").map(|entry| entry.expect("an entry").path());
        entries.find(|path| name.ends_with(&*path.file_name().expect("a name").to_string_lossy())).expect("the blob")
    }
}

async fn start(folder: &tempfile::TempDir, port: u16) -> Hub {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    gleaner_hub::start(Config::new(folder.path().join("hub"), listen)).await.expect("a hub")
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 31 % 251) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_of_any_size_come_back_as_they_went() {
    let place = Place::new().await;
    for bytes in [0, 1, 100_000, PIECE_BYTES_MAX, PIECE_BYTES_MAX * 2 + 1] {
        let sent = content(bytes);
        let path = place.file("sent", &sent);
        let blob = place.blobs().store_file(&path).await.expect("stored");
        assert_eq!(blob, BlobRef::of(&sent));
        assert_eq!(place.blobs().held(blob.id).await.expect("asked"), Held::Whole);
        assert!(place.blobs().read(blob).await.expect("read") == sent, "{bytes} bytes");
        let path = place.folder.path().join("got");
        place.blobs().fetch(blob, &path).await.expect("fetched");
        assert!(std::fs::read(&path).expect("there") == sent, "{bytes} bytes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_upload_goes_on_where_the_hub_says() {
    let place = Place::new().await;
    let sent = content(PIECE_BYTES_MAX + 500_000);
    let blob = BlobRef::of(&sent);
    let token = std::fs::read_to_string(place.hub.token_file()).expect("a token");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let first = reqwest::Client::new()
        .put(format!("{}/api/v1/blobs/{}", place.url(), blob.id))
        .bearer_auth(token.trim())
        .header("content-range", format!("bytes 0-299999/{}", blob.bytes))
        .body(sent[..300_000].to_vec());
    assert!(first.send().await.expect("sent").status().is_success());
    assert_eq!(place.blobs().held(blob.id).await.expect("asked"), Held::First(300_000));
    let path = place.file("sent", &sent);
    place.blobs().store_file(&path).await.expect("stored");
    assert!(place.blobs().read(blob).await.expect("read") == sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_download_goes_on_where_its_file_ends() {
    let place = Place::new().await;
    let sent = content(1_000_000);
    let blob = place.blobs().store_bytes(sent.clone().into()).await.expect("stored");
    let path = place.folder.path().join("got");
    for part in [&sent[..400_000], &sent[..], b"something else", &content(2_000_000)] {
        place.file("got.part", part);
        place.blobs().fetch(blob, &path).await.expect("fetched");
        assert!(std::fs::read(&path).expect("there") == sent);
        assert!(!place.folder.path().join("got.part").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_bytes_are_never_delivered() {
    let place = Place::new().await;
    let blob = place.blobs().store_bytes(content(100_000).into()).await.expect("stored");
    let mut damaged = content(100_000);
    damaged[50_000] ^= 1;
    std::fs::write(place.stored(blob), damaged).expect("written");
    let path = place.folder.path().join("got");
    assert!(matches!(place.blobs().fetch(blob, &path).await, Err(Error::Corrupt(_))));
    assert!(!path.exists() && !place.folder.path().join("got.part").exists());
    assert!(matches!(place.blobs().read(blob).await, Err(Error::Corrupt(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_refused_with_what_to_do() {
    let place = Place::new().await;
    let client = Client::new(&place.url(), Token::new("wrong"), "ada").expect("an address");
    let error = client.jobs().await.expect_err("refused");
    assert!(matches!(&error, Error::Refused(problem) if problem.status == 401), "{error}");
    assert!(error.help().is_some_and(|help| help.contains("--token-file")));
}

const JOB: &str = "name = \"x\"\n[[task]]\nname = \"a\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_submitted_twice_makes_one_job() {
    let place = Place::new().await;
    place.file("program.wasm", b"\0asm");
    let draft = Draft::read(&place.file("job.toml", JOB.as_bytes())).expect("reads");
    let first = place.client().submit(&draft).await.expect("accepted");
    let second = place.client().submit(&draft).await.expect("accepted");
    assert_eq!(first.job, second.job);
    let jobs = place.client().jobs().await.expect("listed");
    assert_eq!(jobs.iter().map(|job| job.requester.as_str()).collect::<Vec<_>>(), ["ada"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_plan_names_the_line() {
    let place = Place::new().await;
    place.file("program.wasm", b"\0asm");
    let text = format!("{JOB}each = \"9..1\"\n");
    let draft = Draft::read(&place.file("job.toml", text.as_bytes())).expect("reads");
    let error = place.client().submit(&draft).await.expect_err("refused");
    assert!(matches!(error, Error::JobFile { line: Some(6), .. }), "{error}");
    let draft = Draft::read(&place.file("job.toml", JOB.replace("program.wasm", "none").as_bytes())).expect("reads");
    let error = place.client().submit(&draft).await.expect_err("refused");
    assert!(matches!(error, Error::JobFile { line: Some(5), .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_and_a_client_outlive_a_restart_of_the_hub() {
    let place = Place::new().await;
    let client = place.client();
    let mut events = client.events();
    assert_eq!(events.next().await.expect("connected"), Heard::Connected);
    let port = place.hub.address().port();
    let Place { folder, hub } = place;
    hub.stop().await;
    let asked = tokio::spawn(async move { client.jobs().await });
    let heard = tokio::spawn(async move { events.next().await });
    let again = start(&folder, port).await;
    assert!(asked.await.expect("no panic").expect("answered").is_empty());
    assert_eq!(heard.await.expect("no panic").expect("connected"), Heard::Connected);
    again.stop().await;
}
