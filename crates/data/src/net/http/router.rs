//! The hub's side, to be mounted where its other routes are.
use super::refused::Refused;
use super::{Admitted, Door, GIFT_BYTES_MAX, Refusal, ids_of};
use crate::net::frames::{Gift, header};
use crate::net::serve::blocking;
use crate::net::{Error, Right};
use crate::store::{Store, Verified, Verify};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::post;
use futures_util::{Stream, StreamExt, stream};
use gleaner_wire::Hash;
use std::sync::Arc;
use std::time::Duration;

const BATCH_CHUNKS: usize = 16;
/// A batch of a gift is stored when it has this many bytes: little is sent again if this side is killed.
const BATCH_BYTES: usize = 1024 * 1024;
/// A giver that says nothing for this long may have lost its line: what came is stored, for it will ask soon.
const QUIET_TIME: Duration = Duration::from_secs(1);
/// After this time it is not waited for any more.
const QUIET_TIME_MAX: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Hub {
    store: Arc<Store>,
    door: Arc<dyn Door>,
}

/// Serves a store to those whom the door lets in.
pub fn router(store: Arc<Store>, door: Arc<dyn Door>) -> Router {
    Router::new()
        .route("/chunks/missing", post(missing))
        .route("/chunks/want", post(want))
        .route("/chunks", post(give))
        .with_state(Hub { store, door })
}

async fn missing(State(hub): State<Hub>, headers: HeaderMap, body: Bytes) -> Result<Vec<u8>, Refused> {
    hub.door.admits(&headers, Right::Fetch).or_else(|_| hub.door.admits(&headers, Right::Give))?;
    let ids = ids_of(&body)?;
    let held = blocking(move || hub.store.has_many(&ids)).await?;
    Ok(held.as_bytes().to_vec())
}

async fn want(State(hub): State<Hub>, headers: HeaderMap, body: Bytes) -> Result<impl IntoResponse, Refused> {
    hub.door.admits(&headers, Right::Fetch)?;
    let frames = Body::from_stream(frames(hub.store, &ids_of(&body)?));
    Ok(([(CONTENT_TYPE, "application/octet-stream")], frames))
}

fn frames(store: Arc<Store>, ids: &[Hash]) -> impl Stream<Item = Result<Bytes, Error>> + use<> {
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

async fn give(State(hub): State<Hub>, headers: HeaderMap, body: Body) -> Result<StatusCode, Refused> {
    let admitted = hub.door.admits(&headers, Right::Give)?;
    let mut pieces = body.into_data_stream();
    let (mut gift, mut batch, mut taken, mut quiet) = (Gift::default(), Vec::new(), 0, Duration::ZERO);
    let came = loop {
        let Ok(next) = tokio::time::timeout(QUIET_TIME, pieces.next()).await else {
            quiet += QUIET_TIME;
            if quiet >= QUIET_TIME_MAX {
                break Err(broken_off("nothing comes any more"));
            }
            if !batch.is_empty() {
                store(&hub, &admitted, std::mem::take(&mut batch)).await?;
            }
            continue;
        };
        quiet = Duration::ZERO;
        let Some(piece) = next else { break Ok(()) };
        let pushed = piece.map_err(broken_off).and_then(|piece| {
            taken += piece.len() as u64;
            if taken > GIFT_BYTES_MAX {
                return Err(Error::TooMuch { what: "a gift", max: GIFT_BYTES_MAX });
            }
            gift.push(&piece, &mut batch)
        });
        if pushed.is_err() {
            break pushed;
        }
        if size_of(&batch) >= BATCH_BYTES as u64 {
            store(&hub, &admitted, std::mem::take(&mut batch)).await?;
        }
    };
    // What came whole is kept even if the giver broke off: it is not sent again.
    store(&hub, &admitted, batch).await?;
    came?;
    if gift.is_ended() { Ok(StatusCode::NO_CONTENT) } else { Err(Error::Malformed("a gift without an end").into()) }
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn broken_off(why: impl ToString) -> Error {
    Error::Lost { peer: "the giver".to_owned(), why: why.to_string() }
}

fn size_of(chunks: &[Verified]) -> u64 {
    chunks.iter().map(|chunk| chunk.bytes().len() as u64).sum()
}

async fn store(hub: &Hub, admitted: &Admitted, chunks: Vec<Verified>) -> Result<(), Refused> {
    let bytes = size_of(&chunks);
    if admitted.allowance.as_ref().is_some_and(|allowance| !allowance.take(bytes)) {
        return Err(Refusal::NoRoom.into());
    }
    let store = Arc::clone(&hub.store);
    let stored = blocking(move || store.put_verified(chunks)).await;
    if stored.is_err()
        && let Some(allowance) = &admitted.allowance
    {
        allowance.give_back(bytes);
    }
    Ok(stored.map(|_| ())?)
}
