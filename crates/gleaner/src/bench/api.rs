//! Requests that the hub's API answers a second, beside a route of the same framework that does nothing, in a process of its
//! own.
use std::net::Ipv4Addr;
use std::process::Stdio;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use gleaner_client::Draft;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Child;
use tokio::task::JoinSet;

use super::figure::Figure;
use super::local::Local;
use super::process::usage;
use super::programs;

/// Connections that ask at a time; each waits for its answer.
const CONNECTIONS: u32 = 8;
/// Requests of an account: as many as it may send at once.
const OF_ACCOUNT: u32 = 1000;
const TOKEN_LIFE_MS: u64 = 24 * 3600 * 1000;

/// What answering some requests took.
struct Answered {
    per_second: f64,
    cpu_micros: f64,
}

/// Requests a second.
pub async fn measure(requests: u32) -> Result<Vec<Figure>> {
    let local = Local::start(0, &[]).await?;
    let draft = Draft::read(&programs::noop(local.folder(), 1000)?)?;
    let (submitted, _keys) = local.network.client.submit(&draft).await?;
    let token = std::fs::read_to_string(local.state().join("hub/api.token")).context("cannot read the hub's token")?;
    let address = local.network.client.url().strip_prefix("http://").context("a local hub has a plain address")?;
    let hub = Server { address: address.to_owned(), pid: local.network.hub_pid()? };
    let operator = token.trim().to_owned();
    let job = format!("/api/v1/jobs/{}", submitted.job);
    let shown = hub.line().await?.ask(&request("GET", &job, &operator, "")).await?.1;
    let (bare, mut child) = bare_route().await?;
    let bare_path = format!("/{}", shown.len());
    let mut figures = Vec::new();
    for (name, path) in [("what the hub says of itself", "/api/v1/health"), ("one job", &job)] {
        let answered = hub.answer(path, &vec![operator.clone(); CONNECTIONS as usize], requests / CONNECTIONS).await?;
        let floor = bare.answer(&bare_path, &vec![String::new(); CONNECTIONS as usize], requests / CONNECTIONS).await?;
        figures.extend(compared(name, &answered, &floor));
    }
    let tokens = accounts(&hub).await?;
    let answered = hub.answer("/api/v1/jobs", &tokens, OF_ACCOUNT).await?;
    let floor = bare.answer(&bare_path, &vec![String::new(); CONNECTIONS as usize], OF_ACCOUNT).await?;
    figures.extend(compared("an account's jobs, by its token", &answered, &floor));
    child.kill().await.context("cannot end the bare route")?;
    local.stop().await?;
    Ok(figures)
}

fn compared(name: &str, hub: &Answered, bare: &Answered) -> [Figure; 2] {
    [
        Figure::rate(name, hub.per_second, "requests/s", "a bare axum route", bare.per_second),
        Figure::rate(format!("{name}: processor time"), hub.cpu_micros, "µs", "a bare axum route", bare.cpu_micros),
    ]
}

/// A process that answers HTTP.
struct Server {
    address: String,
    pid: u32,
}

impl Server {
    async fn line(&self) -> Result<Line> {
        let stream = TcpStream::connect(&self.address).await.context("cannot connect")?;
        stream.set_nodelay(true).context("cannot send small messages at once")?;
        Ok(Line { stream, heard: Vec::new() })
    }

    /// Asks for a path, each token on a connection of its own.
    async fn answer(&self, path: &str, tokens: &[String], each: u32) -> Result<Answered> {
        let mut lines = Vec::new();
        for token in tokens {
            let mut line = self.line().await?;
            let request = request("GET", path, token, "");
            let (status, said) = line.ask(&request).await?;
            ensure!(status == 200, "{path} answers {status}: {}", String::from_utf8_lossy(&said));
            lines.push((line, request));
        }
        let (before, began) = (usage(self.pid)?.cpu_seconds, Instant::now());
        let mut asking = JoinSet::new();
        for (mut line, request) in lines {
            asking.spawn(async move {
                for _ in 0..each {
                    let (status, _) = line.ask(&request).await?;
                    ensure!(status == 200, "a request is answered with {status}");
                }
                Ok(())
            });
        }
        while let Some(asked) = asking.join_next().await {
            asked.context("a connection panicked")??;
        }
        let (took, cpu) = (began.elapsed().as_secs_f64(), usage(self.pid)?.cpu_seconds - before);
        let count = f64::from(each) * tokens.len() as f64;
        Ok(Answered { per_second: count / took, cpu_micros: cpu / count * 1e6 })
    }
}

