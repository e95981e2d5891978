//! The JSON-RPC server: driven by alloy's provider, by viem, and by hand where tools would not go.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod token;

use alloy_primitives::{Address, TxKind, U256};
use alloy_provider::{Provider, ProviderBuilder};
use alloy_rpc_types_eth::{BlockNumberOrTag, Filter};
use alloy_sol_types::{SolCall, SolEvent, SolValue};
use gleaner_chain::Node;
use gleaner_chain::embedded::{Chain, Options};
use gleaner_chain::node::{CallError, LogFilter, SendError};
use gleaner_chain::remote::Remote;
use gleaner_chain::rpc::Server;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use token::{creation_code, deploy, key, raw, transfer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// How long a test waits for something that must come.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

struct Bench {
    chain: Chain,
    server: Server,
    _dir: TempDir,
}

async fn serve(testing: bool) -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = if testing { Options::testing(dir.path()) } else { Options::new(dir.path()) };
    let chain = Chain::open(&options).unwrap();
    let server = Server::start(chain.clone(), "127.0.0.1:0".parse().unwrap()).await.unwrap();
    Bench { chain, server, _dir: dir }
}

async fn post(bench: &Bench, body: impl Into<reqwest::Body>) -> Value {
    let client = reqwest::Client::new();
    client.post(bench.server.url()).body(body).send().await.unwrap().json().await.unwrap()
}

