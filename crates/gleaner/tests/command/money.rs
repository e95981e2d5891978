//! The commands about money, against a hub with a chain inside: what is shown is what the contracts hold.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::network::{Ended, Network, PATIENCE, gleaner};
use crate::programs;
use gleaner_chain::Account;
use gleaner_chain::wallet::{self, Cost, Password};
use gleaner_wire::Amount;
use gleaner_wire::api::JobState;
use serde_json::Value;

const PASSWORD: &str = "correct horse battery staple";
const SOMEBODY: &str = "0x00000000000000000000000000000000000abc12";
/// The faucet of the hub, which holds enough to carry a vote alone.
const RICH: [&str; 2] = ["--wallet", "state/hub/chain/faucet.json"];

const JOB: &str = r#"
name = "paid"
[[task]]
name = "square"
runtime = "wasm"
program = "program.wasm"
args = ["{index}"]
each = "1..20"
"#;

fn private(network: &Network, name: &str, content: &str) {
    use std::os::unix::fs::PermissionsExt;
    network.write(name, content);
    let path = network.folder().join(name);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("it can be made private");
}

fn json(ended: Ended) -> Value {
    serde_json::from_str(&ended.succeeded().stdout).expect("it prints JSON")
}

fn shown(network: &Network, args: &[&str]) -> Value {
    json(network.run(&[args, &["--json"]].concat()))
}

fn amount(value: &Value) -> Amount {
    value.as_str().expect("an amount is text").parse().expect("it is an amount")
}

/// Tokens in the wallet, and what is deposited.
fn balances(network: &Network) -> (Amount, Amount) {
    let wallet = shown(network, &["wallet", "show"]);
    (amount(&wallet["tokens"]), amount(&wallet["deposited"]))
}

/// Looks until it finds what it looks for.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it takes too long: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn tokens_go_around_and_the_balances_add_up() {
    let network = Network::with_chain(0);
    assert_eq!(balances(&network), (Amount::ZERO, Amount::ZERO));
    let given = network.run(&["wallet", "faucet"]).succeeded();
    assert!(given.stderr.contains("1000 GLN"), "{}", given.stderr);
    assert_eq!(network.run(&["wallet", "faucet"]).code, 1, "the faucet is for newcomers");
    let deposit = network.run(&["wallet", "deposit", "250.5 GLN", "--yes"]).succeeded();
    assert!(
        deposit.stderr.contains("1000 GLN → 749.5 GLN") && deposit.stderr.contains("0 GLN → 250.5 GLN"),
        "{deposit:?}"
    );
    assert_eq!(balances(&network), (Amount(749_500_000_000), Amount(250_500_000_000)));
    network.run(&["wallet", "withdraw", "0.000000001", "--yes"]).succeeded();
    assert_eq!(balances(&network), (Amount(749_500_000_001), Amount(250_499_999_999)));
    network.run(&["wallet", "send", SOMEBODY, "49.5", "--yes"]).succeeded();
    network.run(&["wallet", "withdraw", "--to", SOMEBODY, "0.5", "--yes"]).succeeded();
    network.run(&["wallet", "withdraw", "--yes"]).succeeded();
    assert_eq!(balances(&network), (Amount::gln(950), Amount::ZERO));
    let nothing = network.run(&["wallet", "withdraw", "--yes"]);
    assert!(nothing.code == 1 && nothing.stderr.contains("nothing to withdraw"), "{nothing:?}");
    let history = shown(&network, &["wallet", "history"]);
    let kinds: Vec<&str> = history.as_array().expect("lines").iter().filter_map(|line| line["kind"].as_str()).collect();
    assert_eq!(kinds, ["received", "deposited", "withdrawn", "sent", "withdrawn", "withdrawn"]);
    assert!(history[0]["time"].as_u64().expect("a time") > 1_600_000_000);
    let sum = |kind: &str| -> u64 {
        let lines = history.as_array().expect("lines").iter().filter(|line| line["kind"] == kind);
        lines.map(|line| amount(&line["amount"]).0).sum()
    };
    assert_eq!(sum("deposited"), sum("withdrawn"));
    assert_eq!(sum("received") - sum("sent") - Amount(500_000_000).0, Amount::gln(950).0);
}