fn request(method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    let bearer = if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
    let content = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{bearer}{content}\r\n{body}").into_bytes()
}

/// A connection on which one request follows the other.
struct Line {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Line {
    /// The status and the body of an answer.
    async fn ask(&mut self, request: &[u8]) -> Result<(u16, Vec<u8>)> {
        self.stream.write_all(request).await.context("cannot send a request")?;
        self.heard.clear();
        loop {
            if let Some(head) = self.heard.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let text = std::str::from_utf8(&self.heard[..head]).context("the head of an answer is text")?;
                let status =
                    text.get(9..12).and_then(|status| status.parse().ok()).context("an answer has a status")?;
                let length = text.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
                });
                let end = head + 4 + length.context("an answer says how long it is")?;
                if self.heard.len() >= end {
                    return Ok((status, self.heard[head + 4..end].to_vec()));
                }
            }
            let count = self.stream.read_buf(&mut self.heard).await.context("cannot read an answer")?;
            ensure!(count > 0, "the connection ended within an answer");
        }
    }
}

/// Accounts, and a token of each.
async fn accounts(hub: &Server) -> Result<Vec<String>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?.as_millis();
    let ends_at = u64::try_from(now).context("the clock is far ahead")? + TOKEN_LIFE_MS;
    let mut tokens = Vec::new();
    for number in 0..CONNECTIONS {
        let said = json!({ "name": format!("bench-{number}"), "passphrase": "wind over the old mill" });
        let mut line = hub.line().await?;
        let (status, made) = line.ask(&request("POST", "/api/v1/accounts", "", &said.to_string())).await?;
        ensure!(status == 201, "no account is made: {}", String::from_utf8_lossy(&made));
        let csrf =
            serde_json::from_slice::<Value>(&made)?["csrf"].as_str().context("a session has a token")?.to_owned();
        let head = String::from_utf8_lossy(&line.heard).into_owned();
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
        let wanted = json!({ "label": "bench", "scopes": { "read": true }, "ends_at": ends_at }).to_string();
        let mut wanted = request("POST", "/api/v1/account/tokens", "", &wanted);
        let session = format!("cookie: {}\r\nx-gleaner-csrf: {csrf}\r\n", cookie.context("a session has a cookie")?);
        let first_line = wanted.iter().position(|byte| *byte == b'\n').context("a request has lines")? + 1;
        wanted.splice(first_line..first_line, session.into_bytes());
        let (status, made) = line.ask(&wanted).await?;
        ensure!(status == 201, "no token is made: {}", String::from_utf8_lossy(&made));
        let token = serde_json::from_slice::<Value>(&made)?["text"].as_str().context("a token has a text")?.to_owned();
        tokens.push(token);
    }
    Ok(tokens)
}

/// Starts the bare route in a process of its own.
async fn bare_route() -> Result<(Server, Child)> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let parent = std::process::id().to_string();
    let mut child = tokio::process::Command::new(program)
        .args(["--with-parent", &parent, "bench", "bare-route"])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot start the bare route")?;
    let output = child.stdout.take().context("its output was asked for")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).await.context("the bare route does not speak")?;
    let pid = child.id().context("the bare route runs")?;
    Ok((Server { address: line.trim().to_owned(), pid }, child))
}

/// Answers with as many bytes as the path says, until its parent ends it.
pub async fn serve_bare_route() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on loopback")?;
    crate::output::data(&listener.local_addr().context("cannot tell the address")?.to_string())?;
    let answer = |Path(bytes): Path<u16>| async move { "x".repeat(bytes.into()) };
    axum::serve(listener, Router::new().route("/{bytes}", get(answer))).await.context("the bare route has ended")
}
