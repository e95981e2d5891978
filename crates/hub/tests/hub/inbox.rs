//! Data that people bring without the program: by HTTP in pieces, and by OpenSSH's own `sftp`.
use crate::place::{Api, PATIENCE, config};
use crate::worker::Worker;
use gleaner_core::Params;
use gleaner_data::manifest::Root;
use gleaner_data::net::StoreSource;
use gleaner_data::seal::DatasetKey;
use gleaner_data::store::Store;
use gleaner_data::tree::Case;
use gleaner_data::unpack;
use gleaner_hub::Hub;
use gleaner_wire::ByteSize;
use gleaner_wire::api::{DatasetView, DatasetsPage};
use reqwest::StatusCode;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The label of an uploaded dataset, as the hub lists it.
fn label(name: &str) -> String {
    format!("plain:{name}").bytes().map(|byte| format!("{byte:02x}")).collect()
}

async fn listed(api: &Api, name: &str) -> Vec<DatasetView> {
    let all: DatasetsPage = serde_json::from_value(api.json("/api/v1/datasets").await).unwrap();
    all.items.into_iter().filter(|view| view.label == label(name) && view.kind == "pushed").collect()
}

/// How far an upload is, and why.
async fn stage(api: &Api, user: &str, name: &str) -> String {
    let view = api.get(&format!("/api/v1/inbox/{user}/{name}")).send().await.unwrap();
    if view.status() == StatusCode::NOT_FOUND {
        return "none".into();
    }
    let view: serde_json::Value = view.json().await.unwrap();
    let [stage, reason] = ["stage", "reason"].map(|field| view[field].as_str().unwrap_or_default());
    format!("{stage}{reason}")
}

