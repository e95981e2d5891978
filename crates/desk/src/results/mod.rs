//! What jobs delivered: lists of files as they arrive, opened for their owner.
mod archive;
mod cursor;
mod kind;
mod opened;
mod preview;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use gleaner_client::{Canvas, Client, Outputs};
use gleaner_wire::api::{GroupView, JobView, ResultView};
use gleaner_wire::{Asker, Extent, JobId};
use serde::{Deserialize, Serialize};

pub(crate) use cursor::Cursor;
pub use kind::ResultKind;
pub(crate) use kind::{HEAD_BYTES, by_head, by_name, image_type};
pub(crate) use opened::Opened;
pub(crate) use preview::PREVIEW_BYTES_MAX;

use crate::account::Account;
use crate::books::Job;
use crate::{Desk, Error, follow};

/// Files of one output that are listed on one page.
const FILES_MAX: usize = 200;
/// Outputs that are looked into at a time.
const LOOKS_MAX: usize = 8;

/// A file that a job delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ResultItem {
    /// The task.
    pub task: String,
    /// Which element of it.
    pub index: u32,
    /// Its path in the output.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// What it is.
    pub kind: ResultKind,
    /// Where it is opened.
    pub href: String,
}

/// A picture that is put together out of the tiles of a task, as far as they have come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PictureItem {
    /// The task.
    pub task: String,
    /// Tiles that are done.
    pub done: u64,
    /// Tiles that there will be.
    pub tiles: u64,
    /// Where it is, as a PNG.
    pub href: String,
}

/// Some results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct ResultItems {
    pub(crate) items: Vec<ResultItem>,
    /// Pictures out of tiles that are among them.
    pub(crate) pictures: Vec<PictureItem>,
    /// Where to go on.
    pub(crate) next: Option<String>,
}

/// A file that is opened.
pub(crate) struct OpenedFile<S> {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) head: Bytes,
    pub(crate) rest: S,
}

/// A job of an account, and what opens it.
pub(crate) struct Own {
    pub(crate) job: Job,
    pub(crate) client: Client,
    pub(crate) view: JobView,
    pub(crate) outputs: Outputs,
}

/// There is no such job, as far as this account is concerned.
pub(crate) fn no_job(job: JobId) -> Error {
    Error::not_found(format!("you have no job {job} at this desk"))
}

impl Desk {
    /// A job, if it is the asker's.
    pub(crate) async fn own(&self, asker: &Asker, job: JobId) -> Result<Own, Error> {
        let account = self.account(asker).await?;
        let client = account.client(&self.inner)?;
        let (found, view) = match self.inner.books.job_of(&account.id, job).await? {
            Some(found) => (found, client.job(job).await?),
            None => self.elsewhere(&account, &client, job).await?,
        };
        let outputs = self.inner.opened.outputs(&client, &view).await?;
        Ok(Own { job: found, client, view, outputs })
    }

    /// A job that was ordered in the account's name, with its wallet, by another program: from now on it is known here.
    async fn elsewhere(&self, account: &Account, client: &Client, job: JobId) -> Result<(Job, JobView), Error> {
        let view =
            client.job(job).await.map_err(|error| if error.is_not_found() { no_job(job) } else { error.into() })?;
        if !account.on_chain || view.summary.requester != account.payer {
            return Err(no_job(job));
        }
        follow::adopt(&self.inner, &view.summary).await?;
        follow::begin(&self.inner, job, &account.id).await?;
        let found = self.inner.books.job_of(&account.id, job).await?.ok_or_else(|| no_job(job))?;
        Ok((found, view))
    }

    /// Files that a job has delivered so far: of so many elements, from a cursor on. A page ends early with an output of more
    /// files than fit on it, and the next one goes on within that.
    pub(crate) async fn results(
        &self,
        asker: &Asker,
        job: JobId,
        task: Option<&str>,
        cursor: Cursor,
        limit: u32,
    ) -> Result<ResultItems, Error> {
        let own = self.own(asker, job).await?;
        if let Some(task) = task {
            group(&own.view, task)?;
        }
        let page = own.client.some_results(job, task, cursor.element, limit).await?;
        let pictures = pictures(&own, &page.results).await?;
        let places = page.results.iter().map(|result| place(&own.view, result)).collect::<Result<Vec<_>, _>>()?;
        let looks: Vec<_> = page
            .results
            .iter()
            .zip(&places)
            .map(|(result, at)| items(&own, result, cursor.files_before(*at)))
            .collect();
        let mut listed = stream::iter(looks).buffered(LOOKS_MAX).zip(stream::iter(&places));
        let mut items = Vec::new();
        while let Some((found, &element)) = listed.next().await {
            let (found, is_all) = found?;
            let files = cursor.files_before(element) + found.len() as u64;
            items.extend(found);
            if !is_all {
                let next = Some(Cursor { element, files }.to_string());
                return Ok(ResultItems { items, pictures, next });
            }
        }
        let next = page.next.map(|element| Cursor { element, files: 0 }.to_string());
        Ok(ResultItems { items, pictures, next })
    }

