//! What tests need of the hub's data: programs and inputs, sealed like a requester's, and answers, opened.
//!
//! The hub is the requester of its tests: it has an account and a key to sign with. Its programs stay in the store for as
//! long as it runs; what belongs to one test only goes with it.
use super::exercise::{Exercise, Files, Kind};
use crate::clock::wall_ms;
use crate::data::{Data, Dataset, Kind as Kept, Whole, pin_listed, pin_name, secret_bytes};
use ed25519_dalek::SigningKey;
use gleaner_data::manifest::Root;
use gleaner_data::net::bring::StoreSource;
use gleaner_data::parcel::{self, File, Packed};
use gleaner_data::seal::{AccountSecret, Keys};
use gleaner_data::store::{self, Verified, Verify};
use gleaner_data::tree::Case;
use gleaner_data::{PortError, Sink, unpack};
use gleaner_wire::{BlobRef, DataRef, JobId, Output};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The owner of the hub's own datasets.
const OWNER: &str = "hub";
/// What is opened of an answer.
const ANSWER_BYTES_MAX: u64 = 32 * 1024 * 1024;
const ANSWER_ENTRIES_MAX: u64 = 16;
/// Whatever happens, what belongs to one test only is not kept for longer.
const PASSING_MS: u64 = 3600 * 1000;

/// Why the hub could not do its part.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("the hub cannot test containers: it has no program for its own kind of machine")]
    NoProgram,
    #[error("the texture of a scene could not be written")]
    Texture(#[source] png::EncodingError),
    #[error("a test could not be sealed")]
    Pack(#[from] parcel::Error),
    #[error("the hub's store did not take a test")]
    Store(#[from] store::Error),
    #[error("the hub's store lost chunks of a test: is it too small?")]
    Lost,
    #[error(transparent)]
    Hub(#[from] crate::Error),
}

/// A sealed program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    pub(super) data: DataRef,
    pub(super) key: [u8; 32],
    /// Whether it belongs to one test only.
    passing: bool,
}

/// The hub's own data account.
pub(super) struct Goods {
    data: Arc<Data>,
    secret: AccountSecret,
    pub(super) signer: SigningKey,
    programs: Mutex<BTreeMap<Kind, Sealed>>,
}

/// Chunks that are stored together.
#[derive(Default)]
struct Gathered(Mutex<Vec<Verified>>);

impl Sink for Gathered {
    fn put(&self, _: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        let chunk = Verified::of(sealed.into())?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
        Ok(())
    }

    fn flush(&self) -> Result<(), PortError> {
        Ok(())
    }
}

impl Goods {
    /// The account whose secret is in the hub's folder.
    pub(super) fn open(dir: &Path, data: Arc<Data>) -> Result<Self, crate::Error> {
        let secret = AccountSecret::from_bytes(secret_bytes(&dir.join("screen.key"))?);
        let signer = SigningKey::from_bytes(secret.derive(b"signer").expose());
        Ok(Self { data, secret, signer, programs: Mutex::default() })
    }

    /// The program of an exercise, in the store. Blocks on the disk.
    pub(super) fn program(&self, kind: Kind, exercise: &Exercise) -> Result<Sealed, Failure> {
        if let Some(files) = exercise.own_program()? {
            return self.seal(files, true);
        }
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = programs.get(&kind).filter(|known| self.data.holds(&known.data.root)) {
            return Ok(known.clone());
        }
        let sealed = self.seal(kind.program()?.unwrap_or_default(), false)?;
        programs.insert(kind, sealed.clone());
        Ok(sealed)
    }

    fn seal(&self, files: Files, passing: bool) -> Result<Sealed, Failure> {
        let (keys, gathered) = (self.secret.keys(), Gathered::default());
        let file = |(path, content): (String, Vec<u8>)| File {
            path,
            bytes: content.len() as u64,
            content: std::io::Cursor::new(content),
        };
        let packed = parcel::pack(&keys, files.into_iter().map(file).collect(), &gathered)?;
        self.data.store.put_verified(gathered.0.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        let Packed { sealed, chunks, sealed_bytes, .. } = packed;
        let count = chunks.len() as u64;
        let data = DataRef { root: sealed.blob, bytes: sealed_bytes };
        if passing {
            // If the hub ends meanwhile, the next one lets go of it in its time.
            let (made, label) = (wall_ms(), Vec::new());
            let (owner, kind, until) = (OWNER.to_owned(), Kept::Input, Some(made + PASSING_MS));
            self.data.catalog.add(&Dataset { data, chunks: count, owner, label, kind, made, until })?;
        }
        let pinned = pin_listed(&self.data.store, data.root.id, Whole::Yes, std::iter::once(chunks))?;
        if pinned.missing > 0 {
            return Err(Failure::Lost);
        }
        Ok(Sealed { data, key: *sealed.key.expose(), passing })
    }

    /// Lets go of what belonged to one test only. Blocks on the disk.
    pub(super) fn release(&self, sealed: &Sealed) -> Result<(), Failure> {
        if sealed.passing {
            let root = sealed.data.root.id;
            self.data.catalog.remove(&root)?;
            self.data.store.unpin(&pin_name(&root))?;
            self.data.store.forget(&root)?;
        }
        Ok(())
    }

    /// What the answer of one round of a test is sealed with.
    pub(super) fn answer_secret(&self, job: JobId, group: u16) -> AccountSecret {
        self.secret.derive(&[&b"answer"[..], &job.0.to_le_bytes(), &group.to_le_bytes()].concat())
    }

    /// The files of an answer; none if it does not open or is larger than any. Blocks on the disk.
    pub(super) fn opened(&self, output: Output, keys: &Keys) -> Option<Files> {
        let root = match output {
            Output::Inline { .. } => {
                let content = keys.open_short(0, output.content().unwrap_or_default()).ok()?;
                return Some(vec![(parcel::ONLY_FILE.to_owned(), content)]);
            }
            Output::File(root) | Output::Files(root) => root,
        };
        let sealed = self.data.store.get(&root.id, Verify::Here).ok().flatten()?.to_vec();
        let root = Root::open(&keys.dataset_key(&sealed).ok()?, sealed).ok()?;
        if root.totals.entries > ANSWER_ENTRIES_MAX || root.totals.bytes > ANSWER_BYTES_MAX {
            return None;
        }
        let folder = tempfile::tempdir().ok()?;
        let options = unpack::Options { threads: 1, case: Case::Unknown, bytes_max: ANSWER_BYTES_MAX };
        let source = StoreSource(Arc::clone(&self.data.store));
        unpack(&root, &source, folder.path(), options, &unpack::Progress::default()).ok()?;
        let mut files = Vec::new();
        read_all(folder.path(), &mut files).ok()?;
        Some(files)
    }
}

/// Reads the files of a folder. What links lead to is not read.
fn read_all(folder: &Path, files: &mut Files) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_all(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?));
        }
    }
    Ok(())
}
