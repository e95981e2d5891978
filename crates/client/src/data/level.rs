//! How hard a push begins to squeeze: as the last one to the same hub ended.
use std::path::Path;

use gleaner_data::squeeze::Level;

/// Smaller files are sent before anything could be learned on the way. They are squeezed alike everywhere, so that equal
/// ones are known to be equal.
const WORTH_BYTES: u64 = 8 * 1024 * 1024;
/// Where nothing is known.
const LEVEL_FIRST: i32 = 3;

/// The level to begin with, and whether it is to be adapted on the way.
pub(super) fn begin_with(path: &Path, kept: &Path) -> (Option<Level>, bool) {
    let first = Some(Level::new(LEVEL_FIRST));
    if path.metadata().is_ok_and(|found| found.is_file() && found.len() < WORTH_BYTES) {
        return (first, false);
    }
    (read(kept).unwrap_or(first), true)
}

/// Remembers the level of a push, for the next one.
pub(super) fn keep(level: Option<Level>, kept: &Path) {
    if let Err(error) = std::fs::write(kept, level.map_or(0, Level::number).to_string()) {
        tracing::warn!(%error, "the level is not remembered");
    }
}

/// A number, and zero for not at all.
fn read(kept: &Path) -> Option<Option<Level>> {
    let number: i32 = std::fs::read_to_string(kept).ok()?.trim().parse().ok()?;
    Some((number > 0).then(|| Level::new(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_begins_as_the_last_one_ended_and_small_files_are_all_alike() {
        let folder = tempfile::tempdir().expect("a folder");
        let (kept, small) = (folder.path().join("level"), folder.path().join("small"));
        std::fs::write(&small, "text").expect("written");
        for level in [None, Some(Level::new(9))] {
            keep(level, &kept);
            assert_eq!(begin_with(folder.path(), &kept), (level, true));
            assert_eq!(begin_with(&small, &kept), (Some(Level::new(LEVEL_FIRST)), false));
        }
        std::fs::write(&kept, "many").expect("written");
        assert_eq!(begin_with(folder.path(), &kept), (Some(Level::new(LEVEL_FIRST)), true));
    }
}