#[test]
fn the_history_of_a_requester_and_of_a_provider_sums_up_to_what_they_have() {
    let network = Network::with_chain(1);
    network.write("program.wasm", programs::echo());
    network.write("job.toml", JOB);
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    wait_for("the order is settled", || {
        let wallet = shown(&network, &["wallet", "show"]);
        (wallet["open_orders"] == 0).then(|| assert_eq!(amount(&wallet["locked"]), Amount::ZERO))
    });
    let provider = ["--wallet", "state/workers/1/wallet.json"];
    for wallet in [&[][..], &provider] {
        let history = shown(&network, &[wallet, &["wallet", "history"]].concat());
        let sum = |kinds: &[&str]| -> u64 {
            let lines = history.as_array().expect("lines").iter();
            let lines = lines.filter(|line| kinds.contains(&line["kind"].as_str().expect("a kind")));
            lines.map(|line| amount(&line["amount"]).0).sum()
        };
        let now = shown(&network, &[wallet, &["wallet", "show"]].concat());
        let deposited = sum(&["deposited", "refunded", "earned"]) - sum(&["withdrawn", "locked"]);
        assert_eq!(deposited, amount(&now["deposited"]).0, "{history}");
        let tokens = sum(&["received", "withdrawn"]) - sum(&["sent", "deposited", "staked"]);
        assert_eq!(tokens, amount(&now["tokens"]).0, "{history}");
    }
    let earned = network.run(&[&provider[..], &["wallet", "withdraw", "--yes"]].concat()).succeeded();
    assert!(earned.stderr.contains("→ 0 GLN"), "{}", earned.stderr);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_sent() {
    let network = Network::with_chain(0);
    network.run(&["wallet", "faucet"]).succeeded();
    let token = shown(&network, &["chain", "show"])["deployment"]["token"].as_str().expect("an address").to_owned();
    let refused: [(&[&str], &str); 5] = [
        (&["wallet", "send", SOMEBODY, "1000.1", "--yes"], "the wallet has 1000 GLN"),
        (&["wallet", "send", &token, "1", "--yes"], "is the token contract"),
        (&["wallet", "deposit", "1001", "--yes"], "the wallet has 1000 GLN"),
        (&["stake", "unbond", "1", "--yes"], "are wanted"),
        (&["stake", "auditor", "on", "--yes"], "gleaner stake add"),
    ];
    for (args, reason) in refused {
        let ended = network.run(args);
        assert!(ended.code == 1 && ended.stderr.contains(reason), "{args:?}: {ended:?}");
    }
    for wrong in ["0x12", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "nobody"] {
        assert_eq!(network.run(&["wallet", "send", wrong, "1", "--yes"]).code, 2, "{wrong}");
    }
    assert_eq!(network.run(&["wallet", "send", SOMEBODY, "0", "--yes"]).code, 2);
    assert_eq!(balances(&network), (Amount::gln(1000), Amount::ZERO));
}

#[test]
fn nobody_spends_without_being_asked() {
    let network = Network::with_chain(0);
    network.run(&["wallet", "faucet"]).succeeded();
    let spending: [&[&str]; 6] = [
        &["wallet", "send", SOMEBODY, "1"],
        &["wallet", "deposit", "1"],
        &["wallet", "withdraw"],
        &["stake", "add", "20"],
        &["vote", "delegate"],
        &["vote", "propose", "platform-share=12%", "--why", "cheaper"],
    ];
    for args in spending {
        let ended = network.run(args);
        assert_eq!(ended.code, 1, "{args:?}: {ended:?}");
        assert!(ended.stderr.contains("no terminal to ask") && ended.stderr.contains("--yes"), "{}", ended.stderr);
    }
    assert_eq!(balances(&network), (Amount::gln(1000), Amount::ZERO));
}

#[test]
fn a_wallet_is_made_once_and_needs_its_password() {
    let network = Network::with_chain(0);
    let without = network.run(&["wallet", "new"]);
    assert!(without.code == 1 && without.stderr.contains("--password-file"), "{without:?}");
    private(&network, "password", PASSWORD);
    let new = network.run(&["wallet", "new", "--password-file", "password"]).succeeded();
    let address = new.stdout.trim().to_owned();
    assert!(address.starts_with("0x") && address.len() == 42, "{address}");
    assert_eq!(
        shown(&network, &["wallet", "show"])["address"].as_str().map(str::to_lowercase),
        Some(address.to_lowercase())
    );
    let again = network.run(&["wallet", "new", "--password-file", "password"]);
    assert!(again.code == 1 && again.stderr.contains("not overwritten"), "{again:?}");
    network.run(&["wallet", "faucet"]).succeeded();
    let locked = network.run(&["wallet", "deposit", "1", "--yes"]);
    assert!(locked.code == 1 && locked.stderr.contains("needs its password"), "{locked:?}");
    private(&network, "wrong", "incorrect horse");
    let wrong = network.run(&["wallet", "deposit", "1", "--yes", "--password-file", "wrong"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("wrong password"), "{wrong:?}");
    network.run(&["wallet", "deposit", "1", "--yes", "--password-file", "password"]).succeeded();
    assert_eq!(balances(&network), (Amount::gln(999), Amount::gln(1)));
}

#[test]
fn secrets_are_never_told() {
    let network = Network::with_chain(0);
    let account = Account::from_key(&[0x5a; 32]).expect("a key");
    let file = network.folder().join("state/wallet.json");
    wallet::create(&file, &account, &Password::new(PASSWORD), Cost::QUICK).expect("a wallet");
    private(&network, "password", PASSWORD);
    let commands: [&[&str]; 6] = [
        &["wallet", "show"],
        &["wallet", "faucet"],
        &["wallet", "deposit", "1", "--yes"],
        &["wallet", "history"],
        &["vote", "delegate", "--yes"],
        &["wallet", "deposit", "100000", "--yes"],
    ];
    let mut said = String::new();
    for args in commands {
        let ended = network.run(&[args, &["--password-file", "password", "-vv"]].concat());
        said += &(ended.stdout + &ended.stderr);
    }
    assert!(said.contains(&account.address().to_string()), "it does talk: {said}");
    said += &String::from_utf8_lossy(&network.read("hub.log"));
    let drawn = String::from_utf8(network.read("state/hub/chain/faucet.password")).expect("text");
    for secret in [PASSWORD, drawn.trim(), &"5a".repeat(32)] {
        assert!(!said.contains(secret), "a secret was told");
    }
}

#[test]
fn stake_is_put_up_and_taken_out() {
    let network = Network::with_chain(0);
    network.run(&["wallet", "faucet"]).succeeded();
    network.run(&["stake", "add", "30 GLN", "--yes"]).succeeded();
    let stake = shown(&network, &["stake", "show"]);
    assert_eq!((amount(&stake["total"]), amount(&stake["free"])), (Amount::gln(30), Amount::gln(30)));
    assert_eq!(amount(&stake["allowed"]), Amount::gln(30), "the hub may lock it");
    network.run(&["stake", "add", "10", "--no-allow", "--yes"]).succeeded();
    assert_eq!(amount(&shown(&network, &["stake", "show"])["allowed"]), Amount::gln(30));
    let other = network.run(&["stake", "add", "5", "--allow", SOMEBODY, "--yes"]).succeeded();
    assert!(other.stderr.contains("may hold 45 GLN of it locked"), "{}", other.stderr);
    network.run(&["stake", "auditor", "on", "--yes"]).succeeded();
    assert_eq!(shown(&network, &["stake", "show"])["auditor"], true);
    network.run(&["stake", "auditor", "off", "--yes"]).succeeded();
    assert_eq!(shown(&network, &["stake", "show"])["auditor"], false);
    network.run(&["stake", "unbond", "15", "--yes"]).succeeded();
    let early = network.run(&["stake", "claim", "--yes"]);
    assert!(early.code == 1 && early.stderr.contains("cannot be claimed yet"), "{early:?}");
    let wallet = shown(&network, &["wallet", "show"]);
    assert_eq!((amount(&wallet["tokens"]), amount(&wallet["stake"]["total"])), (Amount::gln(955), Amount::gln(30)));
    assert_eq!(amount(&wallet["stake"]["unbonding"]), Amount::gln(15));
    wait_for("unbonding", || (network.run(&["stake", "claim", "--yes"]).code == 0).then_some(()));
    assert_eq!(balances(&network), (Amount::gln(970), Amount::ZERO));
}

#[test]
fn a_proposal_to_change_the_platform_share_passes_and_takes_effect() {
    let network = Network::with_chain(0);
    let rich = |args: &[&str]| network.run(&[&RICH, args].concat());
    let share = || shown(&network, &["chain", "show"])["terms"]["share_points"].as_u64().expect("a share");
    assert_eq!(share(), 1500);
    let propose = ["vote", "propose", "platform-share=12%", "--why", "cheaper work, more of it", "--yes"];
    let poor = network.run(&propose);
    assert!(poor.code == 1 && poor.stderr.contains("a proposer needs"), "{poor:?}");
    let silent = rich(&propose);
    assert!(silent.code == 1 && silent.stderr.contains("gleaner vote delegate"), "{silent:?}");
    rich(&["vote", "delegate", "--yes"]).succeeded();
    let beyond = rich(&["vote", "propose", "platform-share=31%", "--why", "greed", "--yes"]);
    assert!(beyond.code == 1 && beyond.stderr.contains("0 % to 30 %"), "{beyond:?}");
    let id = rich(&propose).succeeded().stdout.trim().to_owned();
    let stage = || shown(&network, &["vote", "list"])[0]["stage"].as_str().expect("a stage").to_owned();
    let early = rich(&["vote", "execute", &id, "--yes"]);
    assert!(early.code == 1 && early.stderr.contains("has not passed yet"), "{early:?}");
    wait_for("the vote begins", || (stage() == "active").then_some(()));
    let listed = network.run(&["vote", "list"]).succeeded().stdout;
    assert!(listed.contains("platform-share = 12 %") && listed.contains("cheaper work"), "{listed}");
    rich(&["vote", "cast", &id[..10], "for", "--yes"]).succeeded();
    let twice = rich(&["vote", "cast", &id, "for", "--yes"]);
    assert!(twice.code == 1 && twice.stderr.contains("has voted"), "{twice:?}");
    let without = network.run(&["vote", "cast", &id, "against", "--yes"]);
    assert!(without.code == 1 && without.stderr.contains("had no votes"), "{without:?}");
    wait_for("the vote ends", || (stage() == "succeeded").then_some(()));
    assert_eq!(share(), 1500, "a passed vote has to wait for the timelock");
    network.run(&["wallet", "faucet"]).succeeded();
    let executed = network.run(&["vote", "execute", &id[2..10], "--yes"]).succeeded();
    assert!(executed.stderr.contains("has been carried out"), "{}", executed.stderr);
    assert_eq!((share(), stage().as_str()), (1200, "executed"));
}

#[test]
fn the_treasury_pays_whom_a_vote_wants_paid() {
    let network = Network::with_chain(0);
    let rich = |args: &[&str]| network.run(&[&RICH, args].concat());
    let receiver = shown(&network, &["wallet", "show"])["address"].as_str().expect("an address").to_owned();
    let pay = ["vote", "propose", "pay", &receiver, "5 GLN", "--why", "thanks", "--yes"];
    let empty = rich(&pay);
    assert!(empty.code == 1 && empty.stderr.contains("the treasury has 0 GLN in tokens"), "{empty:?}");
    let chain = shown(&network, &["chain", "show"]);
    rich(&["wallet", "send", chain["deployment"]["timelock"].as_str().expect("an address"), "7", "--yes"]).succeeded();
    rich(&["vote", "delegate", "--yes"]).succeeded();
    let id = rich(&pay).succeeded().stdout.trim().to_owned();
    let stage = || shown(&network, &["vote", "list"])[0]["stage"].as_str().expect("a stage").to_owned();
    wait_for("the vote begins", || (stage() == "active").then_some(()));
    rich(&["vote", "cast", &id, "for", "--yes"]).succeeded();
    wait_for("the vote ends", || (stage() == "succeeded").then_some(()));
    rich(&["vote", "execute", &id, "--yes"]).succeeded();
    assert_eq!(balances(&network), (Amount::gln(5), Amount::ZERO));
}

#[test]
fn the_contracts_can_be_put_on_a_chain_and_used_without_a_hub() {
    let network = Network::with_chain(0);
    private(&network, "password", PASSWORD);
    let unlocked = |args: &[&str]| network.run(&[args, &["--password-file", "password"]].concat());
    let owner = unlocked(&["wallet", "new"]).succeeded().stdout.trim().to_owned();
    unlocked(&["wallet", "new", "--wallet", "deployer.json"]).succeeded();
    let url = shown(&network, &["chain", "show"])["url"].as_str().expect("an address").to_owned();
    let deploy =
        ["chain", "deploy", "--chain", &url, "--genesis", "capped", "--timings", "local", "--liquidity", &owner];
    let deploy = [&deploy[..], &["--wallet", "deployer.json", "--yes"]].concat();
    let deployed = unlocked(&deploy).succeeded();
    network.write("deployment.json", &deployed.stdout);
    let place = ["--chain", &url, "--deployment", "deployment.json"];
    let wallet = json(network.run(&[&["wallet", "show", "--json"], &place[..]].concat()));
    let tokens = amount(&wallet["tokens"]);
    assert!(tokens > Amount::gln(1000), "{wallet}");
    unlocked(&[&["wallet", "deposit", "3", "--yes"], &place[..]].concat()).succeeded();
    let wallet = json(network.run(&[&["wallet", "show", "--json"], &place[..]].concat()));
    assert_eq!(
        (amount(&wallet["tokens"]).0 + Amount::gln(3).0, amount(&wallet["deposited"])),
        (tokens.0, Amount::gln(3))
    );
    assert_eq!(balances(&network), (Amount::ZERO, Amount::ZERO), "the hub's own contracts are others");
    let again = json(unlocked(&deploy));
    assert_eq!(again["token"], serde_json::from_str::<Value>(&deployed.stdout).expect("JSON")["token"]);
    let half = network.run(&["wallet", "show", "--chain", &url]);
    assert!(half.code == 1 && half.stderr.contains("--deployment"), "{half:?}");
}

#[test]
fn the_allocation_is_printed_without_a_hub_to_the_last_unit() {
    let printed: Ended = gleaner().args(["wallet", "allocation"]).output().expect("it runs").into();
    let text = printed.succeeded().stdout;
    assert!(text.contains("1,000,000,000 GLN, all there will ever be"), "{text}");
    let last = text.lines().last().expect("a line").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(last, "120 1,000,000,000 2,500,000 100 %");
    let printed: Ended =
        gleaner().args(["wallet", "allocation", "--genesis", "capped", "--json"]).output().expect("it runs").into();
    let schedule = json(printed);
    let months = schedule["months"].as_array().expect("months");
    assert_eq!(months.len(), 241);
    for month in months {
        let each: u64 = month["of_each"].as_array().expect("amounts").iter().map(|free| amount(free).0).sum();
        assert_eq!(each, amount(&month["free"]).0);
    }
    assert_eq!(amount(&months[240]["free"]), Amount::gln(21_000_000));
    let unknown: Ended =
        gleaner().args(["wallet", "allocation", "--genesis", "nowhere"]).output().expect("it runs").into();
    assert!(unknown.code == 1 && unknown.stderr.contains("choose hub, capped"), "{unknown:?}");
}

/// Runs the same command several times at once.
fn at_once(network: &Network, times: usize, args: &[&str]) -> Vec<Ended> {
    let start = || network.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let children: Vec<_> = (0..times).map(|_| start()).collect();
    children.into_iter().map(|child| child.wait_with_output().expect("it ends").into()).collect()
}

#[test]
fn commands_at_once_make_one_wallet_and_each_counts() {
    let network = Network::with_chain(1);
    let made = at_once(&network, 4, &["wallet", "show", "--json"]);
    let addresses: Vec<Value> = made.into_iter().map(|ended| json(ended)["address"].clone()).collect();
    assert!(addresses.iter().all(|address| *address == addresses[0]), "{addresses:?}");
    network.run(&["wallet", "faucet"]).succeeded();
    let sent = at_once(&network, 4, &["wallet", "send", SOMEBODY, "10", "--yes"]);
    sent.into_iter().for_each(|ended| drop(ended.succeeded()));
    assert_eq!(balances(&network), (Amount::gln(1000 - 40), Amount::ZERO), "four commands, four payments");
    network.write("program.wasm", programs::echo());
    network.write("job.toml", format!("{JOB}\n[budget]\nprice_max = \"100 GLN\"\n"));
    let runs = at_once(&network, 4, &["run", "--detach", "job.toml"]);
    let jobs: Vec<String> = runs.into_iter().map(|ended| ended.succeeded().stdout.trim().to_owned()).collect();
    for job in jobs {
        let job = gleaner_wire::JobId(job.parse().expect("a job"));
        let ended = network.wait_for_job(job, |view| view.summary.state.has_ended());
        assert_eq!(ended.summary.state, JobState::Done, "its order was covered");
        let fetched = network.run(&["job", "fetch", &job.to_string(), "--out", "out"]).succeeded();
        assert!(fetched.stderr.contains("settled on the chain"), "fetching approves: {}", fetched.stderr);
    }
}

#[test]
fn a_provider_reaches_its_pay_without_the_hubs_token() {
    let network = Network::with_chain(1);
    network.write("program.wasm", programs::echo());
    network.write("job.toml", JOB);
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    let (url, wallet) = (network.url(), network.folder().join("state/workers/1/wallet.json"));
    let mut withdraw = gleaner();
    withdraw.current_dir(network.folder()).args(["--dir", "elsewhere", "--hub", &url, "--wallet"]).arg(wallet);
    let ended: Ended = withdraw.args(["wallet", "withdraw", "all", "--yes"]).output().expect("it runs").into();
    assert!(ended.succeeded().stderr.contains("withdraw"));
}
