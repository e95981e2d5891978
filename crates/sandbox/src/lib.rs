//! Runs a stranger's program so that it can do nothing but its task.
//!
//! Two back ends behind one interface: [`Bubblewrap`] for programs of this machine (Blender, for instance) and
//! [`Engine`] for containers, by any engine that speaks Docker's API. A [`Job`] says what to run and within which
//! [`Limits`]; starting it gives a [`Running`] and its [`Lines`]; waiting for it gives an [`Ending`] with a certain
//! [`Cause`]. The program sees `/in` (read-only), `/out` and `/checkpoint`, a private `/tmp`, and the system's or the
//! image's own files read-only. [`collect()`] takes up what it left without following any link, and [`snapshot()`] copies its
//! checkpoint while it runs.
//!
//! **Nothing outlives its worker.** Processes die with it by the kernel's hand, a watchdog process removes containers, and
//! [`Groups::open`] and [`Engine::connect`] end what an earlier worker of the same name left nevertheless.
//!
//! The binary that uses this crate lends itself as a helper: called with the arguments in [`Helper`], it has to call
//! [`run_helper`] and nothing else.
#![cfg(target_os = "linux")]

mod bubblewrap;
mod calls;
mod cgroup;
mod collect;
mod container;
mod disk;
mod ending;
mod error;
mod folder;
mod helper;
mod job;
mod lines;
mod process_tree;
mod reading;
mod running;
mod snapshot;
mod supervise;
mod walk;

pub use bubblewrap::{Bubblewrap, BubblewrapConfig, Guards};
pub use cgroup::Groups;
pub use collect::{CollectLimits, Found, Harvest, REFUSED_MAX, Refused, Why, collect};
pub use container::{
    DeviceNames, Engine, EngineConfig, Held, Image, ImageSource, Isolation, PullProgress, RunningContainers,
    WORKER_LABEL, candidate_hosts,
};
pub use disk::DISK_RESERVE_BYTES;
pub use ending::{Cause, Ending, Usage};
pub use error::Error;
pub use folder::{Folder, Identity};
pub use helper::Landlock;
pub use helper::{Helper, run_helper};
pub use job::{ARGUMENTS_MAX, COMMAND_BYTES_MAX, DEVICES_MAX, Device, Job, Limits, Network};
pub use lines::{LINE_BYTES_MAX, LINES_WAITING_MAX, Line, Lines, Stream};
pub use reading::Reading;
pub use running::{Controls, Running};
pub use snapshot::{Snapshot, snapshot};
