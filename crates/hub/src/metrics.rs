//! What the hub counts about itself, for Prometheus. `docs/metrics.md` explains the names.
use gleaner_wire::webhook::DeliveryState;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of commit latency, in microseconds.
const LATENCY_MICROS: [u64; 12] =
    [100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 500_000, 2_500_000];
/// Upper bounds of events in a batch.
const BATCH_EVENTS: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 256];

/// A histogram with fixed bounds.
struct Histogram<const N: usize> {
    bounds: [u64; N],
    counts: [AtomicU64; N],
    count: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Histogram<N> {
    fn new(bounds: [u64; N]) -> Self {
        Self {
            bounds,
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            count: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    fn observe(&self, value: u64) {
        self.count.fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
        if let Some(slot) = self.bounds.iter().position(|bound| value <= *bound) {
            self.counts[slot].fetch_add(1, Relaxed);
        }
    }

    /// `parts` counted things make one of the unit that is shown.
    fn write(&self, text: &mut Text, name: &str, help: &str, parts: f64) {
        text.head(name, help, "histogram");
        let mut below = 0;
        for (bound, count) in self.bounds.iter().zip(&self.counts) {
            below += count.load(Relaxed);
            text.line(format_args!("{name}_bucket{{le=\"{}\"}} {below}", *bound as f64 / parts));
        }
        let count = self.count.load(Relaxed);
        text.line(format_args!("{name}_bucket{{le=\"+Inf\"}} {count}"));
        text.line(format_args!("{name}_sum {}", self.sum.load(Relaxed) as f64 / parts));
        text.line(format_args!("{name}_count {count}"));
    }
}

/// The hub's own counters.
pub(crate) struct Metrics {
    commit_micros: Histogram<{ LATENCY_MICROS.len() }>,
    batch_events: Histogram<{ BATCH_EVENTS.len() }>,
    journal_bytes: AtomicU64,
    commits_failed: AtomicU64,
    snapshots: AtomicU64,
    snapshot_micros: AtomicU64,
    connected: AtomicUsize,
    results_late: AtomicU64,
    tests_begun: AtomicU64,
    tests_passed: AtomicU64,
    tests_failed: AtomicU64,
    /// Attempts that are missing in listings because their notes did not find room.
    pub(crate) attempts_unrecorded: AtomicU64,
    /// Requests to webhooks: delivered, failed, given up.
    webhooks: [AtomicU64; 3],
    /// Answers of the API, by the first digit of their status.
    answers: [AtomicU64; 5],
    /// HTTP connections and worker connections that are open.
    pub(crate) connections: AtomicUsize,
    /// Worker connections that were turned away or closed for what they sent.
    pub(crate) refused: AtomicU64,
    /// When the certificate that visitors are shown ends, in seconds since 1970; 0 if they are shown none.
    pub(crate) certificate_ends: Arc<AtomicU64>,
    /// Log lines that were lost because the disk did not keep up.
    pub(crate) log_lines_lost: AtomicU64,
}

impl Metrics {
    pub(crate) fn new(certificate_ends: Arc<AtomicU64>) -> Self {
        Self {
            commit_micros: Histogram::new(LATENCY_MICROS),
            batch_events: Histogram::new(BATCH_EVENTS),
            journal_bytes: AtomicU64::new(0),
            commits_failed: AtomicU64::new(0),
            snapshots: AtomicU64::new(0),
            snapshot_micros: AtomicU64::new(0),
            connected: AtomicUsize::new(0),
            results_late: AtomicU64::new(0),
            tests_begun: AtomicU64::new(0),
            tests_passed: AtomicU64::new(0),
            tests_failed: AtomicU64::new(0),
            attempts_unrecorded: AtomicU64::new(0),
            webhooks: std::array::from_fn(|_| AtomicU64::new(0)),
            answers: std::array::from_fn(|_| AtomicU64::new(0)),
            connections: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            certificate_ends,
            log_lines_lost: AtomicU64::new(0),
        }
    }

    pub(crate) fn committed(&self, took: Duration, events: usize, bytes: usize) {
        self.commit_micros.observe(micros(took));
        self.batch_events.observe(events as u64);
        self.journal_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn commit_failed(&self) {
        self.commits_failed.fetch_add(1, Relaxed);
    }

    pub(crate) fn snapshot_taken(&self, took: Duration) {
        self.snapshots.fetch_add(1, Relaxed);
        self.snapshot_micros.fetch_add(micros(took), Relaxed);
    }

    pub(crate) fn connected_workers(&self, count: usize) {
        self.connected.store(count, Relaxed);
    }

    /// Notes results that the core never saw, because their attempts did not run any more.
    pub(crate) fn results_came_late(&self, count: usize) {
        self.results_late.fetch_add(count as u64, Relaxed);
    }

    /// How many results came too late for the core to see them.
    pub(crate) fn results_late(&self) -> u64 {
        self.results_late.load(Relaxed)
    }

    /// Notes that a runtime of a worker is being tested.
    pub(crate) fn test_began(&self) {
        self.tests_begun.fetch_add(1, Relaxed);
    }

    /// Notes how a test ended; one whose worker went away does not.
    pub(crate) fn test_ended(&self, is_right: bool) {
        let counter = if is_right { &self.tests_passed } else { &self.tests_failed };
        counter.fetch_add(1, Relaxed);
    }

    /// Notes a request to a webhook.
    pub(crate) fn webhook_tried(&self, state: DeliveryState) {
        let at = match state {
            DeliveryState::Delivered => 0,
            DeliveryState::Waiting => 1,
            DeliveryState::GivenUp => 2,
        };
        self.webhooks[at].fetch_add(1, Relaxed);
    }

    /// Notes an answer of the API.
    pub(crate) fn answered(&self, status: u16) {
        if let Some(count) = usize::from(status / 100).checked_sub(1).and_then(|class| self.answers.get(class)) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Writes the hub's own counters.
    pub(crate) fn write(&self, text: &mut Text) {
        self.commit_micros.write(text, "gleaner_journal_commit_seconds", "Time to put one batch on disk.", 1e6);
        self.batch_events.write(text, "gleaner_journal_batch_events", "Events in one batch.", 1.0);
        text.counter("gleaner_journal_bytes_total", "Bytes of events on disk.", self.journal_bytes.load(Relaxed));
        text.counter("gleaner_journal_failures_total", "Commits tried again.", self.commits_failed.load(Relaxed));
        text.counter("gleaner_snapshots_total", "Snapshots taken.", self.snapshots.load(Relaxed));
        let seconds = self.snapshot_micros.load(Relaxed) as f64 * 1e-6;
        text.counter("gleaner_snapshot_seconds_total", "Time spent on snapshots.", seconds);
        text.gauge("gleaner_connections", "Open connections, all kinds.", self.connections.load(Relaxed) as f64);
        text.gauge("gleaner_workers_connected", "Welcomed workers.", self.connected.load(Relaxed) as f64);
        text.counter("gleaner_workers_refused_total", "Workers turned away.", self.refused.load(Relaxed));
        text.counter("gleaner_tests_begun_total", "Tests of workers begun.", self.tests_begun.load(Relaxed));
        text.counter("gleaner_tests_passed_total", "Tests with a right answer.", self.tests_passed.load(Relaxed));
        text.counter("gleaner_tests_failed_total", "Tests without one.", self.tests_failed.load(Relaxed));
        let ends = self.certificate_ends.load(Relaxed) as f64;
        text.gauge(
            "gleaner_tls_certificate_expires_seconds",
            "When the certificate ends, in seconds since 1970.",
            ends,
        );
        text.counter("gleaner_log_lines_lost_total", "Log lines lost.", self.log_lines_lost.load(Relaxed));
        text.head("gleaner_http_responses_total", "Answers of the API, by class of status.", "counter");
        for (class, count) in (1..).zip(&self.answers) {
            let count = count.load(Relaxed);
            text.line(format_args!("gleaner_http_responses_total{{class=\"{class}xx\"}} {count}"));
        }
        text.head("gleaner_webhook_deliveries_total", "Requests to webhooks, by outcome.", "counter");
        for (outcome, count) in ["delivered", "failed", "given_up"].iter().zip(&self.webhooks) {
            let count = count.load(Relaxed);
            text.line(format_args!("gleaner_webhook_deliveries_total{{outcome=\"{outcome}\"}} {count}"));
        }
        let unrecorded = self.attempts_unrecorded.load(Relaxed);
        text.counter("gleaner_attempts_unrecorded_total", "Notes on attempts that were lost.", unrecorded);
        process(text);
    }
}

/// Text in the format of Prometheus.
#[derive(Default)]
pub(crate) struct Text(pub(crate) String);

impl Text {
    /// A number that only grows.
    pub(crate) fn counter(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, help, "counter");
        self.line(format_args!("{name} {value}"));
    }

    /// A number that goes up and down.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        self.line(format_args!("{name} {value}"));
    }

    /// What comes before the values of a name.
    pub(crate) fn head(&mut self, name: &str, help: &str, kind: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    /// One line.
    pub(crate) fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("writing to a string does not fail");
    }
}

/// What the process itself uses, where the system tells (Linux).
fn process(text: &mut Text) {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9;
    text.counter("process_cpu_seconds_total", "Processor time of the hub's process.", seconds);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    if let Some(kibibytes) = resident.map(|value: u64| value as f64) {
        text.gauge("process_resident_memory_bytes", "Memory of the hub's process.", kibibytes * 1024.0);
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_what_is_at_or_below_each_bound() {
        let histogram = Histogram::new([1, 10]);
        for value in [1, 5, 10, 11] {
            histogram.observe(value);
        }
        let mut text = Text::default();
        histogram.write(&mut text, "h", "help", 1.0);
        for line in
            ["h_bucket{le=\"1\"} 1", "h_bucket{le=\"10\"} 3", "h_bucket{le=\"+Inf\"} 4", "h_sum 27", "h_count 4"]
        {
            assert!(text.0.lines().any(|found| found == line), "{line} in {}", text.0);
        }
    }

    #[test]
    fn the_process_knows_its_own_memory() {
        let mut text = Text::default();
        process(&mut text);
        assert!(text.0.contains("process_cpu_seconds_total"), "{}", text.0);
    }
}
