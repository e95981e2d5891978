//! The `wasm` runtime: WASI programs in a WebAssembly sandbox. Equal tasks give equal bytes on every machine.
//!
//! It compiles and runs; it fetches nothing, delivers nothing and decides nothing about money.
mod errno;
mod file_calls;
mod guest;
mod handle;
mod host;
mod path_calls;
mod plain_calls;
mod stop;
mod test;
mod ticker;
mod tree;
mod wasi;

use std::path::PathBuf;
use std::time::Instant;

use gleaner_wire::check::Compared;
use gleaner_wire::{Cause, Hash, Limits, Micros};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module, ModuleExport,
    PoolingAllocationConfig, Store, Trap, UpdateDeadline,
};

pub(crate) use self::test::test;
pub use self::ticker::Ticking;

use self::host::{Host, Seed, Setting, TABLE_ELEMENTS_MAX};
use self::stop::Stop;
use self::ticker::Ticker;
use crate::content::Content;
use crate::failure::{End, Failure, Run};
use crate::log::Log;
use crate::product::Product;
use crate::watch::Watch;

/// The largest program.
pub const PROGRAM_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The most memory that a program can address.
pub const MEMORY_BYTES_MAX: u64 = 1 << 32;
const STACK_BYTES_MAX: usize = 1024 * 1024;
/// Memory and tables of a finished program up to this size are cleared by writing, which beats asking the system.
const RESIDENT_BYTES: usize = 128 * 1024;
const INSTANCE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The runtime.
pub struct Wasm {
    engine: Engine,
    linker: Linker<Host>,
    ticker: Ticker,
    scratch: PathBuf,
}

/// A compiled program.
pub struct Program {
    instance: InstancePre<Host>,
    start: ModuleExport,
    id: Hash,
    takes_args: bool,
    opens_files: bool,
}

/// One task for a program.
#[derive(Debug)]
pub struct Call {
    /// The arguments after the program name.
    pub args: Vec<String>,
    /// The element, which seeds its random numbers.
    pub index: u32,
    /// What it reads under `/in`.
    pub inputs: Content,
    /// What it may use; the time is for the watch.
    pub limits: Limits,
    /// When it has to stop.
    pub watch: Watch,
    /// Where its standard error goes.
    pub log: Log,
}

impl Wasm {
    /// A runtime that runs up to `slots` programs at a time and keeps large outputs in `scratch`.
    pub fn new(slots: u16, scratch: PathBuf) -> Result<Self, Failure> {
        let broken = |error: wasmtime::Error| Failure::new(Cause::DeviceFault, format!("no wasm engine: {error:#}"));
        let engine = Engine::new(&config(slots)).map_err(broken)?;
        let mut linker = Linker::new(&engine);
        wasi::add(&mut linker).map_err(broken)?;
        let ticker = Ticker::start(engine.clone()).map_err(|error| broken(error.into()))?;
        Ok(Self { engine, linker, ticker, scratch })
    }

    /// Time limits hold while this lives; keep it for as long as programs run.
    pub fn tick(&self) -> Ticking {
        self.ticker.tick()
    }

    /// Compiles a program.
    pub fn compile(&self, bytes: &[u8]) -> Result<Program, Failure> {
        let refuse = |what: &str, error: wasmtime::Error| Failure::new(Cause::BadInput, format!("{what}: {error:#}"));
        let module = Module::from_binary(&self.engine, bytes)
            .map_err(|error| refuse("the program is not a valid WebAssembly module", error))?;
        let start = module.get_export_index("_start").filter(|_| exports_start(&module)).ok_or_else(|| {
            Failure::new(Cause::BadInput, "the program has no function `_start`: build it as a WASI command")
        })?;
        let imports: Vec<_> = module.imports().map(|import| import.name().to_owned()).collect();
        let takes_args = imports.iter().any(|name| name.starts_with("args_"));
        let opens_files = imports.iter().any(|name| wasi::opens_files(name));
        let instance = self
            .linker
            .instantiate_pre(&module)
            .map_err(|error| refuse("the program wants something that WASI preview 1 does not have", error))?;
        Ok(Program { instance, start, id: Hash::of(bytes), takes_args, opens_files })
    }

    /// Runs a program to its end.
    pub fn run(&self, program: &Program, call: Call) -> Run {
        let Performed { ran, ended, product, log } = self.perform(program, call);
        let end = match ended {
            Ok(()) => End::Done(product),
            Err(error) => judge(&error, &log),
        };
        Run { ran, end }
    }

