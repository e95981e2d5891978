//! The outputs of a job, looked into without a folder: which files they have, and what is in one of them.
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use gleaner_data::manifest::Root;
use gleaner_data::net::{Carrier, Downlink};
use gleaner_data::seal::Keys;
use gleaner_data::{Source, parcel, unpack};
use gleaner_wire::api::{GroupView, JobView, ResultView};
use gleaner_wire::{BlobRef, Extent, JobId, Output};
use tokio::sync::mpsc;

use crate::data::{Attendant, HubData};
use crate::{Client, Error};

/// Pieces of a file that wait for whoever reads it.
const PIECES_WAITING: usize = 4;

/// A file of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Its path in the output, with `/` between folders; what is not UTF-8 is shown as well as it can be.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
}

/// The outputs of one job, and what opens them. Clones share it.
#[derive(Clone)]
pub struct Outputs {
    hub: HubData,
    job: JobId,
    groups: Arc<Vec<Group>>,
}

struct Group {
    name: String,
    extent: Extent,
    keys: Keys,
}

impl Client {
    /// The outputs of a job of this account.
    pub async fn outputs(&self, view: &JobView) -> Result<Outputs, Error> {
        let (hub, job) = (self.data().clone(), view.summary.id);
        let attendant = Attendant::with_keys_only(&hub, self.account()?, job, view.groups.len()).await?;
        let group = |(group, keys): (&GroupView, &gleaner_data::seal::SignedTaskKeys)| Group {
            name: group.name.clone(),
            extent: group.extent,
            keys: keys.keys.output_secret().keys(),
        };
        let groups = view.groups.iter().zip(&attendant.keys().tasks).map(group).collect();
        Ok(Outputs { hub, job, groups: Arc::new(groups) })
    }
}

impl Outputs {
    /// The job.
    pub fn job(&self) -> JobId {
        self.job
    }

    /// The files of an output; at most so many of them.
    pub async fn files(&self, result: &ResultView, files_max: usize) -> Result<Vec<OutputFile>, Error> {
        self.files_from(result, 0, files_max).await
    }

    /// The same without the first so many.
    pub async fn files_from(
        &self,
        result: &ResultView,
        skipped: u64,
        files_max: usize,
    ) -> Result<Vec<OutputFile>, Error> {
        let (outputs, result) = (self.clone(), result.clone());
        let looking = tokio::task::spawn_blocking(move || outputs.look(&result)?.files_from(skipped, files_max));
        looking.await.unwrap_or_else(|_| Err(self.defect()))
    }

    /// One file of an output.
    pub async fn find(&self, result: &ResultView, path: &str) -> Result<Option<OutputFile>, Error> {
        let (outputs, result, path) = (self.clone(), result.clone(), path.to_owned());
        let looking = tokio::task::spawn_blocking(move || outputs.look(&result)?.find(&path));
        looking.await.unwrap_or_else(|_| Err(self.defect()))
    }

    /// What is in an output of one file, if it has just so many bytes; nothing otherwise.
    pub async fn only(&self, result: &ResultView, bytes: u64) -> Result<Vec<u8>, Error> {
        let (outputs, result) = (self.clone(), result.clone());
        let reading = tokio::task::spawn_blocking(move || outputs.look(&result)?.only(bytes));
        reading.await.unwrap_or_else(|_| Err(self.defect()))
    }

    /// What is in a file of an output, piece by piece. An output without such a file has nothing in it: ask [`Self::files`].
    pub fn stream(&self, result: &ResultView, path: &str) -> impl Stream<Item = Result<Bytes, Error>> + Send + use<> {
        let (outputs, result, path) = (self.clone(), result.clone(), path.to_owned());
        let (sender, receiver) = mpsc::channel(PIECES_WAITING);
        tokio::task::spawn_blocking(move || {
            let each = |bytes: &[u8]| sender.blocking_send(Ok(Bytes::copy_from_slice(bytes))).is_ok();
            if let Err(error) = outputs.look(&result).and_then(|look| look.content(&path, each)) {
                // Whoever reads may have gone away.
                let _ = sender.blocking_send(Err(error));
            }
        });
        futures_util::stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)))
    }

    /// The first bytes of a file of an output, at most so many.
    pub async fn head(&self, result: &ResultView, path: &str, bytes_max: usize) -> Result<Vec<u8>, Error> {
        let (outputs, result, path) = (self.clone(), result.clone(), path.to_owned());
        let reading = tokio::task::spawn_blocking(move || outputs.look(&result)?.read(&path, bytes_max));
        reading.await.unwrap_or_else(|_| Err(self.defect()))
    }

    /// Opens one output. Blocks, and is to be called on a thread of the runtime's that may.
    pub fn look(&self, result: &ResultView) -> Result<Look, Error> {
        let group = self.groups.iter().find(|group| group.name == result.task);
        let group = group.ok_or_else(|| self.answer("a result of a task that the job does not have"))?;
        let (root, is_one) = match result.output {
            Output::Inline { .. } => {
                let sealed = result.output.content().unwrap_or_default();
                let opened = group.keys.open_short(group.extent.value(result.index), sealed);
                return opened.map(Look::Here).map_err(|error| self.answer(error));
            }
            Output::File(root) => (root, true),
            Output::Files(root) => (root, false),
        };
        let (source, _control) = Downlink::open(vec![Arc::clone(self.hub.cache()) as Arc<dyn Carrier>]);
        let opened = open(&group.keys, root, &source)?;
        Ok(Look::There(Box::new(There { root: opened, blob: root, source, is_one })))
    }

    #[expect(clippy::needless_pass_by_value, reason = "the reasons are mostly errors, which come by value")]
    fn answer(&self, reason: impl ToString) -> Error {
        Error::answer(self.hub.url(), reason.to_string())
    }

    fn defect(&self) -> Error {
        self.answer("an output that ended its reader by a defect")
    }
}

