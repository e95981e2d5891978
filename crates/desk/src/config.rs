//! What a desk is told when it opens. Read once, passed down.
use std::path::PathBuf;

use gleaner_client::Token;
use gleaner_client::registry::Reach;

/// The configuration of a desk.
#[derive(Clone, Debug)]
pub struct Config {
    /// The folder that holds everything the desk keeps. Nobody else may use it at the same time.
    pub dir: PathBuf,
    /// The hub, as this machine reaches it.
    pub hub: String,
    /// The operator's token.
    pub token: Token,
    /// What accounts may take.
    pub limits: Limits,
    /// Which registries are asked what the tags of images stand for.
    pub registries: Reach,
}

/// What accounts may take of the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one account's files.
    pub files_bytes_max: u64,
    /// Bytes of all files.
    pub all_files_bytes_max: u64,
    /// Jobs of one account that have not ended.
    pub jobs_open_max: u32,
    /// Templates that one account has published.
    pub templates_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files_bytes_max: 16 << 30, all_files_bytes_max: 256 << 30, jobs_open_max: 100, templates_max: 50 }
    }
}
