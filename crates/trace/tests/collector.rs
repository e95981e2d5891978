//! Spans on their way to a collector that listens, one that is silent and one that is not there.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use gleaner_trace::{Config, Service, Span, Stage, Tracer, moment, trace_id};
use gleaner_wire::{AttemptId, JobId, Millis, WorkerKey};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const HUB: WorkerKey = WorkerKey([3; 32]);
const JOB: JobId = JobId(9);
/// More than waits and travels at a time.
const FLOOD: u64 = 20_000;

fn tracer(endpoint: String) -> Tracer {
    Tracer::start(&Config { endpoint }, Service { name: "gleaner-hub", instance: "here".to_owned() }).unwrap()
}

fn span(stage: Stage) -> Span {
    Span::new(HUB, JOB, stage, (moment(Millis(1000)), moment(Millis(3500))))
}

async fn take(
    State(seen): State<mpsc::UnboundedSender<ExportTraceServiceRequest>>,
    head: HeaderMap,
    body: Bytes,
) -> StatusCode {
    assert_eq!(head["content-type"], "application/x-protobuf");
    seen.send(ExportTraceServiceRequest::decode(body).unwrap()).unwrap();
    StatusCode::OK
}

#[tokio::test]
async fn a_collector_gets_spans_with_their_ids_times_and_words() {
    let (seen, mut requests) = mpsc::unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/", listener.local_addr().unwrap());
    let app = Router::new().route("/v1/traces", post(take)).with_state(seen);
    tokio::spawn(async move { axum::serve(listener, app).await });
    let tracer = tracer(endpoint);
    tracer.send(span(Stage::Job).text("gleaner.name", "film").count("gleaner.tasks", 4).failed("no money"));
    tracer.send(span(Stage::Work(AttemptId(5))));
    tracer.finish().await;
    assert_eq!((tracer.sent(), tracer.dropped()), (2, 0));

    let request = requests.recv().await.unwrap();
    let [resource] = request.resource_spans.as_slice() else { panic!("{request:?}") };
    let words: Vec<String> =
        resource.resource.as_ref().unwrap().attributes.iter().map(|word| word.key.clone()).collect();
    for word in ["service.name", "service.instance.id", "service.version"] {
        assert!(words.iter().any(|found| found == word), "{word} in {words:?}");
    }
    let spans = &resource.scope_spans[0].spans;
    let trace = trace_id(&HUB, JOB);
    let [job, work] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!((job.name.as_str(), work.name.as_str()), ("job", "work"));
    assert!(spans.iter().all(|span| span.trace_id == trace.to_bytes()));
    assert_eq!(job.span_id, Stage::Job.id(trace).to_bytes());
    assert!(job.parent_span_id.is_empty());
    assert_eq!(work.parent_span_id, Stage::Attempt(AttemptId(5)).id(trace).to_bytes());
    assert_eq!((job.start_time_unix_nano, job.end_time_unix_nano), (1_000_000_000, 3_500_000_000));
    assert_eq!(job.status.as_ref().unwrap().message, "no money");
    assert_eq!(job.attributes.len(), 3);
}

#[tokio::test]
async fn nobody_waits_for_a_silent_collector_and_what_finds_no_room_is_counted() {
    // It takes connections and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let tracer = tracer(format!("http://{}", listener.local_addr().unwrap()));
    for number in 0..FLOOD {
        tracer.send(span(Stage::Round(number)));
    }
    assert_eq!(tracer.sent(), 0);
    assert!(tracer.dropped() > FLOOD / 2, "{}", tracer.dropped());
}

#[tokio::test]
async fn what_no_collector_takes_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let tracer = tracer(endpoint);
    tracer.send(span(Stage::Job));
    tracer.finish().await;
    assert_eq!((tracer.sent(), tracer.dropped()), (0, 1));
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_with_what_to_write() {
    for endpoint in ["", "here", "grpc://here:4317", "http://", "http://here/?token=1"] {
        let service = Service { name: "gleaner-hub", instance: "here".to_owned() };
        let refused = Tracer::start(&Config { endpoint: endpoint.to_owned() }, service);
        let words = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(words.contains("http://HOST:PORT"), "{endpoint}: {words}");
    }
}
