//! An owner whose wallet never comes near its worker: it signs on another machine, and nobody can use that elsewhere.

use crate::network::{Ended, Network, gleaner};
use serde_json::Value;

const COLD: [&str; 2] = ["--wallet", "cold/wallet.json"];
const SHARE: [&str; 5] = ["--no-gpu", "--cpu-slots", "1", "--no-containers", "--no-blender"];

/// A network without workers, and the address of a wallet with stake that lies in a folder of its own.
fn place() -> (Network, String) {
    let network = Network::with_chain(0);
    std::fs::create_dir(network.folder().join("cold")).expect("a folder");
    let cold = |args: &[&str]| network.run(&[&COLD, args].concat()).succeeded();
    cold(&["wallet", "faucet"]);
    cold(&["stake", "add", "20 GLN", "--yes"]);
    let wallet: Value = serde_json::from_str(&cold(&["wallet", "show", "--json"]).stdout).expect("JSON");
    let address = wallet["address"].as_str().expect("an address").to_owned();
    (network, address)
}

/// Signs a statement as a machine does that knows no hub.
fn prove(network: &Network, statement: &str) -> Ended {
    let mut command = gleaner();
    command.current_dir(network.folder()).args(["--dir", "cold"]).args(["wallet", "prove-worker", statement]);
    command.output().expect("it runs").into()
}

fn share(network: &Network, number: &str, proof: &str) -> Ended {
    let url = network.url();
    let fixed = ["share", "--hub", &url, "--number", number, "--dedicated", "--owner-proof", proof];
    network.run(&[&fixed[..], &SHARE].concat())
}

#[test]
fn a_worker_is_shared_under_a_wallet_that_signed_elsewhere() {
    let (mut network, address) = place();
    let statement = network.run(&["worker", "statement", &address]).succeeded();
    network.write("statement.json", &statement.stdout);
    let proof = prove(&network, "statement.json").succeeded();
    assert!(proof.stderr.to_lowercase().contains(&address), "it says what is signed: {}", proof.stderr);
    network.write("proof.json", &proof.stdout);

    // Another worker of this machine cannot use it, and is told before it asks the hub.
    let refused = share(&network, "2", "proof.json");
    assert!(refused.code == 1 && refused.stderr.contains("does not prove"), "{refused:?}");
    assert!(refused.stderr.contains("gleaner worker statement"), "{refused:?}");

    let (url, file) = (network.url(), network.folder().join("proof.json").display().to_string());
    network.start_worker_with(&url, &[&SHARE[..], &["--owner-proof", &file]].concat(), &[]);
    let workers = network.wait_for_workers(1);
    let provider = workers[0].offer.provider.expect("it names its owner").to_string();
    assert_eq!(provider.to_lowercase(), address.to_lowercase());
    assert!(!network.state().join("workers/1/wallet.json").exists(), "the worker has no wallet of its own");

    // A hub that was away lets it in again with the same proof.
    network.kill_hub();
    network.start_hub();
    network.wait_for_workers(1);
}

#[test]
fn a_wallet_signs_nothing_but_its_own_workers() {
    let (network, address) = place();
    let other = "0x00000000000000000000000000000000000abc12";
    network.write("theirs.json", network.run(&["worker", "statement", other]).succeeded().stdout);
    let refused = prove(&network, "theirs.json");
    assert!(refused.code == 1 && refused.stderr.contains("the statement is for"), "{refused:?}");
    let ours = network.run(&["worker", "statement", &address]).succeeded().stdout;
    network.write("permit.json", ours.replace("Gleaner Worker", "Gleaner Escrow"));
    let refused = prove(&network, "permit.json");
    assert!(refused.code == 1 && refused.stderr.contains("something else than a worker's owner"), "{refused:?}");
    assert!(refused.stdout.is_empty(), "nothing is signed");
    network.write("proof.json", "{}");
    let refused = share(&network, "1", "proof.json");
    assert!(refused.code == 1 && refused.stderr.contains("is not an owner's proof"), "{refused:?}");
}
