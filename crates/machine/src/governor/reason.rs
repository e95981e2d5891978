//! Why a device is its owner's right now.
use std::collections::BTreeMap;
use std::fmt;

use gleaner_wire::Millis;
use serde::{Deserialize, Serialize};

use super::reading::{Input, Reading, Usage};
use crate::inventory::Display;
use crate::preferences::{Preferences, Unknown, YieldToInput};
use crate::probe::nvml::GpuProcess;

/// By so much the counters of a device and of its processes may differ while our own work runs: they are not read at the
/// same moment.
const SAMPLE_NOISE_PERCENT: u8 = 20;
/// How much cooler a hot device has to get.
const COOLER_BY: i16 = 10;
/// How much longer the input has to be quiet where something else about the owner is unknown.
pub(super) const CAREFUL_FACTOR: u64 = 3;

/// A kind of reason to leave a device to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The owner said so.
    Paused,
    /// It is not the time.
    OutsideHours,
    /// The machine runs on its battery.
    Battery,
    /// The device is too hot.
    Hot,
    /// A process that is not ours uses the device.
    Process,
    /// The device is busier than our work explains.
    Load,
    /// More memory of the device is taken than our work explains.
    Memory,
    /// An application fills the screen.
    Fullscreen,
    /// Somebody types or moves the mouse.
    Input,
    /// Whether somebody is there cannot be told.
    UnknownOwner,
}

impl Reason {
    /// Whether it ends by the clock or by command, and so needs no quiet afterwards.
    pub fn is_command(self) -> bool {
        match self {
            Self::Paused | Self::OutsideHours => true,
            Self::Battery
            | Self::Hot
            | Self::Process
            | Self::Load
            | Self::Memory
            | Self::Fullscreen
            | Self::Input
            | Self::UnknownOwner => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paused => "paused by its owner",
            Self::OutsideHours => "outside the owner's hours",
            Self::Battery => "the machine runs on its battery",
            Self::Hot => "the device is too hot",
            Self::Process => "another program uses the device",
            Self::Load => "the device is busy with something else",
            Self::Memory => "the device's memory is used by something else",
            Self::Fullscreen => "an application fills the screen",
            Self::Input => "somebody is at the machine",
            Self::UnknownOwner => "it cannot be told whether somebody is at the machine",
        })
    }
}

/// What has to be remembered to judge the next reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// The least memory that was ever taken by nobody in particular: the driver's own, and the desktop's.
    pub floor: Option<u64>,
    /// Whether the device was too hot and has not cooled yet.
    pub hot: bool,
}

/// A reason that holds now. `since` is how long ago it was last true, which only the input can tell.
pub(super) struct Active {
    pub detail: String,
    pub since: Millis,
}

impl Active {
    fn now(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), since: Millis(0) }
    }
}

/// Every reason that holds now.
pub(super) fn active(reading: &Reading, preferences: &Preferences, memory: &mut Memory) -> BTreeMap<Reason, Active> {
    let mut found = BTreeMap::new();
    if reading.paused {
        found.insert(Reason::Paused, Active::now(""));
    }
    if !preferences.hours.contains(reading.time) {
        found.insert(Reason::OutsideHours, Active::now(format!("shared {}", preferences.hours)));
    }
    if preferences.pause_on_battery && reading.owner.on_battery {
        found.insert(Reason::Battery, Active::now(""));
    }
    if let Some(celsius) = too_hot(&reading.usage, preferences, memory) {
        found.insert(Reason::Hot, Active::now(format!("{celsius} °C")));
    }
    foreign_use(reading, preferences, memory, &mut found);
    person(reading, preferences, &mut found);
    found
}

fn too_hot(usage: &Usage, preferences: &Preferences, memory: &mut Memory) -> Option<i16> {
    let celsius = usage.celsius?;
    let limit = preferences.celsius_max;
    memory.hot = celsius >= limit || memory.hot && celsius > limit.saturating_sub(COOLER_BY);
    memory.hot.then_some(celsius)
}

