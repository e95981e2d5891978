//! Whole programs of strangers: each attempt in a cell of its own, a sandbox with one folder.
//!
//! A cell has `/in` (what the task reads), `/out` (what it leaves) and `/checkpoint` (what it would go on from on another
//! machine). What runs in it is a container or Blender; how it is kept in is the sandbox's business.
mod blender;
mod container;
mod folder;
mod found;
mod merge;
mod save;
mod supervise;
mod task;
mod trial;

pub use blender::BlenderEngine;
pub use container::ReadyImage;
pub use found::{Found, find};
pub use merge::run_merge;
pub use task::Task;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gleaner_blender::card::Card;
use gleaner_sandbox::{Bubblewrap, Device, Engine};
use tokio::runtime::Handle;

use crate::nodes::Access;

/// What runs whole programs on one device.
#[derive(Clone)]
pub struct Cells {
    runtime: Handle,
    /// Where the folders of cells are.
    scratch: PathBuf,
    /// Runs programs of this machine.
    bubblewrap: Option<Bubblewrap>,
    /// Runs containers.
    containers: Option<Engine>,
    /// Renders.
    blender: Option<Arc<BlenderEngine>>,
    /// How each of the device's cards is reached; none of the processor.
    cards: Vec<Access>,
    /// Thousandths of a processor core for each cell.
    cpu_milli: u32,
    /// What a program gets to save itself when the owner needs the device.
    grace: Duration,
}

impl Cells {
    /// The engine of containers, if there is one.
    pub fn containers(&self) -> Option<&Engine> {
        self.containers.as_ref()
    }

    /// The engine of renderings, if there is one.
    pub fn blender(&self) -> Option<&Arc<BlenderEngine>> {
        self.blender.as_ref()
    }

    /// The same on a device with cards of its own.
    #[must_use]
    pub fn on(&self, cards: Vec<Access>, cpu_milli: u32) -> Self {
        Self { cards, cpu_milli, ..self.clone() }
    }

    /// The card that Blender renders on; none on the processor, and none where there are several, of which it would use one.
    pub fn card(&self) -> Option<&Card> {
        match &self.cards[..] {
            [only] => Some(&only.card),
            [] | [_, _, ..] => None,
        }
    }

    /// How each card is reached.
    pub fn cards(&self) -> &[Access] {
        &self.cards
    }
}

/// Devices, each once: some belong to all cards of a maker.
fn once<'a>(devices: impl IntoIterator<Item = &'a Device>) -> Vec<Device> {
    let mut all: Vec<Device> = Vec::new();
    for device in devices {
        if !all.contains(device) {
            all.push(device.clone());
        }
    }
    all
}
