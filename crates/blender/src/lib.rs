//! Blender as a runtime: which engines are here, what a scene needs, how frames are cut into pieces, rendered, and put
//! together again.
//!
//! | module | holds |
//! |---|---|
//! | [`plan`] | frames, how each is cut, and what a step does: pure, part of `gleaner-wire` |
//! | [`work`] | a step on the machine that does it: what to prepare, what to run, what came of it |
//! | [`engine`] | Debian's `blender` or a `bpy` module: version, build, devices |
//! | [`card`] | which of an engine's devices a card of the machine is |
//! | [`scene`] | what a scene is and which files it needs, before anything is paid |
//! | [`render`] | one frame or one piece of it: the command, its progress, its faults |
//! | [`merge`] | pieces into one picture, and the comparison of pictures |
//! | [`finish`] | the final file out of merged light, through Blender's own denoiser, compositor and colours |
//! | [`video`] | a sequence into a film |
//! | [`process`] | running one command within its time, for callers without a sandbox of their own |
//!
//! An engine that renders a stranger's scene belongs into a sandbox. So everything that starts one is in two halves: a
//! [`process::Invocation`] that any sandbox can run, and a function that judges how it ended.
mod answer;
pub mod card;
pub mod engine;
mod fault;
pub mod finish;
pub mod merge;
mod opening;
pub mod process;
pub mod render;
pub mod scene;
pub mod video;
pub mod work;

pub use fault::Fault;
/// What a rendering is made of.
pub use gleaner_wire::render as plan;
