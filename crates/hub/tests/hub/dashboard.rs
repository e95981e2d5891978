//! The dashboard for Grafana, beside what a hub exports: every name and label of every query, and the queries themselves in
//! a real Prometheus that has looked at a real hub.
use crate::metrics::{described, exported};
use crate::place::{PATIENCE, Place};
use crate::worker::Worker;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DASHBOARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/grafana/gleaner.json");

/// Metrics that are not worth a place on the dashboard, and why.
const NOT_SHOWN: [(&str, &str); 1] = [("gleaner_trace_spans_total", "those that were dropped are shown")];
/// Counters that are looked at as they are.
const STAYS_ZERO: [&str; 1] = ["gleaner_closings_wrong_total"];
/// Labels that Prometheus adds to everything.
const ADDED: [&str; 2] = ["job", "instance"];
/// Words of PromQL that stand before a list of labels.
const BEFORE_LABELS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
/// Names of which a hub may have nothing to say.
const MAY_BE_EMPTY: [&str; 2] = ["gleaner_managed_wanted", "gleaner_managed_online"];

fn dashboard() -> Value {
    serde_json::from_str(&std::fs::read_to_string(DASHBOARD).unwrap()).unwrap()
}

/// Every query of the panels, with the panel's title.
fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let panels = dashboard["panels"].as_array().unwrap();
    let of_panel = |panel: &Value| {
        let title = panel["title"].as_str().unwrap().to_owned();
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        let text = move |target: Value| (title.clone(), target["expr"].as_str().unwrap().to_owned());
        targets.into_iter().map(text).collect::<Vec<_>>()
    };
    panels.iter().flat_map(of_panel).collect()
}

/// What fills in the choices of the dashboard: which metric, and the query in it.
fn choices(dashboard: &Value) -> Vec<(String, String)> {
    let list = dashboard["templating"]["list"].as_array().unwrap();
    let asked = list.iter().filter(|choice| choice["type"] == "query");
    asked
        .map(|choice| {
            let query = choice["query"]["query"].as_str().unwrap();
            let inside = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')')).unwrap();
            let (metric, label) = inside.rsplit_once(", ").unwrap();
            (metric.to_owned(), label.to_owned())
        })
        .collect()
}

/// What a query reads: for each metric the labels that it chooses by, and the labels that results are put together by.
#[derive(Debug, Default)]
struct Read {
    metrics: BTreeMap<String, BTreeSet<String>>,
    grouped: BTreeSet<String>,
}

/// Reads a query. A name is a metric unless a list of arguments follows it.
fn read(query: &str) -> Read {
    let mut found = Read::default();
    let (mut rest, mut metric) = (query, None::<String>);
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            rest = after_string(rest);
        } else if first == '[' {
            rest = &rest[rest.find(']').unwrap() + 1..];
        } else if first == '{' {
            let (labels, after) = matchers(rest);
            found.metrics.get_mut(metric.as_ref().unwrap()).unwrap().extend(labels);
            rest = after;
        } else if first.is_ascii_alphabetic() || first == '_' || first == ':' {
            let length =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
            let (name, after) = rest.split_at(length);
            let next = after.trim_start();
            rest = after;
            if BEFORE_LABELS.contains(&name) {
                let end = next.find(')').unwrap();
                let labels = next[1..end].split(',').map(|label| label.trim().to_owned());
                found.grouped.extend(labels.filter(|label| !label.is_empty()));
                rest = &next[end + 1..];
            } else if !next.starts_with('(') && !BEFORE_LABELS.iter().any(|word| next.starts_with(&format!("{word} (")))
            {
                found.metrics.entry(name.to_owned()).or_default();
                metric = Some(name.to_owned());
            }
        } else if first.is_ascii_digit() {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.');
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    found
}

fn after_string(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return &text[at + 1..],
            _ => escaped = false,
        }
    }
    panic!("no end of {text}")
}

