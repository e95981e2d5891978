//! Machines of an account: paired by a token in a file, seen on the hub, set from there, and set still after a restart.
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::network::{Network, PATIENCE};
use gleaner_client::{Client, Error, Token};
use gleaner_wire::Amount;
use gleaner_wire::api::WorkerView;
use gleaner_wire::machine::{MachineView, MachinesPage, PricePolicy};
use reqwest::header;
use serde_json::{Value, json};

/// A machine that is shared; it ends with this.
struct Sharing(Child);

impl Sharing {
    fn start(network: &Network, more: &[&str]) -> Self {
        let log = std::fs::File::options().create(true).append(true).open(network.folder().join("share.log"));
        let url = network.url();
        let options = ["share", "--hub", &url, "--dedicated", "--no-gpu", "--cpu-slots", "2", "--no-containers"];
        let mut command = network.command(&options);
        command.arg("--no-blender").args(more).stdout(Stdio::null()).stderr(log.expect("a log"));
        Self(command.spawn().expect("it starts"))
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it can be waited for");
    }
}

/// Makes an account, and a token of it that shares machines and looks at them.
async fn token(url: &str, name: &str) -> String {
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let said = json!({ "name": name, "passphrase": "wind over the old mill" });
    let made = http.post(format!("{url}/api/v1/accounts")).json(&said).send().await.expect("answered");
    let cookie = made.headers()[header::SET_COOKIE].to_str().expect("text").split(';').next().expect("a pair");
    let cookie = cookie.to_owned();
    let csrf = made.json::<Value>().await.expect("JSON")["csrf"].as_str().expect("text").to_owned();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("later").as_millis() as u64;
    let wanted =
        json!({ "label": "a machine", "scopes": { "read": true, "provide": true }, "ends_at": now + 3_600_000 });
    let request = http.post(format!("{url}/api/v1/account/tokens")).header(header::COOKIE, cookie);
    let made: Value = request
        .header("x-gleaner-csrf", csrf)
        .json(&wanted)
        .send()
        .await
        .expect("answered")
        .json()
        .await
        .expect("JSON");
    made["text"].as_str().expect("a token").to_owned()
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "this did not happen: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn machine(network: &Network, client: &Client, is_so: impl Fn(&MachineView) -> bool) -> MachineView {
    until("the machine is so", || {
        let page: MachinesPage = network.ask(async |_| client.get("/machines").await).expect("the hub answers");
        page.items.into_iter().next().filter(|machine| is_so(machine))
    })
}

fn per_second(view: &WorkerView) -> Amount {
    view.offer.devices[0].price_per_second
}

#[test]
fn a_machine_is_paired_by_a_token_and_keeps_what_its_owner_sets_from_afar() {
    let network = Network::start(0);
    let url = network.url();
    let text = network.ask(async |_| token(&url, "owner").await);
    network.write("owner.token", format!("{text}\n"));
    let folder = network.state().join("workers/1");
    std::fs::create_dir_all(&folder).expect("a folder");
    let tariff = "tariff = \"0.36 EUR\"\ngln_price = \"0.10 EUR\"\nwatts = 100\n";
    std::fs::write(folder.join("preferences.toml"), tariff).expect("written");
    let owner = Client::new(&url, Token::new(text), "").expect("an address");
    let file = network.folder().join("owner.token");
    let pair = ["--account-token-file", file.to_str().expect("text")];
    let sharing = Sharing::start(&network, &pair);
    let seen = machine(&network, &owner, |machine| machine.paired && !machine.telemetry.is_empty());
    assert_eq!((seen.price, seen.hours.as_deref()), (Some(PricePolicy::Market), None));
    assert_eq!(seen.energy_per_hour, Some(Amount(360_000_000)), "100 W at 3.6 GLN a kilowatt hour");
    let path = format!("/machines/{}/settings", seen.worker.id);
    let set = |said: Value| network.ask(async |_| owner.put(&path, &said).await);

    let Err(Error::Refused(problem)) = set(json!({ "price": "0.1" })) else { panic!("at a loss") };
    assert_eq!((problem.status, problem.code.as_str()), (422, "refused"));
    assert!(problem.detail.contains("would not pay for the electricity of device 0"), "{}", problem.detail);

    set(json!({ "price": "0.72", "hours": "mon-sun 00:00-24:00" })).expect("it takes that");
    let wanted = Amount(200_000);
    let set_to = |machine: &MachineView| {
        machine.price == Some(PricePolicy::PerHour(Amount(720_000_000))) && per_second(&machine.worker) == wanted
    };
    let now = machine(&network, &owner, set_to);
    assert_eq!(now.hours.as_deref(), Some("00:00-24:00"));

    drop(sharing);
    machine(&network, &owner, |machine| machine.telemetry.is_empty());
    let Err(Error::Refused(problem)) = set(json!({ "price": "market" })) else { panic!("it is gone") };
    assert_eq!((problem.status, problem.code.as_str()), (409, "not-connected"));
    let _again = Sharing::start(&network, &pair);
    machine(&network, &owner, |machine| !machine.telemetry.is_empty() && set_to(machine));
}

