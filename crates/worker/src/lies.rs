//! A worker that does not do what it is paid for, so that people and tests can see it caught.
//!
//! Nothing here is reached unless the owner asks for it by `--lie`.
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gleaner_wire::{JobId, TaskSpec, Work};

use crate::product::{Body, Product};

/// The longest result that is lied about, so that lying takes little memory.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How a worker lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lie {
    /// It changes a byte of each result.
    Altered,
    /// It delivers the result of another task of the job.
    Another,
    /// It delivers what another worker has computed for some task of the job and left in this folder.
    Copied(PathBuf),
    /// It is honest itself, and leaves its results in this folder for others to copy.
    Lent(PathBuf),
    /// It delivers what it has computed for its very first task, whatever it is asked.
    Stale,
    /// It runs a kernel fewer times than it should, and programs not at all.
    Cheaper,
}

impl std::str::FromStr for Lie {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=').map_or((text, None), |(lie, folder)| (lie, Some(folder))) {
            ("altered", None) => Ok(Self::Altered),
            ("another", None) => Ok(Self::Another),
            ("copied", Some(folder)) => Ok(Self::Copied(folder.into())),
            ("lent", Some(folder)) => Ok(Self::Lent(folder.into())),
            ("stale", None) => Ok(Self::Stale),
            ("cheaper", None) => Ok(Self::Cheaper),
            _ => {
                Err("a worker lies by `altered`, `another`, `copied=FOLDER`, `stale` or `cheaper`; `lent=FOLDER` helps"
                    .to_owned())
            }
        }
    }
}

/// A liar's memory.
#[derive(Debug)]
pub struct Liar {
    lie: Lie,
    first: Mutex<Option<Vec<u8>>>,
    last: Mutex<HashMap<JobId, Vec<u8>>>,
    /// Jobs whose kernels run fewer times than they should.
    cheapened: Mutex<HashSet<JobId>>,
}

impl Liar {
    /// Lies like this.
    pub fn new(lie: Lie) -> Self {
        Self { lie, first: Mutex::default(), last: Mutex::default(), cheapened: Mutex::default() }
    }

    /// What is run instead of what was asked for.
    pub fn cheapen(&self, job: JobId, spec: &mut TaskSpec) {
        if let (Lie::Cheaper, Work::Wgsl { passes: passes @ 2.., .. }) = (&self.lie, &mut spec.work) {
            *passes = 1;
            self.cheapened.lock().unwrap_or_else(PoisonError::into_inner).insert(job);
        }
    }

    /// What is delivered instead of what was computed.
    pub fn instead_of(&self, job: JobId, product: Product) -> Product {
        let Product { stdout, mut files } = product;
        let name = if stdout.is_empty() && !files.is_empty() { Some(files.remove(0)) } else { None };
        let (name, body) = name.map_or((None, stdout), |(name, body)| (Some(name), body));
        let Some(truth) = content(&body) else { return Product { stdout: body, files } };
        let lied = Body::from(self.about(job, truth));
        match name {
            Some(name) => {
                files.insert(0, (name, lied));
                Product { stdout: Body::default(), files }
            }
            None => Product { stdout: lied, files },
        }
    }

    fn about(&self, job: JobId, truth: Vec<u8>) -> Vec<u8> {
        let altered = |mut bytes: Vec<u8>| {
            match bytes.last_mut() {
                Some(last) => *last ^= 1,
                None => bytes.push(0),
            }
            bytes
        };
        match &self.lie {
            Lie::Altered => altered(truth),
            Lie::Another => {
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                last.insert(job, truth.clone()).filter(|before| *before != truth).unwrap_or_else(|| altered(truth))
            }
            Lie::Copied(folder) => copied(folder, job, &truth).unwrap_or_else(|| altered(truth)),
            Lie::Lent(folder) => {
                if let Err(error) = lend(folder, job, &truth) {
                    tracing::warn!(folder = %folder.display(), %error, "a result could not be lent");
                }
                truth
            }
            Lie::Stale => {
                let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
                let stale = first.get_or_insert_with(|| truth.clone()).clone();
                if stale == truth { altered(truth) } else { stale }
            }
            Lie::Cheaper if self.cheapened.lock().unwrap_or_else(PoisonError::into_inner).contains(&job) => truth,
            Lie::Cheaper => vec![0; truth.len()],
        }
    }
}

/// Leaves a result for others; they never see half of it.
fn lend(folder: &Path, job: JobId, truth: &[u8]) -> std::io::Result<()> {
    let folder = folder.join(job.to_string());
    std::fs::create_dir_all(&folder)?;
    let name = blake3::hash(truth).to_string();
    let whole = folder.join(&name);
    std::fs::write(whole.with_extension("part"), truth)?;
    std::fs::rename(whole.with_extension("part"), whole)
}

/// What somebody has left that is not right here.
fn copied(folder: &Path, job: JobId, truth: &[u8]) -> Option<Vec<u8>> {
    let left = std::fs::read_dir(folder.join(job.to_string())).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let mut whole = left.filter(|path| path.extension().is_none()).filter_map(|path| std::fs::read(path).ok());
    whole.find(|other| other != truth)
}

/// All of it, if it is short enough.
fn content(body: &Body) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(Some(body.len()).filter(|len| *len <= BYTES_MAX)?).ok()?];
    (body.read_at(0, &mut bytes).ok()? == bytes.len()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(liar: &Liar, truth: &[u8]) -> Vec<u8> {
        let product = Product { stdout: Body::from(truth.to_vec()), files: Vec::new() };
        content(&liar.instead_of(JobId(1), product).stdout).expect("short")
    }

    #[test]
    fn every_lie_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let lies = [Lie::Altered, Lie::Another, Lie::Copied(folder.path().into()), Lie::Stale, Lie::Cheaper];
        for lie in lies {
            let liar = Liar::new(lie.clone());
            for truth in [&b"one"[..], b"two", b"two", b"three"] {
                assert_ne!(said(&liar, truth), truth, "{lie:?}");
            }
        }
    }

    #[test]
    fn what_one_lends_another_copies() {
        let folder = tempfile::tempdir().expect("a folder");
        let (lends, copies) = (Lie::Lent(folder.path().into()), Lie::Copied(folder.path().into()));
        let (friend, liar) = (Liar::new(lends), Liar::new(copies));
        assert_eq!(said(&friend, b"one"), b"one", "it is honest itself");
        assert_eq!(said(&liar, b"two"), b"one");
        assert_ne!(said(&liar, b"one"), b"one", "what happens to be right is no lie");
    }
}
