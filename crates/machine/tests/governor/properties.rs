//! What holds whatever a device and its owner do.
use gleaner_machine::governor::{Effect, Governor, Input, Reading, State, Verdict};
use gleaner_machine::preferences::Preferences;
use gleaner_machine::probe::nvml::GpuProcess;
use gleaner_wire::{ByteSize, Millis};
use proptest::prelude::*;

use super::trace::quiet;

#[derive(Clone, Debug)]
enum Sight {
    Nothing,
    Process(u8),
    Load(u8),
    Memory(u64),
    Hot(i16),
    Full,
    Typing(u64),
    Battery,
    Blind,
}

fn sight() -> impl Strategy<Value = Sight> {
    prop_oneof![
        6 => Just(Sight::Nothing),
        1 => (0..=100_u8).prop_map(Sight::Process),
        1 => (0..=100_u8).prop_map(Sight::Load),
        1 => (0..8192_u64).prop_map(Sight::Memory),
        1 => (20..110_i16).prop_map(Sight::Hot),
        1 => Just(Sight::Full),
        1 => (0..600_000_u64).prop_map(Sight::Typing),
        1 => Just(Sight::Battery),
        1 => Just(Sight::Blind),
    ]
}

fn reading(sight: &Sight, tasks: u32) -> Reading {
    let mut reading = quiet();
    reading.ours.tasks = tasks;
    match *sight {
        Sight::Nothing => {}
        Sight::Process(load) => {
            let memory = Some(ByteSize::mib(100));
            let process =
                GpuProcess { pid: 9, name: "other".to_owned(), memory, busy_percent: Some(load), computes: true };
            reading.usage.processes = Some(vec![process]);
        }
        Sight::Load(percent) => reading.usage.busy_percent = Some(percent),
        Sight::Memory(mib) => reading.usage.memory_used = Some(ByteSize::mib(mib)),
        Sight::Hot(celsius) => reading.usage.celsius = Some(celsius),
        Sight::Full => reading.owner.fullscreen = Some(true),
        Sight::Typing(idle) => reading.owner.input = Input::Idle(Millis(idle)),
        Sight::Battery => reading.owner.on_battery = true,
        Sight::Blind => reading.owner.input = Input::Unknown,
    }
    reading
}

/// Whether somebody else's use is plain to see in a reading, and when it was last true: said here a second time, and simpler.
fn taken_at(sight: &Sight, tasks: u32, now: u64) -> Option<(u64, u64)> {
    let (minute, input) = (60_000, 300_000);
    match *sight {
        Sight::Process(load) => (load >= 15).then_some((now, minute)),
        Sight::Load(load) => (load >= 15 && tasks == 0).then_some((now, minute)),
        Sight::Memory(mib) => (mib >= 2048 && tasks == 0).then_some((now, minute)),
        Sight::Hot(celsius) => (celsius >= 90).then_some((now, minute)),
        Sight::Full | Sight::Battery => Some((now, minute)),
        Sight::Typing(idle) => (idle < input).then_some((now.saturating_sub(idle), input)),
        Sight::Blind => Some((now, input)),
        Sight::Nothing => None,
    }
}

struct Run {
    at: u64,
    tasks: u32,
    sight: Sight,
    verdict: Verdict,
}

/// Runs a trace. Tasks start while the device is free and leave when they are told to, some of them late.
fn run(steps: &[(u64, Sight, bool)]) -> Vec<Run> {
    let preferences = Preferences::default();
    let mut governor = Governor::new();
    let (mut at, mut tasks) = (10_000_000, 0);
    let mut runs = Vec::new();
    for (span, sight, flag) in steps {
        at += span;
        let verdict = governor.step(Millis(at), &reading(sight, tasks), &preferences);
        let seen = tasks;
        match verdict.state {
            State::Free => tasks = u32::from(*flag),
            State::Yielding { .. } if *flag || verdict.effects.contains(&Effect::EndNow) => tasks = 0,
            State::Yielding { .. } | State::Held { .. } => {}
        }
        runs.push(Run { at, tasks: seen, sight: sight.clone(), verdict });
    }
    runs
}

