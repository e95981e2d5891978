//! The hub's side, to be mounted where its other routes are.
use super::{CODE, GIFT_BYTES_MAX, GRANT, grant_of, ids_of};
use crate::net::frames::{Gift, header};
use crate::net::protocol::Code;
use crate::net::serve::{blocking, now};
use crate::net::{Authority, Error, Right, SignedGrant};
use crate::store::{Store, Verified, Verify};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::{Stream, StreamExt, stream};
use gleaner_wire::Hash;
use std::sync::Arc;

const BATCH_CHUNKS: usize = 16;
const BATCH_BYTES: usize = 4 * 1024 * 1024;

#[derive(Clone)]
struct Hub {
    store: Arc<Store>,
    authority: Authority,
}

/// Serves a store to those who show a grant of this authority.
pub fn router(store: Arc<Store>, authority: Authority) -> Router {
    Router::new()
        .route("/chunks/missing", post(missing))
        .route("/chunks/want", post(want))
        .route("/chunks", post(give))
        .with_state(Hub { store, authority })
}

/// A refusal, as its asker reads it.
struct Refusal(Error);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code) = match &self.0 {
            Error::Grant(_) => (StatusCode::FORBIDDEN, Code::NotGranted),
            Error::TooMuch { .. } => (StatusCode::PAYLOAD_TOO_LARGE, Code::TooMuch),
            Error::Malformed(_) => (StatusCode::BAD_REQUEST, Code::Malformed),
            Error::Store(crate::store::Error::DiskFull | crate::store::Error::NoRoom { .. }) => {
                (StatusCode::INSUFFICIENT_STORAGE, Code::Storage)
            }
            Error::Bind { .. }
            | Error::Lost { .. }
            | Error::Refused(_)
            | Error::Receipt(_)
            | Error::Lied(_)
            | Error::Store(_)
            | Error::NoSource { .. }
            | Error::Stopped
            | Error::Relay { .. } => (StatusCode::INTERNAL_SERVER_ERROR, Code::Storage),
        };
        (status, [(CODE, code.number().to_string())], self.0.to_string()).into_response()
    }
}

impl Hub {
    fn check(&self, headers: &HeaderMap, right: Option<Right>) -> Result<SignedGrant, Error> {
        let shown = headers.get(GRANT).and_then(|value| grant_of(value.to_str().ok()?));
        let grant = shown.ok_or(Error::Malformed("the grant"))?;
        let right = right.unwrap_or(grant.grant.right);
        self.authority.check(&grant, &grant.grant.peer, right, now())?;
        Ok(grant)
    }
}

async fn missing(State(hub): State<Hub>, headers: HeaderMap, body: Bytes) -> Result<Vec<u8>, Refusal> {
    hub.check(&headers, None)?;
    let ids = ids_of(&body)?;
    let held = blocking(move || hub.store.has_many(&ids)).await?;
    Ok(held.as_bytes().to_vec())
}

async fn want(State(hub): State<Hub>, headers: HeaderMap, body: Bytes) -> Result<Body, Refusal> {
    hub.check(&headers, Some(Right::Fetch))?;
    Ok(Body::from_stream(frames(hub.store, ids_of(&body)?)))
}

fn frames(store: Arc<Store>, ids: Vec<Hash>) -> impl Stream<Item = Result<Bytes, Error>> {
    let batches: Vec<Vec<Hash>> = ids.chunks(BATCH_CHUNKS).map(<[Hash]>::to_vec).collect();
    let read = move |batch: Vec<Hash>| {
        let store = Arc::clone(&store);
        blocking(move || store.get_many(&batch, Verify::ByReceiver))
    };
    stream::iter(batches).map(read).buffered(2).flat_map(|chunks| {
        let pieces: Vec<Result<Bytes, Error>> = match chunks {
            Ok(chunks) => chunks.into_iter().flat_map(|chunk| framed(chunk.unwrap_or_default())).map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(pieces)
    })
}

fn framed(chunk: Bytes) -> [Bytes; 2] {
    [Bytes::copy_from_slice(&header(&chunk)), chunk]
}

async fn give(State(hub): State<Hub>, headers: HeaderMap, body: Body) -> Result<StatusCode, Refusal> {
    hub.check(&headers, Some(Right::Give))?;
    let mut pieces = body.into_data_stream();
    let (mut gift, mut batch, mut taken) = (Gift::default(), Vec::new(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|why| Error::Lost { peer: "the giver".to_owned(), why: why.to_string() })?;
        taken += piece.len() as u64;
        if taken > GIFT_BYTES_MAX {
            return Err(Error::TooMuch { what: "a gift", max: GIFT_BYTES_MAX }.into());
        }
        gift.push(&piece, &mut batch)?;
        if batch.iter().map(|chunk: &Verified| chunk.bytes().len()).sum::<usize>() >= BATCH_BYTES {
            store(&hub, std::mem::take(&mut batch)).await?;
        }
    }
    if !gift.is_ended() {
        return Err(Error::Malformed("a gift without an end").into());
    }
    store(&hub, batch).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn store(hub: &Hub, chunks: Vec<Verified>) -> Result<(), Error> {
    let store = Arc::clone(&hub.store);
    blocking(move || store.put_verified(chunks)).await.map(|_| ())
}
