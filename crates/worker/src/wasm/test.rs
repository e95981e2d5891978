//! The self-test of the wasm runtime: a known answer, and how fast it comes.
use std::sync::Arc;
use std::time::Duration;

use gleaner_wire::{AttemptId, Cause, Limits, Millis};
use tokio::sync::mpsc;

use super::{Call, Wasm};
use crate::content::Content;
use crate::failure::{End, Failure};
use crate::log::Log;
use crate::watch::{Cancels, Watch};

const PROGRAM: &[u8] = include_bytes!("self_test.wasm");
const STEPS: u32 = 10_000_000;
const TIME_MAX: Duration = Duration::from_secs(10);
/// A score of 1000 is one thousand million steps a second on one slot.
const STEPS_PER_SECOND_PER_POINT: f64 = 1e6;

/// Tests the runtime and measures the speed of one slot.
pub(crate) fn test(wasm: &Wasm) -> Result<u32, Failure> {
    let program = wasm.compile(PROGRAM)?;
    let _ticking = wasm.tick();
    let (to, _from) = mpsc::channel(1);
    let attempt = AttemptId(0);
    let call = Call {
        args: vec![String::new()],
        index: 0,
        inputs: Content::default(),
        limits: Limits { time_ms: Millis(0), memory: 65_536, output: 4 },
        watch: Watch::start(attempt, TIME_MAX, Arc::new(Cancels::default())),
        log: Log::new(attempt, to),
    };
    let run = wasm.run(&program, call);
    let product = match run.end {
        End::Done(product) => product,
        End::Failed(failure) => return Err(failure),
        End::Cancelled | End::Compared(_) => {
            return Err(Failure::new(Cause::DeviceFault, "the self-test was cancelled"));
        }
    };
    let expected = (0..STEPS).fold(1_u32, |mut state, _| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^ state << 5
    });
    if product.stdout.in_memory() != Some(&expected.to_le_bytes()) {
        return Err(Failure::new(Cause::DeviceFault, "the self-test gave a wrong answer"));
    }
    let score = f64::from(STEPS) / (run.ran.0.max(1) as f64 / 1e6) / STEPS_PER_SECOND_PER_POINT;
    Ok((score as u32).clamp(1, 1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_what_its_source_says() {
        let built = wat::parse_str(include_str!("self_test.wat")).expect("the source is right");
        assert_eq!(PROGRAM, built, "build self_test.wat again");
    }

    #[test]
    fn this_machine_passes() {
        let wasm = Wasm::new(1, std::env::temp_dir()).expect("starts");
        assert!(test(&wasm).expect("passes") > 0);
    }
}
