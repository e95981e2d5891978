//! The hub's blob store as its users see it: content-addressed, checked by BLAKE3, resumable both ways.
//!
//! A download goes on where its file ends, an upload where the hub says it stopped. Nothing that fails its hash
//! is ever returned or left under its final name.
use std::io::{Cursor, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use gleaner_wire::{BlobRef, Hash, JobId};
use reqwest::header::{CONTENT_RANGE, RANGE};
use reqwest::{Method, Response, StatusCode};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite, AsyncWriteExt};

use crate::connection::{Connection, TRIES_MAX};
use crate::{Error, Token, backoff};

/// The largest piece of an upload; what is longer goes in several.
pub const PIECE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Blobs up to this size are sent without asking first whether the hub has them: the question costs as much.
const UNASKED_BYTES_MAX: u64 = 16 * 1024;
const READ_BYTES: usize = 256 * 1024;
const UPLOAD_OFFSET: &str = "upload-offset";

/// A client of a hub's blob store. Clones share their connections.
#[derive(Clone, Debug)]
pub struct BlobClient {
    connection: Connection,
}

/// What the hub holds of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// All of it.
    Whole,
    /// The first so many bytes.
    First(u64),
}

/// What has arrived of a download.
#[derive(Default)]
struct Received {
    bytes: u64,
    hasher: blake3::Hasher,
}

impl Received {
    fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.hasher.update(piece);
    }

    fn is(&self, blob: BlobRef) -> bool {
        self.bytes == blob.bytes && Hash(*self.hasher.finalize().as_bytes()) == blob.id
    }
}

impl BlobClient {
    /// A client of the hub at `url` (`http://HOST:PORT`).
    pub fn new(url: &str, token: Token) -> Result<Self, Error> {
        Connection::new(url, token).map(|connection| Self { connection })
    }

    /// The same client with another token; its connections stay.
    pub fn with_token(&self, token: Token) -> Self {
        Self { connection: self.connection.with_token(token) }
    }

    pub(crate) fn over(connection: Connection) -> Self {
        Self { connection }
    }

    /// What the hub holds of a blob.
    pub async fn held(&self, id: Hash) -> Result<Held, Error> {
        let mut tried = 0;
        loop {
            match self.held_once(id).await {
                Err(error) => again_or(error, &mut tried).await?,
                held => return held,
            }
        }
    }

    async fn held_once(&self, id: Hash) -> Result<Held, Error> {
        let response = self.connection.send_once(self.request(Method::HEAD, id)).await?;
        if response.status() == StatusCode::NOT_FOUND {
            let offset = response.headers().get(UPLOAD_OFFSET).and_then(|value| value.to_str().ok()?.parse().ok());
            return Ok(Held::First(offset.unwrap_or(0)));
        }
        self.connection.agreed(response).await.map(|_| Held::Whole)
    }

    fn request(&self, method: Method, id: Hash) -> reqwest::RequestBuilder {
        self.connection.request(method, &format!("/blobs/{id}"))
    }

    /// Reads a blob into memory. The caller has checked that `blob.bytes` is a size it wants there.
    pub async fn read(&self, blob: BlobRef) -> Result<Vec<u8>, Error> {
        let mut content = Vec::new();
        let mut received = Received::default();
        self.download(blob, &mut received, &mut content, Path::new("memory")).await?;
        if received.is(blob) { Ok(content) } else { Err(Error::Corrupt(blob)) }
    }

    /// Fetches a blob into the file `path`. While it is incomplete it is called `path` + `.part`; a later call goes
    /// on from there.
    pub async fn fetch(&self, blob: BlobRef, path: &Path) -> Result<(), Error> {
        let part = part_of(path);
        if self.fetch_part(blob, &part).await? {
            return tokio::fs::rename(&part, path).await.map_err(Error::file("rename", &part));
        }
        // What was there before may have been something else, so one fresh start is fair.
        tokio::fs::remove_file(&part).await.map_err(Error::file("remove", &part))?;
        if self.fetch_part(blob, &part).await? {
            return tokio::fs::rename(&part, path).await.map_err(Error::file("rename", &part));
        }
        tokio::fs::remove_file(&part).await.map_err(Error::file("remove", &part))?;
        Err(Error::Corrupt(blob))
    }

    async fn fetch_part(&self, blob: BlobRef, part: &Path) -> Result<bool, Error> {
        let mut options = File::options();
        let opened = options.create(true).read(true).write(true).truncate(false).open(part).await;
        let mut file = opened.map_err(Error::file("write", part))?;
        let mut received = Received::default();
        add_all(&mut file, &mut received).await.map_err(Error::file("read", part))?;
        if received.bytes > blob.bytes {
            return Ok(false);
        }
        self.download(blob, &mut received, &mut file, part).await?;
        file.flush().await.map_err(Error::file("write", part))?;
        Ok(received.is(blob))
    }

    /// Goes on with a download until it is complete, through lost connections.
    async fn download<W: AsyncWrite + Unpin>(
        &self,
        blob: BlobRef,
        received: &mut Received,
        to: &mut W,
        path: &Path,
    ) -> Result<(), Error> {
        let mut tried = 0;
        while received.bytes < blob.bytes {
            let before = received.bytes;
            match self.download_once(blob, received, to, path).await {
                Ok(()) if received.bytes > before => tried = 0,
                Ok(()) => again_or(Error::unreachable(self.connection.url(), "it sent nothing"), &mut tried).await?,
                Err(error) => again_or(error, &mut tried).await?,
            }
        }
        Ok(())
    }

