//! Metrics, and whether the hub is alive and ready.
use crate::place::Place;
use crate::worker::Worker;
use reqwest::StatusCode;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");

/// The kind of each metric that is exported, and the labels of those that have values.
pub fn exported(text: &str) -> (BTreeMap<String, String>, BTreeMap<String, BTreeSet<String>>) {
    let (mut kinds, mut labels) = (BTreeMap::new(), BTreeMap::<String, BTreeSet<String>>::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            kinds.insert(name.to_owned(), kind.to_owned());
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            let name = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            let inside = line.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(inside, _)| inside);
            let named =
                inside.unwrap_or_default().split(',').filter_map(|label| label.split_once('=')).map(|(name, _)| name);
            labels.entry(name.to_owned()).or_default().extend(named.filter(|name| *name != "le").map(str::to_owned));
        }
    }
    (kinds, labels)
}

/// What the page says of each metric: its kind and its labels.
pub fn described() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let mut described = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].trim_matches('`').to_owned();
        let labels = cells[2].split(',').map(|label| label.trim().trim_matches('`').to_owned());
        assert!(!cells[3].is_empty(), "{name} means something");
        described.insert(name, (cells[1].to_owned(), labels.filter(|label| !label.is_empty()).collect()));
    }
    described
}

#[tokio::test]
async fn the_page_names_every_metric_and_no_other() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    place.api.submit_array(3, 1).await;
    worker.work(3).await;
    let text = place.api.get("/metrics").send().await.unwrap().text().await.unwrap();
    let (kinds, labels) = exported(&text);
    let described = described();
    for (name, (_, named)) in &described {
        if let Some(found) = labels.get(name) {
            assert_eq!(found, named, "labels of {name}");
        }
    }
    let described: BTreeMap<String, String> = described.into_iter().map(|(name, (kind, _))| (name, kind)).collect();
    assert_eq!(described, kinds);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line.rsplit(' ').next().unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}

#[tokio::test]
async fn a_hub_is_alive_and_ready_without_a_token() {
    let place = Place::new().await;
    let get = |path: &str| place.api.client.get(format!("{}{path}", place.api.url)).send();
    assert_eq!(get("/healthz").await.unwrap().status(), StatusCode::OK);
    let ready = get("/readyz").await.unwrap();
    assert_eq!(ready.status(), StatusCode::OK);
    assert_eq!(ready.json::<serde_json::Value>().await.unwrap()["ready"], true);
}
