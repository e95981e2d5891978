//! Peers that lie, send too much, stall or vanish, beside one that is honest.
use super::world::*;
use gleaner_data::net::{ALPN, Ask, Progress, Right};
use gleaner_data::store::Chunk;
use gleaner_wire::Hash;
use iroh::endpoint::{Connection, SendStream};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Good bytes for the first chunks, then others of the same length.
    Lies,
    /// More than was asked for.
    Oversends,
    /// Announces a length that no chunk has.
    Exaggerates,
    /// Answers half a request and then nothing.
    Stalls,
    /// A byte now and then.
    Trickles,
    /// Closes the connection in the middle of a chunk.
    Vanishes,
    /// Never has anything.
    IsEmpty,
    /// Ends its answers early.
    BreaksOff,
}

/// A server that speaks the protocol by hand.
async fn faulty(number: u8, fault: Fault, chunks: &[Chunk]) -> iroh::EndpointAddr {
    let listen = loopback();
    let endpoint = iroh::Endpoint::builder(iroh::endpoint::presets::Minimal)
        .secret_key(iroh::SecretKey::from_bytes(key(number).as_bytes()))
        .alpns(vec![ALPN.to_vec()])
        .clear_ip_transports()
        .bind_addr(listen[0])
        .unwrap()
        .bind()
        .await
        .unwrap();
    let known: Arc<HashMap<Hash, Chunk>> = Arc::new(chunks.iter().map(|chunk| (chunk.id, chunk.clone())).collect());
    let address = endpoint.addr();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let known = Arc::clone(&known);
            tokio::spawn(async move {
                let connection = incoming.await.unwrap();
                while let Ok((send, mut receive)) = connection.accept_bi().await {
                    let mut length = [0; 4];
                    receive.read_exact(&mut length).await.unwrap();
                    let mut message = vec![0; u32::from_le_bytes(length) as usize];
                    receive.read_exact(&mut message).await.unwrap();
                    let ask: Ask = postcard::from_bytes(&message).unwrap();
                    let (ids, begun) = match ask {
                        Ask::Want { ids, .. } => (ids, Vec::new()),
                        Ask::Rest { ids, begun, .. } => (ids, begun),
                        Ask::Held { .. } | Ask::Having { .. } | Ask::Give { .. } | Ask::Receipt(_) => continue,
                    };
                    let begun = begun.into_iter().map(|begun| begun as usize).chain(std::iter::repeat(0));
                    let wanted = ids.into_iter().zip(begun).collect();
                    tokio::spawn(misbehave(connection.clone(), send, fault, wanted, Arc::clone(&known)));
                }
            });
        }
    });
    address
}

async fn misbehave(
    connection: Connection,
    mut send: SendStream,
    fault: Fault,
    wanted: Vec<(Hash, usize)>,
    known: Arc<HashMap<Hash, Chunk>>,
) {
    for (number, (id, begun)) in wanted.iter().enumerate() {
        let bytes = &known[id].bytes;
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        let whole = [&length[..], &bytes[*begun..]].concat();
        let sent = match fault {
            Fault::Lies => {
                let mut lie = whole;
                *lie.last_mut().unwrap() ^= 1;
                send.write_all(&lie).await
            }
            Fault::Oversends if number + 1 == wanted.len() => send.write_all(&[&whole[..], &whole].concat()).await,
            Fault::Oversends => send.write_all(&whole).await,
            Fault::Exaggerates => send.write_all(&u32::MAX.to_le_bytes()).await,
            Fault::Stalls => {
                let _ = send.write_all(&whole[..whole.len() / 2]).await;
                return std::future::pending().await;
            }
            Fault::Trickles => {
                for byte in whole {
                    if send.write_all(&[byte]).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
                Ok(())
            }
            Fault::Vanishes => {
                let _ = send.write_all(&whole[..whole.len() / 2]).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
                return connection.close(0_u32.into(), b"");
            }
            Fault::IsEmpty => send.write_all(&[0; 4]).await,
            Fault::BreaksOff => {
                let _ = send.write_all(&whole[..whole.len() / 2]).await;
                let _ = send.finish();
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
    let _ = send.finish();
}

async fn beside_an_honest_one(fault: Fault) -> (Progress, Duration, bool) {
    let chunks = chunks(20, 400);
    let (honest, _server) = Machine::with(1, &chunks).await;
    let address = faulty(2, fault, &chunks).await;
    let three = Machine::new(3).await;
    let bad = three.peer_at(address, Right::Fetch);
    let (fetch, control) = three.fetch(&chunks);
    // So that the bad one has its chance before it is over.
    control.set_limit(Some(20_000_000));
    control.tell(joined(&bad)).await;
    control.tell(joined(&three.peer(&honest))).await;
    let begun = Instant::now();
    let done = tokio::time::timeout(Duration::from_secs(60), fetch.run()).await.expect("it ends").unwrap();
    assert!(three.has_all(&chunks), "{fault:?}");
    let gone = !done.sources.iter().any(|source| source.name == bad.key().to_string());
    assert!(done.twice_bytes * 50 <= bytes_of(&chunks).max(50 * 512 * 1024), "{fault:?}: {} twice", done.twice_bytes);
    (done, begun.elapsed(), gone)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_lies_is_dropped_and_everything_comes_from_the_other() {
    let (done, _, gone) = beside_an_honest_one(Fault::Lies).await;
    assert!(gone, "{done:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_too_much_is_dropped() {
    for fault in [Fault::Oversends, Fault::Exaggerates] {
        let (done, _, gone) = beside_an_honest_one(fault).await;
        assert!(gone, "{fault:?}: {done:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stalls_or_trickles_holds_nothing_up() {
    for fault in [Fault::Stalls, Fault::Trickles] {
        let (done, taken, _) = beside_an_honest_one(fault).await;
        assert!(taken < Duration::from_secs(8), "{fault:?}: {taken:?}, {done:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_vanishes_has_nothing_or_breaks_off_costs_nothing() {
    for fault in [Fault::Vanishes, Fault::IsEmpty, Fault::BreaksOff] {
        let (_, taken, _) = beside_an_honest_one(fault).await;
        assert!(taken < Duration::from_secs(8), "{fault:?}: {taken:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_signed_for_stops_sending() {
    let chunks = chunks(21, 400);
    let (one, _server) = Machine::with(1, &chunks).await;
    // Asked by hand, so that nobody signs.
    let endpoint = iroh::Endpoint::builder(iroh::endpoint::presets::Minimal)
        .secret_key(iroh::SecretKey::from_bytes(key(4).as_bytes()))
        .clear_ip_transports()
        .bind_addr(loopback()[0])
        .unwrap()
        .bind()
        .await
        .unwrap();
    let me = gleaner_wire::WorkerKey(*endpoint.id().as_bytes());
    let connection = endpoint.connect(one.network.address(), ALPN).await.unwrap();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let ids = chunks.iter().map(|chunk| chunk.id).collect();
    let ask = postcard::to_allocvec(&Ask::Want { grant: grant(me, Right::Fetch), ids }).unwrap();
    send.write_all(&u32::try_from(ask.len()).unwrap().to_le_bytes()).await.unwrap();
    send.write_all(&ask).await.unwrap();
    let mut got = 0;
    let refused = loop {
        match receive.read_chunk(1 << 20).await {
            Ok(Some(piece)) => got += piece.len() as u64,
            Ok(None) => panic!("all {got} bytes were sent without a receipt"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(got <= gleaner_data::net::STEP_BYTES + 4 * 400, "{got} bytes before {refused}");
}
