//! A dataset in the open: a scratch folder that is gone when nobody reads it any more.
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gleaner_data::net::bring::Brought;
use tempfile::TempDir;

use crate::content::{Content, FOLDER_FILES_MAX};

/// How deep folders may lie in each other; links make deeper ones possible.
const DEPTH_MAX: usize = 130;

/// An opened dataset.
pub struct Opened {
    folder: TempDir,
    /// What came with others, and is there for others as long as it is open here.
    seed: OnceLock<Brought>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// A file of an opened dataset; it stays for as long as this lives.
#[derive(Clone, Debug)]
pub struct OpenFile {
    path: PathBuf,
    bytes: u64,
    _dataset: Arc<Opened>,
}

impl OpenFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How long it is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Opened {
    /// A folder to open a dataset in.
    pub fn new(scratch: &Path) -> io::Result<Self> {
        tempfile::Builder::new()
            .prefix("data-")
            .tempdir_in(scratch)
            .map(|folder| Self { folder, seed: OnceLock::new() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Keeps the sealed dataset too, for others to fetch.
    pub fn seeding(self: Arc<Self>, brought: Brought) -> Arc<Self> {
        // It is brought once.
        let _ = self.seed.set(brought);
        self
    }

    /// The only file of a dataset that has one.
    pub fn file(self: &Arc<Self>) -> io::Result<OpenFile> {
        let mut entries = std::fs::read_dir(self.path())?;
        match (entries.next().transpose()?, entries.next()) {
            (Some(only), None) => self.open(only.path()),
            (Some(_), Some(_)) | (None, _) => Err(io::Error::other("the dataset is not one file")),
        }
    }

    fn open(self: &Arc<Self>, path: PathBuf) -> io::Result<OpenFile> {
        let found = path.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("the dataset is not one file"));
        }
        Ok(OpenFile { path, bytes: found.len(), _dataset: Arc::clone(self) })
    }

    /// Everything in it.
    pub fn content(self: &Arc<Self>) -> io::Result<Content> {
        let mut files_left = FOLDER_FILES_MAX;
        self.folder_content(self.path(), 0, &mut files_left)
    }

    fn folder_content(self: &Arc<Self>, folder: &Path, depth: usize, files_left: &mut usize) -> io::Result<Content> {
        if depth > DEPTH_MAX {
            return Err(io::Error::other("its folders lie too deep in each other, or a link leads back up"));
        }
        let mut entries = BTreeMap::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().into_string();
            let name = name.map_err(|name| io::Error::other(format!("the name {name:?} is not UTF-8")))?;
            *files_left = files_left.checked_sub(1).ok_or_else(|| io::Error::other("it has too many files"))?;
            // Links stay in the dataset: that was checked when it was opened. One that leads nowhere is left out.
            let Ok(found) = std::fs::metadata(entry.path()) else { continue };
            let content = if found.is_dir() {
                self.folder_content(&entry.path(), depth + 1, files_left)?
            } else {
                Content::File(Arc::new(self.open(entry.path())?))
            };
            entries.insert(name, content);
        }
        Ok(Content::Folder(Arc::new(entries)))
    }
}