/// Waits until an upload has become a dataset.
async fn ready(api: &Api, user: &str, name: &str) -> DatasetView {
    let waiting = async {
        loop {
            let stage = stage(api, user, name).await;
            assert!(!stage.starts_with("failed"), "{stage}");
            if stage == "ready" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(4 * PATIENCE, waiting).await.expect("it becomes a dataset");
    let mut views = listed(api, name).await;
    assert_eq!(views.len(), 1);
    assert_eq!(views[0].owner, user);
    views.remove(0)
}

async fn key(api: &Api, view: &DatasetView) -> DatasetKey {
    let answer = api.json(&format!("/api/v1/datasets/{}/key", view.data.root.id)).await;
    let text = answer["key"].as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
    DatasetKey::from_bytes(std::array::from_fn(byte))
}

/// Opens a dataset with its key, out of the store of a hub that has stopped.
fn open_into(hub: &Path, view: &DatasetView, key: &DatasetKey, folder: &Path) {
    let store = Arc::new(Store::open(&hub.join("chunks"), u64::MAX / 2).unwrap());
    let source = StoreSource(store);
    let sealed = gleaner_data::Source::chunk(&source, view.data.root).unwrap();
    let root = Root::open(key, sealed).unwrap();
    let options = unpack::Options { threads: 2, case: Case::Unknown, bytes_max: u64::MAX };
    unpack(&root, &source, folder, options, &unpack::Progress::default()).unwrap();
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..length).map(|_| next()).collect()
}

async fn put(api: &Api, path: &str, range: Option<(usize, usize)>, bytes: &[u8]) -> StatusCode {
    let request = api.put(&format!("/api/v1/inbox/{path}"));
    let request = match range {
        Some((first, total)) => {
            let last = first + bytes.len() - 1;
            request.header("content-range", format!("bytes {first}-{last}/{total}"))
        }
        None => request,
    };
    request.body(bytes.to_vec()).send().await.unwrap().status()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_uploaded_in_pieces_becomes_a_dataset_that_opens_with_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let hub_dir = dir.path().join("hub");
    let hub = gleaner_hub::start(config(&hub_dir, Params::default())).await.unwrap();
    let (api, bytes) = (Api::of(&hub), noise(300_000));
    let path = "ada/scene/deep/large?modified=1000";
    assert_eq!(put(&api, path, Some((0, 300_000)), &bytes[..100_000]).await, StatusCode::ACCEPTED);
    assert_eq!(put(&api, path, Some((200_000, 300_000)), &bytes[200_000..]).await, StatusCode::CONFLICT);
    let head = api.client.head(format!("{}/api/v1/inbox/{path}", api.url)).bearer_auth(&api.token);
    let head = head.send().await.unwrap();
    assert_eq!((head.status(), head.headers()["upload-offset"].as_bytes()), (StatusCode::NOT_FOUND, &b"100000"[..]));
    assert_eq!(put(&api, path, Some((100_000, 300_000)), &bytes[100_000..]).await, StatusCode::CREATED);
    assert_eq!(put(&api, "ada/scene/small", None, b"text").await, StatusCode::CREATED);
    assert_eq!(put(&api, "ada/scene/empty", None, b"").await, StatusCode::CREATED);
    let view = ready(&api, "ada", "scene").await;
    assert_eq!(view.held, view.chunks);
    let key = key(&api, &view).await;
    hub.stop().await;
    let out = dir.path().join("out");
    open_into(&hub_dir, &view, &key, &out);
    assert_eq!(std::fs::read(out.join("deep/large")).unwrap(), bytes);
    assert_eq!(std::fs::read(out.join("small")).unwrap(), b"text");
    assert_eq!(std::fs::read(out.join("empty")).unwrap(), b"");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 3, "no part is in it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_upload_takes_the_name_and_a_removed_one_stays_away() {
    let dir = tempfile::tempdir().unwrap();
    let hub = gleaner_hub::start(config(dir.path(), Params::default())).await.unwrap();
    let api = Api::of(&hub);
    assert_eq!(put(&api, "ada/note", None, b"one").await, StatusCode::CREATED);
    let first = ready(&api, "ada", "note").await;
    assert_eq!(put(&api, "ada/note", None, b"two").await, StatusCode::CREATED);
    let second = ready(&api, "ada", "note").await;
    assert_ne!(first.data, second.data, "one dataset has the name, and it is the new one");
    let remove = |view: &DatasetView| api.post(&format!("/api/v1/datasets/{}/remove", view.data.root.id)).send();
    assert_eq!(remove(&first).await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_eq!(std::fs::read(dir.path().join("inbox/ada/note")).unwrap(), b"two", "an old version takes nothing along");
    assert_eq!(remove(&second).await.unwrap().status(), StatusCode::NO_CONTENT);
    assert!(!dir.path().join("inbox/ada/note").exists());
    assert_eq!(put(&api, "ada/other", None, b"three").await, StatusCode::CREATED);
    hub.stop().await;
    let hub = gleaner_hub::start(config(dir.path(), Params::default())).await.unwrap();
    let api = Api::of(&hub);
    ready(&api, "ada", "other").await;
    assert!(listed(&api, "note").await.is_empty(), "what was removed is not found again");
    hub.stop().await;
}

#[tokio::test]
async fn nothing_is_written_outside_the_inbox_or_beyond_its_room() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path(), Params::default());
    config.inbox_user_bytes_max = ByteSize(20_000);
    let hub = gleaner_hub::start(config).await.unwrap();
    let api = Api::of(&hub);
    for path in
        ["ada/..%2F..%2Fx", "..%2Fada/x", "ada/a%2F..%2F..%2F..%2Fx", ".ada/x", "ada/.x", "ada/a/.gleaner-upload-1"]
    {
        assert_eq!(put(&api, path, None, b"text").await, StatusCode::BAD_REQUEST, "{path}");
    }
    std::fs::create_dir_all(dir.path().join("inbox/ada")).unwrap();
    std::os::unix::fs::symlink(dir.path(), dir.path().join("inbox/ada/out")).unwrap();
    assert_eq!(put(&api, "ada/out/x", None, b"text").await, StatusCode::CONFLICT);
    assert!(!dir.path().join("x").exists());
    let large = vec![1; 15_000];
    assert_eq!(put(&api, "ada/large", Some((0, 15_000_000)), &large).await, StatusCode::INSUFFICIENT_STORAGE);
    assert_eq!(put(&api, "ada/large", None, &[1; 30_000]).await, StatusCode::INSUFFICIENT_STORAGE);
    hub.stop().await;
}

