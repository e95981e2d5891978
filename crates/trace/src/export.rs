//! The way of spans to a collector: a bounded queue, batches, OTLP over HTTP. Whoever has a span never waits.
use crate::Span;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

/// Spans that wait to be sent; further ones are dropped and counted.
const WAITING_MAX: usize = 8192;
/// Spans in one request.
const BATCH_MAX: usize = 512;
/// How long a span waits for others to travel with.
const LINGER: Duration = Duration::from_millis(500);
/// How long a collector may take for one request.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a process that ends waits for its last spans to be taken.
pub const FINISH_TIME_MAX: Duration = Duration::from_secs(3);
/// Where collectors take traces, below their address.
const PATH: &str = "v1/traces";

/// Where spans go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The collector's address without `/v1/traces`, such as `http://127.0.0.1:4318`.
    pub endpoint: String,
}

/// Whose spans they are.
#[derive(Clone, Debug)]
pub struct Service {
    /// What it is: `gleaner-hub` or `gleaner-worker`.
    pub name: &'static str,
    /// Which one.
    pub instance: String,
}

/// Why no spans can be sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is not one.
    #[error("`{0}` is no address of a collector: write http://HOST:PORT or https://HOST")]
    Endpoint(String),
    /// There is no HTTP client.
    #[error("no client for traces could be made")]
    Client(#[from] reqwest::Error),
    /// The exporter refuses what it was told.
    #[error("traces cannot be exported")]
    Exporter(#[from] ExporterBuildError),
}

enum Message {
    Span(Box<Span>),
    Flush(oneshot::Sender<()>),
}

/// Where spans are told; never waits. Clones lead to the same collector.
#[derive(Clone, Debug)]
pub struct Tracer {
    sender: Sender<Message>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    dropped: AtomicU64,
}

impl Tracer {
    /// Starts sending, on the runtime that this is called on. That a collector is there is not asked for: it may come later.
    pub fn start(config: &Config, service: Service) -> Result<Self, Error> {
        let exporter = exporter(&config.endpoint, service)?;
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let counts = Arc::new(Counts::default());
        let sending = Sending { exporter, counts: Arc::clone(&counts), is_refused: false };
        tokio::spawn(sending.run(receiver));
        Ok(Self { sender, counts })
    }

    /// Tells of something that is over.
    pub fn send(&self, span: Span) {
        if self.sender.try_send(Message::Span(Box::new(span))).is_err() {
            self.counts.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Spans that a collector has taken.
    pub fn sent(&self) -> u64 {
        self.counts.sent.load(Relaxed)
    }

    /// Spans that found no room, or that no collector took.
    pub fn dropped(&self) -> u64 {
        self.counts.dropped.load(Relaxed)
    }

    /// Waits until what was told so far has been sent, or dropped, but not for longer than [`FINISH_TIME_MAX`].
    pub async fn finish(&self) {
        let (done, finished) = oneshot::channel();
        let flushed = async {
            if self.sender.send(Message::Flush(done)).await.is_ok() {
                // Whoever sends may have ended; then there is nothing to wait for.
                let _ = finished.await;
            }
        };
        if timeout(FINISH_TIME_MAX, flushed).await.is_err() {
            tracing::warn!("the last spans did not reach the collector in time");
        }
    }
}

fn exporter(endpoint: &str, service: Service) -> Result<SpanExporter, Error> {
    let wrong = || Error::Endpoint(endpoint.to_owned());
    let url = url::Url::parse(endpoint).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || url.query().is_some() {
        return Err(wrong());
    }
    // Another part of the process may have chosen it before, which is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(REQUEST_TIME_MAX).redirect(reqwest::redirect::Policy::none());
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/{PATH}", endpoint.trim_end_matches('/')))
        .with_timeout(REQUEST_TIME_MAX)
        .with_http_client(client.build()?)
        .build()?;
    let resource = Resource::builder_empty()
        .with_service_name(service.name)
        .with_attribute(KeyValue::new("service.instance.id", service.instance))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    exporter.set_resource(&resource.build());
    Ok(exporter)
}

/// Sends until nobody can tell of anything any more.
struct Sending {
    exporter: SpanExporter,
    counts: Arc<Counts>,
    /// Whether the last batch was not taken; only changes are worth a word.
    is_refused: bool,
}

impl Sending {
    async fn run(mut self, mut messages: Receiver<Message>) {
        let scope = InstrumentationScope::builder("gleaner").with_version(env!("CARGO_PKG_VERSION")).build();
        while let Some(first) = messages.recv().await {
            let (mut batch, mut flushed) = (Vec::new(), Vec::new());
            let until = Instant::now() + LINGER;
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Span(span) => batch.push(span.data(&scope)),
                    Message::Flush(done) => flushed.push(done),
                }
                let is_full = batch.len() >= BATCH_MAX || !flushed.is_empty();
                next = if is_full { None } else { timeout_at(until, messages.recv()).await.ok().flatten() };
            }
            self.send(batch).await;
            // Whoever waited may have given up.
            for done in flushed {
                let _ = done.send(());
            }
        }
    }

    async fn send(&mut self, batch: Vec<SpanData>) {
        let count = batch.len() as u64;
        if count == 0 {
            return;
        }
        match self.exporter.export(batch).await {
            Ok(()) => {
                self.counts.sent.fetch_add(count, Relaxed);
                if std::mem::take(&mut self.is_refused) {
                    tracing::info!("the collector takes traces again");
                }
            }
            Err(error) => {
                self.counts.dropped.fetch_add(count, Relaxed);
                if !std::mem::replace(&mut self.is_refused, true) {
                    tracing::warn!(%error, "the collector takes no traces; spans are dropped until it does");
                }
            }
        }
    }
}
