//! The course of one test: rounds of growing exercises, until one takes long enough to tell how fast the device is.
//!
//! The hub takes the time itself, from the moment at which it hands a round over to the moment at which it hears of the end.
use super::exercise::{Exercise, Kind};
use super::goods::{Failure, Goods, Sealed};
use super::room::{Ended, Test};
use super::{Inner, Screen};
use crate::keeper::Command;
use gleaner_data::seal::TaskKeys;
use gleaner_wire::{Cause, Check, Extent, Outcome, Output, Runtime, StartAttempt, TaskSpec, ToWorker};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The most that the next round grows by.
const GROWTH_MAX: u64 = 16;

/// Why there is no score.
pub(super) enum Trouble {
    /// In words, for the owner of the machine.
    Failed(String),
    /// The worker has gone, or the hub ends: nobody is told anything.
    BrokenOff,
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let (mut text, mut deeper) = (failure.to_string(), std::error::Error::source(&failure));
        while let Some(error) = deeper {
            text = format!("{text}: {error}");
            deeper = error.source();
        }
        Self::Failed(text)
    }
}

/// How long a test may take in all.
pub(super) fn time_max(runtime: Runtime) -> Duration {
    match runtime {
        Runtime::Wasm | Runtime::Wgsl => Duration::from_secs(60),
        // They may fetch an image, or start an engine.
        Runtime::Container | Runtime::Blender => Duration::from_secs(300),
    }
}

/// One test of one worker.
pub(super) struct Course {
    pub(super) inner: Arc<Inner>,
    pub(super) screen: Screen,
    pub(super) test: Test,
    /// The group of the next round.
    pub(super) group: u16,
    /// How long the worker may still take. What the hub itself takes does not count.
    pub(super) time_left: Duration,
}

impl Course {
    /// The score, which is the geometric mean of its parts.
    pub(super) async fn run(mut self) -> Result<u32, Trouble> {
        let mut scores = Vec::new();
        for kind in Kind::of(self.screen.runtime) {
            scores.push(self.measure(*kind).await?);
        }
        Ok(mean(&scores))
    }

    async fn measure(&mut self, kind: Kind) -> Result<f64, Trouble> {
        let (mut size, rounds) = (kind.size_first(), kind.rounds());
        let mut round = 1;
        loop {
            let seed = self.inner.chance().map_err(Failure::Hub)?;
            let exercise = Arc::new(kind.draw(seed, size));
            let took = self.round(kind, &exercise).await?;
            let is_last = round >= *rounds.start() && took >= kind.time_min();
            if is_last || round >= *rounds.end() {
                return Ok(score(exercise.steps(), took, kind.score_max()));
            }
            size = larger(size, took, kind.time_min());
            round += 1;
        }
    }

    /// One round: how long it took, if its answer is right.
    async fn round(&mut self, kind: Kind, exercise: &Arc<Exercise>) -> Result<Duration, Trouble> {
        let (goods, drawn) = (Arc::clone(&self.inner.goods), Arc::clone(exercise));
        let program = self.inner.blocking(move || goods.program(kind, &drawn)).await??;
        let held = Held { program, goods: Arc::clone(&self.inner.goods) };
        let group = self.group;
        self.group += 1;
        let (took, output) = self.dispatch(kind, exercise, group, &held.program).await?;
        self.check(exercise, group, output).await?;
        Ok(took)
    }

    /// Has a worker do an exercise, and takes the time.
    async fn dispatch(
        &mut self,
        kind: Kind,
        exercise: &Exercise,
        group: u16,
        program: &Sealed,
    ) -> Result<(Duration, Output), Trouble> {
        let (worker, job) = (self.screen.worker, self.test.job);
        let secret = self.inner.goods.answer_secret(job, group);
        let keys = TaskKeys { program: program.key, output: *secret.expose(), inputs: Vec::new() };
        let waiting = self.inner.room.expect(worker, self.test, group, keys).map_err(Failure::Hub)?;
        let (attempt, ended) = waiting.ok_or(Trouble::BrokenOff)?;
        let limits = kind.limits(self.time_left);
        let spec = TaskSpec {
            name: "test".to_owned(),
            work: exercise.work(program.data),
            extent: Extent::Single,
            inputs: Vec::new(),
            limits,
            check: Check::None,
        };
        let start = StartAttempt {
            attempt,
            job,
            group,
            index: 0,
            device: self.screen.device,
            time_ms: limits.time_ms,
            outputs: Vec::new(),
            checkpoint: None,
            compare: None,
        };
        let messages = vec![ToWorker::Spec { job, group, spec }, ToWorker::Start(vec![start])];
        let said = self.inner.keeper.send(Command::Say { worker, messages }).await;
        said.map_err(|_| Trouble::BrokenOff)?;
        let (begun, at) = (Instant::now(), SystemTime::now());
        let late = |_| Trouble::Failed("it did not answer in time".to_owned());
        let ended = tokio::time::timeout(self.time_left, ended).await;
        let done = matches!(&ended, Ok(Ok(Ended { outcome: Outcome::Done(_), .. })));
        self.inner.traces.test_attempt(job, attempt, group, worker, at, done);
        let ended = ended.map_err(late)?;
        let Ended { at, outcome } = ended.map_err(|_| Trouble::BrokenOff)?;
        let took = at.saturating_duration_since(begun);
        self.time_left = self.time_left.saturating_sub(took);
        match outcome {
            Outcome::Done(output) => Ok((took, output)),
            // The image is the hub's own, so what is wrong with it is that it is made for another kind of machine.
            Outcome::Failed { cause: Cause::BadInput, detail } if kind == Kind::Container => Err(Trouble::Failed(
                format!("containers are not tested there: {}: {detail}", super::container::FOR_WHOM),
            )),
            Outcome::Failed { cause, detail } => Err(Trouble::Failed(format!("the test failed: {cause}: {detail}"))),
            Outcome::Cancelled => Err(Trouble::Failed("the worker stopped the test".to_owned())),
        }
    }

