//! Floors: what this machine does without any of our code in between.
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;

const SYNCS: u32 = 200;
const ROUND_TRIPS: u32 = 5000;
const MESSAGES: u32 = 300_000;
/// Messages that are fed to a socket between two flushes.
const MESSAGES_PER_FLUSH: u32 = 256;

/// The median seconds of appending a page to a file and syncing it.
pub fn sync_seconds(folder: &Path) -> Result<f64> {
    let mut file = File::create(folder.join("floor")).context("cannot write the file for the floor")?;
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let start = Instant::now();
        file.write_all(&[7; 4096]).and_then(|()| file.sync_data()).context("cannot sync the file for the floor")?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(median(times))
}

/// The median seconds of a round trip over loopback TCP between two threads.
pub fn round_trip_seconds() -> Result<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on loopback")?;
    let address = listener.local_addr().context("cannot tell the address")?;
    let echo = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut byte = [0];
        for _ in 0..ROUND_TRIPS {
            stream.read_exact(&mut byte)?;
            stream.write_all(&byte)?;
        }
        Ok(())
    });
    let mut stream = TcpStream::connect(address).context("cannot connect over loopback")?;
    stream.set_nodelay(true).context("cannot set the socket up")?;
    let mut times = Vec::new();
    let mut byte = [0];
    for _ in 0..ROUND_TRIPS {
        let start = Instant::now();
        stream.write_all(&byte).and_then(|()| stream.read_exact(&mut byte)).context("the loopback echo broke")?;
        times.push(start.elapsed().as_secs_f64());
    }
    echo.join().map_err(|_| anyhow::anyhow!("the loopback echo panicked"))?.context("the loopback echo broke")?;
    Ok(median(times))
}

/// Small messages a second over one loopback WebSocket, pipelined.
pub async fn socket_messages_a_second() -> Result<f64> {
    let listener =
        tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on loopback")?;
    let address = listener.local_addr().context("cannot tell the address")?;
    let reader = tokio::spawn(async move {
        let (stream, _) = listener.accept().await?;
        let mut socket = tokio_tungstenite::accept_async(stream).await?;
        for _ in 0..MESSAGES {
            socket.next().await.context("the sender stopped")??;
        }
        anyhow::Ok(())
    });
    let (mut socket, _) = tokio_tungstenite::connect_async(format!("ws://{address}")).await?;
    let start = Instant::now();
    for number in 0..MESSAGES {
        socket.feed(Message::binary(vec![0; 16])).await?;
        if number % MESSAGES_PER_FLUSH == 0 {
            socket.flush().await?;
        }
    }
    socket.flush().await?;
    reader.await.context("the reader panicked")??;
    Ok(f64::from(MESSAGES) / start.elapsed().as_secs_f64())
}

/// The value at a percentage of sorted times.
pub fn percentile(mut times: Vec<f64>, percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn median(times: Vec<f64>) -> f64 {
    percentile(times, 50)
}
