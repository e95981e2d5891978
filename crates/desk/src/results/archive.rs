//! Everything that a job delivered as one tar archive, made while it is sent: it takes no room here.
use std::io::{self, Read, Write};

use bytes::Bytes;
use futures_util::Stream;
use gleaner_client::{Canvas, Look};
use gleaner_wire::api::{GroupView, ResultView};
use gleaner_wire::{Asker, Extent, JobId};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::{Own, PREVIEW_BYTES_MAX};
use crate::{Desk, Error};

/// Pieces that wait for whoever reads the archive.
const PIECES_WAITING: usize = 4;
const PIECE_BYTES: usize = 256 * 1024;
/// Files of one output that are archived.
const FILES_MAX: usize = 1_000_000;
const FILE_MODE: u32 = 0o644;

impl Desk {
    /// A tar archive of everything that a job has delivered so far, laid out as `gleaner job fetch` does: `TASK`, or
    /// `TASK/INDEX`, and `TASK.png` for tiles.
    pub(crate) async fn archive(
        &self,
        asker: &Asker,
        job: JobId,
    ) -> Result<(String, impl Stream<Item = Result<Bytes, io::Error>> + Send + use<>), Error> {
        let own = self.own(asker, job).await?;
        let name = own.job.name.clone();
        let (sender, receiver) = mpsc::channel(PIECES_WAITING);
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || {
            let pipe = Pipe { sender: sender.clone(), piece: Vec::new() };
            if let Err(error) = write(&own, &runtime, pipe) {
                tracing::info!(%job, %error, "an archive broke off");
                // Whoever reads may have gone away.
                let _ = sender.blocking_send(Err(io::Error::other(error)));
            }
        });
        let stream =
            futures_util::stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
        Ok((name, stream))
    }
}

/// Sends what is written in pieces.
struct Pipe {
    sender: mpsc::Sender<Result<Bytes, io::Error>>,
    piece: Vec<u8>,
}

impl Pipe {
    fn send(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.piece));
        self.sender.blocking_send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

fn write(own: &Own, runtime: &Handle, pipe: Pipe) -> Result<(), Error> {
    let mut archive = Archive { tar: tar::Builder::new(pipe), seconds: own.view.summary.submitted_at.0 / 1000 };
    for group in &own.view.groups {
        let mut canvas = Canvas::new(group.extent, PREVIEW_BYTES_MAX);
        let (mut from, mut tiles) = (Some(0), 0);
        while let Some(cursor) = from {
            let page = runtime.block_on(own.client.results(own.view.summary.id, Some(&group.name), cursor))?;
            for result in &page.results {
                let look = own.outputs.look(result)?;
                archive.output(group, result, &look)?;
                tiles += u64::from(place(canvas.as_mut(), result, &look)?);
            }
            from = page.next.filter(|next| *next > cursor);
        }
        if tiles > 0
            && let Some(canvas) = canvas
        {
            archive.picture(&group.name, &canvas)?;
        }
    }
    archive.finish()
}

/// Puts a tile into its picture, if it is one.
fn place(canvas: Option<&mut Canvas>, result: &ResultView, look: &Look) -> Result<bool, Error> {
    let Some(canvas) = canvas else { return Ok(false) };
    let Some(wanted) = canvas.tile_bytes(result.index) else { return Ok(false) };
    match &look.files(2)?[..] {
        [only] if only.bytes == wanted => {
            let bytes = look.read(&only.path, usize::try_from(wanted).unwrap_or(usize::MAX))?;
            Ok(canvas.place(result.index, &bytes))
        }
        _ => Ok(false),
    }
}

struct Archive {
    tar: tar::Builder<Pipe>,
    /// When the job came: results have no time of their own.
    seconds: u64,
}

impl Archive {
    fn output(&mut self, group: &GroupView, result: &ResultView, look: &Look) -> Result<(), Error> {
        let top = match group.extent {
            Extent::Single => group.name.clone(),
            Extent::Array(_) | Extent::Tiles { .. } => format!("{}/{}", group.name, result.index),
        };
        for file in look.files(FILES_MAX)? {
            let path = if look.is_one() { top.clone() } else { format!("{top}/{}", file.path) };
            let (sender, receiver) = std::sync::mpsc::sync_channel::<Vec<u8>>(PIECES_WAITING);
            let read = std::thread::scope(|scope| {
                let reading =
                    scope.spawn(|| look.content(&file.path, move |bytes| sender.send(bytes.to_vec()).is_ok()));
                let appended = self.append(&path, file.bytes, Arriving { receiver, piece: Vec::new(), at: 0 });
                reading.join().map_err(|_| Error::Defect)??;
                appended
            });
            read?;
        }
        Ok(())
    }

    fn picture(&mut self, task: &str, canvas: &Canvas) -> Result<(), Error> {
        let mut png = Vec::new();
        canvas.write(&mut png).map_err(|_| Error::Defect)?;
        self.append(&format!("{task}.png"), png.len() as u64, &png[..])
    }

    fn append(&mut self, path: &str, bytes: u64, content: impl Read) -> Result<(), Error> {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes);
        header.set_mode(FILE_MODE);
        header.set_mtime(self.seconds);
        header.set_cksum();
        self.tar.append_data(&mut header, path, content).map_err(broken)
    }

    fn finish(self) -> Result<(), Error> {
        let mut pipe = self.tar.into_inner().map_err(broken)?;
        pipe.flush().map_err(broken)
    }
}

fn broken(source: io::Error) -> Error {
    Error::File { doing: "send", path: "the archive".into(), source }
}

/// What another thread reads.
struct Arriving {
    receiver: std::sync::mpsc::Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Arriving {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            let Ok(piece) = self.receiver.recv() else { return Ok(0) };
            (self.piece, self.at) = (piece, 0);
        }
        let count = to.len().min(self.piece.len() - self.at);
        to[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
