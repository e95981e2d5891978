//! The self-test of an open device: does it compute correctly, how far does it count, how fast is it?
use std::time::{Duration, Instant};

use gleaner_wire::Cause;

use super::device::Device;
use super::message::Dispatch;
use crate::failure::Failure;

const SOURCE: &str = include_str!("test_kernel.wgsl");
/// The loop that some drivers silently cut short.
const LONG_LOOP: u32 = 1_000_000;
const KNOWN_ITEMS: u32 = 200;
const KNOWN_STEPS: u32 = 1_000;
/// Steps of each invocation while speed is measured; every driver counts that far.
const SPEED_STEPS: u32 = 4_096;
const SPEED_ITEMS_FIRST: u32 = 4_096;
const SPEED_ITEMS_MAX: u32 = 1 << 22;
/// A measurement is long enough from here on.
const SPEED_TIME_MIN: Duration = Duration::from_millis(40);
const TIME_MS_MAX: u64 = 20_000;
/// A score of 1000 is one thousand million steps a second.
const STEPS_PER_SECOND_PER_POINT: f64 = 1e6;

/// What the self-test found.
pub(crate) struct Tested {
    pub(crate) score: u32,
    pub(crate) loops_max: Option<u64>,
}

/// Tests a device.
pub(crate) async fn test(device: &mut Device) -> Result<Tested, Failure> {
    let known = count(device, KNOWN_ITEMS, KNOWN_STEPS).await?;
    let expected = (1..=KNOWN_ITEMS).map(|first| (KNOWN_STEPS, walk(first, KNOWN_STEPS)));
    if !known.iter().copied().eq(expected) {
        return Err(Failure::new(Cause::DeviceFault, "the device computes wrong answers"));
    }
    let (counted, state) = count(device, 1, LONG_LOOP).await?[0];
    let loops_max = match counted {
        LONG_LOOP if state == walk(1, LONG_LOOP) => None,
        counted if counted < LONG_LOOP && state == walk(1, counted) => Some(u64::from(counted)),
        _ => return Err(Failure::new(Cause::DeviceFault, "the device computes wrong answers in long loops")),
    };
    Ok(Tested { score: speed(device).await?, loops_max })
}

/// The steps of the kernel, on the processor.
fn walk(first: u32, steps: u32) -> u32 {
    (0..steps).fold(first, |mut state, _| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^ state << 5
    })
}

async fn count(device: &mut Device, items: u32, steps: u32) -> Result<Vec<(u32, u32)>, Failure> {
    let output = device.run(&dispatch(items, steps)).await?.output;
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("chunks of four bytes"));
    Ok(output.chunks_exact(8).map(|pair| (number(&pair[..4]), number(&pair[4..]))).collect())
}

/// Makes the work larger until it takes long enough to be measured.
async fn speed(device: &mut Device) -> Result<u32, Failure> {
    let mut items = SPEED_ITEMS_FIRST;
    loop {
        let begun = Instant::now();
        device.run(&dispatch(items, SPEED_STEPS)).await?;
        let time = begun.elapsed();
        if time >= SPEED_TIME_MIN || items >= SPEED_ITEMS_MAX {
            let steps = f64::from(items) * f64::from(SPEED_STEPS);
            let score = steps / time.as_secs_f64() / STEPS_PER_SECOND_PER_POINT;
            return Ok((score as u32).clamp(1, 1_000_000_000));
        }
        items *= 4;
    }
}

fn dispatch(items: u32, steps: u32) -> Dispatch {
    let mut parameters = vec![0; 17];
    parameters[10] = items;
    parameters[16] = steps;
    Dispatch {
        source: SOURCE.to_owned(),
        entry: "main".to_owned(),
        finish: None,
        passes: 1,
        invocations: (items, 1),
        parameters,
        output_bytes: u64::from(items) * 8,
        scratch_bytes: 0,
        inputs: Vec::new(),
        memory_max: u64::MAX,
        time_ms_max: TIME_MS_MAX,
    }
}