#[test]
fn a_machine_whose_token_is_worthless_shares_all_the_same_and_takes_nothing() {
    let network = Network::start(0);
    network.write("wrong.token", format!("glt_{}", "0".repeat(52)));
    let file = network.folder().join("wrong.token");
    let _sharing = Sharing::start(&network, &["--account-token-file", file.to_str().expect("text")]);
    let worker = network.wait_for_workers(1).remove(0);
    let log = String::from_utf8(network.read("share.log")).expect("text");
    assert!(log.contains("the hub does not take the account's token"), "{log}");
    let path = format!("/machines/{}/settings", worker.id);
    let set = network.ask(async |client| client.put(&path, &json!({ "price": "0.72" })).await);
    let Err(Error::Refused(problem)) = set else { panic!("{set:?}") };
    assert!(problem.detail.contains("not paired with an account"), "{}", problem.detail);
}

#[test]
fn the_operator_looks_after_accounts() {
    let network = Network::start(0);
    let url = network.url();
    let text = network.ask(async |_| token(&url, "owner").await);
    let listed = network.run(&["hub", "account", "list", "--json"]).succeeded().stdout;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!((&listed[0]["name"], &listed[0]["suspended"]), (&json!("owner"), &json!(false)));
    let table = network.run(&["hub", "account", "list"]).succeeded().stdout;
    assert!(table.contains("owner") && table.contains("requester, provider"), "{table}");
    let roles = network.run(&["hub", "account", "roles", "owner", "--add", "operator", "--remove", "requester"]);
    assert_eq!(roles.succeeded().stdout.trim(), "owner: provider, operator");
    let owner = Client::new(&url, Token::new(text), "").expect("an address");
    let may = || network.ask(async |_| owner.get::<MachinesPage>("/machines").await.is_ok());
    assert!(may());
    let suspended = network.run(&["hub", "account", "suspend", "owner"]).succeeded().stdout;
    assert_eq!(suspended.trim(), "owner: provider, operator; suspended");
    assert!(!may(), "its tokens are good for nothing");
    network.run(&["hub", "account", "readmit", "owner"]).succeeded();
    assert!(may());
    let passphrase = network.run(&["hub", "account", "reset", "owner"]).succeeded().stdout;
    let said = json!({ "name": "owner", "passphrase": passphrase.trim() });
    let entered = network.ask(async |_| {
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        http.post(format!("{url}/api/v1/session")).json(&said).send().await.expect("answered").status()
    });
    assert_eq!(entered.as_u16(), 200);
    let nobody = network.run(&["hub", "account", "suspend", "no one"]);
    assert!(nobody.code == 1 && nobody.stderr.contains("there is no account called `no one`"), "{nobody:?}");
}
