//! A worker that does not do what it is paid for, so that people and tests can see it caught.
//!
//! Nothing here is reached unless the owner asks for it by `--lie`.
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use gleaner_wire::{JobId, TaskSpec, Work};

use crate::product::{Body, Product};

/// The longest result that is lied about, so that lying takes little memory.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How a worker lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// It changes a byte of each result.
    Altered,
    /// It delivers the result of another task of the job.
    Another,
    /// It delivers what it has computed for its very first task, whatever it is asked.
    Stale,
    /// It runs a kernel fewer times than it should, and programs not at all.
    Cheaper,
}

impl std::str::FromStr for Lie {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "altered" => Ok(Self::Altered),
            "another" => Ok(Self::Another),
            "stale" => Ok(Self::Stale),
            "cheaper" => Ok(Self::Cheaper),
            _ => Err("a worker lies by `altered`, `another`, `stale` or `cheaper`".to_owned()),
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
        if let (Lie::Cheaper, Work::Wgsl { passes: passes @ 2.., .. }) = (self.lie, &mut spec.work) {
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
        match self.lie {
            Lie::Altered => altered(truth),
            Lie::Another => {
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                last.insert(job, truth.clone()).filter(|before| *before != truth).unwrap_or_else(|| altered(truth))
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
        for lie in [Lie::Altered, Lie::Another, Lie::Stale, Lie::Cheaper] {
            let liar = Liar::new(lie);
            for truth in [&b"one"[..], b"two", b"two", b"three"] {
                assert_ne!(said(&liar, truth), truth, "{lie:?}");
            }
        }
    }
}
