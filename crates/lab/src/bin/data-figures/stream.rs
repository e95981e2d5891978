//! One stream of one iroh connection with iroh's own settings: what a program that only sends a file would do.
use anyhow::{Context, Result};
use iroh::endpoint::{Connection, Incoming, presets};
use iroh::{Endpoint, EndpointAddr, RelayMode, SecretKey};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

const ALPN: &[u8] = b"gleaner-lab/stream";
const BUFFER_BYTES: usize = 256 * 1024;
/// Buffers between the network and what the shell connected to this program.
const BUFFERS: usize = 8;
/// What the server says when it can be reached.
pub const READY: &str = "ready";
const PUT: u8 = b'P';
const GET: u8 = b'G';

/// Runs one of these to its end.
pub fn wait_for(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::runtime::Runtime::new().context("starting threads")?.block_on(work)
}

fn server_key() -> SecretKey {
    SecretKey::from_bytes(&[7; 32])
}

async fn open(key: SecretKey, listen: SocketAddr) -> Result<Endpoint> {
    let builder = Endpoint::builder(presets::Minimal)
        .secret_key(key)
        .alpns(vec![ALPN.to_vec()])
        .relay_mode(RelayMode::Disabled)
        .clear_address_lookup()
        .clear_ip_transports()
        .bind_addr(listen)?;
    Ok(builder.bind().await?)
}

/// Takes and gives the file until it is killed.
pub async fn serve(listen: SocketAddr, file: &Path) -> Result<()> {
    let endpoint = open(server_key(), listen).await?;
    println!("{READY}");
    while let Some(incoming) = endpoint.accept().await {
        let file = file.to_owned();
        tokio::spawn(async move {
            if let Err(error) = answer(incoming, &file).await {
                super::say(&format!("a client was lost: {error:#}"));
            }
        });
    }
    Ok(())
}

async fn answer(incoming: Incoming, path: &Path) -> Result<()> {
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    if receive.read_u8().await? == PUT {
        let mut file = tokio::fs::File::create(path).await?;
        let mut buffer = vec![0; BUFFER_BYTES];
        while let Some(length) = receive.read(&mut buffer).await? {
            file.write_all(&buffer[..length]).await?;
        }
        file.flush().await?;
    } else {
        let mut file = tokio::fs::File::open(path).await?;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match file.read(&mut buffer).await? {
                0 => break,
                length => send.write_all(&buffer[..length]).await?,
            }
        }
    }
    send.finish()?;
    connection.closed().await;
    Ok(())
}

async fn connect(server: SocketAddr) -> Result<(Endpoint, Connection)> {
    let endpoint = open(SecretKey::from_bytes(&[8; 32]), (Ipv4Addr::UNSPECIFIED, 0).into()).await?;
    let address = EndpointAddr::new(server_key().public()).with_ip_addr(server);
    let connection = endpoint.connect(address, ALPN).await?;
    Ok((endpoint, connection))
}

/// Sends standard input.
pub async fn put(server: SocketAddr) -> Result<()> {
    let (endpoint, connection) = connect(server).await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_u8(PUT).await?;
    let (buffers, mut read) = mpsc::channel(BUFFERS);
    let reading = spawn_blocking(move || read_all(&buffers));
    while let Some(buffer) = read.recv().await {
        send.write_all(&buffer).await?;
    }
    reading.await??;
    send.finish()?;
    receive.read_to_end(1).await?;
    connection.close(0_u32.into(), b"");
    endpoint.close().await;
    Ok(())
}

/// Writes what the server has to standard output.
pub async fn get(server: SocketAddr) -> Result<()> {
    let (endpoint, connection) = connect(server).await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_u8(GET).await?;
    send.finish()?;
    let (buffers, written) = mpsc::channel::<Vec<u8>>(BUFFERS);
    let writing = spawn_blocking(move || write_all(written));
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Some(length) = receive.read(&mut buffer).await? {
        // If nobody takes it any more, the writer says why.
        if buffers.send(buffer[..length].to_vec()).await.is_err() {
            break;
        }
    }
    drop(buffers);
    writing.await??;
    connection.close(0_u32.into(), b"");
    endpoint.close().await;
    Ok(())
}

/// Standard input, until its end or until nobody takes it any more.
fn read_all(buffers: &mpsc::Sender<Vec<u8>>) -> Result<()> {
    let mut from = std::io::stdin().lock();
    loop {
        let mut buffer = vec![0; BUFFER_BYTES];
        let length = from.read(&mut buffer).context("reading what to send")?;
        buffer.truncate(length);
        if length == 0 || buffers.blocking_send(buffer).is_err() {
            return Ok(());
        }
    }
}

fn write_all(mut buffers: mpsc::Receiver<Vec<u8>>) -> Result<()> {
    let mut to = std::io::stdout().lock();
    while let Some(buffer) = buffers.blocking_recv() {
        to.write_all(&buffer).context("writing what came")?;
    }
    to.flush().context("writing what came")
}
