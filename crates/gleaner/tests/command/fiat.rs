//! Credits bought with ordinary money: a payment provider's signed message becomes a deposit on the chain, once.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::network::{Network, PATIENCE};
use gleaner_chain::fiat::{Secret, sign};
use gleaner_wire::Amount;
use serde_json::{Value, json};

const SECRET: &str = "whsec_of_the_test";

fn start() -> Network {
    Network::with(
        |state| {
            std::fs::create_dir_all(state).expect("a folder");
            let (secret, config) = (state.join("secret"), state.join("fiat.toml"));
            std::fs::write(&secret, format!("{SECRET}\n")).expect("written");
            let text = format!(
                "secret_file = {secret:?}\ncurrency = \"usd\"\nper_cent = \"0.05 GLN\"\npayment_max = \"500 GLN\"\n\
                 day_max = \"800 GLN\"\nlive = false\n"
            );
            std::fs::write(&config, text).expect("written");
            ["--chain", "embedded", "--fiat", &config.display().to_string()].map(str::to_owned).into()
        },
        0,
    )
}

fn paid(event: &str, buyer: &str, cents: u64) -> Vec<u8> {
    let session = json!({
        "id": "cs_test_1", "object": "checkout.session", "amount_subtotal": cents, "amount_total": cents,
        "client_reference_id": buyer, "currency": "usd", "livemode": false, "metadata": {}, "mode": "payment",
        "payment_intent": format!("pi_{event}"), "payment_status": "paid", "status": "complete",
    });
    let message = json!({
        "id": event, "object": "event", "created": 1, "livemode": false, "type": "checkout.session.completed",
        "data": { "object": session },
    });
    serde_json::to_vec(&message).expect("JSON")
}

/// Sends a message as the payment provider does, and returns the answer's status.
fn tell(network: &Network, secret: &str, body: &[u8]) -> u16 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let url = format!("{}/api/v1/fiat/webhook", network.url());
    let signature = sign(&Secret::new(secret), now, body);
    let _ = rustls::crypto::ring::default_provider().install_default();
    network.ask(async |_| {
        let request = reqwest::Client::new().post(url).header("stripe-signature", signature).body(body.to_vec());
        request.send().await.expect("the hub answers").status().as_u16()
    })
}

fn deposited(network: &Network) -> Amount {
    let shown = network.run(&["wallet", "show", "--json"]).succeeded();
    let wallet: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    wallet["deposited"].as_str().expect("an amount").parse().expect("an amount")
}

fn wait_until_deposited(network: &Network, wanted: Amount) {
    let deadline = Instant::now() + PATIENCE;
    while deposited(network) != wanted {
        assert!(Instant::now() < deadline, "{} of {wanted} is deposited", deposited(network));
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_payment_is_deposited_once_and_a_forged_one_never() {
    let mut network = start();
    let shown = network.run(&["wallet", "show", "--json"]).succeeded();
    let wallet: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let buyer = wallet["address"].as_str().expect("an address").to_owned();
    network.run(&["wallet", "faucet"]).succeeded();
    let chain = network.run(&["chain", "show", "--json"]).succeeded();
    let hub = serde_json::from_str::<Value>(&chain.stdout).expect("JSON")["hub"].as_str().expect("one").to_owned();
    // The hub sells what it has.
    network.run(&["wallet", "send", &hub, "300", "--yes"]).succeeded();

    assert_eq!(tell(&network, "whsec_of_somebody_else", &paid("evt_1", &buyer, 2_000)), 400);
    assert_eq!(tell(&network, SECRET, b"{}"), 400);
    assert_eq!(tell(&network, SECRET, &paid("evt_1", &buyer, 2_000)), 200);
    assert_eq!(tell(&network, SECRET, &paid("evt_1", &buyer, 2_000)), 200, "told again, it is fine and nothing new");
    wait_until_deposited(&network, Amount::gln(100));
    network.kill_hub();
    network.start_hub();
    assert_eq!(tell(&network, SECRET, &paid("evt_1", &buyer, 2_000)), 200);
    assert_eq!(tell(&network, SECRET, &paid("evt_2", &buyer, 1_000)), 200);
    wait_until_deposited(&network, Amount::gln(150));
}
