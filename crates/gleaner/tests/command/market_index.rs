//! Prices, search and managed workers, with real processes.

use crate::network::{Network, wait};
use crate::programs::{self, ARRAY};
use gleaner_client::Client;
use gleaner_wire::api::JobState;
use gleaner_wire::{Amount, State};
use std::path::Path;

#[test]
fn a_query_finds_workers_and_its_mistakes_are_shown_where_they_are() {
    let network = Network::start(2);
    let find = |query: &str| {
        let ended = network.run(&["worker", "list", query, "--json"]).succeeded();
        let workers: Vec<serde_json::Value> = serde_json::from_str(&ended.stdout).expect("JSON");
        workers.iter().map(|worker| worker["offer"]["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(find("memory>=1MiB device=cpu runtime=wasm price<100 slots=4 state!=offline").len(), 2);
    assert_eq!(find("name=worker-2"), ["worker-2"]);
    assert!(find("device=nvidia").is_empty());
    let table = network.run(&["worker", "list", "name=\"worker-1\""]).succeeded();
    assert!(table.stdout.contains("GLN AN HOUR") && table.stdout.contains("worker-1"), "{}", table.stdout);
    let ended = network.run(&["worker", "list", "memory>=1MiB devise=cpu"]);
    assert_eq!(ended.code, 1);
    let wanted = "error: there is no field `devise`\n  | memory>=1MiB devise=cpu\n  |              ^^^^^^ did you mean `device`?\n";
    assert_eq!(ended.stderr, wanted);
}

#[test]
fn the_api_answers_queries_page_by_page_and_refuses_what_makes_no_sense() {
    let network = Network::start(2);
    let first = network.ask(async |client| client.search("device=cpu", 1, None).await.expect("an answer"));
    assert_eq!((first.items.len(), first.matches, first.exact), (1, 2, false));
    let next = first.next.expect("there is another");
    let second = network.ask(async |client| client.search("device=cpu", 1, Some(&next)).await.expect("an answer"));
    assert_ne!(second.items[0].id, first.items[0].id);
    for (query, cursor) in [("price=cheap", None), ("device=cpu", Some("nowhere"))] {
        let refused = network.ask(async |client| client.search(query, 1, cursor).await.expect_err("it makes no sense"));
        assert!(matches!(&refused, gleaner_client::Error::Refused(problem) if problem.status == 400), "{refused}");
    }
}

#[test]
fn who_names_no_price_asks_what_the_index_suggests() {
    let mut network = Network::start(0);
    let url = network.url();
    let options = ["--no-gpu", "--cpu-slots", "4", "--no-containers", "--no-blender"];
    network.start_worker_with(&url, &[&options[..], &["--price", "0.72 GLN/h"]].concat(), &[]);
    network.wait_for_workers(1);
    let ended = network.run(&["price", "list", "--json"]).succeeded();
    let prices: Vec<serde_json::Value> = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!((&prices[0]["slots"], &prices[0]["per_hour"]), (&4.into(), &"0.72".into()), "{prices:?}");
    network.start_worker_with(&url, &options, &[]);
    let workers = network.wait_for_workers(2);
    let asked: Vec<Amount> = workers.iter().map(|worker| worker.offer.devices[0].price_per_second).collect();
    assert_eq!(asked, [Amount(200_000), Amount(200_000)]);
    let class = prices[0]["class"].as_str().expect("a class");
    let shown = network.run(&["price", "show", class]).succeeded();
    assert!(shown.stdout.contains("0.72 GLN an hour is suggested"), "{}", shown.stdout);
    assert_eq!(network.run(&["price", "show", "amd-wgsl-20GiB"]).code, 1);
}

/// A hook that keeps one worker of the platform running while one is wanted. It ends by itself should a test fail.
fn hook(state: &Path) -> String {
    let program = env!("CARGO_BIN_EXE_gleaner");
    let own = state.join("cloud");
    format!(
        r#"#!/bin/sh
set -e
mkdir -p {own}
told=$(cat)
echo "$told" >> {own}/told
wanted=$(echo "$told" | grep -o '"wanted":[0-9]*' | head -n 1 | cut -d: -f2)
if [ "${{wanted:-0}}" -gt 0 ] && [ ! -e {own}/pid ]; then
    key=$({program} --dir {own} worker key)
    {program} --dir {own} --token-file "$GLEANER_TOKEN_FILE" worker manage "$key" 2>> {own}/log
    setsid timeout 150 {program} --dir {own} share --name cloud --dedicated --no-gpu --cpu-slots 2 \
        --no-containers --no-blender > {own}/log 2>&1 < /dev/null &
    echo $! > {own}/pid
elif [ "${{wanted:-0}}" -eq 0 ] && [ -e {own}/pid ]; then
    pid=$(cat {own}/pid)
    rm {own}/pid
    kill -TERM "$pid"
fi
"#,
        own = own.display(),
    )
}

#[test]
fn a_hook_starts_a_machine_under_load_and_stops_it_when_idle() {
    let prepare = |state: &Path| {
        std::fs::create_dir_all(state).expect("a folder");
        let script = state.join("hook.sh");
        std::fs::write(&script, hook(state)).expect("it can be written");
        let command = format!("sh {}", script.display());
        let options = ["--chain", "none", "--trust-workers", "--managed-wait", "1s", "--managed-idle", "4s"];
        let options = options.into_iter().chain(["--managed-max", "1", "--demand-hook", &command]);
        options.map(str::to_owned).collect()
    };
    let network = Network::with(prepare, 0);
    network.write("program.wasm", programs::patterned(200, 100));
    let job = network.submit("job.toml", ARRAY);
    let _attending = network.attend(job);
    let view = network.wait_for_job(job, |view| view.summary.state.has_ended());
    assert_eq!(view.summary.state, JobState::Done, "nobody but the platform was there to do it");
    let workers = network.ask(async |client| client.workers().await.expect("the workers"));
    assert_eq!((workers.len(), workers[0].managed, workers[0].done), (1, true, 20));
    let gone = async |client: Client| {
        let look = async |client: &Client| {
            let workers = client.workers().await.expect("the workers");
            let demand = client.demand().await.expect("the demand");
            let idle = demand.classes.iter().all(|class| class.wanted == 0);
            (idle && workers.iter().all(|worker| worker.state == State::Offline)).then_some(())
        };
        wait(&client, &look).await;
    };
    network.ask(gone);
    let told = String::from_utf8(network.read("state/cloud/told")).expect("text");
    assert!(told.contains("\"wanted\":1"), "{told}");
    assert!(!network.state().join("cloud/pid").exists(), "it was stopped");
}

#[test]
fn an_operator_says_whose_a_worker_is() {
    let network = Network::start(1);
    let find = |query: &str| network.ask(async |client| client.search(query, 10, None).await.expect("it finds")).items;
    assert!(find("managed=yes").is_empty());
    let ended = network.run(&["worker", "manage", "0"]).succeeded();
    assert_eq!(ended.stderr, "worker 0 (worker-1) is the platform's own\n");
    assert_eq!(find("managed=yes").len(), 1);
    network.run(&["worker", "unmanage", "0"]).succeeded();
    assert!(find("managed=yes").is_empty());
    let key = "ab".repeat(32);
    let ended = network.run(&["worker", "manage", &key]).succeeded();
    assert!(ended.stderr.contains("when it joins"), "{}", ended.stderr);
    assert_eq!(network.run(&["worker", "manage", "nobody"]).code, 2);
    let shown = network.run(&["hub", "demand"]).succeeded();
    assert!(shown.stderr.contains("no managed worker is wanted"), "{shown:?}");
}
