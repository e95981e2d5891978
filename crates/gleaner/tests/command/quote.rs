//! What a job costs, said before it is paid.
use gleaner_wire::Amount;
use serde_json::Value;

use crate::network::Network;
use crate::programs;

const JOB: &str = "name = \"squares\"\n[budget]\nprice_max = \"2 GLN\"\n[[task]]\nname = \"square\"\nruntime = \"wasm\"\n\
                   program = \"program.wasm\"\nargs = [\"{index}\"]\neach = \"1..20\"\nmemo = false\n";

fn quote(network: &Network, file: &str) -> Value {
    let ended = network.run(&["quote", file, "--json"]).succeeded();
    serde_json::from_str(&ended.stdout).expect("JSON")
}

fn amount(value: &Value) -> Amount {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value} is an amount"))
}

#[test]
fn a_job_that_never_ran_is_quoted_its_cap_and_one_that_did_about_what_it_cost() {
    let network = Network::start(1);
    network.write("program.wasm", programs::patterned(50, 16));
    network.write("job.toml", JOB);
    let new = quote(&network, "job.toml");
    assert_eq!((&new["price"], &new["expected"], &new["rests_on"]), (&"2 GLN".into(), &Value::Null, &0.into()));
    assert_eq!((&new["tasks"], &new["groups"][0]["workers"]), (&20.into(), &1.into()));
    let said = network.run(&["quote", "job.toml"]).succeeded().stdout;
    assert!(said.contains("at most 2 GLN") && said.contains("nothing like `square` has run here yet"), "{said}");
    assert!(network.ask(async |client| client.data().datasets().await.expect("a list")).is_empty(), "nothing was sent");

    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    let paid = network.ask(async |client| client.jobs().await.expect("a list"))[0].spent;
    let known = quote(&network, "job.toml");
    let price = amount(&known["price"]);
    assert!(price.0 <= paid.0 * 3 && paid.0 <= price.0 * 3, "{price} was quoted for what cost {paid}");
    assert_eq!((&known["rests_on"], &known["cap"]), (&20.into(), &"2".into()));
    assert!(known["time_ms"].as_u64().is_some(), "{known}");
    let said = network.run(&["quote", "job.toml"]).succeeded().stdout;
    assert!(said.contains("rests on 20 tasks"), "{said}");
    // A quote is no push: what it has read is still sent when the job comes.
    network.write("program.wasm", [programs::patterned(50, 16), b"\0\x05\x04more".to_vec()].concat());
    assert_eq!(quote(&network, "job.toml")["rests_on"], 0, "another program is another one");
    network.run(&["run", "job.toml", "--out", "again"]).succeeded();
    assert_eq!(network.read("again/square/19"), network.read("out/square/19"));
}

#[test]
fn a_job_that_nobody_could_take_says_why_and_one_that_makes_no_sense_where() {
    let network = Network::start(1);
    network.write("program.wasm", programs::patterned(50, 16));
    network.write("job.toml", format!("{JOB}needs = {{ region = \"atlantis\" }}\n"));
    let view = quote(&network, "job.toml");
    assert_eq!((&view["groups"][0]["workers"], &view["groups"][0]["per_second"]), (&0.into(), &Value::Null));
    assert_eq!(view["groups"][0]["reasons"][0]["code"], "other_region");
    network.write("job.toml", JOB.replace("1..20", "20..1"));
    let refused = network.run(&["quote", "job.toml"]);
    assert!(refused.code == 1 && refused.stderr.contains("job.toml:9"), "{refused:?}");
}

#[test]
fn a_job_ordered_by_a_quote_reserves_exactly_its_price_and_is_judged_by_it() {
    let network = Network::start(1);
    network.write("program.wasm", programs::patterned(50, 16));
    network.write("job.toml", JOB.replace("[budget]\nprice_max = \"2 GLN\"\n", ""));
    let unknown = network.run(&["run", "job.toml", "--quote", "cheap"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("there is no cheap quote for this job"), "{unknown:?}");
    network.run(&["run", "job.toml", "--out", "first"]).succeeded();

    let known = quote(&network, "job.toml");
    let choices = known["choices"].as_array().expect("a list");
    assert_eq!(
        choices.iter().map(|choice| choice["prefer"].as_str()).collect::<Vec<_>>(),
        [Some("cheap"), Some("balanced"), Some("fast")]
    );
    for choice in choices {
        let range = &choice["expected"];
        assert!(
            range["low"].as_u64() <= range["expected"].as_u64() && range["expected"].as_u64() <= range["high"].as_u64()
        );
        assert!(amount(&choice["offer"]["quote"]["price"]).0 > range["expected"].as_u64().expect("known"), "{choice}");
        assert_eq!(choice["offer"]["signature"].as_str().map(str::len), Some(2 + 128));
    }

    let ended = network.run(&["run", "job.toml", "--quote", "fast", "--json", "--out", "second"]).succeeded();
    let view: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let quoted = &view["quoted"];
    assert_eq!((&view["price_max"], &view["state"]), (&quoted["price"], &"done".into()));
    assert!(amount(&view["spent"]) <= amount(&quoted["price"]), "{view}");
    assert!(quoted["price_error_mille"].is_u64() && quoted["time_error_mille"].is_u64(), "{view}");
    assert!(ended.stderr.contains(" · fast · ") && ended.stderr.contains("not a unit more"), "{}", ended.stderr);
    let shown = network.run(&["job", "show", "2"]).succeeded().stdout;
    assert!(shown.contains("quoted ") && shown.contains("the cost was "), "{shown}");
    let url = format!("{}/metrics", network.url());
    let metrics = network.ask(async |_| reqwest::get(url).await.expect("it answers").text().await.expect("text"));
    assert!(metrics.contains("gleaner_quote_price_error_count 1\n"), "{metrics}");
    assert!(metrics.contains("gleaner_quote_time_error_count 1\n"), "{metrics}");
}

#[test]
fn an_order_on_a_chain_locks_exactly_what_was_quoted() {
    let network = Network::with_chain(1);
    network.write("program.wasm", programs::patterned(50, 16));
    network.write("job.toml", JOB);
    network.run(&["run", "job.toml", "--out", "first"]).succeeded();
    let ended = network.run(&["run", "job.toml", "--quote", "balanced", "--json", "--out", "second"]).succeeded();
    let view: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(view["price_max"], view["quoted"]["price"]);
    assert!(ended.stderr.contains("settled on the chain"), "{}", ended.stderr);
}
