//! How far off quotes were, counted for metrics.
use serde::{Deserialize, Serialize};

/// Upper bounds of relative errors that are told apart, in thousandths.
pub const ERROR_BOUNDS: [u64; 6] = [50, 100, 200, 500, 1000, 2000];

/// Relative errors of quotes against what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// How many were at or below each bound, and above the one before.
    pub counts: [u64; ERROR_BOUNDS.len()],
    /// How many there were.
    pub count: u64,
    /// Their sum, in thousandths.
    pub sum_mille: u64,
}

impl Errors {
    /// Counts one.
    pub(crate) fn note(&mut self, mille: u64) {
        if let Some(at) = ERROR_BOUNDS.iter().position(|bound| mille <= *bound) {
            self.counts[at] += 1;
        }
        self.count += 1;
        self.sum_mille = self.sum_mille.saturating_add(mille);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_counted_at_its_bound() {
        let mut errors = Errors::default();
        [0, 50, 51, 5000].into_iter().for_each(|mille| errors.note(mille));
        assert_eq!((errors.counts, errors.count, errors.sum_mille), ([2, 1, 0, 0, 0, 0], 4, 5101));
    }
}
