//! Spans on their way to a collector that listens, one that is silent and one that is not there.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#[path = "../listening/mod.rs"]
mod listening;

use gleaner_trace::{Config, Service, Span, Stage, Tracer, moment, trace_id};
use gleaner_wire::{AttemptId, JobId, Millis, WorkerKey};
use listening::Collector;
use tokio::net::TcpListener;

const HUB: WorkerKey = WorkerKey([3; 32]);
const JOB: JobId = JobId(9);
/// More than waits and travels at a time.
const FLOOD: u64 = 20_000;

fn service() -> Service {
    Service { name: "gleaner-hub", instance: "here".to_owned() }
}

fn tracer(endpoint: String) -> Tracer {
    Tracer::start(&Config { endpoint }, service()).unwrap()
}

fn span(stage: Stage) -> Span {
    Span::new(HUB, JOB, stage, (moment(Millis(1000)), moment(Millis(3500))))
}

#[tokio::test]
async fn a_collector_gets_spans_with_their_ids_times_and_words() {
    let collector = Collector::start().await;
    let tracer = tracer(format!("{}/", collector.endpoint));
    let caller = gleaner_trace::caller("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    tracer.send(span(Stage::Job).text("gleaner.name", "film").count("gleaner.tasks", 4).failed("no money"));
    tracer.send(span(Stage::Work(AttemptId(5))).asked_by(caller));
    tracer.finish().await;
    assert_eq!((tracer.sent(), tracer.dropped()), (2, 0));

    let seen = collector.wait_for(|seen| seen.len() == 2).await;
    let trace = trace_id(&HUB, JOB);
    let [job, work] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((job.name(), work.name()), ("job", "work"));
    assert!(seen.iter().all(|seen| seen.service == "gleaner-hub" && seen.trace() == trace.to_string()));
    assert_eq!(job.span.span_id, Stage::Job.id(trace).to_bytes());
    assert!(job.span.parent_span_id.is_empty());
    assert_eq!(work.span.parent_span_id, Stage::Attempt(AttemptId(5)).id(trace).to_bytes());
    assert_eq!((job.span.start_time_unix_nano, job.span.end_time_unix_nano), (1_000_000_000, 3_500_000_000));
    assert!(job.has_failed() && !work.has_failed());
    assert_eq!(job.span.status.as_ref().unwrap().message, "no money");
    assert_eq!((job.number("gleaner.job"), job.number("gleaner.tasks")), (Some(9), Some(4)));
    assert_eq!(listening::hex(&work.span.links[0].span_id), "b7ad6b7169203331");
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
        let refused = Tracer::start(&Config { endpoint: endpoint.to_owned() }, service());
        let words = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(words.contains("http://HOST:PORT"), "{endpoint}: {words}");
    }
}
