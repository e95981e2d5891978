//! Sending chunks: read ahead by one batch, and never further than receipts allow.
use super::blocking;
use super::connection::Link;
use crate::net::protocol::Code;
use crate::net::{Error, frames};
use bytes::{Buf, Bytes};
use gleaner_wire::Hash;
use iroh::endpoint::SendStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Chunks that are read from the disk together, about a megabyte.
const BATCH_CHUNKS: usize = 16;
/// How long a receiver may take to read a chunk.
const WRITE_TIME_MAX: Duration = Duration::from_secs(30);
/// How long to wait for a receipt.
const RECEIPT_TIME_MAX: Duration = Duration::from_secs(15);

type Batch = JoinHandle<Result<Vec<Option<Bytes>>, Error>>;

/// What is to be sent.
pub(super) struct Wanted {
    pub root: Hash,
    /// These chunks, in this order.
    pub ids: Vec<Hash>,
    /// Of the first of them not so many bytes at their beginning.
    pub begun: Vec<u32>,
}

/// Sends chunks.
pub(super) async fn send(link: &Arc<Link>, wanted: Wanted, to: &mut SendStream) -> Result<(), Error> {
    let Wanted { root, ids, begun } = wanted;
    let mut begun = begun.into_iter();
    let mut batches = ids.chunks(BATCH_CHUNKS).map(|batch| read(link, batch.to_vec()));
    let mut next = batches.next();
    let mut sent = 0;
    while let Some(batch) = next {
        let chunks = batch.await.map_err(|_| Error::Refused(Code::Storage))??;
        next = batches.next();
        for chunk in chunks {
            let mut bytes = chunk.unwrap_or_default();
            let header = Bytes::copy_from_slice(&frames::header(&bytes));
            let skipped = begun.next().unwrap_or_default() as usize;
            bytes.advance(skipped.min(bytes.len()));
            let length = bytes.len() as u64;
            paid(link, root, length).await?;
            sent += length;
            link.shared.sent.fetch_add(length, Ordering::Relaxed);
            let mut pieces = [header, bytes];
            match tokio::time::timeout(WRITE_TIME_MAX, to.write_all_chunks(&mut pieces)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    // Whoever stops a request does not get all of what was sent for it.
                    if let Some(session) = link.sessions().get_mut(&root) {
                        session.lost(sent);
                    }
                    return Err(Error::write(error));
                }
                Err(_) => return Err(Error::Malformed("an answer that nobody reads")),
            }
        }
    }
    Ok(())
}

fn read(link: &Arc<Link>, ids: Vec<Hash>) -> Batch {
    let holder = Arc::clone(&link.shared.holder);
    tokio::spawn(blocking(move || holder.chunks(&ids)))
}

/// Waits until receipts allow this many bytes more, and counts them.
async fn paid(link: &Link, root: Hash, bytes: u64) -> Result<(), Error> {
    let try_now = || {
        let mut sessions = link.sessions();
        let session = sessions.get_mut(&root).expect("opened before anything is sent");
        let allowed = session.allowance() >= bytes;
        if allowed {
            session.sent(bytes);
        }
        allowed
    };
    let wait = async {
        loop {
            let told = link.receipted.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if try_now() {
                return;
            }
            told.await;
        }
    };
    tokio::time::timeout(RECEIPT_TIME_MAX, wait).await.map_err(|_| Error::Refused(Code::Unpaid))
}
