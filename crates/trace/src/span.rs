//! One span: a part of a job's way that is over.
use crate::{Stage, trace_id};
use gleaner_wire::{JobId, Millis, WorkerKey};
use opentelemetry::trace::{Link, SpanContext, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, SpanId, TraceId, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest text of an attribute or of why something failed, in bytes.
const TEXT_BYTES_MAX: usize = 500;

/// A part of a job's way, with what is known of it.
#[derive(Clone, Debug)]
pub struct Span {
    hub: WorkerKey,
    job: JobId,
    stage: Stage,
    from: SystemTime,
    to: SystemTime,
    attributes: Vec<KeyValue>,
    status: Status,
    link: Option<SpanContext>,
}

impl Span {
    /// A stage of a job of this hub, and when it was.
    pub fn new(hub: WorkerKey, job: JobId, stage: Stage, (from, to): (SystemTime, SystemTime)) -> Self {
        let attributes = vec![KeyValue::new("gleaner.job", number(job.0))];
        Self { hub, job, stage, from, to, attributes, status: Status::Unset, link: None }
    }

    /// The same with a number.
    #[must_use]
    pub fn count(self, name: &'static str, value: u64) -> Self {
        self.with(name, number(value))
    }

    /// The same with a text, which is cut where it is long.
    #[must_use]
    pub fn text(self, name: &'static str, value: &str) -> Self {
        self.with(name, Value::from(cut(value)))
    }

    /// The same with a yes or no.
    #[must_use]
    pub fn flag(self, name: &'static str, value: bool) -> Self {
        self.with(name, Value::from(value))
    }

    /// The same, having failed for this reason.
    #[must_use]
    pub fn failed(mut self, why: &str) -> Self {
        self.status = Status::error(cut(why));
        self
    }

    /// The same, asked for in another trace.
    #[must_use]
    pub fn asked_by(mut self, caller: Option<SpanContext>) -> Self {
        self.link = caller;
        self
    }

    fn with(mut self, name: &'static str, value: Value) -> Self {
        self.attributes.push(KeyValue::new(name, value));
        self
    }

    pub(crate) fn data(self, scope: &InstrumentationScope) -> SpanData {
        let trace = trace_id(&self.hub, self.job);
        let parent = self.stage.parent();
        let mut links = SpanLinks::default();
        links.links.extend(self.link.map(Link::with_context));
        SpanData {
            span_context: context(trace, self.stage.id(trace)),
            parent_span_id: parent.map_or(SpanId::INVALID, |parent| parent.id(trace)),
            parent_span_is_remote: matches!(self.stage, Stage::Work(_)),
            span_kind: kind(self.stage),
            name: self.stage.name().into(),
            start_time: self.from,
            // Clocks of people's machines are set now and then.
            end_time: self.to.max(self.from),
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status: self.status,
            instrumentation_scope: scope.clone(),
        }
    }
}

/// Collectors draw a line from one service to another where a client's span has a server's below it.
fn kind(stage: Stage) -> SpanKind {
    match stage {
        Stage::Submit(_) | Stage::Work(_) => SpanKind::Server,
        Stage::Attempt(_) | Stage::Check(_) => SpanKind::Client,
        Stage::Job
        | Stage::Plan(_)
        | Stage::Lock
        | Stage::Round(_)
        | Stage::Settle
        | Stage::Keys(_)
        | Stage::Fetch(_)
        | Stage::Run(_)
        | Stage::Store(_)
        | Stage::Report(_) => SpanKind::Internal,
    }
}

fn context(trace: TraceId, span: SpanId) -> SpanContext {
    SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE)
}

/// A moment of the hub's time.
pub fn moment(at: Millis) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(at.0)).unwrap_or(UNIX_EPOCH)
}

/// Who asks, by a W3C `traceparent` header; nothing if it is not one.
pub fn caller(header: &str) -> Option<SpanContext> {
    let mut parts = header.trim().split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let digits =
        |text: &str, count| text.len() == count && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    // Later versions may have more parts, and this one has not.
    let fits = digits(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    if !fits || !digits(trace, 32) || !digits(span, 16) || !digits(flags, 2) {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    Some(SpanContext::new(trace, span, flags, true, TraceState::NONE)).filter(SpanContext::is_valid)
}

fn number(value: u64) -> Value {
    Value::from(i64::try_from(value).unwrap_or(i64::MAX))
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_read_from_its_header() {
        let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let found = caller(header).expect("a caller");
        assert_eq!(found.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(found.span_id().to_string(), "b7ad6b7169203331");
        for wrong in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
        ] {
            assert_eq!(caller(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn long_words_are_cut_between_characters() {
        assert_eq!(cut(&"ä".repeat(1000)).len(), TEXT_BYTES_MAX);
        assert_eq!(cut(&format!("x{}", "ä".repeat(1000))).len(), TEXT_BYTES_MAX - 1);
    }

    #[test]
    fn a_span_that_ends_before_it_begins_takes_no_time() {
        let at = moment(Millis(2000));
        let span = Span::new(WorkerKey([1; 32]), JobId(1), Stage::Job, (at, moment(Millis(1000))));
        let data = span.data(&InstrumentationScope::builder("test").build());
        assert_eq!((data.start_time, data.end_time), (at, at));
        assert_eq!(data.parent_span_id, SpanId::INVALID);
    }
}
