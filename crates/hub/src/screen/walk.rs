//! The walk that the wasm and the container test make: each step needs the one before it, so that nothing but speed
//! shortens it. It is not linear, or its end could be found without going there.
use gleaner_wire::{DataRef, Image, Millis, Work};

/// Where a walk begins, and how many steps it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    pub(super) first: u64,
    pub(super) steps: u64,
}

/// The program of the wasm test.
pub(super) const MODULE: &[u8] = include_bytes!("wasm/walk.wasm");

/// How often a container would save itself: never, within a test.
const CHECKPOINT_MS: Millis = Millis(3_600_000);

impl Walk {
    /// Where it ends.
    pub(super) fn end(self) -> u64 {
        (0..self.steps).fold(self.first, |state, _| {
            (state ^ state >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x2545_f491_4f6c_dd1d)
        })
    }

    /// Whether an answer is right.
    pub(super) fn is_right(self, answer: &[u8]) -> bool {
        answer == self.end().to_le_bytes()
    }

    /// Whether an answer is right that came as a line of text, which is what becomes of a container's output.
    pub(super) fn is_right_line(self, answer: &[u8]) -> bool {
        answer == format!("{:016x}\n", self.end()).as_bytes()
    }

    /// As the programs read it.
    fn argument(self) -> String {
        format!("{:016x}{:016x}", self.first, self.steps)
    }

    /// As a task for the module.
    pub(super) fn in_wasm(self, module: DataRef) -> Work {
        Work::Wasm { module, args: vec![self.argument()] }
    }

    /// As a task for the image.
    pub(super) fn in_container(self, image: DataRef) -> Work {
        Work::Container {
            image: Image::Data(image),
            command: vec![super::container::COMMAND.to_owned(), self.argument()],
            env: Vec::new(),
            sweep: Vec::new(),
            cards: 0,
            network: false,
            checkpoint_ms: CHECKPOINT_MS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmtime::{Caller, Engine, Linker, Module, Store};

    #[test]
    fn the_module_is_what_its_source_says() {
        let built = wat::parse_str(include_str!("wasm/walk.wat")).expect("the source is right");
        assert!(MODULE == built, "build walk.wat again");
    }

    /// What a program is given and what it writes.
    struct Guest {
        args: Vec<Vec<u8>>,
        written: Vec<u8>,
    }

    fn put(caller: &mut Caller<'_, Guest>, at: i32, bytes: &[u8]) {
        let memory = caller.get_export("memory").and_then(wasmtime::Extern::into_memory).expect("it has memory");
        memory.write(caller, at as usize, bytes).expect("within it");
    }

    fn read(caller: &mut Caller<'_, Guest>, at: i32, bytes: usize) -> Vec<u8> {
        let memory = caller.get_export("memory").and_then(wasmtime::Extern::into_memory).expect("it has memory");
        memory.data(&*caller)[at as usize..][..bytes].to_vec()
    }

    fn run(args: &[String]) -> Vec<u8> {
        let engine = Engine::default();
        let mut linker: Linker<Guest> = Linker::new(&engine);
        let wasi = "wasi_snapshot_preview1";
        let sizes = |mut caller: Caller<'_, Guest>, count: i32, bytes: i32| {
            let args = caller.data().args.clone();
            put(&mut caller, count, &(args.len() as u32).to_le_bytes());
            put(&mut caller, bytes, &(args.iter().map(Vec::len).sum::<usize>() as u32).to_le_bytes());
            0_i32
        };
        let get = |mut caller: Caller<'_, Guest>, places: i32, text: i32| {
            let (mut place, mut at) = (places, text);
            for arg in caller.data().args.clone() {
                put(&mut caller, place, &at.to_le_bytes());
                put(&mut caller, at, &arg);
                (place, at) = (place + 4, at + arg.len() as i32);
            }
            0_i32
        };
        let write = |mut caller: Caller<'_, Guest>, to: i32, from: i32, count: i32, _: i32| {
            assert_eq!((to, count), (1, 1));
            let number = |bytes: &[u8]| i32::from_le_bytes(bytes.try_into().expect("four bytes"));
            let vector = read(&mut caller, from, 8);
            let bytes = read(&mut caller, number(&vector[..4]), number(&vector[4..]) as usize);
            caller.data_mut().written.extend(bytes);
            0_i32
        };
        linker.func_wrap(wasi, "args_sizes_get", sizes).expect("linked");
        linker.func_wrap(wasi, "args_get", get).expect("linked");
        linker.func_wrap(wasi, "fd_write", write).expect("linked");
        linker.func_wrap(wasi, "proc_exit", |code: i32| assert_eq!(code, 0, "it ended")).expect("linked");
        let args = std::iter::once("test").chain(args.iter().map(String::as_str));
        let args = args.map(|arg| [arg.as_bytes(), &[0]].concat()).collect();
        let mut store = Store::new(&engine, Guest { args, written: Vec::new() });
        let module = Module::new(&engine, MODULE).expect("compiles");
        let instance = linker.instantiate(&mut store, &module).expect("starts");
        let start = instance.get_typed_func::<(), ()>(&mut store, "_start").expect("it has one");
        start.call(&mut store, ()).expect("runs");
        store.into_data().written
    }

    #[test]
    fn the_module_ends_where_the_hub_does() {
        for walk in [
            Walk { first: 0x0123_4567_89ab_cdef, steps: 100_003 },
            Walk { first: u64::MAX, steps: 1 },
            Walk { first: 9, steps: 0 },
        ] {
            let Work::Wasm { args, .. } = walk.in_wasm(gleaner_wire::BlobRef::of(MODULE).into()) else {
                panic!("another runtime")
            };
            let written = run(&args);
            assert!(walk.is_right(&written), "{walk:?} gave {written:?}");
            assert!(!Walk { steps: walk.steps + 1, ..walk }.is_right(&written));
        }
    }
}
