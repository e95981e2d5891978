//! The set of tests: which there are for a runtime, how large they are, and whether an answer is right.
use super::frame::Frame;
use super::product::{self, Product};
use super::trace::{self, Trace};
use super::walk::{self, Walk};
use super::{container, goods::Failure};
use gleaner_wire::{ByteSize, DataRef, Limits, Millis, Runtime, Work};
use std::time::Duration;

/// What a picture within a second is worth.
const FRAME_SCORE_MAX: f64 = 1000.0;

/// Files by their paths.
pub(super) type Files = Vec<(String, Vec<u8>)>;

/// What a test has a worker do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A walk in WebAssembly.
    Wasm,
    /// Products of matrices.
    Product,
    /// Light in a scene.
    Trace,
    /// The walk in a container.
    Container,
    /// A picture in Blender.
    Frame,
}

/// One exercise, with what is needed to know its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exercise {
    Wasm(Walk),
    Product(Product),
    Trace(Trace),
    Container(Walk),
    Frame(Frame),
}

impl Kind {
    /// What is done to test a runtime, one after the other.
    pub(super) fn of(runtime: Runtime) -> &'static [Self] {
        match runtime {
            Runtime::Wasm => &[Self::Wasm],
            Runtime::Wgsl => &[Self::Product, Self::Trace],
            Runtime::Container => &[Self::Container],
            Runtime::Blender => &[Self::Frame],
        }
    }

    /// How much is done first, in steps.
    pub(super) fn size_first(self) -> u64 {
        match self {
            Self::Wasm | Self::Product | Self::Trace => 1 << 24,
            Self::Container => 1 << 28,
            Self::Frame => Frame::steps(),
        }
    }

    /// How many rounds there are at least: the first one also fetches, compiles and starts things.
    pub(super) fn rounds(self) -> std::ops::RangeInclusive<u32> {
        match self {
            Self::Wasm | Self::Product | Self::Trace | Self::Container => 2..=4,
            Self::Frame => 1..=1,
        }
    }

    /// What takes so long says how fast a machine is.
    pub(super) fn time_min(self) -> Duration {
        match self {
            Self::Wasm | Self::Product | Self::Trace | Self::Frame => Duration::from_millis(300),
            // Engines take a second to start one.
            Self::Container => Duration::from_millis(1500),
        }
    }

    /// The best score that it can show. No Blender starts, reads a scene and writes a picture in less than about a second: who
    /// answers sooner has found the light by other means, which says nothing about how fast it renders.
    pub(super) fn score_max(self) -> f64 {
        match self {
            Self::Wasm | Self::Product | Self::Trace | Self::Container => 1e9,
            Self::Frame => FRAME_SCORE_MAX,
        }
    }

    /// What it may use.
    pub(super) fn limits(self, time: Duration) -> Limits {
        let memory = match self {
            Self::Wasm => ByteSize::mib(16),
            Self::Product | Self::Trace | Self::Container => ByteSize::mib(256),
            Self::Frame => ByteSize::mib(2048),
        };
        let time_ms = Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        Limits { time_ms, memory: memory.0, output: ByteSize::mib(16).0 }
    }

    /// The files of its program, where that is always the same.
    pub(super) fn program(self) -> Result<Option<Files>, Failure> {
        let only = |bytes: &[u8]| vec![(gleaner_data::parcel::ONLY_FILE.to_owned(), bytes.to_vec())];
        Ok(Some(match self {
            Self::Wasm => only(walk::MODULE),
            Self::Product => only(product::SOURCE.as_bytes()),
            Self::Trace => only(trace::SOURCE.as_bytes()),
            Self::Container => container::layout().ok_or(Failure::NoProgram)?,
            Self::Frame => return Ok(None),
        }))
    }

    /// An exercise of about this size.
    pub(super) fn draw(self, seed: u64, size: u64) -> Exercise {
        match self {
            Self::Wasm => Exercise::Wasm(Walk { first: seed, steps: size }),
            Self::Container => Exercise::Container(Walk { first: seed, steps: size }),
            Self::Product => Exercise::Product(Product::new(seed as u32, size)),
            Self::Trace => Exercise::Trace(Trace::new(seed as u32, size)),
            Self::Frame => Exercise::Frame(Frame::new(seed)),
        }
    }
}

impl Exercise {
    /// How much it is.
    pub(super) fn steps(&self) -> u64 {
        match self {
            Self::Wasm(walk) | Self::Container(walk) => walk.steps,
            Self::Product(product) => product.steps(),
            Self::Trace(trace) => trace.steps(),
            Self::Frame(_) => Frame::steps(),
        }
    }

    /// The files of its program, where no two are the same.
    pub(super) fn own_program(&self) -> Result<Option<Files>, Failure> {
        match self {
            Self::Wasm(_) | Self::Container(_) | Self::Product(_) | Self::Trace(_) => Ok(None),
            Self::Frame(frame) => frame.project().map(Some).map_err(Failure::Texture),
        }
    }

    /// As a task with this program.
    pub(super) fn work(&self, program: DataRef) -> Work {
        match self {
            Self::Wasm(walk) => walk.in_wasm(program),
            Self::Container(walk) => walk.in_container(program),
            Self::Product(product) => product.kernel().work(program),
            Self::Trace(trace) => trace.kernel().work(program),
            Self::Frame(_) => Frame::work(program),
        }
    }

    /// Whether an answer is right. `seed` was drawn after the answer came.
    pub(super) fn is_right(&self, files: &[(String, Vec<u8>)], seed: u64) -> bool {
        if let Self::Frame(frame) = self {
            let mut pictures = files.iter().filter(|(name, _)| name.ends_with(".png") || files.len() == 1);
            return matches!((pictures.next(), pictures.next()), (Some((_, picture)), None) if frame.is_right(picture));
        }
        let [(_, answer)] = files else { return false };
        match self {
            Self::Wasm(walk) => walk.is_right(answer),
            Self::Container(walk) => walk.is_right_line(answer),
            Self::Product(product) => product.is_right(answer, seed),
            Self::Trace(trace) => trace.is_right(answer, seed),
            Self::Frame(frame) => frame.is_right(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_exercises_have_the_same_answer() {
        let (one, other) = (Kind::Wasm.draw(1, 1000), Kind::Wasm.draw(2, 1000));
        let Exercise::Wasm(walk) = &one else { panic!("another kind") };
        let answer = [("output".to_owned(), walk.end().to_le_bytes().to_vec())];
        assert!(one.is_right(&answer, 0));
        assert!(!other.is_right(&answer, 0));
        assert!(!one.is_right(&[], 0));
        assert!(!one.is_right(&[answer[0].clone(), answer[0].clone()], 0), "an answer is one file");
    }

    #[test]
    fn every_runtime_has_its_tests() {
        for runtime in Runtime::ALL {
            for kind in Kind::of(runtime) {
                let exercise = kind.draw(3, kind.size_first());
                assert_eq!(exercise.work(gleaner_wire::BlobRef::of(b"").into()).runtime(), runtime);
                assert!(exercise.steps() >= kind.size_first() / 8);
            }
        }
    }
}
