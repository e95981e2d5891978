//! A job's results as files in a folder. Run again, it keeps what is already right and goes on with the rest.
//!
//! A task's output is the file `NAME`; outputs of an array or of tiles are `NAME/INDEX`; tiles of 4 bytes a pixel
//! are also put together as `NAME.png`; an output of several files is a folder of that name.
use std::path::{Path, PathBuf};

use futures_util::{StreamExt, TryStreamExt, stream};
use gleaner_wire::api::{GroupView, ResultView};
use gleaner_wire::{BlobRef, Extent, FILE_LIST_BYTES_MAX, JobId, Output};

use crate::blobs::{BlobClient, part_of, reference_of};
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
        for group in &view.groups {
            let place = folder.join(names::file_name(&group.name)?);
            self.fetch_group(job, group, &place, &mut fetched, &mut progress).await?;
        }
        Ok(fetched)
    }

    async fn fetch_group(
        &self,
        job: JobId,
        group: &GroupView,
        place: &Path,
        fetched: &mut Fetched,
        progress: &mut impl FnMut(&Fetched),
    ) -> Result<(), Error> {
        let single = matches!(group.extent, Extent::Single);
        let (blobs, mut sizes, mut plain, mut from) = (self.blobs(), Vec::new(), true, Some(0));
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
            let fetches = page.results.iter().map(|result| fetch_output(&blobs, result.output, path_of(result)));
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

async fn put_together(extent: Extent, place: &Path) -> Result<PathBuf, Error> {
    let mut name = place.as_os_str().to_owned();
    name.push(".png");
    let (folder, path) = (place.to_path_buf(), PathBuf::from(name));
    let written = path.clone();
    let task = tokio::task::spawn_blocking(move || picture::write(&extent, &folder, &path));
    task.await.expect("encoding a picture does not panic")?;
    Ok(written)
}

async fn fetch_output(blobs: &BlobClient, output: Output, path: PathBuf) -> Result<Fetched, Error> {
    match output {
        Output::Inline { .. } => keep_inline(output.content().unwrap_or_default(), &path).await,
        Output::Blob(blob) => fetch_blob(blobs, blob, &path).await,
        Output::Files(listing) => fetch_files(blobs, listing, &path).await,
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

async fn fetch_blob(blobs: &BlobClient, blob: BlobRef, path: &Path) -> Result<Fetched, Error> {
    let size = tokio::fs::metadata(path).await.map(|there| there.len()).ok();
    let kept = size == Some(blob.bytes) && reference_of(path).await? == blob;
    if !kept {
        blobs.fetch(blob, path).await?;
    }
    Ok(Fetched { files: 1, kept: u64::from(kept), bytes: blob.bytes, pictures: Vec::new() })
}

async fn fetch_files(blobs: &BlobClient, listing: BlobRef, folder: &Path) -> Result<Fetched, Error> {
    if listing.bytes > FILE_LIST_BYTES_MAX {
        return Err(Error::answer("the hub", format!("a list of files of {} bytes is too long", listing.bytes)));
    }
    let listing = blobs.read(listing).await?;
    let files: Vec<(String, BlobRef)> =
        postcard::from_bytes(&listing).map_err(|_| Error::answer("the hub", "a list of files cannot be read"))?;
    make_folder(folder).await?;
    let mut fetched = Fetched::default();
    for (name, blob) in files {
        let path = folder.join(names::file_path(&name)?);
        make_folder(path.parent().unwrap_or(folder)).await?;
        fetched.add(&fetch_blob(blobs, blob, &path).await?);
    }
    Ok(fetched)
}

async fn make_folder(folder: &Path) -> Result<(), Error> {
    tokio::fs::create_dir_all(folder).await.map_err(Error::file("make the folder", folder))
}