    async fn download_once<W: AsyncWrite + Unpin>(
        &self,
        blob: BlobRef,
        received: &mut Received,
        to: &mut W,
        path: &Path,
    ) -> Result<(), Error> {
        let mut request = self.request(Method::GET, blob.id);
        if received.bytes > 0 {
            request = request.header(RANGE, format!("bytes={}-", received.bytes));
        }
        let response = self.connection.send_once(request).await?;
        let mut response = self.connection.agreed(response).await?;
        let mut skip = received.bytes.saturating_sub(first_byte(&response));
        while let Some(piece) = self.connection.chunk(&mut response).await? {
            let known = skip.min(piece.len() as u64);
            skip -= known;
            let piece = &piece[usize::try_from(known).expect("at most the length of the piece")..];
            if piece.len() as u64 > blob.bytes - received.bytes {
                return Err(Error::Corrupt(blob));
            }
            to.write_all(piece).await.map_err(Error::file("write", path))?;
            received.add(piece);
        }
        Ok(())
    }

    /// The outputs of every element of a group, in order, encoded as the hub has them for workers.
    pub async fn outputs(&self, job: JobId, group: u16) -> Result<Bytes, Error> {
        let path = format!("/jobs/{job}/outputs/{group}");
        self.connection.answer(self.connection.request(Method::GET, &path)).await
    }

    /// Stores bytes and returns their reference.
    pub async fn store_bytes(&self, bytes: Bytes) -> Result<BlobRef, Error> {
        let blob = BlobRef::of(&bytes);
        self.store(blob, &mut Cursor::new(bytes), Path::new("memory")).await?;
        Ok(blob)
    }

    /// Stores a file and returns its reference. A store that was interrupted goes on where it stopped.
    pub async fn store_file(&self, path: &Path) -> Result<BlobRef, Error> {
        let blob = reference_of(path).await?;
        let mut file = File::open(path).await.map_err(Error::file("read", path))?;
        self.store(blob, &mut file, path).await?;
        Ok(blob)
    }

    async fn store<R: AsyncRead + AsyncSeek + Unpin>(
        &self,
        blob: BlobRef,
        from: &mut R,
        path: &Path,
    ) -> Result<(), Error> {
        let mut tried = 0;
        let mut held = if blob.bytes <= UNASKED_BYTES_MAX { Held::First(0) } else { self.held(blob.id).await? };
        while let Held::First(offset) = held {
            let offset = if offset > blob.bytes { 0 } else { offset };
            from.seek(SeekFrom::Start(offset)).await.map_err(Error::file("read", path))?;
            let mut piece = Vec::new();
            let read = from.take(PIECE_BYTES_MAX as u64).read_to_end(&mut piece).await;
            read.map_err(Error::file("read", path))?;
            let next = offset + piece.len() as u64;
            match self.send_piece(blob, offset, piece.into()).await {
                Ok(()) if next == blob.bytes => held = Held::Whole,
                Ok(()) => (held, tried) = (Held::First(next), 0),
                Err(error) => {
                    again_or(error, &mut tried).await?;
                    held = self.held(blob.id).await?;
                }
            }
        }
        Ok(())
    }

    async fn send_piece(&self, blob: BlobRef, offset: u64, piece: Bytes) -> Result<(), Error> {
        let mut request = self.request(Method::PUT, blob.id);
        if piece.len() as u64 != blob.bytes {
            let last = offset + (piece.len() as u64).saturating_sub(1);
            request = request.header(CONTENT_RANGE, format!("bytes {offset}-{last}/{}", blob.bytes));
        }
        self.connection.answer_once(request.body(piece)).await.map(|_| ())
    }
}

/// Waits before another try, or gives the error back if it would not help or was tried often enough. That the hub
/// expects another piece is no failure: it has said where to go on.
async fn again_or(error: Error, tried: &mut u32) -> Result<(), Error> {
    let elsewhere = matches!(&error, Error::Refused(problem) if problem.status == 409);
    if *tried + 1 >= TRIES_MAX || !(elsewhere || error.is_transient()) {
        return Err(error);
    }
    tracing::debug!(%error, tried, "going on with a blob");
    tokio::time::sleep(backoff::delay(*tried)).await;
    *tried += 1;
    Ok(())
}

/// Where a response's body starts within the blob.
fn first_byte(response: &Response) -> u64 {
    if response.status() != StatusCode::PARTIAL_CONTENT {
        return 0;
    }
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    range.and_then(|range| range.strip_prefix("bytes ")?.split('-').next()?.parse().ok()).unwrap_or(0)
}

async fn add_all<R: AsyncRead + Unpin>(from: &mut R, received: &mut Received) -> std::io::Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        received.add(&buffer[..read]);
    }
}

/// The reference of a file's content.
pub(crate) async fn reference_of(path: &Path) -> Result<BlobRef, Error> {
    let mut file = File::open(path).await.map_err(Error::file("read", path))?;
    let mut read = Received::default();
    add_all(&mut file, &mut read).await.map_err(Error::file("read", path))?;
    Ok(BlobRef { id: Hash(*read.hasher.finalize().as_bytes()), bytes: read.bytes })
}

/// The name of a file that is not complete yet.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}
