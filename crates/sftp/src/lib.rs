//! The SFTP door of a hub, for people who live in FileZilla: a folder for each user, and no way out of it.
//!
//! SSH itself is [`russh`]; this crate speaks version 3 of the file transfer protocol over it, byte for byte, so that
//! names may be in any encoding. It does not know what a job is: it says which top folders have become quiet, and the hub
//! does the rest. It must not offer anything beside SFTP: no shell, no command, no forwarding.
//!
//! Every path goes through the kernel's `openat2` with `RESOLVE_BENEATH`, so that no `..`, absolute path or link leads out
//! of a user's folder, whatever happens to the folder meanwhile. This makes the crate one for Linux (5.8 or newer, with
//! `/proc`).

mod attributes;
mod change;
mod config;
mod connection;
mod door;
mod files;
mod folder;
mod handle;
mod host_key;
mod listing;
mod packet;
mod pump;
mod quota;
mod refusal;
mod server;
mod session;

pub use change::{Changes, Quiet};
pub use config::{Account, Config, Users};
pub use host_key::{HostKey, HostKeyError};
pub use russh::keys::PublicKey;
pub use server::{Server, StartError};
