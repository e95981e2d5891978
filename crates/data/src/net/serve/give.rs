//! Taking chunks: stored in batches, each acknowledged when it would survive a crash, so that a push resumes exactly.
use super::blocking;
use super::connection::Link;
use crate::net::frames::Gift;
use crate::net::{Error, protocol::Code};
use crate::store::Verified;
use bytes::Bytes;
use iroh::endpoint::{RecvStream, SendStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A batch is stored when it has this many bytes or chunks, or has waited this long: a giver that is killed is not noticed
/// for a while, and what is not stored when it comes back is sent again.
const BATCH_BYTES: u64 = 2 * 1024 * 1024;
const BATCH_CHUNKS: usize = 128;
const BATCH_TIME: Duration = Duration::from_millis(20);
const READ_PACKETS_MAX: usize = 128;
/// How long a giver may be silent.
const READ_TIME_MAX: Duration = Duration::from_secs(30);

/// A batch that is being stored: how many bytes it has.
type Storing = JoinHandle<Result<u64, Error>>;

/// Takes what comes until the giver says that this was all. What came whole is stored even if the giver breaks off.
pub(super) async fn take(link: &Arc<Link>, to: &mut SendStream, from: &mut RecvStream) -> Result<(), Error> {
    if link.shared.holder.store().is_none() {
        return Err(Error::Refused(Code::NotGranted));
    }
    let mut gift = Gift::default();
    let (mut batch, mut storing, mut durable) = (Vec::new(), None, 0);
    loop {
        let came = gather(&mut gift, &mut batch, from).await;
        link.shared.taken.fetch_add(size_of(&batch), Ordering::Relaxed);
        let stored = match storing.take() {
            Some(storing) => stored(storing).await?,
            None => 0,
        };
        if !batch.is_empty() {
            storing = Some(store(link, std::mem::take(&mut batch)));
        }
        came?;
        durable += stored;
        if stored > 0 {
            acknowledge(to, durable).await?;
        }
        if gift.is_ended() && storing.is_none() {
            return Ok(());
        }
    }
}

/// Reads until there is a batch, or the gift has ended.
async fn gather(gift: &mut Gift, batch: &mut Vec<Verified>, from: &mut RecvStream) -> Result<(), Error> {
    let mut packets = vec![Bytes::new(); READ_PACKETS_MAX];
    let mut first = None;
    while !gift.is_ended() && size_of(batch) < BATCH_BYTES && batch.len() < BATCH_CHUNKS {
        let until = first.map_or_else(|| Instant::now() + READ_TIME_MAX, |first| first + BATCH_TIME);
        let count = match tokio::time::timeout_at(until, from.read_many_chunks(&mut packets)).await {
            Ok(read) => read.map_err(Error::read)?.ok_or(Error::Malformed("a gift without an end"))?,
            Err(_) if first.is_some() => break,
            Err(_) => return Err(Error::Malformed("a gift that stalls")),
        };
        packets[..count].iter().try_for_each(|packet| gift.push(packet, batch))?;
        if !batch.is_empty() {
            first.get_or_insert_with(Instant::now);
        }
    }
    Ok(())
}

fn size_of(batch: &[Verified]) -> u64 {
    batch.iter().map(|chunk| chunk.blob().bytes).sum()
}

fn store(link: &Arc<Link>, chunks: Vec<Verified>) -> Storing {
    let holder = Arc::clone(&link.shared.holder);
    let bytes = size_of(&chunks);
    tokio::spawn(blocking(move || {
        let store = holder.store().expect("asked before anything was taken");
        store.put_verified(chunks).map(|_| bytes)
    }))
}

async fn stored(storing: Storing) -> Result<u64, Error> {
    storing.await.map_err(|_| Error::Refused(Code::Storage))?
}

/// Says how many bytes of this gift are safe.
async fn acknowledge(to: &mut SendStream, durable: u64) -> Result<(), Error> {
    to.write_all(&durable.to_le_bytes()).await.map_err(Error::write)
}
