//! Small worlds with all kinds of faults.

#[test]
fn every_invariant_holds_in_a_few_dozen_worlds() {
    if let Err(violation) = gleaner_sim::many(1, 48, 2) {
        panic!("{violation}");
    }
}

#[test]
fn two_runs_of_a_seed_give_the_same_trace() {
    for seed in [3, 5, 9] {
        let trace = |seed| gleaner_sim::small(seed).unwrap_or_else(|violation| panic!("{violation}")).trace;
        assert_eq!(trace(seed), trace(seed));
        assert_ne!(trace(seed), trace(seed + 100));
    }
}

/// Worlds in which tasks once waited for ever beside idle devices or went round and round, and one in which somebody could
/// have earned more than fits into a number.
#[test]
fn every_job_ends_in_worlds_that_once_stood_still() {
    for seed in [798, 1016, 5153, 12_038, 14_108, 15_841] {
        if let Err(violation) = gleaner_sim::many(seed, 1, 1) {
            panic!("{violation}");
        }
    }
}
