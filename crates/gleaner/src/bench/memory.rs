//! The hub's memory with a million queued tasks, and with ten thousand idle workers connected.
use std::net::Ipv4Addr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ed25519_dalek::{Signer, SigningKey};
use futures_util::{SinkExt, StreamExt};
use gleaner_client::Draft;
use gleaner_wire::{
    Amount, ByteSize, DeviceKind, DeviceOffer, MESSAGE_BYTES_MAX, Offer, PROTOCOL, Runtime, RuntimeOffer, ToHub,
    ToWorker, WorkerKey, challenge_bytes, decode, encode,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::figure::Figure;
use super::local::Local;
use super::process::usage;
use super::programs;

/// What a number of a task takes at least.
const BYTES_PER_NUMBER: f64 = 8.0;
/// Workers that are connected at the same time.
const DIALS_AT_ONCE: usize = 64;
const MIB: f64 = 1024.0 * 1024.0;
/// Time for the allocator and the sockets to settle before memory is read.
const SETTLE: Duration = Duration::from_secs(2);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Memory with queued tasks.
pub async fn measure_queue(tasks: u32) -> Result<Vec<Figure>> {
    let local = Local::start(0, &[]).await?;
    let draft = Draft::read(&programs::noop(local.folder(), tasks)?)?;
    let pid = local.network.hub_pid()?;
    let before = usage(pid)?.resident;
    let _keys = local.network.client.submit(&draft).await?;
    let after = usage(pid)?.resident;
    local.stop().await?;
    let each = (after - before).max(0.0) / f64::from(tasks);
    Ok(vec![
        Figure::rate(
            format!("hub memory, {tasks} queued tasks"),
            after / MIB,
            "MiB",
            "the hub without them",
            before / MIB,
        ),
        Figure::rate("for each queued task", each, "bytes", "a list of their numbers", BYTES_PER_NUMBER)
            .goal("0: a range stays a range"),
    ])
}

/// Memory with idle workers.
pub async fn measure_idle(workers: u32) -> Result<Vec<Figure>> {
    let plain = plain_connection_bytes(workers).await?;
    let local = Local::start(0, &[]).await?;
    let pid = local.network.hub_pid()?;
    let before = usage(pid)?.resident;
    let url = format!("{}/worker/v1", local.network.client.url().replacen("http", "ws", 1));
    let sockets = connect_all(&url, workers).await?;
    tokio::time::sleep(SETTLE).await;
    let online = local.network.client.health().await?.workers_online;
    ensure!(online == u64::from(workers), "only {online} of {workers} workers are connected");
    let after = usage(pid)?.resident;
    drop(sockets);
    local.stop().await?;
    let each = (after - before) / f64::from(workers);
    Ok(vec![
        Figure::rate(
            format!("hub memory, {workers} idle workers"),
            after / MIB,
            "MiB",
            "the hub without them",
            before / MIB,
        )
        .goal("< 400 MB"),
        Figure::rate("for each idle worker", each / 1024.0, "KiB", "a plain TCP connection", plain / 1024.0),
    ])
}

async fn connect_all(url: &str, workers: u32) -> Result<Vec<Socket>> {
    let mut sockets = Vec::new();
    let mut dials = JoinSet::new();
    for number in 0..workers {
        if dials.len() == DIALS_AT_ONCE {
            sockets.push(dials.join_next().await.context("a dial is under way")???);
        }
        dials.spawn(connect(url.to_owned(), number));
    }
    while let Some(dialled) = dials.join_next().await {
        sockets.push(dialled??);
    }
    Ok(sockets)
}

/// Joins as a worker that has nothing to do.
async fn connect(url: String, number: u32) -> Result<Socket> {
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&number.to_le_bytes());
    let key = SigningKey::from_bytes(&seed);
    let config = WebSocketConfig::default()
        .read_buffer_size(1024)
        .write_buffer_size(0)
        .max_message_size(Some(MESSAGE_BYTES_MAX));
    let (mut socket, _) = tokio_tungstenite::connect_async_with_config(url, Some(config), true).await?;
    let ToWorker::Challenge { nonce, .. } = receive(&mut socket).await? else { bail!("a hub starts with a challenge") };
    let public = WorkerKey(key.verifying_key().to_bytes());
    let signature = key.sign(&challenge_bytes(&nonce, &public)).to_bytes().to_vec();
    let (protocol, offer) = (PROTOCOL, offer(number));
    let hello =
        ToHub::Hello { protocol, key: public, signature, offer, owner_proof: vec![], resting: vec![], held: vec![] };
    socket.send(Message::binary(encode(&hello))).await?;
    match receive(&mut socket).await? {
        ToWorker::Welcome { .. } => Ok(socket),
        other => bail!("worker {number} was not let in: {other:?}"),
    }
}

async fn receive(socket: &mut Socket) -> Result<ToWorker> {
    loop {
        match socket.next().await.context("the hub closed the connection")?? {
            Message::Binary(bytes) => return Ok(decode(&bytes)?),
            Message::Close(_) => bail!("the hub closed the connection"),
            Message::Text(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}

fn offer(number: u32) -> Offer {
    let device = DeviceOffer {
        kind: DeviceKind::Nvidia,
        name: "bench".into(),
        memory: ByteSize::mib(8192),
        cards: 1,
        slots: 1,
        network: false,
        eevee: false,
        price_per_second: Amount(100_000),
        runtimes: vec![RuntimeOffer { runtime: Runtime::Wgsl, score: 1000, loops_max: None, engine: None }],
    };
    Offer { name: format!("idle-{number}"), region: "local".into(), provider: None, devices: vec![device] }
}

/// The floor: memory of a process that holds as many plain connections, one task each.
pub async fn plain_connection_bytes(connections: u32) -> Result<f64> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let parent = std::process::id().to_string();
    let mut child = tokio::process::Command::new(program)
        .args(["--with-parent", &parent, "bench", "hold-connections"])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot start the holder of connections")?;
    let output = child.stdout.take().context("its output was asked for")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).await.context("the holder of connections does not speak")?;
    let pid = child.id().context("the holder of connections runs")?;
    let before = usage(pid)?.resident;
    let mut streams = Vec::new();
    for _ in 0..connections {
        streams.push(TcpStream::connect(line.trim()).await.context("cannot connect to the holder of connections")?);
    }
    tokio::time::sleep(SETTLE).await;
    let after = usage(pid)?.resident;
    child.kill().await.context("cannot end the holder of connections")?;
    Ok((after - before) / f64::from(connections))
}

/// Accepts connections and holds them, until its parent ends it.
pub async fn hold_connections() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on loopback")?;
    crate::output::data(&listener.local_addr().context("cannot tell the address")?.to_string())?;
    let mut held = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.context("cannot accept a connection")?;
        held.spawn(async move { stream.readable().await });
    }
}