    /// Runs a program that compares: it ends well if what it sees agrees, and with exit code 1 if it differs. What it prints
    /// is not kept.
    pub fn check(&self, program: &Program, call: Call) -> Run {
        let Performed { ran, ended, product: _, log } = self.perform(program, call);
        let end = match ended {
            Ok(()) => End::Compared(Compared::SAME),
            Err(error) if error.downcast_ref() == Some(&Stop::Exit(1)) => End::Compared(Compared::APART),
            Err(error) => judge(&error, &log),
        };
        Run { ran, end }
    }

    fn perform(&self, program: &Program, call: Call) -> Performed {
        let begun = Instant::now();
        let Call { args, index, inputs, limits, watch, log } = call;
        let setting = Setting {
            args: if program.takes_args { args_of(args) } else { Vec::new() },
            inputs: program.opens_files.then_some(inputs),
            seed: Seed { program: program.id, index },
            memory_max: limits.memory,
            output_max: limits.output,
            scratch: self.scratch.clone(),
        };
        let mut store = Store::new(&self.engine, Host::new(setting, watch, log));
        store.limiter(|host| host);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut context| {
            let host = context.data_mut();
            host.log.flush_old();
            match host.watch.check() {
                Ok(()) => Ok(UpdateDeadline::Continue(1)),
                Err(interruption) => Err(wasmtime::Error::new(Stop::from(interruption))),
            }
        });
        let ended = execute(program, &mut store);
        let ran = Micros(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        let (product, mut log) = store.into_data().into_product();
        log.flush();
        Performed { ran, ended, product, log }
    }
}

/// What became of a program.
struct Performed {
    ran: Micros,
    ended: wasmtime::Result<()>,
    product: Product,
    log: Log,
}

fn args_of(args: Vec<String>) -> Vec<String> {
    std::iter::once("task".to_owned()).chain(args).collect()
}

fn exports_start(module: &Module) -> bool {
    let function = module.get_export("_start").and_then(|export| export.func().cloned());
    function.is_some_and(|function| function.params().len() == 0 && function.results().len() == 0)
}

fn execute(program: &Program, store: &mut Store<Host>) -> wasmtime::Result<()> {
    let instance = program.instance.instantiate(&mut *store)?;
    let start = instance.get_module_export(&mut *store, &program.start).and_then(|export| export.into_func());
    let start = start.expect("the export was checked to be a function when the program was compiled");
    let ended = start.typed::<(), ()>(&*store)?.call(&mut *store, ());
    match ended {
        Err(error) if error.downcast_ref() == Some(&Stop::Exit(0)) => Ok(()),
        ended => ended,
    }
}

/// What an error of a run means for its attempt.
fn judge(error: &wasmtime::Error, log: &Log) -> End {
    let Some(stop) = error.downcast_ref::<Stop>() else {
        return End::Failed(Failure::new(Cause::ProgramFault, with_log(&trap_text(error), log)));
    };
    let cause = match stop {
        Stop::Cancelled => return End::Cancelled,
        Stop::TimeLimit => Cause::TimeLimit,
        Stop::Memory { .. } => Cause::OutOfMemory,
        Stop::Exit(_) | Stop::Table { .. } | Stop::Output { .. } => Cause::ProgramFault,
    };
    End::Failed(Failure::new(cause, with_log(&format!("the program was stopped: {stop}"), log)))
}

fn trap_text(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(trap) => format!("the program was stopped: {trap}"),
        None => format!("the program was stopped: {}", error.root_cause()),
    }
}

fn with_log(text: &str, log: &Log) -> String {
    let tail = log.tail();
    if tail.is_empty() { text.to_owned() } else { format!("{text}; its last words:\n{tail}") }
}

fn config(slots: u16) -> Config {
    let slots = u32::from(slots.max(1));
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(slots)
        .total_memories(slots)
        .total_tables(slots)
        .max_memories_per_module(1)
        .max_tables_per_module(1)
        .max_core_instance_size(INSTANCE_BYTES_MAX)
        .table_elements(TABLE_ELEMENTS_MAX)
        .max_memory_size(MEMORY_BYTES_MAX as usize)
        .linear_memory_keep_resident(RESIDENT_BYTES)
        .table_keep_resident(RESIDENT_BYTES)
        .pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .epoch_interruption(true)
        .max_wasm_stack(STACK_BYTES_MAX)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false);
    config
}
