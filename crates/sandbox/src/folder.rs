//! The folder of one job: `in` is read, `out` and `checkpoint` are written, and nothing else of the machine is there.

use crate::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Deeper folders than this are nobody's data.
pub(crate) const DEPTH_MAX: usize = 128;

/// The folder of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
}

/// A user and group of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
}

impl Identity {
    /// Who this process is.
    #[must_use]
    pub fn own() -> Self {
        Self { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
    }

    /// Whom a stranger's program runs as, seen from outside its sandbox: this process' user, or `unprivileged` if that
    /// is root, so that no program runs as root even if it gets out of its namespaces.
    #[must_use]
    pub fn for_programs(unprivileged: Self) -> Self {
        let own = Self::own();
        if own.uid == 0 { unprivileged } else { own }
    }
}

impl Folder {
    /// A folder that has been made already.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Makes the folder and its three parts; what is there stays.
    ///
    /// # Errors
    /// The system's, if a part cannot be made.
    pub fn create(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = Self { root: root.into() };
        for part in folder.parts() {
            fs::create_dir_all(&part).map_err(|error| Error::system(format!("making {}", part.display()), error))?;
        }
        Ok(folder)
    }

    /// What the program reads, as `/in`.
    #[must_use]
    pub fn inputs(&self) -> PathBuf {
        self.root.join("in")
    }

    /// What it leaves, as `/out`, where it starts.
    #[must_use]
    pub fn outputs(&self) -> PathBuf {
        self.root.join("out")
    }

    /// What it would go on from elsewhere, as `/checkpoint`.
    #[must_use]
    pub fn checkpoint(&self) -> PathBuf {
        self.root.join("checkpoint")
    }

    fn parts(&self) -> [PathBuf; 3] {
        [self.inputs(), self.outputs(), self.checkpoint()]
    }

    /// Checks that the parts are real folders, and opens them to whom the program runs as.
    pub(crate) fn prepare(&self, program: Identity) -> Result<(), Error> {
        for part in self.parts() {
            let kind = fs::symlink_metadata(&part)
                .map_err(|error| Error::system(format!("looking at {}", part.display()), error))?;
            if !kind.is_dir() {
                return Err(Error::Refused(format!("{} is not a folder", part.display())));
            }
        }
        if program == Identity::own() {
            return Ok(());
        }
        for part in [self.outputs(), self.checkpoint()] {
            give(&part, program, 0).map_err(|error| Error::system(format!("giving away {}", part.display()), error))?;
        }
        let inputs = self.inputs();
        open_to_all(&inputs, 0).map_err(|error| Error::system(format!("opening {}", inputs.display()), error))
    }
}

/// Gives a tree, which may come from an earlier attempt, to the user that the program runs as.
fn give(path: &Path, to: Identity, depth: usize) -> std::io::Result<()> {
    let kind = fs::symlink_metadata(path)?.file_type();
    std::os::unix::fs::lchown(path, Some(to.uid), Some(to.gid))?;
    if kind.is_dir() && depth < DEPTH_MAX {
        fs::read_dir(path)?.try_for_each(|entry| give(&entry?.path(), to, depth + 1))?;
    }
    Ok(())
}

/// Lets everyone read a tree. Links are left alone: they mean something inside the sandbox only.
fn open_to_all(path: &Path, depth: usize) -> std::io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    let mode = meta.permissions().mode();
    if meta.is_dir() {
        add_mode(path, mode, 0o555)?;
        if depth < DEPTH_MAX {
            fs::read_dir(path)?.try_for_each(|entry| open_to_all(&entry?.path(), depth + 1))?;
        }
    } else if meta.is_file() {
        add_mode(path, mode, if mode & 0o100 == 0 { 0o444 } else { 0o555 })?;
    }
    Ok(())
}

fn add_mode(path: &Path, mode: u32, bits: u32) -> std::io::Result<()> {
    if mode & bits == bits {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o777 | bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_that_is_a_link_is_refused() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::create(home.path().join("job")).expect("a job's folder");
        fs::remove_dir(folder.outputs()).expect("removing out");
        std::os::unix::fs::symlink("/etc", folder.outputs()).expect("a link");
        assert!(matches!(folder.prepare(Identity::own()), Err(Error::Refused(_))));
    }

    #[test]
    fn opening_inputs_follows_no_link() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let secret = home.path().join("secret");
        fs::write(&secret, "s").expect("a secret");
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("closing it");
        let inputs = home.path().join("in");
        fs::create_dir(&inputs).expect("in");
        std::os::unix::fs::symlink(&secret, inputs.join("link")).expect("a link");
        fs::write(inputs.join("file"), "f").expect("a file");
        fs::set_permissions(inputs.join("file"), fs::Permissions::from_mode(0o600)).expect("closing it");
        open_to_all(&inputs, 0).expect("opening");
        let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
        assert_eq!((mode(&secret), mode(&inputs.join("file"))), (0o600, 0o644));
    }
}
