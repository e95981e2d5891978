//! Which scene a script opens and what it changes in it first, as the script reads it.
use serde::Serialize;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use crate::Fault;
use crate::plan::{Renderer, Source};

#[derive(Serialize)]
pub struct Opening<'a> {
    scene: PathBuf,
    name: Option<&'a str>,
    change: Change,
}

#[derive(Serialize)]
struct Change {
    engine: Option<Renderer>,
    samples: Option<NonZeroU32>,
    resolution: Option<[NonZeroU32; 2]>,
}

impl<'a> Opening<'a> {
    /// `inputs` is the folder of inputs as the engine sees it.
    pub fn new(inputs: &Path, source: &'a Source) -> Result<Self, Fault> {
        if !source.is_sound() {
            return Err(Fault::Unreadable(format!("`{}` is not a path inside the folder of inputs", source.scene)));
        }
        let Source { scene, name, engine, samples, resolution } = source;
        let change = Change { engine: *engine, samples: *samples, resolution: *resolution };
        Ok(Self { scene: inputs.join(scene), name: name.as_deref(), change })
    }
}