/// The labels between braces, and what follows.
fn matchers(text: &str) -> (Vec<String>, &str) {
    let (mut labels, mut rest) = (Vec::new(), &text[1..]);
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return (labels, after);
        }
        let length = rest.find(['=', '!']).unwrap();
        labels.push(rest[..length].trim().to_owned());
        rest = after_string(&rest[rest.find('"').unwrap()..]);
    }
}

/// The family that a series belongs to, if it is one of a histogram.
fn family<'a>(series: &'a str, kinds: &BTreeMap<String, String>) -> &'a str {
    let histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| series.strip_suffix(end));
    histogram.filter(|family| kinds.get(*family).is_some_and(|kind| kind == "histogram")).unwrap_or(series)
}

#[test]
fn queries_are_read_as_prometheus_reads_them() {
    let found =
        read(r#"sum by (le, class) (rate(a_bucket{job=~"x,}y", b != "\"{"}[$__rate_interval])) / max(c) > 1.5e3"#);
    let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let metrics = BTreeMap::from([("a_bucket".to_owned(), labels(&["job", "b"])), ("c".to_owned(), labels(&[]))]);
    assert_eq!((found.metrics, found.grouped), (metrics, labels(&["le", "class"])));
}

/// A hub with a worker that has done something, and what it exports.
async fn busy() -> (Place, Worker, String) {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    place.api.submit_array(3, 1).await;
    worker.work(3).await;
    let text = place.api.get("/metrics").send().await.unwrap().text().await.unwrap();
    (place, worker, text)
}

#[tokio::test]
async fn the_dashboard_asks_for_what_a_hub_exports_and_shows_all_of_it() {
    let (_place, _worker, text) = busy().await;
    let (kinds, _) = exported(&text);
    // A hub may have no values of a metric; the page, which another test compares with a hub, has all labels.
    let described = described();
    let dashboard = dashboard();
    let choices = choices(&dashboard);
    let mut shown = BTreeSet::new();
    let queries =
        queries(&dashboard).into_iter().chain(choices.iter().map(|(query, _)| ("a choice".to_owned(), query.clone())));
    for (title, query) in queries {
        let found = read(&query);
        assert!(!found.metrics.is_empty(), "{title}: {query}");
        let mut known: BTreeSet<&str> = ADDED.into();
        for (series, chosen) in &found.metrics {
            let name = family(series, &kinds);
            let kind = kinds.get(name).unwrap_or_else(|| panic!("{title}: no hub exports {series}"));
            assert!(kind != "histogram" || name != series, "{title}: {series} is a histogram");
            let over_time = query.contains('[') || STAYS_ZERO.contains(&name);
            assert!(kind != "counter" || over_time, "{title}: a counter without a time says little: {query}");
            let own = described.get(name).into_iter().flat_map(|(_, labels)| labels).map(String::as_str);
            known.extend(own.chain(series.ends_with("_bucket").then_some("le")));
            for label in chosen {
                assert!(known.contains(label.as_str()), "{title}: {series} has no label {label}");
            }
            shown.insert(name.to_owned());
        }
        for label in &found.grouped {
            assert!(known.contains(label.as_str()), "{title}: nothing has the label {label}: {query}");
        }
    }
    for (metric, label) in &choices {
        let (name, _) = metric.split_once('{').unwrap_or((metric, ""));
        let own = described.get(name).is_some_and(|(_, own)| own.contains(label));
        assert!(own || ADDED.contains(&label.as_str()), "{metric} has no label {label}");
    }
    let left: BTreeSet<&str> = kinds.keys().map(String::as_str).filter(|name| !shown.contains(*name)).collect();
    assert_eq!(left, NOT_SHOWN.iter().map(|(name, _)| *name).collect(), "neither shown nor listed as not shown");
}

#[test]
fn panels_have_places_numbers_and_a_source_of_their_own() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let mut taken = BTreeSet::new();
    for panel in panels {
        let place = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{}", panel["title"]);
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{} lies on another one", panel["title"]);
            }
        }
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        }
    }
}

