//! The thread that lets running programs look up every few milliseconds. It rests while none runs.
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use wasmtime::Engine;

use crate::watch::LOOK_UP;

#[derive(Debug, Default)]
struct State {
    running: usize,
    ended: bool,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// The ticking thread.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Shared,
    thread: Option<JoinHandle<()>>,
}

/// Keeps the ticker ticking.
#[derive(Debug)]
pub struct Ticking(Shared);

impl Ticker {
    pub(crate) fn start(engine: Engine) -> std::io::Result<Self> {
        let shared = Shared::default();
        let seen = shared.clone();
        let tick = move || {
            while wait_for_work(&seen) {
                std::thread::sleep(LOOK_UP);
                engine.increment_epoch();
            }
        };
        let thread = std::thread::Builder::new().name("wasm-ticker".into()).spawn(tick)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    pub(crate) fn tick(&self) -> Ticking {
        change(&self.shared, |state| state.running += 1);
        Ticking(self.shared.clone())
    }
}

fn change(shared: &Shared, change: impl FnOnce(&mut State)) {
    change(&mut shared.0.lock().unwrap_or_else(PoisonError::into_inner));
    shared.1.notify_all();
}

/// Waits until something runs; false when the ticker is to end.
fn wait_for_work(shared: &Shared) -> bool {
    let state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    let idle = |state: &mut State| state.running == 0 && !state.ended;
    let state = shared.1.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
    !state.ended
}

impl Drop for Ticking {
    fn drop(&mut self) {
        change(&self.0, |state| state.running -= 1);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        change(&self.shared, |state| state.ended = true);
        if let Some(thread) = self.thread.take() {
            // The thread only ticks; if it panicked there is nothing left to save.
            let _ = thread.join();
        }
    }
}
