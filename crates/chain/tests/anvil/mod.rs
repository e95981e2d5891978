//! A real node for tests: anvil, started on a free port of loopback and ended with the test.
#![allow(dead_code, clippy::allow_attributes, reason = "each test uses its own part of it")]
use gleaner_chain::embedded::CHAIN_ID;
use gleaner_chain::node::Node;
use gleaner_chain::primitives::Address;
use gleaner_chain::remote::Remote;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running anvil.
pub struct Anvil {
    process: Child,
    /// Where it answers.
    address: String,
    arguments: Vec<String>,
}

impl Anvil {
    /// Starts anvil with these arguments besides its port and the embedded chain's id, and waits until it listens.
    pub fn start(arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let (process, address) = launch("0", &arguments);
        Self { process, address, arguments }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn node(&self) -> Node {
        Node::Remote(Remote::connect(&self.url()).expect("an address"))
    }

    /// Stops it as a power cut would, or politely so that it writes its state.
    pub fn stop(&mut self, politely: bool) {
        if politely {
            let pid = rustix::process::Pid::from_child(&self.process);
            rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("our own child");
        } else {
            self.process.kill().expect("our own child");
        }
        self.process.wait().expect("it ends");
    }

    /// Starts it again at the same address.
    pub fn restart(&mut self) {
        let (_, port) = self.address.rsplit_once(':').expect("a port");
        let (process, address) = launch(port, &self.arguments);
        assert_eq!(address, self.address);
        self.process = process;
    }

    pub async fn ask(&self, method: &str, parameters: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
        let _ = rustls::crypto::ring::default_provider().install_default();
        let response = reqwest::Client::new().post(self.url()).json(&request).send().await.expect("anvil answers");
        let answer: Value = response.json().await.expect("JSON");
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Gives an account something to pay for gas.
    pub async fn fund(&self, account: Address) {
        self.ask("anvil_setBalance", json!([account, "0x56bc75e2d63100000"])).await;
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        let _ended_before = self.process.kill();
        let _reaped = self.process.wait();
    }
}

fn launch(port: &str, arguments: &[String]) -> (Child, String) {
    let mut command = Command::new(binary());
    command.args(["--host", "127.0.0.1", "--port", port, "--chain-id", &CHAIN_ID.to_string()]).args(arguments);
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("anvil starts");
    let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
    let address = loop {
        let line = lines.next().expect("anvil says where it listens before it ends").expect("text");
        if let Some((_, address)) = line.split_once("Listening on ") {
            break address.trim().to_owned();
        }
    };
    // Anvil would stop if nobody read what it prints.
    std::thread::spawn(move || lines.for_each(drop));
    (process, address)
}

/// The real binary, since the script that npm puts beside it outlives a kill; or the one that the environment names.
fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("GLEANER_ANVIL") {
        return path.into();
    }
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo tells tests where their package is");
    let packages = PathBuf::from(root).join("../../contracts/node_modules/@foundry-rs");
    let listed = std::fs::read_dir(&packages).into_iter().flatten().filter_map(Result::ok);
    let mut binaries = listed.map(|entry| entry.path().join("bin/anvil")).filter(|path| path.is_file());
    binaries.next().unwrap_or_else(|| panic!("no anvil in {}: run `npm ci` in contracts/", packages.display()))
}
