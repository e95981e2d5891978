//! How many bytes the users' folders hold, and may. What is counted too much is found by counting again.
use crate::name::User;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a file counts for beside its bytes, so that countless empty ones are bounded too.
const ENTRY_BYTES: u64 = 4096;
/// Folders are not counted again more often than this.
const RECOUNT_GAP: Duration = Duration::from_secs(10);

/// The most bytes that users' folders may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// One user's.
    pub user_bytes_max: u64,
    /// All of them together.
    pub all_bytes_max: u64,
}

/// The books of all users.
#[derive(Debug)]
pub struct Books {
    dir: PathBuf,
    /// What they may hold.
    pub limits: Limits,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    bytes: BTreeMap<User, u64>,
    counted: BTreeMap<User, Instant>,
}

/// There is no room left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Books {
    /// The books of the users whose folders are in this one.
    pub fn new(dir: PathBuf, limits: Limits) -> Self {
        Self { dir, limits, used: Mutex::default() }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a user's folder. Blocks on the disk.
    pub fn recount(&self, user: &User) -> io::Result<()> {
        let bytes = count(&self.dir.join(user.as_str()))?;
        let mut used = self.used();
        used.bytes.insert(user.clone(), bytes);
        used.counted.insert(user.clone(), Instant::now());
        Ok(())
    }

    /// Makes sure that a user's folder was counted once, and lately if so much would not find room. Blocks on the disk.
    pub fn prepare(&self, user: &User, bytes: u64) -> io::Result<()> {
        let counted = self.used().counted.get(user).copied();
        let is_due = match counted {
            None => true,
            Some(at) => self.room(user) < bytes.max(ENTRY_BYTES) && at.elapsed() >= RECOUNT_GAP,
        };
        if is_due { self.recount(user) } else { Ok(()) }
    }

    /// How many bytes a user's folder may still take.
    pub fn room(&self, user: &User) -> u64 {
        let used = self.used();
        let all = used.bytes.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        let own = used.bytes.get(user).copied().unwrap_or_default();
        let left = self.limits.all_bytes_max.saturating_sub(all);
        left.min(self.limits.user_bytes_max.saturating_sub(own))
    }

    /// Whether so many bytes would find room now.
    pub fn has_room(&self, user: &User, bytes: u64) -> bool {
        self.room(user) >= bytes
    }

    /// Writes down a new file.
    pub fn take_entry(&self, user: &User) -> Result<(), Full> {
        self.take(user, ENTRY_BYTES)
    }

    /// Strikes out a new file that has so many bytes and is gone again.
    pub fn give_back(&self, user: &User, bytes: u64) {
        let mut used = self.used();
        let left = used.bytes.entry(user.clone()).or_default();
        *left = left.saturating_sub(ENTRY_BYTES.saturating_add(bytes));
    }

    /// Writes down that a folder grows, before it does.
    pub fn take(&self, user: &User, bytes: u64) -> Result<(), Full> {
        if self.room(user) < bytes {
            return Err(Full);
        }
        *self.used().bytes.entry(user.clone()).or_default() += bytes;
        Ok(())
    }
}

fn count(folder: &Path) -> io::Result<u64> {
    let (mut bytes, mut left) = (0_u64, vec![folder.to_owned()]);
    while let Some(folder) = left.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            // What vanishes meanwhile takes no room.
            let Ok(found) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(ENTRY_BYTES);
            if found.is_dir() {
                left.push(entry.path());
            } else {
                bytes = bytes.saturating_add(found.len());
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_be_filled_to_the_last_byte_and_no_further() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(dir.path().join("ada/deep")).expect("made");
        std::fs::write(dir.path().join("ada/deep/file"), [0; 1000]).expect("written");
        let limits = Limits { user_bytes_max: 2 * ENTRY_BYTES + 1010, all_bytes_max: 2 * ENTRY_BYTES + 1020 };
        let books = Books::new(dir.path().to_owned(), limits);
        let (ada, bob) = (User::parse("ada").expect("a name"), User::parse("bob").expect("a name"));
        books.prepare(&ada, 0).expect("counted");
        assert_eq!(books.take(&ada, 11), Err(Full));
        assert_eq!(books.take(&ada, 10), Ok(()));
        assert_eq!(books.take(&ada, 1), Err(Full));
        assert_eq!(books.take(&bob, 11), Err(Full), "all together are bounded");
        std::fs::remove_file(dir.path().join("ada/deep/file")).expect("removed");
        books.recount(&ada).expect("counted");
        assert_eq!(books.take(&ada, 1000), Ok(()));
    }
}