    /// Opens a file of an output.
    pub(crate) async fn open_result(
        &self,
        asker: &Asker,
        job: JobId,
        task: &str,
        index: u32,
        path: &str,
    ) -> Result<OpenedFile<impl Stream<Item = Result<Bytes, gleaner_client::Error>> + Send + use<>>, Error> {
        let own = self.own(asker, job).await?;
        let missing = || Error::not_found(format!("job {job} has delivered no `{path}` of {task}[{index}]"));
        let (number, _) = group(&own.view, task)?;
        let found = own.client.some_results(job, Some(task), (number << 32) | u64::from(index), 1).await?;
        let result = found.results.into_iter().find(|result| result.index == index).ok_or_else(missing)?;
        let file = own.outputs.find(&result, path).await?.ok_or_else(missing)?;
        let mut rest = Box::pin(own.outputs.stream(&result, path));
        let head = rest.try_next().await?.unwrap_or_default();
        Ok(OpenedFile { path: file.path, bytes: file.bytes, head, rest })
    }
}

/// A task of a job by its name, with its number.
pub(crate) fn group<'a>(view: &'a JobView, task: &str) -> Result<(u64, &'a GroupView), Error> {
    let found = (0..).zip(&view.groups).find(|(_, group)| group.name == task);
    found.ok_or_else(|| Error::not_found(format!("job {} has no task `{task}`", view.summary.id)))
}

/// An element as cursors have it.
fn place(view: &JobView, result: &ResultView) -> Result<u64, Error> {
    Ok((group(view, &result.task)?.0 << 32) | u64::from(result.index))
}

/// The tasks of a page whose tiles make up a picture: the first one tells.
async fn pictures(own: &Own, results: &[ResultView]) -> Result<Vec<PictureItem>, Error> {
    let mut pictures = Vec::new();
    for group in own.view.groups.iter().filter(|group| matches!(group.extent, Extent::Tiles { .. })) {
        let Some(first) = results.iter().find(|result| result.task == group.name) else { continue };
        if is_tile(&own.outputs, group, first).await? {
            let href = format!("/api/v1/desk/jobs/{}/preview/{}", own.view.summary.id, escape(&group.name));
            let (task, done, tiles) = (group.name.clone(), group.done, group.tasks);
            pictures.push(PictureItem { task, done, tiles, href });
        }
    }
    Ok(pictures)
}

/// Whether a result is a tile of a picture that is small enough to be put together here.
pub(crate) async fn is_tile(outputs: &Outputs, group: &GroupView, result: &ResultView) -> Result<bool, Error> {
    let Some(wanted) = Canvas::tile_bytes_of(&group.extent, result.index, PREVIEW_BYTES_MAX) else { return Ok(false) };
    let files = outputs.files(result, 2).await?;
    Ok(matches!(&files[..], [only] if only.bytes == wanted))
}

/// Files of an output without the first so many, and whether these are all that follow.
async fn items(own: &Own, result: &ResultView, skipped: u64) -> Result<(Vec<ResultItem>, bool), Error> {
    let (job, task, index) = (own.view.summary.id, &result.task, result.index);
    let mut items = Vec::new();
    let mut files = own.outputs.files_from(result, skipped, FILES_MAX + 1).await?;
    let is_all = files.len() <= FILES_MAX;
    files.truncate(FILES_MAX);
    for file in files {
        let kind = match by_name(&file.path) {
            Some(kind) => kind,
            None => {
                let head = own.outputs.head(result, &file.path, HEAD_BYTES).await?;
                by_head(&head, head.len() as u64 == file.bytes)
            }
        };
        let path = file.path.split('/').map(escape).collect::<Vec<_>>().join("/");
        let href = format!("/api/v1/desk/jobs/{job}/results/{}/{index}/{path}", escape(task));
        items.push(ResultItem { task: task.clone(), index, path: file.path, bytes: file.bytes, kind, href });
    }
    Ok((items, is_all))
}

/// A name as a part of an address.
fn escape(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_addresses_whatever_they_are() {
        assert_eq!(escape("a b/ü?#"), "a%20b%2F%C3%BC%3F%23");
        assert_eq!(escape("still.pieces-1_x~"), "still.pieces-1_x~");
    }
}