fn foreign_use(
    reading: &Reading,
    preferences: &Preferences,
    memory: &mut Memory,
    found: &mut BTreeMap<Reason, Active>,
) {
    let processes = reading.usage.processes.as_deref().unwrap_or_default();
    let is_ours = |process: &GpuProcess| reading.ours.pids.contains(&process.pid);
    if let Some(process) = processes.iter().find(|process| !is_ours(process) && is_foreign(process, preferences)) {
        found.insert(Reason::Process, Active::now(format!("{} (process {})", process.name, process.pid)));
    }
    if let Some(percent) = unexplained_load(reading, preferences) {
        found.insert(Reason::Load, Active::now(format!("{percent} %")));
    }
    if let Some(bytes) = unexplained_memory(reading) {
        let floor = memory.floor.unwrap_or(preferences.idle.driver_memory.0).min(bytes);
        memory.floor = Some(floor);
        if bytes - floor >= preferences.idle.memory.0 {
            found.insert(Reason::Memory, Active::now(format!("{} MiB", (bytes - floor) >> 20)));
        }
    }
}

/// Whether a process uses the device, rather than only showing up on it.
fn is_foreign(process: &GpuProcess, preferences: &Preferences) -> bool {
    let idle = &preferences.idle;
    let ignored = idle.is_ignored(&process.name);
    let busy = process.busy_percent.is_some_and(|percent| percent >= idle.load_percent);
    let large = process.memory.is_some_and(|memory| memory >= idle.memory);
    let computes_unseen = process.computes && process.busy_percent.is_none();
    !ignored && (busy || large || computes_unseen)
}

fn unexplained_load(reading: &Reading, preferences: &Preferences) -> Option<u8> {
    let total = reading.usage.busy_percent?;
    let processes = reading.usage.processes.as_deref().unwrap_or_default();
    let (mut explained, mut noise) = (0_u8, 0);
    if reading.ours.tasks > 0 {
        let mut ours = processes.iter().filter(|process| reading.ours.pids.contains(&process.pid)).peekable();
        ours.peek()?;
        for process in ours {
            // Without counters for each process, nothing can be told while our own work runs.
            explained = explained.saturating_add(process.busy_percent?);
        }
        noise = SAMPLE_NOISE_PERCENT;
    }
    let ignored = processes.iter().filter(|process| preferences.idle.is_ignored(&process.name));
    explained = ignored.fold(explained, |sum, process| sum.saturating_add(process.busy_percent.unwrap_or(0)));
    let rest = total.saturating_sub(explained);
    (rest >= preferences.idle.load_percent.saturating_add(noise)).then_some(rest)
}

/// Memory that no process in the list accounts for.
fn unexplained_memory(reading: &Reading) -> Option<u64> {
    let total = reading.usage.memory_used?.0;
    let processes = reading.usage.processes.as_deref().unwrap_or_default();
    let ours_unseen = !processes.iter().any(|process| reading.ours.pids.contains(&process.pid));
    if reading.ours.tasks > 0 && ours_unseen {
        return None;
    }
    let mut listed = 0_u64;
    for process in processes {
        listed = listed.saturating_add(process.memory?.0);
    }
    Some(total.saturating_sub(listed))
}

fn person(reading: &Reading, preferences: &Preferences, found: &mut BTreeMap<Reason, Active>) {
    if preferences.idle.fullscreen && reading.owner.fullscreen == Some(true) {
        found.insert(Reason::Fullscreen, Active::now(""));
    }
    let matters = match preferences.idle.input {
        YieldToInput::Any => true,
        YieldToInput::Display => reading.usage.display != Display::None,
        YieldToInput::Never => false,
    };
    if !matters {
        return;
    }
    match reading.owner.input {
        Input::Idle(since) if since < input_quiet(reading, preferences) => {
            found.insert(Reason::Input, Active { detail: format!("{} s ago", since.0 / 1000), since });
        }
        Input::Idle(_) | Input::Nobody => {}
        Input::Unknown => match preferences.idle.unknown {
            Unknown::Hold => {
                found.insert(Reason::UnknownOwner, Active::now(""));
            }
            Unknown::Share => {}
        },
    }
}

/// How long the input has to be quiet: longer where the screen or the use of the device cannot be seen.
pub(super) fn input_quiet(reading: &Reading, preferences: &Preferences) -> Millis {
    let blind = preferences.idle.fullscreen && reading.owner.fullscreen.is_none() || !reading.usage.is_known();
    let factor = match preferences.idle.unknown {
        Unknown::Hold if blind => CAREFUL_FACTOR,
        Unknown::Hold | Unknown::Share => 1,
    };
    Millis(preferences.idle.input_quiet.0.saturating_mul(factor))
}