fn traces() -> impl Strategy<Value = Vec<(u64, Sight, bool)>> {
    proptest::collection::vec((0..90_000_u64, sight(), any::<bool>()), 1..120)
}

proptest! {
    #[test]
    fn the_owner_s_use_is_answered_in_the_same_step(steps in traces()) {
        for run in run(&steps) {
            if taken_at(&run.sight, run.tasks, run.at).is_some() {
                prop_assert!(run.verdict.state != State::Free, "{:?} at {}", run.sight, run.at);
                prop_assert!(!run.verdict.effects.contains(&Effect::Resume));
                prop_assert!(!run.verdict.holds.is_empty());
            }
        }
    }

    #[test]
    fn it_never_resumes_within_the_quiet_time(steps in traces()) {
        let mut quiet_until = 0;
        for run in run(&steps) {
            if let Some((seen, quiet)) = taken_at(&run.sight, run.tasks, run.at) {
                quiet_until = quiet_until.max(seen + quiet);
            }
            if run.verdict.effects.contains(&Effect::Resume) {
                prop_assert!(run.at >= quiet_until, "resumed at {} before {quiet_until}", run.at);
            }
        }
    }

    #[test]
    fn it_switches_a_bounded_number_of_times(steps in traces()) {
        let runs = run(&steps);
        let resumed: Vec<u64> =
            runs.iter().filter(|run| run.verdict.effects.contains(&Effect::Resume)).map(|run| run.at).collect();
        // Between two resumptions lies at least a whole quiet time; with growth, an hour holds fewer than sixty of them.
        prop_assert!(resumed.windows(2).all(|pair| pair[1] - pair[0] >= 60_000 || typed_between(&runs, pair[0], pair[1])));
        let within_an_hour = |start: &u64| resumed.iter().filter(|at| (*start..*start + 3_600_000).contains(at)).count();
        prop_assert!(resumed.iter().map(within_an_hour).max().unwrap_or(0) <= 40);
    }

    #[test]
    fn effects_come_in_pairs_and_say_what_the_state_says(steps in traces()) {
        let mut taking = false;
        for run in run(&steps) {
            for effect in &run.verdict.effects {
                match effect {
                    Effect::StopTaking => prop_assert!(std::mem::replace(&mut taking, false)),
                    Effect::Resume => prop_assert!(!std::mem::replace(&mut taking, true)),
                    Effect::HandOff | Effect::FreeBy { .. } | Effect::EndNow => {
                        let is_yielding = matches!(run.verdict.state, State::Yielding { .. });
                        prop_assert!(is_yielding && run.tasks > 0);
                    }
                }
            }
            prop_assert_eq!(taking, run.verdict.state == State::Free);
        }
    }

    #[test]
    fn what_stays_past_its_deadline_is_ended_in_every_step(steps in traces()) {
        for run in run(&steps) {
            if let State::Yielding { deadline } = run.verdict.state {
                let late = Millis(run.at) >= deadline;
                prop_assert_eq!(run.verdict.effects.contains(&Effect::EndNow), late);
            }
        }
    }

    #[test]
    fn a_clock_that_goes_back_changes_nothing(first in 0..1_000_000_u64, back in 0..1_000_000_u64) {
        let preferences = Preferences::default();
        let mut governor = Governor::new();
        let full = reading(&Sight::Full, 0);
        governor.step(Millis(first), &full, &preferences);
        let verdict = governor.step(Millis(first.saturating_sub(back)), &quiet(), &preferences);
        prop_assert_eq!(verdict.state, State::Held { until: Some(Millis(first + 60_000)) });
    }
}

/// A key that was touched a while ago asks for less than a whole quiet time from now on.
fn typed_between(runs: &[Run], from: u64, to: u64) -> bool {
    runs.iter().any(|run| run.at > from && run.at <= to && matches!(run.sight, Sight::Typing(_)))
}