fn open(keys: &Keys, root: BlobRef, source: &Downlink) -> Result<Root, Error> {
    let sealed = source.chunk(root).map_err(|source| Error::Fetch { what: root.id, source })?;
    let shut = |source| Error::Fetch { what: root.id, source };
    let key = keys.dataset_key(&sealed).map_err(|error| shut(Box::new(error)))?;
    Root::open(&key, sealed).map_err(|error| shut(Box::new(error)))
}

/// One output, opened.
pub enum Look {
    /// All of it.
    Here(Vec<u8>),
    /// What leads to the rest.
    There(Box<There>),
}

/// An output whose files are on the hub.
pub struct There {
    root: Root,
    blob: BlobRef,
    source: Downlink,
    is_one: bool,
}

impl Look {
    /// Whether it is one file, without a name of its own.
    pub fn is_one(&self) -> bool {
        match self {
            Self::Here(_) => true,
            Self::There(there) => there.is_one,
        }
    }

    /// Its files, at most so many of them.
    pub fn files(&self, files_max: usize) -> Result<Vec<OutputFile>, Error> {
        self.files_from(0, files_max)
    }

    /// The same without the first so many.
    pub fn files_from(&self, skipped: u64, files_max: usize) -> Result<Vec<OutputFile>, Error> {
        let (mut files, mut passed) = (Vec::new(), 0);
        self.each_file(|file| {
            if passed < skipped {
                passed += 1;
            } else {
                files.push(file);
            }
            files.len() < files_max
        })?;
        Ok(files)
    }

    /// One of its files.
    pub fn find(&self, path: &str) -> Result<Option<OutputFile>, Error> {
        let mut found = None;
        self.each_file(|file| {
            if file.path == path {
                found = Some(file);
            }
            found.is_none()
        })?;
        Ok(found)
    }

    fn each_file(&self, mut each: impl FnMut(OutputFile) -> bool) -> Result<(), Error> {
        let there = match self {
            Self::Here(bytes) => {
                each(OutputFile { path: parcel::ONLY_FILE.to_owned(), bytes: bytes.len() as u64 });
                return Ok(());
            }
            Self::There(there) => there,
        };
        let each = |file: &unpack::File<'_>| {
            let path = String::from_utf8_lossy(file.path).replace('\0', "/");
            each(OutputFile { path, bytes: file.bytes })
        };
        unpack::files(&there.root, &there.source, each).map_err(|error| there.failed(error))
    }

    /// The first bytes of a file, at most so many.
    pub fn read(&self, path: &str, bytes_max: usize) -> Result<Vec<u8>, Error> {
        let mut read = Vec::new();
        self.content(path, |bytes| {
            read.extend_from_slice(&bytes[..bytes.len().min(bytes_max - read.len())]);
            read.len() < bytes_max
        })?;
        Ok(read)
    }

    /// What is in its one file, if it has just so many bytes; nothing otherwise.
    fn only(&self, bytes: u64) -> Result<Vec<u8>, Error> {
        match &self.files(2)?[..] {
            [only] if only.bytes == bytes => self.read(&only.path, usize::try_from(bytes).unwrap_or(0)),
            _ => Ok(Vec::new()),
        }
    }

    /// What is in a file, piece by piece as long as `each` wants more. False if there is no such file.
    pub fn content(&self, path: &str, mut each: impl FnMut(&[u8]) -> bool) -> Result<bool, Error> {
        match self {
            Self::Here(bytes) => {
                let found = path == parcel::ONLY_FILE;
                if found && !bytes.is_empty() {
                    each(bytes);
                }
                Ok(found)
            }
            Self::There(there) => {
                let names = path.replace('/', "\0");
                unpack::content(&there.root, &there.source, names.as_bytes(), each).map_err(|error| there.failed(error))
            }
        }
    }
}

impl There {
    fn failed(&self, error: unpack::Error) -> Error {
        Error::Fetch { what: self.blob.id, source: Box::new(error) }
    }
}
