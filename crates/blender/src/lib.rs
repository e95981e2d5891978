//! Blender as a runtime: which engines are here, what a scene needs, how frames are cut into pieces, rendered, and put
//! together again.
//!
//! | module | holds |
//! |---|---|
//! | [`plan`] | a request into steps: frames, how each is cut, what waits for what. Pure, `no_std`, for whoever plans |
//! | [`work`] | a step on the machine that does it: what to prepare, what to run, what came of it |
//! | [`engine`] | Debian's `blender` or a `bpy` module: version, build, devices |
//! | [`scene`] | what a scene is and which files it needs, before anything is paid |
//! | [`render`] | one frame or one piece of it: the command, its progress, its faults |
//! | [`merge`] | pieces into one picture, and the comparison of pictures |
//! | [`finish`] | the final file out of merged light, through Blender's own denoiser, compositor and colours |
//! | [`video`] | a sequence into a film |
//! | [`process`] | running one command within its time, for callers without a sandbox of their own |
//!
//! An engine that renders a stranger's scene belongs into a sandbox. So everything that starts one is in two halves: a
//! [`process::Invocation`] that any sandbox can run, and a function that judges how it ended.
#![cfg_attr(not(feature = "engine"), no_std)]

extern crate alloc;

#[cfg(feature = "engine")]
mod answer;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "engine")]
mod fault;
#[cfg(feature = "engine")]
pub mod finish;
#[cfg(feature = "engine")]
pub mod merge;
#[cfg(feature = "engine")]
mod opening;
pub mod plan;
#[cfg(feature = "engine")]
pub mod process;
#[cfg(feature = "engine")]
pub mod render;
#[cfg(feature = "engine")]
pub mod scene;
#[cfg(feature = "engine")]
pub mod video;
#[cfg(feature = "engine")]
pub mod work;

#[cfg(feature = "engine")]
pub use fault::Fault;
