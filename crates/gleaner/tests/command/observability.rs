//! One job from its submission to its settlement, over the processes of a hub and its workers: as spans of one trace, and as
//! lines of their logs with the same ids.
use crate::listening::{Collector, Seen};
use crate::network::Network;
use crate::programs;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use tokio::runtime::Runtime;

const TASKS: usize = 6;

/// Its outputs do not fit into results, so they are stored.
const JOB: &str = r#"
name = "followed"
[[task]]
name = "pattern"
runtime = "wasm"
program = "program.wasm"
args = ["{index}"]
each = "1..6"
"#;

fn network(collector: &Collector) -> Network {
    let telemetry = ["--otlp", &collector.endpoint, "--log-format", "json"];
    let hub = ["--chain", "embedded", "--no-tests", "-v"];
    let options = hub.iter().chain(&telemetry).map(|option| (*option).to_owned()).collect();
    let mut network = Network::with(|_| options, 0);
    let url = network.url();
    let worker = ["--no-gpu", "--cpu-slots", "2", "--no-containers", "--no-blender", "-vv"];
    for _ in 0..2 {
        network.start_worker_with(&url, &[&worker[..], &telemetry].concat(), &[]);
    }
    network.wait_for_workers(2);
    network
}

fn count(spans: &[Seen], name: &str) -> usize {
    spans.iter().filter(|seen| seen.name() == name).count()
}

/// Runs the job, and waits for all of its spans. Those of its settlement are the last.
fn followed(network: &Network, collector: &Collector, runtime: &Runtime) -> (String, Vec<Seen>) {
    network.write("program.wasm", programs::patterned(1, 4000));
    network.write("job.toml", JOB);
    network.run(&["run", "job.toml", "--out", "out"]).succeeded();
    let shown = network.run(&["job", "show", "1", "--json"]).succeeded();
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let trace = shown["trace_id"].as_str().expect("the hub sends spans").to_owned();
    let text = network.run(&["job", "show", "1"]).succeeded().stdout;
    assert!(text.contains(&format!("trace {trace}")), "{text}");
    let of_job = |seen: &[Seen]| seen.iter().filter(|seen| seen.trace() == trace).cloned().collect::<Vec<_>>();
    let is_whole = |seen: &[Seen]| {
        let spans = of_job(seen);
        // Every attempt that the hub tells of delivered, so that each has its worker's part.
        let attempts = count(&spans, "attempt") + count(&spans, "check");
        count(&spans, "settle") == 1 && count(&spans, "job") == 1 && count(&spans, "work") == attempts
    };
    let seen = runtime.block_on(collector.wait_for(is_whole));
    let spans = of_job(&seen);
    (trace, spans)
}

#[test]
fn one_trace_holds_a_job_from_its_submission_to_its_settlement() {
    let runtime = Runtime::new().expect("a runtime");
    let collector = runtime.block_on(Collector::start());
    let network = network(&collector);
    let (trace, spans) = followed(&network, &collector, &runtime);

    let services: HashSet<&str> = spans.iter().map(|seen| seen.service.as_str()).collect();
    assert_eq!(services, HashSet::from(["gleaner-hub", "gleaner-worker"]));
    let by_id: HashMap<&[u8], &Seen> = spans.iter().map(|seen| (&*seen.span.span_id, seen)).collect();
    assert_eq!(by_id.len(), spans.len(), "no two spans have one id");
    for seen in &spans {
        let parent = by_id.get(&*seen.span.parent_span_id).map(|parent| parent.name());
        let wanted: &[Option<&str>] = match seen.name() {
            "job" => &[None],
            "submit" | "lock" | "attempt" | "check" | "round" | "settle" => &[Some("job")],
            "plan" => &[Some("submit")],
            "work" => &[Some("attempt"), Some("check")],
            "keys" | "fetch" | "run" | "store" | "report" => &[Some("work")],
            other => panic!("nobody knows `{other}`"),
        };
        assert!(wanted.contains(&parent), "{} below {parent:?}", seen.name());
        let of_worker = matches!(seen.name(), "work" | "keys" | "fetch" | "run" | "store" | "report");
        assert_eq!(seen.service, if of_worker { "gleaner-worker" } else { "gleaner-hub" }, "{}", seen.name());
        assert!(!seen.has_failed(), "{seen:?}");
    }
    assert!(spans.iter().any(|seen| seen.span.parent_span_id.is_empty()));
    for (name, least) in [
        ("submit", 1),
        ("plan", 1),
        ("lock", 1),
        ("attempt", TASKS),
        ("round", 1),
        ("keys", 1),
        ("fetch", 1),
        ("run", TASKS),
        ("store", TASKS),
        ("report", TASKS),
    ] {
        assert!(count(&spans, name) >= least, "{name}: {}", count(&spans, name));
    }
    let attempt = spans.iter().find(|seen| seen.name() == "attempt").expect("there are six");
    let work = spans.iter().find(|seen| seen.span.parent_span_id == attempt.span.span_id).expect("its worker's part");
    assert_eq!(attempt.number("gleaner.worker"), work.number("gleaner.worker"));
    assert_eq!(attempt.number("gleaner.attempt"), work.number("gleaner.attempt"));

    logs_name_the_same_ids(&network, &trace);
}

fn lines(network: &Network, log: &str) -> Vec<Value> {
    let text = String::from_utf8(network.read(log)).expect("text");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON in {log}: {line}"))).collect()
}

fn logs_name_the_same_ids(network: &Network, trace: &str) {
    let hub = lines(network, "hub.log");
    for message in
        ["a job was taken", "the money of a job is locked", "a job has ended", "the order of a job is closed"]
    {
        let line = hub.iter().find(|line| line["message"] == message).unwrap_or_else(|| panic!("{message} in {hub:?}"));
        assert_eq!((line["job"].as_str(), line["trace_id"].as_str()), (Some("1"), Some(trace)), "{line}");
    }
    // What people are told is a line like any other where programs read.
    assert!(hub.iter().any(|line| line["target"] == "said"));
    let workers: Vec<Value> = ["worker-1.log", "worker-2.log"].iter().flat_map(|log| lines(network, log)).collect();
    let ready =
        workers.iter().find(|line| line["message"] == "an attempt is ready to run" && line["span"]["job"] == "1");
    let span = &ready.expect("a worker has made one ready")["span"];
    assert_eq!(span["trace_id"], trace);
    for id in ["group", "index", "attempt", "worker"] {
        assert!(!span[id].is_null(), "{id} in {span}");
    }
}

#[test]
fn an_address_of_a_collector_that_is_none_ends_a_hub_with_advice() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = crate::network::gleaner();
    let command = command.arg("--dir").arg(folder.path()).args(["hub", "--listen", "127.0.0.1:0", "--otlp", "here"]);
    let output = command.output().expect("it runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && words.contains("--otlp") && words.contains("http://HOST:PORT"), "{words}");
}