    async fn check(&self, exercise: &Arc<Exercise>, group: u16, output: Output) -> Result<(), Trouble> {
        let (inner, exercise, job) = (Arc::clone(&self.inner), Arc::clone(exercise), self.test.job);
        // Answers are computed again a few at a time, or a thousand new workers would take all of the hub's time.
        let turn = Arc::clone(&self.inner.checks).acquire_owned().await;
        let seed = self.inner.chance().map_err(Failure::Hub)?;
        let checking = self.inner.blocking(move || {
            let keys = inner.goods.answer_secret(job, group).keys();
            let right = inner.goods.opened(output, &keys).map(|files| exercise.is_right(&files, seed));
            drop(turn);
            right
        });
        match checking.await? {
            Some(true) => Ok(()),
            Some(false) => Err(Trouble::Failed("its answer is wrong".to_owned())),
            None => Err(Trouble::Failed("its answer cannot be read".to_owned())),
        }
    }
}

/// What a round holds in the store for as long as it lasts, however it ends.
struct Held {
    program: Sealed,
    goods: Arc<Goods>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let (program, goods) = (self.program.clone(), Arc::clone(&self.goods));
        tokio::task::spawn_blocking(move || {
            if let Err(error) = goods.release(&program) {
                tracing::warn!(%error, "what a test needed stays in the store for an hour");
            }
        });
    }
}

/// How fast so many steps in such a time are: 1000 for a thousand million in a second.
/// More than `score_max` is not believed.
fn score(steps: u64, took: Duration, score_max: f64) -> f64 {
    let micros = took.as_micros().max(1) as f64;
    (steps as f64 / micros).clamp(1.0, score_max)
}

fn mean(scores: &[f64]) -> u32 {
    let product: f64 = scores.iter().product();
    (product.powf(1.0 / scores.len().max(1) as f64) as u32).max(1)
}

/// The size of the next round, after one that took so long: at least double, and half as much again as should do.
fn larger(size: u64, took: Duration, time_min: Duration) -> u64 {
    let factor = (time_min * 3 / 2).as_micros().div_ceil(took.as_micros().max(1));
    size.saturating_mul(u64::try_from(factor).unwrap_or(GROWTH_MAX).clamp(2, GROWTH_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_million_steps_in_a_second_are_a_score_of_a_thousand() {
        let score = |steps, took| score(steps, took, Kind::Wasm.score_max());
        assert_eq!(mean(&[score(1_000_000_000, Duration::from_secs(1))]), 1000);
        let (fast, slow) = (score(1 << 30, Duration::from_millis(400)), score(1 << 30, Duration::from_millis(1200)));
        assert!((2.9..3.1).contains(&(fast / slow)), "who takes three times as long has a third of the score");
        assert!((score(1, Duration::from_secs(60)) - 1.0).abs() < f64::EPSILON, "the least there is");
        assert_eq!(mean(&[score(u64::MAX, Duration::ZERO)]), 1_000_000_000);
    }

    #[test]
    fn a_picture_that_comes_sooner_than_blender_starts_is_worth_no_more() {
        let frame = |took| mean(&[score(Kind::Frame.size_first(), took, Kind::Frame.score_max())]);
        assert_eq!(frame(Duration::from_millis(5)), 1000);
        assert!(frame(Duration::from_secs(4)) < 300, "who takes longer has less, as with all tests");
    }

    #[test]
    fn parts_count_alike_whatever_their_size() {
        assert_eq!(mean(&[100.0, 10_000.0]), 1000);
        assert_eq!(mean(&[10_000.0, 100.0]), 1000);
    }

    #[test]
    fn rounds_grow_until_they_take_long_enough_and_not_much_longer() {
        let enough = Duration::from_millis(300);
        assert_eq!(larger(100, Duration::from_millis(290), enough), 200);
        assert_eq!(larger(100, Duration::from_millis(150), enough), 300);
        assert_eq!(larger(100, Duration::ZERO, enough), 1600);
        assert_eq!(larger(u64::MAX, Duration::ZERO, enough), u64::MAX);
    }
}
