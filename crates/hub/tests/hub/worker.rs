//! A worker made by hand: it speaks the wire protocol and does exactly what a test tells it.
use crate::place::{Api, PATIENCE};
use ed25519_dalek::{Signer, SigningKey};
use futures_util::{SinkExt, StreamExt};
use gleaner_wire::{
    Amount, AttemptId, ByteSize, DeviceKind, DeviceOffer, Finished, Micros, Millis, Offer, Outcome, Output, PROTOCOL,
    Runtime, RuntimeOffer, StartAttempt, ToHub, ToWorker, WorkerId, WorkerKey, challenge_bytes, decode, encode,
};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

pub struct Connection {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub nonce: [u8; 32],
}

pub struct Worker {
    pub connection: Connection,
    pub id: WorkerId,
    pub token: String,
    pub heartbeat_ms: Millis,
    batch: u64,
}

impl Connection {
    /// Dials the hub and takes its challenge.
    pub async fn open(api: &Api) -> Self {
        Self::dial(api, None).await
    }

    /// Dials the hub with a token of an account, and takes its challenge.
    pub async fn dial(api: &Api, token: Option<&str>) -> Self {
        let url = format!("{}/worker/v1", api.url.replace("http:", "ws:"));
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        let (socket, _) = connect_async(request).await.unwrap();
        let mut connection = Self { socket, nonce: [0; 32] };
        let Some(ToWorker::Challenge { protocol: PROTOCOL, nonce }) = connection.receive().await else {
            panic!("no challenge")
        };
        connection.nonce = nonce;
        connection
    }

    pub async fn send(&mut self, message: &ToHub) {
        self.send_bytes(encode(message)).await;
    }

    pub async fn send_bytes(&mut self, bytes: Vec<u8>) {
        self.send_frame(Message::binary(bytes)).await;
    }

    pub async fn send_frame(&mut self, frame: Message) {
        // The hub may have closed the connection already, and the test is about what it said before.
        let _ = self.socket.send(frame).await;
    }

    /// The next message; `None` when the hub has closed the connection.
    pub async fn receive(&mut self) -> Option<ToWorker> {
        let next = async {
            loop {
                match self.socket.next().await {
                    Some(Ok(Message::Binary(bytes))) => return Some(decode(&bytes).unwrap()),
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                    Some(Ok(_)) => {}
                }
            }
        };
        tokio::time::timeout(PATIENCE, next).await.expect("the hub says something")
    }

    /// The reason why the hub closes the connection. Other messages on the way are let go.
    pub async fn refusal(&mut self) -> String {
        loop {
            match self.receive().await {
                Some(ToWorker::Refused { reason }) => return reason,
                Some(_) => {}
                None => panic!("closed without a reason"),
            }
        }
    }

    /// Waits for the end of the connection.
    pub async fn closed(&mut self) {
        while self.receive().await.is_some() {}
    }

    pub fn hello(&self, seed: u8, held: Vec<AttemptId>) -> ToHub {
        let signer = SigningKey::from_bytes(&[seed; 32]);
        let key = WorkerKey(signer.verifying_key().to_bytes());
        let signature = signer.sign(&challenge_bytes(&self.nonce, &key)).to_bytes().to_vec();
        ToHub::Hello {
            protocol: PROTOCOL,
            key,
            signature,
            offer: offer(seed),
            owner_proof: Vec::new(),
            resting: Vec::new(),
            held,
        }
    }
}

/// The offer of a small machine.
pub fn offer(seed: u8) -> Offer {
    let wasm = RuntimeOffer { runtime: Runtime::Wasm, score: 1000, loops_max: None, engine: None };
    let device = DeviceOffer {
        kind: DeviceKind::Cpu,
        name: "processor".to_owned(),
        memory: ByteSize::mib(4096),
        cards: 1,
        slots: 4,
        network: false,
        eevee: false,
        price_per_second: Amount(1_000_000),
        runtimes: vec![wasm],
    };
    Offer { name: format!("worker-{seed}"), region: "here".to_owned(), provider: None, devices: vec![device] }
}

impl Worker {
    /// A worker that is in; the seed makes its key.
    pub async fn join(api: &Api, seed: u8) -> Self {
        Self::rejoin(api, seed, Vec::new()).await
    }

    /// A worker that still holds something.
    pub async fn rejoin(api: &Api, seed: u8, held: Vec<AttemptId>) -> Self {
        Self::enter(Connection::open(api).await, seed, held).await
    }

    /// A worker that its account claims, by the token with which the hub is asked.
    pub async fn join_with_token(api: &Api, seed: u8) -> Self {
        Self::enter(Connection::dial(api, Some(&api.token)).await, seed, Vec::new()).await
    }

    async fn enter(mut connection: Connection, seed: u8, held: Vec<AttemptId>) -> Self {
        let hello = connection.hello(seed, held);
        connection.send(&hello).await;
        match connection.receive().await {
            Some(ToWorker::Welcome { worker, heartbeat_ms, token, .. }) => {
                Self { connection, id: worker, token, heartbeat_ms, batch: 0 }
            }
            other => panic!("no welcome: {other:?}"),
        }
    }

    /// The next attempts to start. Specifications must have come before them.
    pub async fn starts(&mut self) -> Vec<StartAttempt> {
        loop {
            match self.connection.receive().await.expect("the connection stays") {
                ToWorker::Start(starts) => return starts,
                ToWorker::Refused { reason } => panic!("{reason}"),
                _ => {}
            }
        }
    }

    /// Sends results under a new batch number, which it returns.
    pub async fn finish(&mut self, results: Vec<Finished>) -> u64 {
        self.batch += 1;
        self.send_batch(self.batch, results).await;
        self.batch
    }

    pub async fn send_batch(&mut self, batch: u64, results: Vec<Finished>) {
        self.connection.send(&ToHub::Finished { batch, results, signed: gleaner_wire::Signed::default() }).await;
    }

    /// Waits for the acknowledgement of a batch; returns attempts that were started meanwhile.
    pub async fn acknowledged(&mut self, batch: u64) -> Vec<StartAttempt> {
        let mut started = Vec::new();
        loop {
            match self.connection.receive().await.expect("the connection stays") {
                ToWorker::Acknowledge { batch: upto, .. } if upto >= batch => return started,
                ToWorker::Start(starts) => started.extend(starts),
                ToWorker::Refused { reason } => panic!("{reason}"),
                _ => {}
            }
        }
    }

    /// Does everything it is given until so many are done.
    pub async fn work(&mut self, tasks: usize) {
        let (mut todo, mut done) = (Vec::new(), 0);
        while done < tasks {
            if todo.is_empty() {
                todo = self.starts().await;
            }
            let results: Vec<_> = std::mem::take(&mut todo).iter().map(done_with).collect();
            done += results.len();
            let batch = self.finish(results).await;
            todo = self.acknowledged(batch).await;
        }
    }
}

/// The result of an attempt: its index as text.
pub fn done_with(start: &StartAttempt) -> Finished {
    let output = Output::inline(start.index.to_string().as_bytes()).unwrap();
    Finished { attempt: start.attempt, ran: Micros(500), outcome: Outcome::Done(output) }
}
