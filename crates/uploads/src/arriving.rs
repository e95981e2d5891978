//! A file that arrives: what of it is here, what a request brings, and its place when it is whole.
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::io::AsyncWriteExt;

use crate::books::{Books, Full};
use crate::folder::{self, Arrived};
use crate::name::Spot;

/// How long a sender may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Which bytes of a file a request brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first.
    pub first: u64,
    /// The one after the last.
    pub end: u64,
    /// How many the whole file has.
    pub total: u64,
}

impl Piece {
    /// Reads what the header `content-range` has: `bytes FIRST-LAST/TOTAL`.
    pub fn parse(text: &str) -> Option<Self> {
        let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (first, last, total): (u64, u64, u64) = (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
        (first <= last && last < total).then_some(Self { first, end: last + 1, total })
    }
}

/// Why a file, or a piece of it, is not taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not the next piece.
    #[error("the piece does not follow what is here: go on at byte {0}")]
    Offset(u64),
    /// There is no room left.
    #[error("there is no room for the file")]
    Full,
    /// The sender says nothing.
    #[error("nothing arrives")]
    Silence,
    /// The sender broke off.
    #[error("the upload broke off: {0}")]
    Broken(String),
    /// The sender says more than it announced.
    #[error("there is more than `content-range` says")]
    TooMuch,
    /// The disk did not take it.
    #[error("the file could not be written: {0}")]
    Write(#[source] io::Error),
    /// Something else has its place.
    #[error("a file or folder of that name is in the way: {0}")]
    InTheWay(#[source] io::Error),
}

impl From<Full> for Error {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

/// A file that arrives.
#[derive(Clone, Debug)]
pub struct Arriving {
    /// The folder of all users' folders.
    pub dir: PathBuf,
    /// What they hold.
    pub books: Arc<Books>,
    /// Where the file is to lie.
    pub spot: Spot,
    /// Which version of it this is: when it was changed, in milliseconds since 1970. It is kept with the file.
    pub modified: Option<u64>,
}

impl Arriving {
    /// How much of it is here.
    pub async fn arrived(&self) -> io::Result<Arrived> {
        let Self { dir, spot, modified, .. } = self.clone();
        blocking(move || folder::arrived(&dir, &spot, modified)).await
    }

    /// Takes a piece, or the whole file, as it comes. Says how much is here, and puts it in its place once that is all.
    /// What has arrived before a break stays. The caller sees to it that nobody else brings the same file meanwhile.
    pub async fn take<E: fmt::Display>(
        &self,
        piece: Option<Piece>,
        bytes: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<Taken, Error> {
        let (mut file, offset) = self.open(piece).await?;
        let end = match self.write(&mut file, offset, piece, bytes).await {
            // Nobody goes on with a file that was sent whole and finds no room: what it took is free again.
            Err(Error::Full) if piece.is_none() => {
                let bytes = file.metadata().await.map_err(Error::Write)?.len();
                self.remove_part().await?;
                self.books.give_back(&self.spot.top.user, bytes);
                return Err(Error::Full);
            }
            end => end?,
        };
        match piece {
            Some(piece) if end < piece.total => Ok(Taken::Some(end)),
            Some(_) | None => {
                self.finish(file.into_std().await).await?;
                Ok(Taken::Whole(end))
            }
        }
    }

    async fn open(&self, piece: Option<Piece>) -> Result<(tokio::fs::File, u64), Error> {
        let Self { dir, books, spot, modified } = self.clone();
        let opened = blocking(move || {
            books.prepare(&spot.top.user, piece.map_or(0, |piece| piece.total - piece.first))?;
            let part = folder::open_part(&dir, &spot, modified)?;
            if piece.is_none() {
                part.file.set_len(0)?;
            }
            Ok(part)
        });
        let part = opened.await.map_err(Error::Write)?;
        let announced = match piece {
            Some(piece) if piece.first != part.bytes => Err(Error::Offset(part.bytes)),
            Some(piece) => self.announce(part.bytes, piece.total - piece.first),
            None => self.announce(0, 0),
        };
        if let Err(error) = announced {
            // One that was made for nothing would take room for a week.
            if part.bytes == 0 {
                self.remove_part().await?;
            }
            return Err(error);
        }
        let bytes = if piece.is_some() { part.bytes } else { 0 };
        Ok((tokio::fs::File::from_std(part.file), bytes))
    }

    /// A file that will not find room is refused before any of it is sent.
    fn announce(&self, bytes: u64, to_come: u64) -> Result<(), Error> {
        let user = &self.spot.top.user;
        if bytes == 0 {
            self.books.take_entry(user)?;
        }
        if self.books.has_room(user, to_come) {
            return Ok(());
        }
        if bytes == 0 {
            self.books.give_back(user, 0);
        }
        Err(Error::Full)
    }

    async fn remove_part(&self) -> Result<(), Error> {
        let Self { dir, spot, modified, .. } = self.clone();
        blocking(move || folder::remove_part(&dir, &spot, modified)).await.map_err(Error::Write)
    }

    async fn write<E: fmt::Display>(
        &self,
        file: &mut tokio::fs::File,
        offset: u64,
        piece: Option<Piece>,
        bytes: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<u64, Error> {
        let copied = self.copy(file, offset, piece, bytes).await;
        // Also after a break, so that whoever asks next hears of all that is here.
        file.flush().await.map_err(Error::Write)?;
        let end = copied?;
        file.sync_data().await.map_err(Error::Write)?;
        Ok(end)
    }

    async fn copy<E: fmt::Display>(
        &self,
        file: &mut tokio::fs::File,
        offset: u64,
        piece: Option<Piece>,
        mut bytes: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<u64, Error> {
        let mut at = offset;
        loop {
            let next = tokio::time::timeout(SILENCE_MAX, bytes.next()).await.map_err(|_| Error::Silence)?;
            let Some(some) = next else { return Ok(at) };
            let some = some.map_err(|error| Error::Broken(error.to_string()))?;
            if piece.is_some_and(|piece| at + some.len() as u64 > piece.end) {
                return Err(Error::TooMuch);
            }
            self.books.take(&self.spot.top.user, some.len() as u64)?;
            file.write_all(&some).await.map_err(Error::Write)?;
            at += some.len() as u64;
        }
    }

    async fn finish(&self, file: std::fs::File) -> Result<(), Error> {
        let Self { dir, spot, modified, .. } = self.clone();
        blocking(move || folder::finish(&dir, &spot, modified, &file)).await.map_err(Error::InTheWay)
    }
}

/// What came of a request that brought something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// So many bytes are here, and more are to come.
    Some(u64),
    /// All of them are, and the file is in its place.
    Whole(u64),
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(io::Error::other("it ended by a defect")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::Limits;
    use std::convert::Infallible;
    use std::path::Path;

    const ROOM: u64 = 100_000;

    fn arriving(dir: &Path) -> Arriving {
        let limits = Limits { user_bytes_max: ROOM, all_bytes_max: ROOM };
        let spot = Spot::parse("ada", "scene/file").expect("a plain path");
        Arriving { dir: dir.to_owned(), books: Arc::new(Books::new(dir.to_owned(), limits)), spot, modified: None }
    }

    fn body(pieces: &[&'static [u8]]) -> impl Stream<Item = Result<Bytes, Infallible>> + Unpin + use<> {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::from_static(piece))).collect();
        futures_util::stream::iter(pieces)
    }

    /// How many files lie in ada's folder.
    fn parts(dir: &Path) -> usize {
        std::fs::read_dir(dir.join("ada")).map_or(0, Iterator::count)
    }

    #[test]
    fn pieces_are_read_as_http_writes_them() {
        assert_eq!(Piece::parse("bytes 0-9/20"), Some(Piece { first: 0, end: 10, total: 20 }));
        for wrong in ["", "bytes", "bytes 0-9", "bytes 0-20/20", "bytes 9-0/20", "bytes */20", "bytes 0-9/*", "0-9/20"]
        {
            assert_eq!(Piece::parse(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_file_in_pieces_is_in_its_place_once_it_is_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let arriving = arriving(dir.path());
        let piece = |text| Piece::parse(text);
        let first = arriving.take(piece("bytes 0-3/8"), body(&[b"ab", b"cd"])).await.expect("taken");
        assert_eq!(first, Taken::Some(4));
        assert_eq!(arriving.arrived().await.expect("asked"), Arrived::Some(4));
        let again = arriving.take(piece("bytes 0-3/8"), body(&[b"abcd"])).await;
        assert!(matches!(again, Err(Error::Offset(4))), "{again:?}");
        let more = arriving.take(piece("bytes 4-7/8"), body(&[b"efgh", b"i"])).await;
        assert!(matches!(more, Err(Error::TooMuch)), "{more:?}");
        let whole = arriving.take(piece("bytes 8-8/9"), body(&[b"i"])).await.expect("what came before counts");
        assert_eq!(whole, Taken::Whole(9));
        assert_eq!(std::fs::read(dir.path().join("ada/scene/file")).expect("there"), b"abcdefghi");
    }

    #[tokio::test]
    async fn what_finds_no_room_is_refused_and_what_is_in_the_way_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let arriving = arriving(dir.path());
        let large = arriving.take(Piece::parse("bytes 0-3/200000"), body(&[b"abcd"])).await;
        assert!(matches!(large, Err(Error::Full)), "{large:?}");
        let room = arriving.books.room(&arriving.spot.top.user);
        assert_eq!((room, parts(dir.path())), (ROOM, 0), "it took nothing");
        let large: &'static [u8] = vec![0; 60_000].leak();
        let large = arriving.take(None, body(&[large, large])).await;
        assert!(matches!(large, Err(Error::Full)), "{large:?}");
        let room = arriving.books.room(&arriving.spot.top.user);
        assert_eq!((room, parts(dir.path())), (ROOM, 0), "what had arrived of it is gone");
        std::fs::create_dir_all(dir.path().join("ada/scene/file")).expect("made");
        let hidden = arriving.take(None, body(&[b"abcd"])).await;
        assert!(matches!(hidden, Err(Error::InTheWay(_))), "{hidden:?}");
    }
}
