//! What happened in a run, to be compared with another.
use std::collections::BTreeSet;

/// What happened, without anything that differs from chain to chain.
#[derive(Debug, Default)]
pub struct Trace {
    /// Who did what, and what came of it.
    pub log: Vec<String>,
    /// What the contracts announced, action by action.
    pub events: Vec<Vec<String>>,
}

impl Trace {
    /// The kinds of actions that succeeded.
    pub fn done(&self) -> BTreeSet<String> {
        let done = self.log.iter().filter_map(|line| line.strip_suffix(" Ok(())"));
        done.filter_map(|line| line.split(' ').nth(1)).map(str::to_owned).collect()
    }

    /// What was refused, by reason.
    pub fn refused(&self) -> BTreeSet<String> {
        let refused = self.log.iter().filter_map(|line| line.split_once("Err(")?.1.strip_suffix(')'));
        refused.map(str::to_owned).collect()
    }

    /// The same happened, and the contracts announced the same, at every step.
    pub fn expect_same(&self, other: &Self, seed: u64) {
        for (step, (here, there)) in self.log.iter().zip(&other.log).enumerate() {
            assert_eq!(here, there, "seed {seed} line {step}");
        }
        for (step, (here, there)) in self.events.iter().zip(&other.events).enumerate() {
            assert_eq!(here, there, "seed {seed}: events of step {}", step + 1);
        }
        let lengths = |trace: &Self| (trace.log.len(), trace.events.len());
        assert_eq!(lengths(self), lengths(other), "seed {seed}");
    }

    /// A run in which hardly anything is tried, or hardly anything succeeds, would prove little.
    pub fn expect_variety(&self) {
        let kinds = self.done();
        let refusals = self.refused();
        assert!(kinds.len() >= 15, "only these succeeded: {kinds:?}");
        assert!(refusals.len() >= 8, "only these were refused: {refusals:?}");
    }
}
