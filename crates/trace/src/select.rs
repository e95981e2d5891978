//! Which attempts have spans. Hub and worker go by the same rule, so that no span of a worker is without its parent.
use gleaner_wire::JobId;
use std::collections::HashMap;

/// `[[task]]`s of a job whose attempts are followed: the first.
pub const GROUPS_MAX: u16 = 64;
/// Elements of each of them whose attempts are followed: the first.
pub const ELEMENTS_MAX: u32 = 64;
/// Attempts of a job that did not deliver and are told of beyond those.
pub const FAILED_PER_JOB_MAX: u32 = 1000;
/// Jobs whose failed attempts are counted at a time; then counting starts over.
const JOBS_MAX: usize = 4096;

/// Whether every attempt of an element is told of. Of the others only those that did not deliver are.
pub fn is_followed(group: u16, index: u32) -> bool {
    group < GROUPS_MAX && index < ELEMENTS_MAX
}

/// Chooses attempts, and counts those beyond the rule.
#[derive(Debug, Default)]
pub struct Selection {
    failed: HashMap<JobId, u32>,
}

impl Selection {
    /// Whether an attempt that has ended is told of.
    pub fn takes(&mut self, job: JobId, (group, index): (u16, u32), delivered: bool) -> bool {
        if is_followed(group, index) {
            return true;
        }
        if delivered {
            return false;
        }
        if self.failed.len() >= JOBS_MAX && !self.failed.contains_key(&job) {
            self.failed.clear();
        }
        let count = self.failed.entry(job).or_default();
        *count = count.saturating_add(1);
        *count <= FAILED_PER_JOB_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_a_million_tasks_has_few_spans() {
        let mut selection = Selection::default();
        let taken = (0..1_000_000).filter(|index| selection.takes(JobId(1), (0, *index), true)).count();
        assert_eq!(taken, ELEMENTS_MAX as usize);
        let failed = (0..1_000_000).filter(|index| selection.takes(JobId(1), (0, *index), false)).count();
        assert_eq!(failed, (ELEMENTS_MAX + FAILED_PER_JOB_MAX) as usize);
    }

    #[test]
    fn what_failed_far_behind_is_told() {
        let mut selection = Selection::default();
        assert!(!selection.takes(JobId(1), (GROUPS_MAX, 0), true));
        assert!(selection.takes(JobId(1), (GROUPS_MAX, 0), false));
    }
}
