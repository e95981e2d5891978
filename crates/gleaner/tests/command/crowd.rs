//! Ten thousand pages that watch one hub. The hub is a process of its own: together they would need more sockets than one
//! may have.
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::network::{Network, PATIENCE};
use crate::programs::{self, ARRAY};

const PAGES: u32 = 10_000;
/// Pages that connect at the same time.
const DIALS_AT_ONCE: usize = 64;
/// What a page may cost the hub: half of what a WebSocket with ordinary buffers takes, before anybody says anything.
const BYTES_EACH_MAX: u64 = 64 * 1024;
/// Where pages come from: one address each, of a block that is nobody's.
const ADDRESSES: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

type Page = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A page that watches the network.
async fn open(url: String, number: u32) -> Page {
    let mut request = format!("{url}/api/v1/live?watch=network").into_client_request().expect("an address");
    let from = Ipv4Addr::from_bits(ADDRESSES.to_bits() + number).to_string();
    request.headers_mut().insert("x-forwarded-for", from.parse().expect("a header"));
    let config = WebSocketConfig::default().read_buffer_size(1024).write_buffer_size(0);
    let dialled = tokio_tungstenite::connect_async_with_config(request, Some(config), true).await;
    let (mut page, _) = dialled.unwrap_or_else(|error| panic!("page {number}: {error}"));
    let first = next(&mut page).await;
    assert!(first.contains("\"watching\""), "page {number}: {first}");
    page
}

async fn next(page: &mut Page) -> String {
    loop {
        let heard = tokio::time::timeout(PATIENCE, page.next()).await.expect("something is said");
        match heard.expect("the hub stays").expect("a message") {
            Message::Text(text) => return text.to_string(),
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => {}
        }
    }
}

async fn open_all(url: &str) -> Vec<Page> {
    let (mut pages, mut dials) = (Vec::new(), JoinSet::new());
    for number in 0..PAGES {
        if dials.len() == DIALS_AT_ONCE {
            pages.push(dials.join_next().await.expect("one is under way").expect("no panic"));
        }
        dials.spawn(open(url.to_owned(), number));
    }
    pages.extend(dials.join_all().await);
    pages
}

/// Resident memory in bytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    kib.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") * 1024
}

#[test]
fn ten_thousand_pages_watch_one_hub() {
    let options = ["--chain", "none", "--trust-workers", "--behind-proxy"];
    let network = Network::with(|_| options.map(str::to_owned).into(), 0);
    let url = network.url().replacen("http", "ws", 1);
    let before = resident(network.hub_id());
    let mut pages = network.ask(async |_| open_all(&url).await);
    network.write("program.wasm", programs::echo());
    network.submit("job.toml", ARRAY);
    network.ask(async |client| {
        // Each of them hears that there is work, and the hub has time for others.
        for page in &mut pages {
            let heard = next(page).await;
            assert!(heard.contains("\"status\"") || heard.contains("\"prices\""), "{heard}");
        }
        assert!(client.health().await.expect("answered").accepting);
        let each = resident(network.hub_id()).saturating_sub(before) / u64::from(PAGES);
        assert!(each < BYTES_EACH_MAX, "{each} bytes for each page");
        drop(pages);
        // They leave nothing behind that would keep others out.
        let until = tokio::time::Instant::now() + PATIENCE;
        while connections(&network.url()).await > 100 {
            assert!(tokio::time::Instant::now() < until, "connections stay open");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        open(url.clone(), 0).await;
    });
}

/// How many connections the hub has.
async fn connections(url: &str) -> u64 {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let metrics = client.get(format!("{url}/metrics")).send().await.expect("answered").text().await.expect("text");
    let count = metrics.lines().find_map(|line| line.strip_prefix("gleaner_connections "));
    count.unwrap_or_else(|| panic!("{metrics}")).parse().expect("a number")
}
