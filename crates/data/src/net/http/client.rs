//! The hub's cache as its users see it: a source like any other, and somebody to bring chunks to.
use super::{Access, CODE};
use crate::net::carrier::{Carrier, Delivery};
use crate::net::engine::Pace;
use crate::net::frames::header;
use crate::net::protocol::Code;
use crate::net::push::Taker;
use crate::net::schedule::Route;
use crate::net::{Error, IDS_MAX};
use crate::store::Bitmap;
use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use gleaner_wire::Hash;
use iroh::endpoint::VarInt;
use reqwest::{Body, Client, Response, StatusCode};
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;

const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
const READ_TIME_MAX: Duration = Duration::from_secs(30);
/// Bytes that nobody has confirmed for this long are lost with their connection, such as when this machine's address has
/// changed. The next connection begins at the new one.
#[cfg(target_os = "linux")]
const UNCONFIRMED_TIME_MAX: Duration = Duration::from_secs(10);

/// The cache of the hub at an address. Requests that run side by side have a TCP connection each.
#[derive(Clone, Debug)]
pub struct Cache {
    client: Client,
    url: String,
    access: Access,
}

impl Cache {
    /// The hub at `url` (`http://HOST:PORT`, and the path below which its routes are, if any), for what this allows.
    pub fn new(url: &str, access: Access) -> Result<Self, Error> {
        Self::encrypted(url, access, None)
    }

    /// The same, with what says who may vouch for the hub at an `https://` address.
    pub fn encrypted(url: &str, access: Access, tls: Option<&Arc<ClientConfig>>) -> Result<Self, Error> {
        // If another part of the process has chosen already, that holds.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().connect_timeout(CONNECT_TIME_MAX).read_timeout(READ_TIME_MAX);
        let client = match tls {
            Some(tls) => client.tls_backend_preconfigured((**tls).clone()).https_only(true),
            None => client,
        };
        #[cfg(target_os = "linux")]
        let client = client.tcp_user_timeout(UNCONFIRMED_TIME_MAX);
        let client = client.tcp_nodelay(true).build().map_err(|why| lost(url, &why))?;
        Ok(Self { client, url: url.trim_end_matches('/').to_owned(), access })
    }

    pub(in crate::net) async fn post(&self, path: &str, body: impl Into<Body>) -> Result<Response, Error> {
        let (name, value) = self.access.header()?;
        let request = self.client.post(format!("{}{path}", self.url)).header(name, value).body(body);
        let response = request.send().await.map_err(|why| lost(&self.url, &why))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let code = response.headers().get(CODE).and_then(|value| value.to_str().ok()?.parse().ok());
        match code.and_then(|number: u32| Code::from_number(VarInt::from_u32(number))) {
            // A token that has run out is replaced by somebody else, soon: the next try shows the new one.
            Some(Code::NotGranted) if status == StatusCode::UNAUTHORIZED && matches!(self.access, Access::Token(_)) => {
                Err(Error::Lost { peer: self.url.clone(), why: "it does not know this token".to_owned() })
            }
            Some(code) => Err(Error::Refused(code)),
            None => Err(Error::Lost { peer: self.url.clone(), why: format!("it answers {status}") }),
        }
    }

    /// The body of an answer, up to a limit.
    pub(in crate::net) async fn body(&self, mut response: Response, bytes_max: usize) -> Result<BytesMut, Error> {
        let mut bytes = BytesMut::new();
        while let Some(piece) = response.chunk().await.map_err(|why| lost(&self.url, &why))? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > bytes_max {
                return Err(Error::TooMuch { what: "an answer", max: bytes_max as u64 });
            }
        }
        Ok(bytes)
    }

    async fn fetch(&self, mut delivery: Delivery) -> Result<(), Error> {
        let ids: Vec<u8> = delivery.blobs().iter().flat_map(|blob| blob.id.0).collect();
        let mut response = self.post("/chunks/want", ids).await?;
        while let Some(piece) = response.chunk().await.map_err(|why| lost(&self.url, &why))? {
            delivery.take(&piece).await?;
        }
        if delivery.is_complete() { Ok(()) } else { Err(Error::Malformed("an answer that ended early")) }
    }

    async fn held(&self, ids: &[Hash]) -> Result<Bitmap, Error> {
        let mut all = Bitmap::new(ids.len());
        for (number, some) in ids.chunks(IDS_MAX).enumerate() {
            let body: Vec<u8> = some.iter().flat_map(|id| id.0).collect();
            let response = self.post("/chunks/missing", body).await?;
            let bytes = self.body(response, IDS_MAX / 8).await?;
            let bits = Bitmap::from_bytes(&bytes, some.len()).ok_or(Error::Malformed("a list of chunks"))?;
            for position in bits.positions(true) {
                all.set(number * IDS_MAX + position, true);
            }
        }
        Ok(all)
    }
}

impl Carrier for Cache {
    fn name(&self) -> String {
        self.url.clone()
    }

    fn route(&self) -> Route {
        Route::Hub
    }

    fn want(self: Arc<Self>, delivery: Delivery) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.fetch(delivery).await })
    }
}

impl Taker for Cache {
    fn having(&self, ids: Vec<Hash>) -> BoxFuture<'_, Result<Bitmap, Error>> {
        Box::pin(async move { self.held(&ids).await })
    }

    fn give(&self, chunks: Vec<Bytes>, pace: Arc<Pace>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let paced = |chunk: Bytes| {
                let pace = Arc::clone(&pace);
                async move {
                    let mut owed = chunk.len() as u64;
                    while let Some(wait) = pace.take(&mut owed) {
                        tokio::time::sleep(wait).await;
                    }
                    chunk
                }
            };
            let mut pieces = Vec::with_capacity(chunks.len() * 2 + 1);
            for chunk in chunks {
                let chunk = paced(chunk).await;
                pieces.push(Ok::<_, std::io::Error>(Bytes::copy_from_slice(&header(&chunk))));
                pieces.push(Ok(chunk));
            }
            pieces.push(Ok(Bytes::from_static(&[0; 4])));
            let body = Body::wrap_stream(futures_util::stream::iter(pieces));
            self.post("/chunks", body).await.map(|_| ())
        })
    }
}

fn lost(url: &str, why: &reqwest::Error) -> Error {
    Error::Lost { peer: url.to_owned(), why: why.to_string() }
}
