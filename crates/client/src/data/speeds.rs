//! How fast the line to the hub and this processor are, measured before a large push, to choose how hard to squeeze.
use std::path::Path;
use std::time::{Duration, Instant};

use gleaner_data::measure;
use gleaner_data::net::Taker;
use gleaner_data::seal::AccountSecret;
use gleaner_data::squeeze::policy::{Speeds, level};
use gleaner_data::squeeze::{Level, Squeezer};
use gleaner_wire::Hash;

use super::HubData;

/// Smaller files are sent before a measurement would be over.
const WORTH_BYTES: u64 = 8 * 1024 * 1024;
/// A question of this many names is as long as a quarter of a megabyte.
const PROBE_NAMES: usize = 8192;
const SAMPLE_BYTES: usize = 512 * 1024;
/// A line grows to its speed in rounds: so many of them go by before the long question is through.
const ROUNDS: u32 = 5;
/// On a line that is faster than this the processor has better things to do than to squeeze harder than usual.
const SLOW_LINK: u64 = 4_000_000;
/// How long a choice holds.
const KEPT_TIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// Where nothing is measured.
const LEVEL_DEFAULT: i32 = 3;

/// How hard to squeeze what is at this path, on its way to that hub. What was chosen holds for a while: content that is
/// squeezed otherwise is sealed otherwise, and would be sent again where nothing is remembered of it.
pub(crate) async fn choose_level(hub: &HubData, path: &Path, kept: &Path) -> Option<Level> {
    if path.metadata().is_ok_and(|found| found.is_file() && found.len() < WORTH_BYTES) {
        return Some(Level::new(LEVEL_DEFAULT));
    }
    if let Some(level) = read(kept) {
        return level;
    }
    let chosen = measured(hub).await;
    let text = chosen.map_or(0, Level::number).to_string();
    if let Err(error) = std::fs::write(kept, text) {
        tracing::warn!(%error, "the measured level is not remembered");
    }
    chosen
}

/// What was chosen lately: a number, and zero for not at all.
fn read(kept: &Path) -> Option<Option<Level>> {
    let age = kept.metadata().ok()?.modified().ok()?.elapsed().ok()?;
    let number: i32 = std::fs::read_to_string(kept).ok().filter(|_| age < KEPT_TIME)?.trim().parse().ok()?;
    Some((number > 0).then(|| Level::new(number)))
}

async fn measured(hub: &HubData) -> Option<Level> {
    let Some(link) = link(hub).await else { return Some(Level::new(LEVEL_DEFAULT)) };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let Ok(Some((squeeze, seal))) = tokio::task::spawn_blocking(processor).await else {
        return Some(Level::new(LEVEL_DEFAULT));
    };
    let chosen = level(Speeds { link, squeeze, seal, cores });
    let chosen = if link > SLOW_LINK { chosen.map(|level| level.min(Level::new(LEVEL_DEFAULT))) } else { chosen };
    tracing::debug!(link, squeeze, seal, cores, ?chosen, "bytes a second, and the level chosen by them");
    chosen
}

/// Bytes a second to the hub: a long question against a short one.
async fn link(hub: &HubData) -> Option<u64> {
    let short = ask(hub, 1).await?;
    let long = ask(hub, PROBE_NAMES).await?;
    Some(rate(PROBE_NAMES * 32, long.saturating_sub(short * ROUNDS)))
}

async fn ask(hub: &HubData, names: usize) -> Option<Duration> {
    let names = (0..names as u64).map(|number| Hash::of(&number.to_le_bytes())).collect();
    let begun = Instant::now();
    hub.cache().having(names).await.ok()?;
    Some(begun.elapsed())
}

/// Bytes a second that one core squeezes, and seals.
fn processor() -> Option<(u64, u64)> {
    let sample = measure::words(1, SAMPLE_BYTES);
    let mut squeezer = Squeezer::new(Some(Level::new(1))).ok()?;
    let begun = Instant::now();
    sample.chunks(64 * 1024).for_each(|chunk| drop(squeezer.squeeze(chunk)));
    let squeeze = rate(sample.len(), begun.elapsed());
    let (keys, mut plain) = (AccountSecret::from_bytes([0; 32]).keys(), Squeezer::new(None).ok()?);
    let begun = Instant::now();
    for chunk in sample.chunks(64 * 1024) {
        let tag = keys.tag(chunk);
        drop(keys.seal(&tag, plain.squeeze(chunk)));
    }
    Some((squeeze, rate(sample.len(), begun.elapsed())))
}

fn rate(bytes: usize, time: Duration) -> u64 {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
    bytes as u64 * 1_000_000 / micros
}
