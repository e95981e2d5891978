//! The desk beside a hub, from an upload to an invoice: with real workers, and whatever dies in between.
use std::collections::BTreeMap;
use std::io::Read;
use std::time::{Duration, Instant};

use gleaner_wire::{Amount, JobId};
use serde_json::{Value, json};

use crate::network::{Network, PATIENCE};
use crate::programs::{self, ARRAY};

/// Somebody with an account.
struct Person<'a> {
    network: &'a Network,
    http: reqwest::Client,
    name: &'static str,
}

struct Answer {
    status: u16,
    headers: reqwest::header::HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    #[track_caller]
    fn ok(self) -> Self {
        assert!((200..300).contains(&self.status), "{} {}", self.status, String::from_utf8_lossy(&self.body));
        self
    }
}

impl<'a> Person<'a> {
    fn new(network: &'a Network, name: &'static str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { network, http, name }
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        change: impl FnOnce(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
    ) -> Answer {
        let token = std::fs::read_to_string(self.network.state().join("hub/api.token")).expect("a token");
        let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
        let request = self.http.request(method, format!("{}/api/v1{path}", self.network.url()));
        let request = change(request.bearer_auth(token.trim()).header("gleaner-requester", self.name));
        self.network.ask(async |_| {
            let response = request.send().await.expect("answered");
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            Answer { status, headers, body: response.bytes().await.expect("a body").to_vec() }
        })
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, |request| request)
    }

    /// What an order of this price locks: it, and the bond beside it.
    fn with_bond(&self, price: u64) -> u64 {
        let points = self.get("/chain").ok().json()["terms"]["bond_points"].as_u64().expect("the terms of orders");
        price + price * points / 10_000
    }

    fn put(&self, path: &str, content: Vec<u8>) {
        self.send("PUT", path, |request| request.body(content)).ok();
    }

    fn submit(&self, job: &str) -> JobId {
        let wanted = json!({ "job": job, "folder": "work" });
        let answer =
            self.send("POST", "/desk/jobs", |request| request.header("idempotency-key", job.len()).json(&wanted));
        JobId(answer.ok().json()["job"].as_u64().expect("a job"))
    }

    /// Waits until what a path answers is what it should be.
    fn wait_for(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.get(path).ok().json();
            if is_wanted(&found) {
                return found;
            }
            assert!(Instant::now() < deadline, "{found}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn settled(&self, job: JobId) -> Value {
        self.wait_for(&format!("/desk/jobs/{job}/invoice"), |invoice| !invoice["paid"].is_null())
    }
}

fn amount(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse::<Amount>().ok()).unwrap_or_else(|| panic!("{value} is an amount")).0
}

fn archived(tar: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(tar).entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let (path, mut content) = (entry.path().expect("a path").display().to_string(), Vec::new());
        entry.read_to_end(&mut content).expect("its content");
        files.insert(path, content);
    }
    files
}