/// A program of Prometheus; nothing where it is not installed, which `scripts/test` does not allow.
#[expect(clippy::print_stderr, reason = "a skipped test is never silent")]
fn program(name: &str) -> Option<Command> {
    if Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok() {
        return Some(Command::new(name));
    }
    assert!(std::env::var_os("GLEANER_TEST_EVERYTHING").is_none(), "{name} is not installed");
    eprintln!("skipped: {name} is not installed (Debian: apt install prometheus)");
    None
}

#[tokio::test]
async fn promtool_has_nothing_to_say_about_the_metrics() {
    let Some(mut promtool) = program("promtool") else { return };
    let (_place, _worker, text) = busy().await;
    let mut child = promtool
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}

/// A Prometheus that looks at one hub many times a second, and ends with the test.
struct Prometheus {
    child: Child,
    url: String,
    client: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Prometheus {
    async fn start(mut command: Command, hub: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prometheus.yml");
        let target = hub.strip_prefix("http://").unwrap();
        let text = format!(
            "scrape_configs:\n- job_name: gleaner\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  static_configs:\n  - targets: ['{target}']\n"
        );
        std::fs::write(&config, text).unwrap();
        let child = command
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg("--web.listen-address=127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut prometheus = Self { child, url: String::new(), client: reqwest::Client::new(), _folder: folder };
        let port = prometheus.wait_for(async |this| port_of(this.child.id())).await;
        prometheus.url = format!("http://127.0.0.1:{port}");
        prometheus
    }

    /// What a query finds; nothing if Prometheus does not answer yet.
    async fn ask(&self, query: &str) -> Option<Value> {
        let url = reqwest::Url::parse_with_params(&format!("{}/api/v1/query", self.url), [("query", query)]).unwrap();
        let answer = self.client.get(url).send().await.ok()?;
        (answer.status() != reqwest::StatusCode::SERVICE_UNAVAILABLE).then_some(())?;
        Some(answer.json().await.unwrap())
    }

    /// Another process says nothing when it is ready, so it is looked at again and again.
    async fn wait_for<T>(&self, look: impl AsyncFn(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look(self).await {
                return found;
            }
            assert!(Instant::now() < deadline, "it did not happen in time");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The port on which a process listens.
fn port_of(process: u32) -> Option<u16> {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let sockets: BTreeSet<String> =
        links.filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())).collect();
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).ok()?;
    table.lines().find_map(|line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let listens = cells.get(3) == Some(&"0A") && cells.get(9).is_some_and(|inode| sockets.contains(*inode));
        let (_, port) = cells.get(1)?.split_once(':')?;
        listens.then(|| u16::from_str_radix(port, 16).ok()).flatten()
    })
}

#[tokio::test]
async fn a_prometheus_that_has_looked_at_a_hub_answers_every_query() {
    let Some(command) = program("prometheus") else { return };
    let (place, _worker, _) = busy().await;
    let prometheus = Prometheus::start(command, &place.api.url).await;
    let looked_twice = async |prometheus: &Prometheus| {
        let answer = prometheus.ask("count_over_time(gleaner_accepting[1m]) > 2").await?;
        (!answer["data"]["result"].as_array()?.is_empty()).then_some(())
    };
    prometheus.wait_for(looked_twice).await;
    for (title, query) in queries(&dashboard()) {
        let filled = query.replace("$__rate_interval", "1m").replace("$__range", "1m");
        let filled = ["$job", "$instance", "$class"].iter().fold(filled, |text, name| text.replace(name, ".*"));
        assert!(!filled.contains('$'), "{title}: who fills this in? {query}");
        let answer = prometheus.ask(&filled).await.unwrap();
        assert_eq!(answer["status"], "success", "{title}: {query}: {answer}");
        let found = answer["data"]["result"].as_array().unwrap();
        let may_be_empty = read(&query).metrics.keys().all(|name| MAY_BE_EMPTY.contains(&name.as_str()));
        assert!(!found.is_empty() || may_be_empty, "{title}: nothing is found by {query}");
    }
}
