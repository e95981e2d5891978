//! The worker against real parts: its wasm engine, two different Vulkan drivers, and a hub that tests script.
mod compare;
mod hub;
mod session;
mod wasm;
mod wgsl;
