//! A job's results as files in a folder. Run again, it keeps what is already right and goes on with the rest.
//!
//! A task's output is the file `NAME`; outputs of an array or of tiles are `NAME/INDEX`; tiles of 4 bytes a pixel
//! are also put together as `NAME.png`; an output of several files is a folder of that name. Steps on the way to a
//! rendering are not fetched: their pieces are many times what becomes of them.
use std::path::{Path, PathBuf};

use futures_util::{StreamExt, TryStreamExt, stream};
use gleaner_data::parcel;
use gleaner_data::seal::Keys;
use gleaner_wire::api::{GroupView, ResultView};
use gleaner_wire::render::on_the_way_to;
use gleaner_wire::{BlobRef, Extent, JobId, Output, Runtime};

use crate::data::{Attendant, HubData, Opens, Pull};
use crate::{Client, Error, names, picture};

/// How many outputs are fetched at a time.
const FETCHES_MAX: usize = 8;

/// What a fetch brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Files that are there now.
    pub files: u64,
    /// Those of them that were there before.
    pub kept: u64,
    /// The bytes of all.
    pub bytes: u64,
    /// The pictures that were put together.
    pub pictures: Vec<PathBuf>,
}

impl Fetched {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.kept += other.kept;
        self.bytes += other.bytes;
    }
}

impl Client {
    /// Fetches a job's results into `folder`; `progress` hears of each output.
    pub async fn fetch(&self, job: JobId, folder: &Path, mut progress: impl FnMut(&Fetched)) -> Result<Fetched, Error> {
        let view = self.job(job).await?;
        make_folder(folder).await?;
        let mut fetched = Fetched::default();
        let attendant = Attendant::of(self.data(), self.account()?, job, view.groups.len()).await?;
        for (group, keys) in view.groups.iter().zip(&attendant.keys().tasks) {
            if is_on_the_way(group, &view.groups) {
                continue;
            }
            let place = folder.join(names::file_name(&group.name)?);
            let keys = keys.keys.output_secret().keys();
            self.fetch_group(job, group, &keys, &place, &mut fetched, &mut progress).await?;
        }
        Ok(fetched)
    }

    async fn fetch_group(
        &self,
        job: JobId,
        group: &GroupView,
        keys: &Keys,
        place: &Path,
        fetched: &mut Fetched,
        progress: &mut impl FnMut(&Fetched),
    ) -> Result<(), Error> {
        let single = matches!(group.extent, Extent::Single);
        let (hub, mut sizes, mut plain, mut from) = (self.data(), Vec::new(), true, Some(0));
        while let Some(cursor) = from {
            let page = self.results(job, Some(&group.name), cursor).await?;
            if page.next.is_some_and(|next| next <= cursor) {
                return Err(Error::answer(self.url(), "the pages of results do not advance"));
            }
            if !single && !page.results.is_empty() {
                make_folder(place).await?;
            }
            let path_of = |result: &ResultView| {
                if single { place.to_path_buf() } else { place.join(result.index.to_string()) }
            };
            let fetches =
                page.results.iter().map(|result| fetch_output(hub, keys, &group.extent, result, path_of(result)));
            let mut fetches = stream::iter(fetches).buffered(FETCHES_MAX);
            while let Some(one) = fetches.try_next().await? {
                fetched.add(&one);
                sizes.push(one.bytes);
                progress(fetched);
            }
            drop(fetches);
            plain &= !page.results.iter().any(|result| matches!(result.output, Output::Files(_)));
            from = page.next;
        }
        if plain && picture::is_picture(&group.extent, &sizes) {
            fetched.pictures.push(put_together(group.extent, place).await?);
        }
        Ok(())
    }
}

/// Whether a group is a step of a rendering that is one of the others.
fn is_on_the_way(group: &GroupView, all: &[GroupView]) -> bool {
    let renders = |group: &GroupView| group.runtime == Runtime::Blender;
    let is_made = |name: &str| all.iter().any(|other| renders(other) && other.name == name);
    renders(group) && on_the_way_to(&group.name).is_some_and(is_made)
}

async fn put_together(extent: Extent, place: &Path) -> Result<PathBuf, Error> {
    let mut name = place.as_os_str().to_owned();
    name.push(".png");
    let (folder, path) = (place.to_path_buf(), PathBuf::from(name));
    let written = path.clone();
    let task = tokio::task::spawn_blocking(move || picture::write(&extent, &folder, &path));
    task.await.expect("encoding a picture does not panic")?;
    Ok(written)
}

async fn fetch_output(
    hub: &HubData,
    keys: &Keys,
    extent: &Extent,
    result: &ResultView,
    path: PathBuf,
) -> Result<Fetched, Error> {
    match result.output {
        Output::Inline { .. } => {
            let sealed = result.output.content().unwrap_or_default();
            let opened = keys.open_short(extent.value(result.index), sealed);
            let content = opened.map_err(|error| Error::answer(hub.url(), error))?;
            keep_inline(&content, &path).await
        }
        Output::File(root) | Output::Files(root) => {
            let kept = is_same(keys, root, &path).await;
            let single = matches!(result.output, Output::File(_));
            if kept.is_none() {
                pull(hub, keys, root, &path, single).await?;
            }
            let (files, bytes) = match kept {
                Some(counts) => counts,
                None => count(path.clone()).await?,
            };
            Ok(Fetched { files, kept: if kept.is_some() { files } else { 0 }, bytes, pictures: Vec::new() })
        }
    }
}

