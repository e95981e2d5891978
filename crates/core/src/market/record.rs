//! How reliable a worker is: what it finished of what it was given, in whole numbers.
use gleaner_wire::{Cause, Micros};
use serde::{Deserialize, Serialize};

/// What every worker starts with, so that one failure of a newcomer does not count as all of them.
const DONE_FIRST: u64 = 4;
const FAILED_FIRST: u64 = 1;
/// Attempts after which old ones count half.
const KEPT_MAX: u32 = 1024;

/// What became of a worker's attempts, of late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    done: u32,
    failed: u32,
}

impl Record {
    /// One more was finished.
    pub fn finished(&mut self) {
        self.done += 1;
        self.fade();
    }

    /// One more failed by the worker's own doing.
    pub fn failed(&mut self) {
        self.failed += 1;
        self.fade();
    }

    /// The share of attempts that it finishes, in thousandths: (done + 4) ÷ (done + failed + 5).
    pub fn per_mille(&self) -> u64 {
        let (done, failed) = (u64::from(self.done) + DONE_FIRST, u64::from(self.failed) + FAILED_FIRST);
        done * 1000 / (done + failed)
    }

    /// The device time that a finished task is expected to take, failed attempts included.
    pub fn until_finished(&self, duration: Micros) -> Micros {
        Micros((duration.0.saturating_mul(1000) / self.per_mille()).max(1))
    }

    fn fade(&mut self) {
        if self.done + self.failed >= KEPT_MAX {
            (self.done, self.failed) = (self.done / 2, self.failed / 2);
        }
    }
}

/// Whether a failure says something about the worker, and not about the program, its input or the hub.
pub(crate) fn counts(cause: Cause) -> bool {
    match cause {
        Cause::WorkerLeft | Cause::DeviceFault | Cause::RefusedByOwner | Cause::Refuted => true,
        Cause::ProgramFault | Cause::OutOfMemory | Cause::TimeLimit | Cause::BadInput | Cause::HubFault => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reliability_follows_what_was_finished_and_never_reaches_zero() {
        let mut record = Record::default();
        assert_eq!(record.per_mille(), 800, "a newcomer");
        (0..100).for_each(|_| record.finished());
        assert_eq!(record.per_mille(), 990);
        (0..100_000).for_each(|_| record.failed());
        assert!((1..20).contains(&record.per_mille()), "{}", record.per_mille());
    }

    #[test]
    fn an_unreliable_worker_is_expected_to_take_longer() {
        let mut record = Record::default();
        assert_eq!(record.until_finished(Micros(800)), Micros(1000));
        (0..5).for_each(|_| record.failed());
        assert_eq!(record.until_finished(Micros(800)), Micros(2000));
        assert_eq!(record.until_finished(Micros(0)), Micros(1), "nothing is free");
    }
}
