//! How far a fetch is.
use crate::net::schedule::{Figures, Route};

/// What came from one source.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceProgress {
    /// What people know it by.
    pub name: String,
    /// How it is reached.
    pub route: Route,
    /// What was measured.
    pub figures: Figures,
}

/// How far a fetch is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Chunks that were not here and are stored now.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Chunks that were here when they were looked for.
    pub known: u64,
    /// Bytes that came although they were not needed any more.
    pub twice_bytes: u64,
    /// Bytes a second, of late.
    pub speed: f64,
    /// Where it comes from.
    pub sources: Vec<SourceProgress>,
}
