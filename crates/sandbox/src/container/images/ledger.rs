//! Remembers which images this worker has fetched and when each was used last. Losing it costs disk space, nothing else.

use super::Held;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const LEDGER_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    name: String,
    bytes: u64,
    used_at: u64,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    file: PathBuf,
    entries: BTreeMap<String, Entry>,
}

impl Ledger {
    /// Reads the ledger; one that is missing or broken is begun anew.
    pub(crate) fn open(file: &Path) -> Result<Self, Error> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| Error::system(format!("making {}", folder.display()), error))?;
        }
        let small = std::fs::metadata(file).is_ok_and(|meta| meta.len() <= LEDGER_BYTES_MAX);
        let text = if small { std::fs::read(file).unwrap_or_default() } else { Vec::new() };
        Ok(Self { file: file.to_owned(), entries: serde_json::from_slice(&text).unwrap_or_default() })
    }

    pub(super) fn add(&mut self, id: &str, name: &str, bytes: u64) {
        self.entries.insert(id.to_owned(), Entry { name: name.to_owned(), bytes, used_at: now() });
        self.save();
    }

    /// Notes that an image is used; one that is not ours is none of our business.
    pub(crate) fn touch(&mut self, id: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.used_at = now();
            self.save();
        }
    }

    pub(super) fn knows(&self, id: &str) -> bool {
        self.entries.contains_key(id)
    }

    pub(super) fn forget(&mut self, id: &str) {
        if self.entries.remove(id).is_some() {
            self.save();
        }
    }

    pub(super) fn held(&self) -> Vec<Held> {
        let held = |(id, entry): (&String, &Entry)| Held {
            id: id.clone(),
            name: entry.name.clone(),
            bytes: entry.bytes,
            used_at: entry.used_at,
        };
        self.entries.iter().map(held).collect()
    }

    /// What to remove so that the rest fits, longest unused first, and never `keep`.
    pub(super) fn excess(&self, bytes_max: u64, keep: &str) -> Vec<String> {
        let mut total: u64 = self.entries.values().map(|entry| entry.bytes).sum();
        let mut by_use: Vec<_> = self.entries.iter().filter(|(id, _)| *id != keep).collect();
        by_use.sort_by_key(|(_, entry)| entry.used_at);
        let mut excess = Vec::new();
        for (id, entry) in by_use {
            if total <= bytes_max {
                break;
            }
            total -= entry.bytes;
            excess.push(id.clone());
        }
        excess
    }

    /// A full disk here must not fail a job.
    fn save(&self) {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let Ok(text) = serde_json::to_vec(&self.entries) else { return };
        if let Ok(mut file) = tempfile::NamedTempFile::new_in(folder)
            && file.write_all(&text).is_ok()
        {
            let _ = file.persist(&self.file);
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(folder: &Path) -> Ledger {
        Ledger::open(&folder.join("images.json")).expect("a ledger")
    }

    fn with(used: &[(&str, u64, u64)]) -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut ledger = ledger(folder.path());
        for (id, bytes, used_at) in used {
            ledger.entries.insert((*id).into(), Entry { name: "n".into(), bytes: *bytes, used_at: *used_at });
        }
        (folder, ledger)
    }

    #[test]
    fn longest_unused_goes_first_and_no_more_than_needed() {
        let (_folder, ledger) = with(&[("new", 10, 3), ("old", 10, 1), ("middle", 10, 2)]);
        assert_eq!(ledger.excess(20, "none"), ["old"]);
        assert_eq!(ledger.excess(5, "none"), ["old", "middle", "new"]);
        assert!(ledger.excess(30, "none").is_empty());
    }

    #[test]
    fn image_that_was_just_asked_for_stays() {
        let (_folder, ledger) = with(&[("huge", 100, 1), ("small", 1, 2)]);
        assert_eq!(ledger.excess(50, "huge"), ["small"]);
    }

    #[test]
    fn ledger_is_there_after_a_restart() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        ledger(folder.path()).add("a", "name", 7);
        let held = ledger(folder.path()).held();
        assert_eq!((held[0].id.as_str(), held[0].name.as_str(), held[0].bytes), ("a", "name", 7));
    }

    #[test]
    fn broken_ledger_is_begun_anew() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("images.json"), "not json").expect("a file");
        assert!(ledger(folder.path()).held().is_empty());
    }
}
