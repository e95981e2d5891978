//! What must be true of worlds that are made for one question each.
use gleaner_core::ledger::Account;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Amount, Cause, JobId, State, WorkerId};

use crate::chance::Chance;
use crate::faults::Faults;
use crate::hub::{Hub, Journal};
use crate::job_plan::{JobPlan, array};
use crate::scenario::{Fate, MILLISECOND, Scenario, WorkerPlan};
use crate::world::{Watch, World};

const SECOND: u64 = 1000 * MILLISECOND;
const DAY_MS: u64 = 24 * 3_600_000;

/// Equal machines with one slot each, faults only as listed.
fn scenario(workers: u32, jobs: Vec<JobPlan>, fates: Vec<(u64, Fate)>) -> Scenario {
    let faults = Faults { calm_at_ms: DAY_MS, ..Faults::none() };
    let mut chance = Chance::new(1);
    let equal = |_| WorkerPlan {
        speed: 1000,
        score: 1000,
        price: 100_000,
        memory_gib: 8,
        region: 0,
        latency_ms: 5,
        ..WorkerPlan::gpu(&mut chance, &faults)
    };
    let workers = (0..workers).map(equal).collect();
    let replay = "cargo nextest run -p gleaner-sim".into();
    Scenario::plain(1, replay, faults, workers, jobs, fates)
}

fn play(scenario: &Scenario) -> World<'_> {
    let mut world = World::new(scenario, Watch::EveryStep);
    if let Err(what) = world.run() {
        panic!("at {} ms: {what}", world.now / MILLISECOND);
    }
    world
}

fn lost(world: &World<'_>, cause: Cause) -> u64 {
    world.hub.core.totals().attempts_failed[cause as usize]
}

fn state(world: &World<'_>, worker: u32) -> State {
    let id = world.numbers[worker as usize].expect("it joined");
    world.hub.core.worker_view(id).expect("it is known").state
}

#[test]
fn a_large_job_does_not_starve_a_small_one() {
    let small = || JobPlan { at: 30 * SECOND, ..array("grace", 10, SECOND, 1500, Prefer::Fast) };
    let alone = scenario(20, vec![small()], vec![]);
    let both = scenario(20, vec![array("ada", 4000, SECOND, 1500, Prefer::Fast), small()], vec![]);
    let (alone, both) = (play(&alone), play(&both));
    let alone = alone.ended[&JobId(1)] - 30 * SECOND;
    let beside = both.ended[&JobId(2)] - 30 * SECOND;
    assert!(both.ended[&JobId(1)] > 100 * SECOND, "the large job went on for long");
    // She waits until a machine is free, and then has half of them at least.
    assert!(beside < alone * 3 + 2 * SECOND, "{beside} beside another, {alone} alone");
}

#[test]
fn a_worker_whose_device_keeps_breaking_is_tested_and_disqualified() {
    let mut scenario = scenario(4, vec![array("ada", 3000, SECOND, 1500, Prefer::Fast)], vec![]);
    scenario.workers[0].device_faults = 1000;
    let world = play(&scenario);
    assert_eq!(state(&world, 0), State::Disqualified);
    assert_eq!(world.hub.core.balance(&Account::Worker(WorkerId(0))), Amount::ZERO);
    let faults = lost(&world, Cause::DeviceFault);
    assert!((2..=8).contains(&faults), "{faults} tasks were wasted on it");
}

#[test]
fn a_worker_that_overruns_is_put_on_probation_and_comes_back_by_its_test() {
    let fates =
        vec![(5 * SECOND, Fate::Slow { worker: 0, pace: 8500 }), (90 * SECOND, Fate::Slow { worker: 0, pace: 1000 })];
    let scenario = scenario(4, vec![array("ada", 4000, SECOND, 1100, Prefer::Fast)], fates);
    let mut world = World::new(&scenario, Watch::EveryStep);
    world.run_until(89 * SECOND).expect("no invariant breaks");
    assert_eq!(state(&world, 0), State::Probation);
    world.run().expect("no invariant breaks");
    assert!(matches!(state(&world, 0), State::Available | State::Busy), "{:?}", state(&world, 0));
}

#[test]
fn the_result_of_a_lapsed_lease_comes_late_and_is_not_paid() {
    let fates = vec![(SECOND, Fate::Freeze { worker: 0, for_ms: 100_000 })];
    let scenario = scenario(3, vec![array("ada", 300, 3 * SECOND, 1500, Prefer::Fast)], fates);
    let world = play(&scenario);
    let totals = world.hub.core.totals();
    assert!(totals.results_late >= 1);
    assert_eq!(totals.tasks_done, 300);
}

