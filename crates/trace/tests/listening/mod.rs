//! A collector for tests: it takes OTLP over HTTP as any other does, and remembers every span.
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A test that waits longer than this for spans has failed.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Collector {
    /// Its address, as it is given to programs.
    pub endpoint: String,
    seen: watch::Receiver<Vec<Seen>>,
}

/// A span, and whose it is.
#[derive(Clone, Debug)]
pub struct Seen {
    pub service: String,
    pub span: Span,
}

impl Seen {
    pub fn trace(&self) -> String {
        hex(&self.span.trace_id)
    }

    pub fn name(&self) -> &str {
        &self.span.name
    }

    pub fn has_failed(&self) -> bool {
        self.span.status.as_ref().is_some_and(|status| status.code == 2)
    }

    /// A number that was told with it.
    pub fn number(&self, name: &str) -> Option<i64> {
        let found = self.span.attributes.iter().find(|word| word.key == name)?;
        match found.value.as_ref()?.value.as_ref()? {
            Value::IntValue(number) => Some(*number),
            _ => None,
        }
    }
}

impl Collector {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let (sender, seen) = watch::channel(Vec::new());
        let app = Router::new().route("/v1/traces", post(take)).with_state(sender);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { endpoint, seen }
    }

    /// Waits until what has come fulfils a condition.
    pub async fn wait_for(&self, condition: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let mut seen = self.seen.clone();
        let waited = tokio::time::timeout(PATIENCE, seen.wait_for(|seen| condition(seen))).await;
        match waited {
            Ok(found) => found.expect("the collector is there").clone(),
            Err(_) => panic!("these came: {:?}", names(&self.seen.borrow())),
        }
    }
}

fn names(seen: &[Seen]) -> Vec<(&str, &str)> {
    seen.iter().map(|seen| (seen.service.as_str(), seen.name())).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn take(State(seen): State<watch::Sender<Vec<Seen>>>, head: HeaderMap, body: Bytes) -> StatusCode {
    if head.get("content-type").is_none_or(|kind| kind != "application/x-protobuf") {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE;
    }
    let Ok(request) = ExportTraceServiceRequest::decode(body) else { return StatusCode::BAD_REQUEST };
    let spans = request.resource_spans.into_iter().flat_map(|resource| {
        let words = resource.resource.unwrap_or_default().attributes;
        let name = words.into_iter().find(|word| word.key == "service.name").and_then(|word| word.value?.value);
        let service = match name {
            Some(Value::StringValue(name)) => name,
            _ => String::new(),
        };
        let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
        spans.map(move |span| Seen { service: service.clone(), span })
    });
    seen.send_modify(|seen| seen.extend(spans));
    StatusCode::OK
}
