//! A whole network over encrypted connections: hub, worker, requester, and the desk beside the hub.
use std::path::Path;
use std::time::{Duration, Instant};

use gleaner_client::{Client, Error, HubAddress, Token};
use serde_json::{Value, json};

use crate::authority::Authority;
use crate::network::{Network, PATIENCE, gleaner};
use crate::programs::{self, ARRAY};

const WORKER: [&str; 5] = ["--no-gpu", "--cpu-slots", "4", "--no-containers", "--no-blender"];

/// A hub with a certificate of an authority of this test, and no worker.
fn encrypted() -> Network {
    let told = |state: &Path| {
        let files = Authority::new().write(state.parent().expect("a folder around it"));
        let (certificate, key) = (files.certificate.display().to_string(), files.key.display().to_string());
        let options = ["--chain", "none", "--trust-workers", "--tls-cert", &certificate, "--tls-key", &key];
        options.map(str::to_owned).into()
    };
    let network = Network::with(told, 0);
    assert!(network.url().starts_with("https://127.0.0.1:"), "{}", network.url());
    network
}

fn start_worker(network: &mut Network) {
    let (url, authority) = (network.url(), network.authority().display().to_string());
    network.start_worker_with(&url, &[&WORKER[..], &["--hub-ca", &authority]].concat(), &[]);
}

#[test]
fn a_worker_and_a_requester_work_over_encrypted_connections() {
    let mut network = encrypted();
    start_worker(&mut network);
    network.wait_for_workers(1);
    network.write("program.wasm", programs::echo());
    network.write("job.toml", ARRAY);
    let (url, authority) = (network.url(), network.authority().display().to_string());
    let token = network.state().join("hub/api.token").display().to_string();
    let elsewhere = network.folder().join("ada").display().to_string();
    let far = ["--dir", &elsewhere, "--hub", &url, "--hub-ca", &authority, "--token-file", &token];
    let ended = gleaner().current_dir(network.folder()).args(far).args(["run", "job.toml", "--out", "out"]).output();
    let ended: crate::network::Ended = ended.expect("it runs").into();
    ended.succeeded();
    for index in 0..20 {
        assert_eq!(network.read(&format!("out/square/{index}")), (index + 1).to_string().into_bytes());
    }
    // On the hub's own machine nothing has to be named.
    let listed = network.run(&["job", "list"]).succeeded();
    assert!(listed.stdout.contains("array"), "{listed:?}");
}

#[test]
fn the_desk_of_an_encrypted_hub_reaches_it() {
    let mut network = encrypted();
    start_worker(&mut network);
    network.wait_for_workers(1);
    let root = std::fs::read(network.authority()).expect("it is there");
    let root = reqwest::Certificate::from_pem(&root).expect("a certificate");
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([root]).build().expect("a client");
    let token = std::fs::read_to_string(network.state().join("hub/api.token")).expect("a token");
    let ask = async |method: reqwest::Method, path: &str, body: Vec<u8>| {
        let request = http.request(method, format!("{}/api/v1{path}", network.url())).bearer_auth(token.trim());
        let request = request.header("gleaner-requester", "ada").header("idempotency-key", "once");
        let response = request.header("content-type", "application/json").body(body).send().await.expect("answered");
        let (status, text) = (response.status(), response.text().await.expect("a body"));
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str::<Value>(&text).unwrap_or(Value::Null)
    };
    network.ask(async |_| {
        ask(reqwest::Method::PUT, "/files/work/program.wasm", programs::echo()).await;
        let wanted = json!({ "job": ARRAY, "folder": "work" }).to_string().into_bytes();
        let job = ask(reqwest::Method::POST, "/desk/jobs", wanted).await["job"].clone();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let invoice = ask(reqwest::Method::GET, &format!("/desk/jobs/{job}/invoice"), Vec::new()).await;
            if invoice["state"] == "done" {
                break;
            }
            assert!(Instant::now() < deadline, "{invoice}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
}

#[test]
fn a_hub_that_somebody_else_vouches_for_is_not_believed() {
    let network = encrypted();
    let other = network.folder().join("other.pem");
    std::fs::write(&other, Authority::new().pem).expect("it can be written");
    let address = HubAddress::parse(&network.url(), Some(&other)).expect("an address");
    let answer = network.ask(async |_| Client::at(&address, Token::new(""), "ada").expect("a client").health().await);
    assert!(matches!(&answer, Err(Error::Untrusted { .. })), "{answer:?}");
    let token = network.state().join("hub/api.token").display().to_string();
    let (url, other) = (network.url(), other.display().to_string());
    let ended = network.run(&["--hub", &url, "--hub-ca", &other, "--token-file", &token, "job", "list"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("invalid peer certificate") && ended.stderr.contains("--hub-ca"), "{}", ended.stderr);
    // Without a word on whom to believe, the system's authorities count, and this one is none of them.
    let ended = network.run(&["--hub", &url, "--token-file", &token, "job", "list"]);
    assert!(ended.code == 1 && ended.stderr.contains("cannot prove to be that hub"), "{ended:?}");
}