#[test]
fn a_second_attempt_overtakes_one_that_is_stuck() {
    let jobs = || vec![array("ada", 64, 4 * SECOND, 1200, Prefer::Fast)];
    let smooth = scenario(8, jobs(), vec![]);
    let stuck = scenario(8, jobs(), vec![(20 * SECOND, Fate::Slow { worker: 0, pace: 50_000 })]);
    let (smooth, stuck) = (play(&smooth), play(&stuck));
    assert!(stuck.hub.core.totals().second_attempts >= 1);
    let (smooth, stuck) = (smooth.ended[&JobId(1)], stuck.ended[&JobId(1)]);
    assert!(stuck < smooth * 8 / 7 + 8 * SECOND, "{stuck} with a stuck worker, {smooth} without");
}

#[test]
fn attempts_that_run_while_the_hub_is_down_are_adopted() {
    let crash = Fate::HubCrash { away_ms: 500, torn: false };
    let fates = vec![(20 * SECOND, crash), (100 * SECOND, crash)];
    let scenario = scenario(10, vec![array("ada", 100, 30 * SECOND, 1200, Prefer::Fast)], fates);
    let world = play(&scenario);
    assert_eq!(world.hub_crashes, 2);
    assert!(lost(&world, Cause::WorkerLeft) <= 3, "{}", lost(&world, Cause::WorkerLeft));
}

#[test]
fn a_job_never_costs_more_than_its_cap() {
    for cap in [1, 1000, 500_000, 3_000_000, 40_000_000] {
        let mut job = array("ada", 60, SECOND, 3000, Prefer::Balanced);
        job.file.budget.price_max = Some(Amount(cap));
        job.may_fail = true;
        let scenario = scenario(5, vec![job], vec![]);
        let world = play(&scenario);
        assert!(world.spent <= cap);
        let done = world.hub.core.totals().tasks_done;
        // Sixty tasks of one to three seconds at 0.0001 GLN a second.
        assert!(if cap > 20_000_000 { done == 60 } else { done < 60 }, "{done} done for {cap}");
    }
}

#[test]
fn a_snapshot_at_every_step_changes_nothing() {
    for seed in 1..12 {
        let scenario = Scenario::small(seed);
        let mut plain = World::new(&scenario, Watch::EveryStep);
        let mut restored = World::new(&scenario, Watch::EveryStep);
        restored.hub = Hub::new(scenario.params(), Journal::Restored);
        plain.run().expect("no invariant breaks");
        restored.run().expect("no invariant breaks");
        assert_eq!(plain.report(), restored.report(), "seed {seed}");
    }
}

#[test]
fn in_about_a_third_of_the_worlds_workers_are_tested_before_they_work() {
    let (mut tested, mut failed, mut saved) = (0, 0, 0);
    for seed in 1..=60 {
        let scenario = Scenario::small(seed);
        let world = play(&scenario);
        let tests: Vec<_> = world.hub.core.workers().into_iter().flat_map(|worker| worker.tests).collect();
        assert_eq!(tests.is_empty(), !scenario.screening, "seed {seed}");
        tested += u64::from(scenario.screening);
        saved += u64::from(scenario.saving);
        failed += tests.iter().filter(|test| !test.why.is_empty()).count();
    }
    assert!((10..=30).contains(&tested) && (20..=40).contains(&saved), "{tested} tested, {saved} saved");
    assert!(failed > 0, "somebody fails");
}

#[test]
fn a_violated_invariant_names_the_command_that_shows_it_again() {
    let mut scenario = Scenario::small(1);
    // Nothing explains that a job fails whose program is sound, so a faulty one is found out.
    for job in &mut scenario.jobs {
        job.may_fail = false;
        job.cancel_at = None;
        job.truths.iter_mut().for_each(|truth| truth.faulty = 1000);
    }
    let violation = crate::world::run(&scenario, Watch::EveryStep).expect_err("it is found");
    assert!(violation.to_string().ends_with("replay it with: gleaner sim --seeds 1 --from 1"), "{violation}");
    assert!(violation.what.contains("nothing explains that job"), "{violation}");
}

#[test]
fn in_about_half_of_the_worlds_results_are_checked_and_liars_are_found() {
    let (mut checked, mut liars, mut found) = (0, 0, 0);
    for seed in 1..=80 {
        let scenario = Scenario::small(seed);
        let world = play(&scenario);
        let totals = world.hub.core.totals();
        assert_eq!(totals.claims_drawn > 0, scenario.checks && totals.tasks_done > totals.tasks_known, "seed {seed}");
        checked += u64::from(scenario.checks);
        liars += u64::from(scenario.liar.is_some());
        found += u64::from(totals.answers_wrong > 0);
        assert!(totals.answers_wrong == 0 || scenario.liar.is_some(), "seed {seed}: somebody else was found wrong");
    }
    assert!((25..=55).contains(&checked) && liars > 8, "{checked} checked, {liars} with a liar");
    assert!(found > 0, "liars are found where enough others can tell");
}