async fn keep_inline(content: &[u8], path: &Path) -> Result<Fetched, Error> {
    let kept = tokio::fs::read(path).await.is_ok_and(|there| there == content);
    if !kept {
        let part = part_of(path);
        tokio::fs::write(&part, content).await.map_err(Error::file("write", &part))?;
        tokio::fs::rename(&part, path).await.map_err(Error::file("write", path))?;
    }
    Ok(Fetched { files: 1, kept: u64::from(kept), bytes: content.len() as u64, pictures: Vec::new() })
}

/// Pulls an output: into a folder beside its place, which takes its name once it is whole.
async fn pull(hub: &HubData, keys: &Keys, root: BlobRef, path: &Path, single: bool) -> Result<(), Error> {
    let part = part_of(path);
    if tokio::fs::symlink_metadata(&part).await.is_ok_and(|there| !there.is_dir()) {
        tokio::fs::remove_file(&part).await.map_err(Error::file("remove", &part))?;
    }
    let pull = Pull { hub, root, opens: Opens::Keys(keys), steer: None };
    pull.run(&part, |_| {}).await?;
    let (path, from) = (path.to_path_buf(), part.clone());
    let placing = tokio::task::spawn_blocking(move || put_in_place(&from, &path, single));
    placing
        .await
        .unwrap_or_else(|_| Err(std::io::Error::other("it ended by a defect")))
        .map_err(Error::file("place", &part))
}

/// Results have no time of their own; here they get that of their arrival.
fn put_in_place(part: &Path, path: &Path, single: bool) -> std::io::Result<()> {
    touch(part)?;
    match std::fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => std::fs::remove_dir_all(path)?,
        Ok(_) => std::fs::remove_file(path)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if !single {
        return std::fs::rename(part, path);
    }
    let mut entries = std::fs::read_dir(part)?;
    let only = entries.next().ok_or_else(|| std::io::Error::other("an output of one file has none"))??;
    std::fs::rename(only.path(), path)?;
    std::fs::remove_dir_all(part)
}

fn touch(path: &Path) -> std::io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        return std::fs::read_dir(path)?.try_for_each(|entry| touch(&entry?.path()));
    }
    std::fs::File::options().write(true).open(path)?.set_modified(std::time::SystemTime::now())
}

/// How many files there are, and their bytes, if what is there is the output already: sealed again, it is the same.
async fn is_same(keys: &Keys, root: BlobRef, path: &Path) -> Option<(u64, u64)> {
    let (keys, path) = (keys.clone(), path.to_path_buf());
    let sealing = tokio::task::spawn_blocking(move || {
        let files = files_in(&path).ok()?;
        let counts = (files.len() as u64, files.iter().map(|file| file.bytes).sum());
        let packed = parcel::pack(&keys, files, &Nowhere).ok()?;
        (packed.sealed.blob == root).then_some(counts)
    });
    sealing.await.ok().flatten()
}

async fn count(path: PathBuf) -> Result<(u64, u64), Error> {
    let counting = tokio::task::spawn_blocking(move || {
        let files = files_in(&path).map_err(Error::file("read", &path))?;
        Ok((files.len() as u64, files.iter().map(|file| file.bytes).sum()))
    });
    counting.await.unwrap_or(Ok((0, 0)))
}

/// The files of an output that is on disk, as they were when it was packed.
fn files_in(path: &Path) -> std::io::Result<Vec<parcel::File<Later>>> {
    if path.metadata()?.is_file() {
        let bytes = path.metadata()?.len();
        return Ok(vec![parcel::File { path: parcel::ONLY_FILE.to_owned(), bytes, content: Later::new(path) }]);
    }
    let (mut files, mut folders) = (Vec::new(), vec![(String::new(), path.to_path_buf())]);
    while let Some((prefix, folder)) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|_| std::io::ErrorKind::InvalidFilename)?;
            let (name, kind) = (format!("{prefix}{name}"), entry.file_type()?);
            if kind.is_dir() {
                folders.push((format!("{name}/"), entry.path()));
            } else {
                let bytes = entry.metadata()?.len();
                files.push(parcel::File { path: name, bytes, content: Later::new(&entry.path()) });
            }
        }
    }
    Ok(files)
}

/// A file that is opened when it is read, so that not all are open at once.
struct Later {
    path: PathBuf,
    open: Option<std::fs::File>,
}

impl Later {
    fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), open: None }
    }
}

impl std::io::Read for Later {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let file = match &mut self.open {
            Some(file) => file,
            closed => closed.insert(std::fs::File::open(&self.path)?),
        };
        file.read(buffer)
    }
}

/// Takes chunks and drops them: only their names matter.
struct Nowhere;

impl gleaner_data::Sink for Nowhere {
    fn put(&self, _: BlobRef, _: Vec<u8>) -> Result<(), gleaner_data::PortError> {
        Ok(())
    }

    fn flush(&self) -> Result<(), gleaner_data::PortError> {
        Ok(())
    }
}

/// The name of what is not complete yet.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

async fn make_folder(folder: &Path) -> Result<(), Error> {
    tokio::fs::create_dir_all(folder).await.map_err(Error::file("make the folder", folder))
}
