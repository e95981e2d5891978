//! Reading and replaying a recorded trace.
//!
//! A line is `TIME | WHAT IS SEEN | STATE | EFFECTS`. What is seen starts from an idle device with nobody there. A first
//! line `settings: KEY = VALUE; …` is the owner's file.
use std::path::Path;

use gleaner_machine::governor::{Effect, Governor, Input, Reading, State, Verdict};
use gleaner_machine::inventory::Display;
use gleaner_machine::preferences::Preferences;
use gleaner_machine::probe::nvml::GpuProcess;
use gleaner_wire::{ByteSize, Millis};

/// An idle device that can be seen well, and nobody there.
pub fn quiet() -> Reading {
    let mut reading = Reading::default();
    reading.usage.busy_percent = Some(0);
    reading.usage.memory_used = Some(ByteSize::mib(300));
    reading.usage.celsius = Some(45);
    reading.usage.processes = Some(Vec::new());
    reading.usage.display = Display::None;
    reading.owner.input = Input::Nobody;
    reading.owner.fullscreen = Some(false);
    reading
}

/// Replays a recording and compares every step.
pub fn replay(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{name}.txt"));
    let text = std::fs::read_to_string(path).expect("the recording is there");
    let mut preferences = Preferences::default();
    let mut governor = Governor::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(settings) = line.strip_prefix("settings: ") {
            preferences = Preferences::parse(&settings.replace("; ", "\n")).expect("settings of a trace are right");
            continue;
        }
        let [at, seen, state, effects] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("{name}: not a step: {line}")
        };
        let now = Millis::parse_span(at).expect("a time");
        let verdict = governor.step(now, &reading(seen), &preferences);
        assert_eq!(shown(&verdict, now), (state.to_owned(), effects.to_owned()), "{name}: {line}\n{verdict:?}");
    }
}

fn shown(verdict: &Verdict, now: Millis) -> (String, String) {
    let why = verdict.holds.iter().map(|hold| format!("{:?}", hold.reason)).collect::<Vec<_>>().join("+");
    let state = match verdict.state {
        State::Free => "free".to_owned(),
        State::Yielding { deadline } => format!("yielding {} by {}ms", why, deadline.0),
        State::Held { until: Some(until) } => format!("held {} for {}s", why, until.since(now).0 / 1000),
        State::Held { until: None } => format!("held {why}"),
    };
    let effect = |effect: &Effect| match effect {
        Effect::StopTaking => "stop-taking",
        Effect::HandOff => "hand-off",
        Effect::FreeBy { .. } => "free-by",
        Effect::EndNow => "end-now",
        Effect::Resume => "resume",
    };
    (state, verdict.effects.iter().map(effect).collect::<Vec<_>>().join(" "))
}

fn reading(seen: &str) -> Reading {
    let mut reading = quiet();
    for word in seen.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u64>().expect("a number");
        match key {
            "tasks" => {
                // Our own work: one process, whose load and memory the driver tells.
                reading.ours.tasks = number() as u32;
                reading.ours.pids.insert(500);
            }
            "load" => reading.usage.busy_percent = Some(number() as u8),
            "memory" => reading.usage.memory_used = Some(value.parse().expect("a size")),
            "celsius" => reading.usage.celsius = Some(number() as i16),
            "process" => reading.usage.processes.get_or_insert_default().push(process(value)),
            "idle" => reading.owner.input = Input::Idle(Millis::parse_span(value).expect("a time")),
            "screen" => {
                reading.owner.fullscreen = match value {
                    "full" => Some(true),
                    "unknown" => None,
                    other => panic!("unknown screen {other}"),
                }
            }
            "input" => reading.owner.input = Input::Unknown,
            "battery" => reading.owner.on_battery = true,
            "paused" => reading.paused = true,
            "minute" => reading.time.minute = number() as u16,
            other => panic!("unknown word {other}"),
        }
    }
    reading
}

/// `NAME:PID:MEMORY:LOAD`, with `?` for a load that nobody tells.
fn process(text: &str) -> GpuProcess {
    let [name, pid, memory, load] = text.split(':').collect::<Vec<_>>()[..] else { panic!("not a process: {text}") };
    GpuProcess {
        pid: pid.parse().expect("a number"),
        name: name.to_owned(),
        memory: Some(memory.parse().expect("a size")),
        busy_percent: load.parse().ok(),
        computes: load == "?",
    }
}