#[tokio::test]
async fn uploads_and_keys_are_for_those_with_the_hubs_token() {
    let dir = tempfile::tempdir().unwrap();
    let hub = gleaner_hub::start(config(dir.path(), Params::default())).await.unwrap();
    let api = Api::of(&hub);
    let stranger = Api { token: "0".repeat(64), ..api.clone() };
    assert_eq!(put(&stranger, "ada/x", None, b"text").await, StatusCode::UNAUTHORIZED);
    let root = api.store(b"root").await.root.id;
    let path = format!("/api/v1/datasets/{root}/key");
    assert_eq!(stranger.get(&path).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let worker = Worker::join(&api, 1).await;
    let of_worker = Api { token: worker.token.clone(), ..api.clone() };
    assert_eq!(of_worker.get(&path).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(put(&of_worker, "ada/x", None, b"text").await, StatusCode::FORBIDDEN);
    assert_eq!(api.get(&path).send().await.unwrap().status(), StatusCode::NOT_FOUND, "the hub did not seal it");
    assert!(!dir.path().join("inbox/ada").exists());
    hub.stop().await;
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let hub = gleaner_hub::start(config(dir.path(), Params::default())).await.unwrap();
    let api = Api::of(&hub);
    let page = api.client.get(format!("{}/upload", api.url)).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    let text = page.text().await.unwrap();
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(text.matches(&format!("nonce=\"{nonce}\"")).count(), 2, "the style and the script");
    assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("NONCE"));
    for id in ["token", "user", "name", "files", "folder", "start", "state"] {
        assert!(text.contains(&format!("id=\"{id}\"")), "{id}");
    }
    hub.stop().await;
}

/// Starts OpenSSH's `sftp` with a batch of commands, in a folder with what it needs. It depends on nothing of whoever runs
/// the test but on being a user of this machine.
fn sftp(hub: &Hub, local: &Path, password: &str, batch: &str) -> Child {
    let mut command = Command::new("sftp");
    // The program that tells the password is not written here: a file that was just written cannot be run as long as any
    // process that another thread is starting has it open too.
    let sources = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo tells tests where their package is");
    let ask = Path::new(&sources).join("tests/hub/askpass");
    command.args(["-F", "/dev/null"]).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("SSH_ASKPASS", ask).env("SSH_ASKPASS_REQUIRE", "force").env("DISPLAY", ":0").env("PASSWORD", password);
    let port = format!("Port={}", hub.sftp().unwrap().address.port());
    for option in ["IdentityAgent=none", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"] {
        command.args(["-o", option]);
    }
    // Before the batch, which would ask for nothing otherwise.
    for option in ["BatchMode=no", "PreferredAuthentications=password", "NumberOfPasswordPrompts=1"] {
        command.args(["-o", option]);
    }
    command.args(["-o", &port, "-b", "batch"]).arg("ada@127.0.0.1").current_dir(local);
    std::fs::write(local.join("batch"), batch).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("sftp is missing: scripts/test installs Debian's openssh-client")
}

/// Waits for a client to end.
async fn ended(client: Child) -> Output {
    tokio::task::spawn_blocking(move || client.wait_with_output().unwrap()).await.unwrap()
}

fn assert_sent(output: &Output) {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{}: {out}{err}", output.status);
}

/// A hub with a door for SFTP, and a folder with something to send.
async fn with_sftp(dir: &Path, bytes: &[u8]) -> (Hub, PathBuf) {
    let local = dir.join("local");
    let mut config = config(&dir.join("hub"), Params::default());
    config.sftp = Some("127.0.0.1:0".parse().unwrap());
    std::fs::create_dir_all(local.join("scene/deep")).unwrap();
    std::fs::write(local.join("scene/deep/large"), bytes).unwrap();
    std::fs::write(local.join("scene/small"), "text").unwrap();
    (gleaner_hub::start(config).await.unwrap(), local)
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_comes_by_sftp_becomes_a_dataset() {
    let (dir, bytes) = (tempfile::tempdir().unwrap(), noise(200_000));
    let (hub, local) = with_sftp(dir.path(), &bytes).await;
    let api = Api::of(&hub);
    assert!(hub.sftp().unwrap().fingerprint.starts_with("SHA256:"));
    let batch = "put -r scene\n";
    let refused = ended(sftp(&hub, &local, "wrong", batch)).await;
    assert!(!refused.status.success(), "a wrong password");
    assert_eq!(stage(&api, "ada", "scene").await, "none");
    assert_sent(&ended(sftp(&hub, &local, &api.token, batch)).await);
    let view = ready(&api, "ada", "scene").await;
    let key = key(&api, &view).await;
    hub.stop().await;
    let out = dir.path().join("out");
    open_into(&dir.path().join("hub"), &view, &key, &out);
    assert_eq!(std::fs::read(out.join("deep/large")).unwrap(), bytes);
    assert_eq!(std::fs::read(out.join("small")).unwrap(), b"text");
}

/// A client that stalls for longer than uploads are left alone, as on a busy machine or a bad line.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_stalled_and_went_on_is_ready_only_with_all_of_it() {
    let (dir, bytes) = (tempfile::tempdir().unwrap(), noise(200_000));
    let (hub, local) = with_sftp(dir.path(), &bytes).await;
    let api = Api::of(&hub);
    for pipe in ["stalled", "sent"] {
        assert!(Command::new("mkfifo").arg(local.join(pipe)).status().unwrap().success());
    }
    let batch = "mkdir scene\nput scene/small scene/small\n!cat stalled\n\
                 mkdir scene/deep\nput scene/deep/large scene/deep/large\n!cat sent\n";
    let client = sftp(&hub, &local, &api.token, batch);
    let half = ready(&api, "ada", "scene").await;
    // Each of these waits until the client has come so far.
    let go_on = |pipe: &str| {
        let pipe = local.join(pipe);
        tokio::task::spawn_blocking(move || std::fs::write(pipe, "go on\n").unwrap())
    };
    go_on("stalled").await.unwrap();
    go_on("sent").await.unwrap();
    assert_eq!(stage(&api, "ada", "scene").await, "waiting", "what is there has changed since");
    assert_sent(&ended(client).await);
    let whole = ready(&api, "ada", "scene").await;
    assert_ne!(half.data, whole.data);
    let key = key(&api, &whole).await;
    hub.stop().await;
    let out = dir.path().join("out");
    open_into(&dir.path().join("hub"), &whole, &key, &out);
    assert_eq!(std::fs::read(out.join("deep/large")).unwrap(), bytes);
    assert_eq!(std::fs::read(out.join("small")).unwrap(), b"text");
}