async fn ask(bench: &Bench, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    post(bench, body.to_string()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn alloy_deploys_calls_filters_and_reads_receipts() {
    let bench = serve(true).await;
    let provider = ProviderBuilder::new().connect_http(bench.server.url().parse().unwrap());
    let (alice, bob) = (key(1), key(2).address());
    let creation = raw(&alice, 0, TxKind::Create, creation_code(alice.address()));
    let made = provider.send_raw_transaction(&creation).await.unwrap().get_receipt().await.unwrap();
    let token = made.contract_address.unwrap();
    let sent = provider.send_raw_transaction(&transfer(&alice, 1, token, bob, 7)).await.unwrap();
    let receipt = sent.get_receipt().await.unwrap();
    assert!(receipt.status());
    let filter = Filter::new().address(token).event_signature(token::Transfer::SIGNATURE_HASH).from_block(2);
    let logs = provider.get_logs(&filter).await.unwrap();
    assert_eq!(logs.len(), 1);
    assert_eq!(logs[0].transaction_hash, Some(receipt.transaction_hash));
    let block = provider.get_block_by_number(BlockNumberOrTag::Latest).full().await.unwrap().unwrap();
    assert_eq!(block.header.hash, receipt.block_hash.unwrap());
    assert_eq!(block.header.inner.hash_slow(), block.header.hash, "the hash is that of the header");
    let receipts = provider.get_block_receipts(BlockNumberOrTag::Latest.into()).await.unwrap().unwrap();
    assert_eq!(receipts, [receipt]);
    assert_eq!(provider.get_transaction_count(alice.address()).pending().await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_node_gives_the_same_answers_as_the_chain_itself() {
    let bench = serve(true).await;
    let (alice, bob) = (key(1), key(2));
    let token = deploy(&bench.chain, &alice).await;
    let here = Node::Embedded(bench.chain.clone());
    let there = Node::Remote(Remote::connect(&bench.server.url()).unwrap());
    let hash = there.send_raw(transfer(&alice, 1, token, bob.address(), 7)).await.unwrap();
    assert_eq!(here.receipt(hash).await.unwrap(), there.receipt(hash).await.unwrap());
    assert_eq!(here.block(2).await.unwrap(), there.block(2).await.unwrap());
    assert_eq!(here.fees().await.unwrap().base, there.fees().await.unwrap().base);
    assert_eq!(here.code(token).await.unwrap(), there.code(token).await.unwrap());
    let filter = LogFilter { addresses: vec![token], ..LogFilter::default() };
    assert_eq!(here.logs(filter.clone()).await.unwrap(), there.logs(filter).await.unwrap());
    let data: alloy_primitives::Bytes =
        token::transferCall { to: Address::ZERO, value: U256::from(1) }.abi_encode().into();
    for node in [&here, &there] {
        let question = token::balanceOfCall { account: bob.address() }.abi_encode().into();
        let answer = node.call(Address::ZERO, token, question).await.unwrap();
        assert_eq!(U256::abi_decode(&answer).unwrap(), U256::from(7));
        let refused = node.call(bob.address(), token, data.clone()).await.unwrap_err();
        assert!(matches!(&refused, CallError::Reverted { data, .. } if data.len() == 36), "{refused}");
        let late = node.send_raw(transfer(&alice, 0, token, bob.address(), 1)).await.unwrap_err();
        assert!(matches!(late, SendError::NonceTooLow(_)), "{late}");
        node.advance(100).await.unwrap();
    }
    assert_eq!(token::balance(&bench.chain, token, bob.address()).await, 7);
    assert_eq!(here.height().await.unwrap(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn node_that_is_not_there_is_said_to_be() {
    let node = Remote::connect("http://user:secret@127.0.0.1:1/?key=secret").unwrap();
    let error = node.height().await.unwrap_err().to_string();
    assert!(error.contains("did not answer") && !error.contains("secret"), "{error}");
    assert!(!format!("{node:?}").contains("secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_requests_get_the_codes_of_the_standard() {
    let bench = serve(false).await;
    assert_eq!(post(&bench, "{").await["error"]["code"], -32_700);
    assert_eq!(post(&bench, "[]").await["error"]["code"], -32_600);
    assert_eq!(post(&bench, "[1]").await[0]["error"]["code"], -32_600);
    assert_eq!(ask(&bench, "eth_mine", json!([])).await["error"]["code"], -32_601);
    assert_eq!(ask(&bench, "eth_getBalance", json!(["0x12"])).await["error"]["code"], -32_602);
    assert_eq!(ask(&bench, "eth_getBalance", json!({})).await["error"]["code"], -32_602);
    assert_eq!(ask(&bench, "eth_sendRawTransaction", json!(["0x00"])).await["error"]["code"], -32_000);
    assert_eq!(ask(&bench, "evm_mine", json!([])).await["error"]["code"], -32_601, "only for tests");
    let batch =
        post(&bench, r#"[{"id":1,"method":"eth_chainId"},{"id":"b","method":"eth_blockNumber","params":[]}]"#).await;
    assert_eq!(batch[0]["result"], "0x676c6e");
    assert_eq!((&batch[1]["id"], &batch[1]["result"]), (&json!("b"), &json!("0x0")));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_loopback_is_served() {
    let bench = serve(false).await;
    assert!(Server::start(bench.chain.clone(), "0.0.0.0:0".parse().unwrap()).await.is_err());
    let client = reqwest::Client::new();
    let foreign = client.post(bench.server.url()).header("host", "evil.example").body("{}").send().await.unwrap();
    assert_eq!(foreign.status(), 403);
    let large = client.post(bench.server.url()).body(vec![b' '; 9 * 1024 * 1024]).send().await.unwrap();
    assert_eq!(large.status(), 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_may_ask_only_if_they_were_named() {
    let bench = serve(false).await;
    let page = "http://localhost:5173";
    let named = Server::start_for(bench.chain.clone(), "127.0.0.1:0".parse().unwrap(), vec![page.to_owned()]);
    let named = named.await.unwrap();
    let client = reqwest::Client::new();
    let preflight = |server: &Server, origin: &str| {
        let asked = client.request(reqwest::Method::OPTIONS, server.url()).header("origin", origin);
        asked.header("access-control-request-private-network", "true").send()
    };
    let call = |server: &Server, origin: &str| {
        let body = r#"{"id":1,"method":"eth_chainId"}"#;
        client.post(server.url()).header("origin", origin).body(body).send()
    };
    for (server, origin) in [(&bench.server, page), (&named, "https://wallet.example"), (&named, "null")] {
        for refused in [preflight(server, origin).await.unwrap(), call(server, origin).await.unwrap()] {
            assert_eq!(refused.status(), 403, "{origin}");
            assert!(!refused.headers().keys().any(|name| name.as_str().starts_with("access-control")), "{refused:?}");
        }
    }
    let wallet = "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn";
    for (server, origin) in [(&named, page), (&bench.server, wallet)] {
        let allowed = preflight(server, origin).await.unwrap();
        assert_eq!(allowed.headers()["access-control-allow-origin"], origin);
        assert_eq!(allowed.headers()["access-control-allow-private-network"], "true");
        let answered = call(server, origin).await.unwrap();
        assert_eq!(answered.headers()["access-control-allow-origin"], origin);
        assert_eq!(answered.json::<Value>().await.unwrap()["result"], "0x676c6e");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stays_connected_does_not_keep_a_chain_open() {
    let Bench { chain, server, _dir: dir } = serve(false).await;
    let question = r#"{"id":1,"method":"eth_chainId"}"#;
    let request = format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", question.len());
    let mut kept = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    kept.write_all(format!("{request}{question}").as_bytes()).await.unwrap();
    assert_ne!(kept.read(&mut [0; 1024]).await.unwrap(), 0);
    let mut half = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    half.write_all(request.as_bytes()).await.unwrap();
    let mut socket = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let upgrade = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                   sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    socket.write_all(upgrade.as_bytes()).await.unwrap();
    assert_ne!(socket.read(&mut [0; 1024]).await.unwrap(), 0);
    let address = server.address();
    server.stop().await;
    drop(chain);
    for mut stream in [kept, half, socket] {
        let mut rest = Vec::new();
        // Closed with or without a last word; that it is closed is what matters.
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it is let go of");
    }
    std::net::TcpListener::bind(address).unwrap();
    let until = tokio::time::Instant::now() + PATIENCE;
    while gleaner_chain::embedded::is_open(dir.path()) {
        assert!(tokio::time::Instant::now() < until, "somebody still has the chain");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn viem_deploys_transfers_watches_and_understands_refusals() {
    let bench = serve(false).await;
    let root: PathBuf =
        std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo tells tests where their package is").into();
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("viem");
    std::fs::create_dir_all(&dir).unwrap();
    for file in ["package.json", "package-lock.json", "drive.js"] {
        std::fs::copy(root.join("tests/viem").join(file), dir.join(file)).unwrap();
    }
    if !dir.join("node_modules/viem/package.json").exists() {
        let mut installed = Command::new("npm");
        installed.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        run(installed, &dir).await;
    }
    let mut drive = Command::new("node");
    drive.arg("drive.js").arg(bench.server.url()).arg(root.join("../../contracts/artifacts/Token.json"));
    assert!(run_for_output(drive, &dir).await.contains("viem is content"));
}

async fn run(command: Command, dir: &Path) {
    run_for_output(command, dir).await;
}

async fn run_for_output(mut command: Command, dir: &Path) -> String {
    let output = command.current_dir(dir).kill_on_drop(true).output();
    let output = tokio::time::timeout(std::time::Duration::from_secs(180), output).await.expect("it ends").unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text
}
