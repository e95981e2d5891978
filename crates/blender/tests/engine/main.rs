//! Everything with real engines: Debian's Blender, which `scripts/test` installs, and the `bpy` module where one is
//! named.
#![expect(clippy::print_stdout, reason = "how far a denoised picture is off is for whoever runs the tests")]
mod addon;
mod behaviour;
mod debian;
mod module;
mod sandbox;
mod stage;
