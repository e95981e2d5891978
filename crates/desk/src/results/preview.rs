//! Pictures out of tiles, as far as they have come.
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, TryStreamExt, stream};
use gleaner_client::{Canvas, Outputs};
use gleaner_wire::api::ResultView;
use gleaner_wire::{Asker, Hash, JobId};

use super::{Own, group, is_tile};
use crate::{Desk, Error};

/// The largest picture that is put together here, in bytes of its pixels.
pub(crate) const PREVIEW_BYTES_MAX: u64 = 64 << 20;
/// Pictures that are remembered, so that only new tiles are fetched.
const PREVIEWS_MAX: usize = 4;
/// Tiles that are fetched at a time.
const TILES_TOGETHER: usize = 8;

/// A picture as far as it has come.
pub(crate) struct Preview {
    pub(crate) png: Vec<u8>,
    /// Changes when the picture does.
    pub(crate) tag: String,
    /// Tiles that are in it.
    pub(crate) done: u64,
    /// Tiles that there will be.
    pub(crate) tiles: u64,
}

/// A picture that several may draw at, one after the other.
type SharedDrawn = Arc<tokio::sync::Mutex<Drawn>>;

/// Pictures that were asked for lately.
#[derive(Default)]
pub(super) struct Previews(Mutex<VecDeque<((JobId, String), SharedDrawn)>>);

/// A picture, and which outputs are in it.
struct Drawn {
    canvas: Canvas,
    tiles: BTreeMap<u32, Hash>,
}

impl Previews {
    fn of(&self, job: JobId, task: &str, canvas: Canvas) -> SharedDrawn {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|((number, name), _)| *number == job && name == task);
        let found = at.and_then(|at| all.remove(at));
        let new =
            || ((job, task.to_owned()), Arc::new(tokio::sync::Mutex::new(Drawn { canvas, tiles: BTreeMap::new() })));
        let (key, drawn) = found.unwrap_or_else(new);
        all.truncate(PREVIEWS_MAX - 1);
        all.push_front((key, Arc::clone(&drawn)));
        drawn
    }
}

impl Desk {
    /// The picture that the tiles of a task make up, as far as they have come.
    pub(crate) async fn preview(&self, asker: &Asker, job: JobId, task: &str) -> Result<Preview, Error> {
        let own = self.own(asker, job).await?;
        let (_, of) = group(&own.view, task)?;
        let none =
            || Error::not_found(format!("the outputs of `{task}` are no tiles of a picture, or too many of them"));
        let canvas = Canvas::new(of.extent, PREVIEW_BYTES_MAX).ok_or_else(none)?;
        let results = all_results(&own, task).await?;
        if let Some(first) = results.first()
            && !is_tile(&own.outputs, of, first).await?
        {
            return Err(none());
        }
        let drawn = self.inner.opened.previews.of(job, task, canvas);
        let mut drawn = drawn.lock_owned().await;
        drawn.add(&own.outputs, &results).await?;
        let tiles = of.tasks;
        tokio::task::spawn_blocking(move || drawn.preview(tiles)).await.unwrap_or(Err(Error::Defect))
    }
}

async fn all_results(own: &Own, task: &str) -> Result<Vec<ResultView>, Error> {
    let (mut results, mut from) = (Vec::new(), Some(0));
    while let Some(cursor) = from {
        let page = own.client.results(own.view.summary.id, Some(task), cursor).await?;
        results.extend(page.results);
        from = page.next.filter(|next| *next > cursor);
    }
    Ok(results)
}

impl Drawn {
    /// Puts in what is not there, or has become something else.
    async fn add(&mut self, outputs: &Outputs, results: &[ResultView]) -> Result<(), Error> {
        let is_new = |result: &&ResultView| self.tiles.get(&result.index) != Some(&result.output.hash());
        let new: Vec<&ResultView> = results.iter().filter(is_new).collect();
        let fetch = |result: &ResultView| {
            let (outputs, result) = (outputs.clone(), result.clone());
            let bytes = self.canvas.tile_bytes(result.index).unwrap_or(0);
            async move { Ok::<_, Error>((outputs.only(&result, bytes).await?, result)) }
        };
        let fetches: Vec<_> = new.into_iter().map(fetch).collect();
        let mut fetches = stream::iter(fetches).buffered(TILES_TOGETHER);
        while let Some((bytes, result)) = fetches.try_next().await? {
            if self.canvas.place(result.index, &bytes) {
                self.tiles.insert(result.index, result.output.hash());
            }
        }
        Ok(())
    }

    fn preview(&self, tiles: u64) -> Result<Preview, Error> {
        let mut png = Vec::new();
        self.canvas.write(&mut png).map_err(|_| Error::Defect)?;
        let all: Vec<u8> =
            self.tiles.iter().flat_map(|(index, hash)| [&index.to_le_bytes()[..], &hash.0].concat()).collect();
        let tag = Hash::of(&all).to_string()[..32].to_owned();
        Ok(Preview { png, tag, done: self.tiles.len() as u64, tiles })
    }
}
