//! The picture's job, carried in the binary so that the demo works from anywhere.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gleaner_wire::Runtime;

const FILES: [(&str, &[u8]); 4] = [
    ("job.toml", include_bytes!("../../../../examples/path-tracer/job.toml")),
    ("path.wgsl", include_bytes!("../../../../examples/path-tracer/path.wgsl")),
    ("wasm.toml", include_bytes!("../../../../examples/path-tracer/wasm.toml")),
    ("path.wasm", include_bytes!("../../../../examples/path-tracer/path.wasm")),
];

/// Writes the files into `folder` and returns the job file for this runtime.
pub fn unpack(folder: &Path, runtime: Runtime) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, content) in FILES {
        let path = folder.join(name);
        std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(folder.join(match runtime {
        Runtime::Wgsl => "job.toml",
        Runtime::Wasm | Runtime::Container | Runtime::Blender => "wasm.toml",
    }))
}
