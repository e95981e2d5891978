//! Noticing that nothing of a job runs, and saying why once for each set of reasons.
use std::time::Duration;

use gleaner_wire::api::ExplainView;
use tokio::time::Instant;

use crate::job::explain;

/// How long nothing may run before the reasons are of interest: placing takes far less.
const NOTICED_AFTER: Duration = Duration::from_secs(3);

/// What is known of a job's standstill.
#[derive(Default)]
pub struct Standstill {
    since: Option<Instant>,
    /// Tasks and codes of reasons that were said last. Counts of devices move all the time and are no news.
    said: Vec<(String, Vec<String>)>,
}

impl Standstill {
    /// Whether nothing has run for long enough to be told why.
    pub fn lasts(&mut self, running: u64, now: Instant) -> bool {
        if running > 0 {
            self.since = None;
            return false;
        }
        now.duration_since(*self.since.get_or_insert(now)) >= NOTICED_AFTER
    }

    /// The reasons in words, if they are not those that were said last.
    pub fn news(&mut self, view: &ExplainView) -> Option<Vec<String>> {
        let codes = view.waiting.iter().map(|waiting| {
            (waiting.task.clone(), waiting.reasons.iter().map(|reason| reason.code.clone()).collect::<Vec<_>>())
        });
        let codes: Vec<_> = codes.collect();
        if codes.is_empty() || !view.running.is_empty() || codes == self.said {
            return None;
        }
        self.said = codes;
        Some(explain::waiting(view))
    }
}

#[cfg(test)]
mod tests {
    use gleaner_wire::JobId;
    use gleaner_wire::api::{JobState, ReasonView, WaitingView};

    use super::*;

    fn view(code: &str, devices: u64) -> ExplainView {
        let reason = ReasonView { code: code.to_owned(), text: format!("it is {code}"), devices: Some(devices) };
        let waiting = vec![WaitingView { task: "part".to_owned(), queued: 2, reasons: vec![reason] }];
        let (running, contests) = (Vec::new(), Vec::new());
        ExplainView { job: JobId(1), state: JobState::Running, waiting, running, running_more: 0, contests }
    }

    #[test]
    fn a_standstill_is_noticed_after_a_while_and_ends_when_something_runs() {
        let (mut standstill, start) = (Standstill::default(), Instant::now());
        assert!(!standstill.lasts(0, start));
        assert!(!standstill.lasts(0, start + NOTICED_AFTER / 2));
        assert!(standstill.lasts(0, start + NOTICED_AFTER));
        assert!(!standstill.lasts(1, start + NOTICED_AFTER * 2));
        assert!(!standstill.lasts(0, start + NOTICED_AFTER * 2));
    }

    #[test]
    fn reasons_are_said_once_and_again_when_they_change() {
        let mut standstill = Standstill::default();
        let said = standstill.news(&view("offline", 1)).expect("news");
        assert_eq!(said, ["2 tasks of `part` waiting:", "  - 1 device: it is offline"]);
        assert_eq!(standstill.news(&view("offline", 2)), None);
        assert!(standstill.news(&view("busy", 2)).is_some());
    }
}
