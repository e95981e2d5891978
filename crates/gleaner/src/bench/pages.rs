//! The hub's memory with pages that watch the network and hear nothing, over WebSockets and as server-sent events.
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};

use super::figure::Figure;
use super::local::Local;
use super::memory::plain_connection_bytes;
use super::process::usage;

/// Pages that connect at the same time.
const DIALS_AT_ONCE: usize = 64;
/// Where pages come from: one address each, of a block that is nobody's.
const ADDRESSES: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const MIB: f64 = 1024.0 * 1024.0;
/// Time for every page to hear the figures once, and for the allocator and the sockets to settle, before memory is read.
const SETTLE: Duration = Duration::from_secs(8);

/// Memory with idle pages.
pub async fn measure(pages: u32) -> Result<Vec<Figure>> {
    let plain = plain_connection_bytes(pages).await?;
    let mut figures = Vec::new();
    for way in [Way::Socket, Way::Events] {
        // Pages come from everywhere: one address alone may not open so many.
        let local = Local::behind_proxy().await?;
        let pid = local.network.hub_pid()?;
        let before = usage(pid)?.resident;
        let held = hold(way, local.network.client.url(), pages).await?;
        tokio::time::sleep(SETTLE).await;
        let after = usage(pid)?.resident;
        drop(held);
        local.stop().await?;
        let each = (after - before) / f64::from(pages);
        let name = way.name();
        figures.push(Figure::rate(
            format!("hub memory, {pages} pages over {name}"),
            after / MIB,
            "MiB",
            "the hub without them",
            before / MIB,
        ));
        figures.push(Figure::rate(
            format!("for each page over {name}"),
            each / 1024.0,
            "KiB",
            "a plain TCP connection",
            plain / 1024.0,
        ));
    }
    Ok(figures)
}

#[derive(Clone, Copy)]
enum Way {
    Socket,
    Events,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Socket => "WebSocket",
            Self::Events => "server-sent events",
        }
    }
}

/// A page's connection, held open.
#[expect(dead_code, reason = "it is held for being open")]
enum Held {
    Socket(Box<tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<TcpStream>>>),
    Events(TcpStream),
}

async fn hold(way: Way, url: &str, pages: u32) -> Result<Vec<Held>> {
    let (mut held, mut dials) = (Vec::new(), JoinSet::new());
    for page in 0..pages {
        if dials.len() == DIALS_AT_ONCE {
            held.push(dials.join_next().await.context("a dial is under way")???);
        }
        let url = url.to_owned();
        dials.spawn(async move {
            let from = Ipv4Addr::from_bits(ADDRESSES.to_bits() + page);
            match way {
                Way::Socket => socket(&url, from).await,
                Way::Events => events(&url, from).await,
            }
        });
    }
    while let Some(dialled) = dials.join_next().await {
        held.push(dialled??);
    }
    Ok(held)
}

async fn socket(url: &str, from: Ipv4Addr) -> Result<Held> {
    let url = format!("{}/api/v1/live?watch=network", url.replacen("http", "ws", 1));
    let mut request = url.into_client_request()?;
    request.headers_mut().insert("x-forwarded-for", from.to_string().parse()?);
    let config = WebSocketConfig::default().read_buffer_size(1024).write_buffer_size(0);
    let (mut socket, _) = tokio_tungstenite::connect_async_with_config(request, Some(config), true).await?;
    match socket.next().await.context("the hub closed the connection")?? {
        Message::Text(text) if text.contains("watching") => Ok(Held::Socket(Box::new(socket))),
        other => bail!("a page does not watch: {other:?}"),
    }
}

async fn events(url: &str, from: Ipv4Addr) -> Result<Held> {
    let address = url.strip_prefix("http://").context("a local hub has a plain address")?;
    let mut stream = TcpStream::connect(address).await?;
    let request =
        format!("GET /api/v1/live/events?watch=network HTTP/1.1\r\nhost: {address}\r\nx-forwarded-for: {from}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut heard = Vec::new();
    while !heard.windows(8).any(|bytes| bytes == b"watching") {
        let mut piece = [0; 1024];
        let count = stream.read(&mut piece).await?;
        ensure!(count > 0, "a page is not served: {}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&piece[..count]);
    }
    Ok(Held::Events(stream))
}