#[test]
fn a_job_from_the_desk_is_run_opened_paid_for_and_invoiced() {
    let network = Network::with_chain(2);
    let (ada, bob) = (Person::new(&network, "ada"), Person::new(&network, "bob"));
    ada.put("/files/work/program.wasm", programs::echo());
    let job = ada.submit(ARRAY);
    let invoice = ada.settled(job);
    assert_eq!((&invoice["state"], &invoice["note"]), (&"done".into(), &Value::Null));
    let spent = network.ask(async |client| client.job(job).await).expect("it is there").summary.spent;
    assert_eq!(amount(&invoice["paid"]), spent.0);
    assert!(amount(&invoice["fee"]) > 0 && amount(&invoice["fee"]) < spent.0, "{invoice}");
    let locked = ada.with_bond(amount(&invoice["cap"]));
    assert_eq!(amount(&invoice["refunded"]) + spent.0, locked, "cap and bond came back: {invoice}");
    assert!(invoice["transaction"].as_str().is_some_and(|transaction| transaction.starts_with("0x")), "{invoice}");

    let page = ada.get(&format!("/desk/jobs/{job}/results?limit=15")).ok().json();
    let next = page["next"].as_str().expect("there is more").to_owned();
    let rest = ada.get(&format!("/desk/jobs/{job}/results?limit=15&cursor={next}")).ok().json();
    let items: Vec<&Value> =
        [&page, &rest].into_iter().flat_map(|page| page["items"].as_array().expect("a list")).collect();
    assert_eq!(items.len(), 20);
    for item in &items {
        assert_eq!(item["kind"], "text");
        let href = item["href"].as_str().and_then(|href| href.strip_prefix("/api/v1")).expect("an address");
        let opened = ada.get(href).ok();
        assert_eq!(opened.header("content-security-policy"), "sandbox; default-src 'none'");
        assert_eq!(opened.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(String::from_utf8_lossy(&opened.body), (item["index"].as_u64().expect("a number") + 1).to_string());
        assert_eq!(bob.get(href).status, 404);
    }
    assert_eq!(ada.get(&format!("/desk/jobs/{job}/results/square/20/output")).status, 404);
    assert_eq!(ada.get(&format!("/desk/jobs/{job}/results/square/0/other")).status, 404);
    let archive = ada.get(&format!("/desk/jobs/{job}/archive")).ok();
    assert!(archive.header("content-disposition").contains("filename=\"array-1.tar\""));
    let files = archived(&archive.body);
    assert_eq!((files.len(), &files["square/19"][..]), (20, &b"20"[..]));

    let history = ada.get("/desk/wallet/history").ok().json();
    let kinds: Vec<&str> =
        history["items"].as_array().expect("a list").iter().filter_map(|line| line["kind"].as_str()).collect();
    assert_eq!(kinds, ["refunded", "locked", "deposited", "received"]);
    assert!(network.run(&["hub", "reconcile"]).succeeded().stdout.contains("the books and the chain agree"));
}

#[test]
fn an_order_on_the_chain_locks_exactly_the_quoted_price() {
    let network = Network::with_chain(1);
    let ada = Person::new(&network, "ada");
    ada.put("/files/work/program.wasm", programs::echo());
    ada.settled(ada.submit(ARRAY));
    let next = ARRAY.replace("1..20", "21..40");
    let wanted = json!({ "job": next, "folder": "work" });
    let quote = ada.send("POST", "/desk/quote", |request| request.json(&wanted)).ok().json();
    let choices = quote["choices"].as_array().expect("a list");
    let cheap = choices.iter().find(|choice| choice["name"] == "cheap").expect("three choices");
    assert_eq!(cheap["rests_on"], 20);
    let binding = amount(&cheap["binding"]["price"]);
    let wanted = json!({ "job": next, "folder": "work", "quote": quote["quote"], "choice": "cheap" });
    let ordered = ada.send("POST", "/desk/jobs", |request| request.header("idempotency-key", "q").json(&wanted));
    let ordered = ordered.ok().json();
    assert_eq!(amount(&ordered["reserved"]), binding);
    let invoice = ada.settled(JobId(ordered["job"].as_u64().expect("a job")));
    assert_eq!((amount(&invoice["cap"]), &invoice["state"]), (binding, &"done".into()));
    let lines = ada.get("/desk/wallet/history").ok().json();
    let locked = lines["items"].as_array().expect("a list").iter().find(|line| line["kind"] == "locked");
    let with_bond = ada.with_bond(binding);
    assert_eq!(amount(&locked.expect("it was locked")["amount"]), with_bond, "the price and its bond");
    assert_eq!(amount(&invoice["paid"]) + amount(&invoice["refunded"]), with_bond, "{invoice}");
}

#[test]
fn a_picture_shows_its_tiles_while_others_are_still_computed() {
    let network = Network::start(1);
    let ada = Person::new(&network, "ada");
    // 16 × 16 pixels a tile.
    ada.put("/files/work/program.wasm", programs::patterned(100, 1024));
    let job = "name = \"tiles\"\n[[task]]\nname = \"picture\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\nargs = \
               [\"{index}\"]\ntiles = { width = 128, height = 64, tile_width = 16, tile_height = 16 }\n";
    let job = ada.submit(job);
    let preview = format!("/desk/jobs/{job}/preview/picture");
    let results = format!("/desk/jobs/{job}/results");
    let listed =
        ada.wait_for(&results, |results| results["pictures"].as_array().is_some_and(|pictures| !pictures.is_empty()));
    assert_eq!((&listed["pictures"][0]["task"], &listed["pictures"][0]["tiles"]), (&"picture".into(), &32.into()));
    let early = ada.get(&preview).ok();
    let (done, of) = early.header("gleaner-tiles").split_once('/').expect("tiles").to_owned();
    assert!((1..32).contains(&done.parse::<u32>().expect("a number")) && of == "32", "{done} of {of}");
    assert_eq!((early.header("content-type"), early.status), ("image/png", 200));
    network.wait_for_job(job, |view| view.summary.state.has_ended());
    let whole = ada.get(&preview).ok();
    assert_eq!(whole.header("gleaner-tiles"), "32/32");
    assert_ne!(whole.body, early.body);
    let tag = whole.header("etag").to_owned();
    assert_eq!(ada.send("GET", &preview, |request| request.header("if-none-match", tag)).status, 304);
    let mut reader = png::Decoder::new(std::io::Cursor::new(&whole.body)).read_info().expect("a PNG");
    let mut pixels = vec![0; 128 * 64 * 4];
    reader.next_frame(&mut pixels).expect("pixels");
    for (tile, x, y) in [(0, 0, 0), (7, 112, 0), (31, 112, 48)] {
        let start = (y * 128 + x) * 4;
        assert_eq!(pixels[start..start + 64], programs::pattern(tile, 1024)[..64], "tile {tile}");
    }
    let files = archived(&ada.get(&format!("/desk/jobs/{job}/archive")).ok().body);
    assert_eq!(files["picture.png"], whole.body);
    assert_eq!(files["picture/31"], programs::pattern(31, 1024));
}

#[test]
fn a_desk_that_died_gives_workers_their_keys_and_settles_when_it_is_back() {
    let mut network = Network::with_chain(0);
    let ada = Person::new(&network, "ada");
    ada.put("/files/work/program.wasm", programs::echo());
    let job = ada.submit(ARRAY);
    network.wait_for_job(job, |view| view.summary.state == gleaner_wire::api::JobState::Running);
    drop(ada);
    network.kill_hub();
    network.start_hub();
    network.start_worker();
    let ada = Person::new(&network, "ada");
    let invoice = ada.settled(job);
    assert_eq!((&invoice["state"], &invoice["note"]), (&"done".into(), &Value::Null));
    let opened = ada.get(&format!("/desk/jobs/{job}/results/square/6/output")).ok();
    assert_eq!(opened.body, b"7");
}

#[test]
fn a_template_of_the_catalogue_learns_what_it_costs() {
    let network = Network::start(1);
    let ada = Person::new(&network, "ada");
    let inputs = json!({ "inputs": { "tasks": 4, "size": 1000 } });
    let rendered = ada.send("POST", "/catalogue/primes/render", |request| request.json(&inputs)).ok().json();
    let wanted = json!({ "job": rendered["job"] });
    let answer = ada.send("POST", "/desk/jobs", |request| request.header("idempotency-key", "k").json(&wanted));
    let job = JobId(answer.ok().json()["job"].as_u64().expect("a job"));
    let invoice = ada.settled(job);
    assert_eq!((&invoice["template"], &invoice["state"]), (&"primes".into(), &"done".into()));
    let shown = ada.get("/catalogue/primes").ok().json();
    assert_eq!((&shown["runs"], &shown["typical"]["cost"]), (&1.into(), &invoice["paid"]));
    let opened = ada.get(&format!("/desk/jobs/{job}/results/primes/0/output")).ok();
    assert_eq!(opened.body, b"168\n", "so many primes are below a thousand");
}

/// What each element says is its number; what is filled in is only read.
const TEMPLATE: &str = r#"name = "{{title}}"
[[task]]
name = "count"
runtime = "wasm"
program = "program.wasm"
args = ["{index}"]
each = "1..{{count}}"
[[task.input]]
name = "data"
file = "{{data}}"
"#;

#[test]
fn a_published_template_is_run_by_others_and_learns_from_all_of_them() {
    let network = Network::start(1);
    let (ada, bob, eve) = (Person::new(&network, "ada"), Person::new(&network, "bob"), Person::new(&network, "eve"));
    ada.put("/files/work/program.wasm", programs::echo());
    let publication = json!({
        "name": "counting", "title": "Counting", "kind": "sweep", "about": "Counts.", "job": TEMPLATE,
        "files": ["program.wasm"], "folder": "work",
        "inputs": {
            "properties": {
                "title": { "type": "string", "title": "Title", "default": "counting" },
                "count": { "type": "integer", "title": "How far", "minimum": 1, "maximum": 100 },
                "data": { "type": "file", "title": "Data" },
            },
            "required": ["count", "data"],
        },
    });
    ada.send("POST", "/catalogue", |request| request.json(&publication)).ok();
    let run = |person: &Person<'_>, count: u32| {
        person.put("/files/mine/data.txt", format!("of {}", person.name).into_bytes());
        let inputs = json!({ "inputs": { "count": count, "data": "mine/data.txt" } });
        let rendered = person.send("POST", "/catalogue/counting/render", |request| request.json(&inputs)).ok().json();
        let wanted = json!({ "job": rendered["job"] });
        let answer = person.send("POST", "/desk/jobs", |request| request.header("idempotency-key", "k").json(&wanted));
        let job = JobId(answer.ok().json()["job"].as_u64().expect("a job"));
        let invoice = person.settled(job);
        assert_eq!((&invoice["template"], &invoice["state"]), (&"counting".into(), &"done".into()));
        let opened = person.get(&format!("/desk/jobs/{job}/results/count/{}/output", count - 1)).ok();
        assert_eq!(opened.body, count.to_string().as_bytes());
        amount(&invoice["paid"])
    };
    let mut costs = [run(&bob, 2), run(&eve, 9), run(&ada, 4)];
    costs.sort_unstable();
    let shown = bob.get("/catalogue/counting").ok().json();
    assert_eq!((&shown["runs"], &shown["author"]), (&3.into(), &"ada".into()));
    assert_eq!(amount(&shown["typical"]["cost"]), costs[1], "the middle of what it cost: {costs:?}");
    assert!(shown["typical"]["time_ms"].as_u64().is_some_and(|time| time > 0), "{shown}");
}
