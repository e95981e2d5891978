//! The client against a real hub.
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use gleaner_client::data::{Account, Opens, Pull, Push, Steer};
use gleaner_client::{Client, Draft, Error, Heard, Token};
use gleaner_hub::{Config, Hub};
use tokio::sync::watch;

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
        let account = Account::open(&self.folder.path().join("account")).expect("an account");
        Client::new(&self.url(), self.token(), "ada").expect("an address").with_account(account)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }
}

async fn start(folder: &tempfile::TempDir, port: u16) -> Hub {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    gleaner_hub::start(Config::new(folder.path().join("hub"), listen)).await.expect("a hub")
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 31 % 251) as u8).collect()
}

/// A folder with a bit of everything.
fn fill(folder: &Path) {
    std::fs::create_dir_all(folder.join("deep/er")).expect("made");
    std::fs::write(folder.join("deep/er/large"), content(3_000_000)).expect("written");
    std::fs::write(folder.join("empty"), b"").expect("written");
    for number in 0..300 {
        std::fs::write(folder.join(format!("small-{number}")), format!("file {number}")).expect("written");
    }
}

fn push<'a>(client: &'a Client, name: &'a str) -> Push<'a> {
    let account = client.account().expect("has one");
    Push { account, hub: client.data(), owner: "ada", name: Some(name), checksum: false, steer: None, direct: false }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_comes_back_as_it_went_and_only_changes_are_sent() {
    let place = Place::new().await;
    let (client, data) = (place.client(), place.folder.path().join("data"));
    fill(&data);
    let first = push(&client, "films").run(&data, |_| {}).await.expect("pushed");
    assert!(first.sent.bytes > 0 && first.totals.bytes > 3_000_000);
    let again = push(&client, "films").run(&data, |_| {}).await.expect("pushed");
    assert_eq!((again.sent.bytes, again.data.root), (0, first.data.root), "nothing is sent");
    assert_eq!(again.counts.read_bytes, 0, "unchanged files are not read");
    std::fs::write(data.join("small-7"), "another text").expect("written");
    let changed = push(&client, "films").run(&data, |_| {}).await.expect("pushed");
    assert!(changed.sent.bytes < 100_000, "{}", changed.sent.bytes);
    let keys = client.account().expect("has one").keys();
    let out = place.folder.path().join("out");
    let pull = Pull { hub: client.data(), root: changed.data.root, opens: Opens::Keys(&keys), steer: None };
    pull.run(&out, |_| {}).await.expect("pulled");
    assert_eq!(std::fs::read(out.join("deep/er/large")).expect("there"), content(3_000_000));
    assert_eq!(std::fs::read(out.join("small-7")).expect("there"), b"another text");
    let twice = pull.run(&out, |_| {}).await.expect("pulled");
    assert_eq!(twice.counts.written_bytes, 0, "what is there is left alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_hub_has_lost_is_sent_again() {
    let place = Place::new().await;
    let (client, data) = (place.client(), place.folder.path().join("data"));
    fill(&data);
    let first = push(&client, "films").run(&data, |_| {}).await.expect("pushed");
    let port = place.hub.address().port();
    let Place { folder, hub } = place;
    hub.stop().await;
    std::fs::remove_dir_all(folder.path().join("hub/chunks")).expect("removed");
    let hub = start(&folder, port).await;
    let place = Place { folder, hub };
    let client = place.client();
    let again = push(&client, "films").run(&data, |_| {}).await.expect("pushed");
    assert_eq!(again.data.root, first.data.root);
    assert!(again.sent.bytes >= first.sent.bytes - 1000, "everything is sent anew: {}", again.sent.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_push_stands_still_and_a_limited_one_goes_on() {
    let place = Place::new().await;
    let (client, data) = (place.client(), place.folder.path().join("data"));
    fill(&data);
    let (steer, steered) = watch::channel(Steer { paused: true, limit: Some(100_000_000) });
    let push = Push { steer: Some(steered), ..push(&client, "films") };
    let mut stood_still = false;
    let pushed = push.run(&data, |so_far| {
        stood_still |= so_far.paused;
        steer.send_replace(Steer { paused: false, limit: Some(100_000_000) });
    });
    pushed.await.expect("pushed");
    assert!(stood_still);
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_elses_dataset_does_not_open() {
    let place = Place::new().await;
    let (client, data) = (place.client(), place.folder.path().join("data"));
    fill(&data);
    let pushed = push(&client, "films").run(&data, |_| {}).await.expect("pushed");
    let other = Account::open(&place.folder.path().join("other")).expect("an account").keys();
    let pull = Pull { hub: client.data(), root: pushed.data.root, opens: Opens::Keys(&other), steer: None };
    let error = pull.run(&place.folder.path().join("out"), |_| {}).await.expect_err("it is sealed");
    assert!(matches!(error, Error::Fetch { .. }), "{error}");
    let label = &client.data().datasets().await.expect("listed")[0].label;
    assert!(!label.is_empty() && !label.contains("films"), "its name is sealed too");
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
    let (first, _keys) = place.client().submit(&draft).await.expect("accepted");
    let (second, _keys) = place.client().submit(&draft).await.expect("accepted");
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
