//! What happened to a job, as OpenTelemetry spans: one trace for each job, over the hub and its workers.
//!
//! Ids are reckoned from what both sides know anyway (the hub's key, the job, the attempt), so nothing travels for them and a
//! hub that starts again says the same ones. Spans are told when they are over, through a queue that never makes anybody
//! wait; what finds no room is counted. Nothing is decided here, and nothing depends on a collector being there.
mod export;
mod ids;
mod select;
mod span;

pub use export::{Config, Error, FINISH_TIME_MAX, Service, Tracer};
pub use ids::{Stage, trace_id};
pub use opentelemetry::{SpanId, TraceId};
pub use select::{ELEMENTS_MAX, FAILED_PER_JOB_MAX, GROUPS_MAX, Selection, is_followed};
pub use span::{Span, caller, moment};
