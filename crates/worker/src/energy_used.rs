//! What the worker in a folder has used, in millijoules: kept, so that what it earned and what the electricity for that cost
//! are of the same time. Losing it costs nothing but that.
use std::path::Path;

const FILE: &str = "energy";

/// What was used before.
pub fn read(dir: &Path) -> u64 {
    std::fs::read_to_string(dir.join(FILE)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Keeps what was used. A full disk must not stop the worker.
pub fn write(dir: &Path, millijoules: u64) {
    if let Err(error) = std::fs::write(dir.join(FILE), format!("{millijoules}\n")) {
        tracing::debug!(%error, "what was used is not kept");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_outlives_the_worker() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(read(dir.path()), 0);
        write(dir.path(), 12_345);
        assert_eq!(read(dir.path()), 12_345);
        std::fs::write(dir.path().join(FILE), "nonsense").expect("writes");
        assert_eq!(read(dir.path()), 0);
    }
}
