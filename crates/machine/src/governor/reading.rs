//! What is known about a device and its owner at one moment.
use std::collections::BTreeSet;

use gleaner_wire::{ByteSize, Millis};
use serde::{Deserialize, Serialize};

use super::hours::LocalTime;
use crate::inventory::Display;
use crate::probe::nvml::GpuProcess;

/// Everything that the governor of one device looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// The device.
    pub usage: Usage,
    /// Our part in that.
    pub ours: Ours,
    /// The person.
    pub owner: Owner,
    /// The local time.
    pub time: LocalTime,
    /// Whether the owner said to pause.
    pub paused: bool,
}

/// How a device is used, by anybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// How busy it is.
    pub busy_percent: Option<u8>,
    /// How much of its memory is taken.
    pub memory_used: Option<ByteSize>,
    /// How hot it is.
    pub celsius: Option<i16>,
    /// What it draws.
    pub power_mw: Option<u64>,
    /// The processes on it; `None` if nobody says.
    pub processes: Option<Vec<GpuProcess>>,
    /// Whether it drives a display.
    pub display: Display,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            busy_percent: None,
            memory_used: None,
            celsius: None,
            power_mw: None,
            processes: None,
            display: Display::Unknown,
        }
    }
}

impl Usage {
    /// Whether it can be told at all if somebody else uses the device.
    pub fn is_known(&self) -> bool {
        self.busy_percent.is_some() || self.processes.is_some()
    }
}

/// What of it is ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ours {
    /// Our processes, with all their children.
    pub pids: BTreeSet<u32>,
    /// Attempts, and idle commands, that hold the device.
    pub tasks: u32,
}

/// What is known about the person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// When a key or the mouse was last touched.
    pub input: Input,
    /// Whether an application fills the screen; `None` if nobody says.
    pub fullscreen: Option<bool>,
    /// Whether the machine runs on its battery. Machines that show no battery have none.
    pub on_battery: bool,
}

/// When a key or the mouse was last touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// So long ago.
    Idle(Millis),
    /// Nobody is logged in at the machine.
    Nobody,
    /// Nobody says. That is never taken for an empty chair.
    #[default]
    Unknown,
}
