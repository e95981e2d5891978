//! The state of one running program beside its memory, and its limits.
use std::path::PathBuf;

use wasmtime::ResourceLimiter;

use super::handle::Handles;
use super::stop::{Fail, Quota, Stop};
use super::tree;
use crate::content::Content;
use crate::log::Log;
use crate::product::{Body, Product, Scratch};
use crate::watch::Watch;

/// The most elements of a program's table.
pub(crate) const TABLE_ELEMENTS_MAX: usize = 1_000_000;
/// What a look at the clock costs on it, so that a program that waits by looking sees time pass.
const LOOK_NANOS: u64 = 1_000;

/// What a program is called with.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The arguments, program name first.
    pub(crate) args: Vec<String>,
    /// What is under `/in`; `None` if the program cannot open files anyway.
    pub(crate) inputs: Option<Content>,
    /// What its random numbers are made from.
    pub(crate) seed: Seed,
    pub(crate) memory_max: u64,
    pub(crate) output_max: u64,
    /// Where large outputs wait to be delivered.
    pub(crate) scratch: PathBuf,
}

/// What makes a task's random numbers: equal tasks draw equal numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    pub(crate) program: gleaner_wire::Hash,
    pub(crate) index: u32,
}

/// The state of a running program.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) watch: Watch,
    pub(crate) log: Log,
    pub(crate) args: Vec<String>,
    pub(crate) handles: Option<Box<Handles>>,
    stdout: Body,
    quota: Quota,
    memory_max: u64,
    seed: Seed,
    random: Option<Box<blake3::OutputReader>>,
    nanos: u64,
}

impl Host {
    pub(crate) fn new(setting: Setting, watch: Watch, log: Log) -> Self {
        let Setting { args, inputs, seed, memory_max, output_max, scratch } = setting;
        let handles = inputs.map(|inputs| Box::new(Handles::new(inputs)));
        Self {
            watch,
            log,
            args,
            handles,
            stdout: Body::default(),
            quota: Quota::new(output_max, Scratch::new(scratch)),
            memory_max,
            seed,
            random: None,
            nanos: 0,
        }
    }

    pub(crate) fn into_product(self) -> (Product, Log) {
        let files = self.handles.map(|handles| handles.into_files()).unwrap_or_default();
        (Product { stdout: self.stdout, files }, self.log)
    }

    pub(crate) fn write_stdout(&mut self, bytes: &[u8]) -> Result<(), Fail> {
        let end = self.stdout.len();
        tree::write(&mut self.stdout, end, bytes, &mut self.quota)
    }

    /// The open files and the quota that writing them uses.
    pub(crate) fn files(&mut self) -> Option<(&mut Handles, &mut Quota)> {
        self.handles.as_deref_mut().map(|handles| (handles, &mut self.quota))
    }

    pub(crate) fn fill_random(&mut self, bytes: &mut [u8]) {
        let seed = self.seed;
        let random = self.random.get_or_insert_with(|| {
            let mut hasher = blake3::Hasher::new_derive_key("gleaner wasm random 1");
            hasher.update(&seed.program.0).update(&seed.index.to_le_bytes());
            Box::new(hasher.finalize_xof())
        });
        random.fill(bytes);
    }

    /// The program's own clock: it starts at zero and moves when it is looked at or slept by.
    pub(crate) fn look_at_clock(&mut self) -> u64 {
        self.nanos = self.nanos.saturating_add(LOOK_NANOS);
        self.nanos
    }

    pub(crate) fn clock(&self) -> u64 {
        self.nanos
    }

    pub(crate) fn advance_clock(&mut self, nanos: u64) {
        self.nanos = self.nanos.saturating_add(nanos);
    }
}

impl ResourceLimiter for Host {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired as u64 <= self.memory_max {
            return Ok(true);
        }
        Err(wasmtime::Error::new(Stop::Memory { wanted: desired as u64, limit: self.memory_max }))
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired <= TABLE_ELEMENTS_MAX {
            return Ok(true);
        }
        Err(wasmtime::Error::new(Stop::Table { wanted: desired as u64, limit: TABLE_ELEMENTS_MAX as u64 }))
    }
}
