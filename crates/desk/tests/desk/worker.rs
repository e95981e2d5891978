//! A real worker, in the test's own process.
use std::path::PathBuf;

use gleaner_client::HubAddress;
use gleaner_wire::Amount;
use gleaner_worker::machine::Preferences;
use gleaner_worker::machine::preferences::{Price, Unknown, YieldToInput};
use gleaner_worker::{Config, Provider};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::place::Place;

/// A worker of WebAssembly programs, which leaves when it is dropped.
pub struct Worker {
    _stop: watch::Sender<bool>,
    working: JoinHandle<()>,
}

impl Worker {
    pub fn join(place: &Place) -> Self {
        Self::paid_to(place, None)
    }

    /// A worker whose results are paid to somebody on the chain.
    pub fn paid_to(place: &Place, provider: Option<Provider>) -> Self {
        let mut preferences = Preferences { price: Price::PerSecond(Amount(100_000)), ..Preferences::default() };
        // Nobody sits at this machine.
        preferences.idle.unknown = Unknown::Share;
        preferences.idle.input = YieldToInput::Never;
        preferences.idle.fullscreen = false;
        let config = Config {
            hub: HubAddress::parse(&place.url(), None).expect("an address"),
            dir: folder(place),
            name: "worker".to_owned(),
            region: "eu".to_owned(),
            provider,
            account_token: None,
            market: Vec::new(),
            cpu_slots: 2,
            gpu: false,
            child: std::env::current_exe().expect("this program"),
            adapter: None,
            containers: false,
            blender: false,
            blender_program: None,
            together: false,
            network: None,
            gvisor: false,
            preferences,
            lie: None,
            traces: None,
        };
        let (stop, stopped) = watch::channel(false);
        let working =
            tokio::spawn(async move { gleaner_worker::run(config, stopped, |_| {}).await.expect("it works") });
        Self { _stop: stop, working }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.working.abort();
    }
}

/// Where a worker of a place keeps its key.
pub fn folder(place: &Place) -> PathBuf {
    place.folder.path().join("worker")
}

/// A program that says four bytes, which are a pixel too.
pub fn program() -> Vec<u8> {
    let text = r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 16) "oak\n")
        (func (export "_start")
            (i32.store (i32.const 0) (i32.const 16))
            (i32.store (i32.const 4) (i32.const 4))
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;
    wat::parse_str(text).expect("a program")
}
