//! Reading a manifest that anybody may have made.
use std::io::Read;

use super::bytes::{array, number, number_to, string, unfold_sign};
use super::name::check_target;
use super::order::Order;
use super::recall::Recall;
use super::{
    DEPTH_MAX, Entry, Error, FILE_BYTES_MAX, Kind, MAGIC, MODE_MAX, NAME_BYTES_MAX, Name, TARGET_BYTES_MAX, Time,
    Totals, VERSION, extents_max,
};
use crate::chunk::{ChunkRef, Extent, PLAIN_BYTES_MAX, SEALED_BYTES_MAX};
use crate::seal::ChunkKey;

/// Reads a manifest as a stream: an entry, the extents of it if it is a file, the next entry.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    order: Order,
    recall: Recall,
    declared: Totals,
    totals: Totals,
    missing_bytes: u64,
    extents_left: u64,
}

impl<R: Read> Reader<R> {
    /// Begins to read a manifest that must not exceed what its root declares.
    pub fn new(mut from: R, declared: Totals) -> Result<Self, Error> {
        if array(&mut from)? != MAGIC {
            return Err(Error::Refused("it is no manifest"));
        }
        match array(&mut from)? {
            [VERSION] => {}
            [found] => return Err(Error::Version { found }),
        }
        let (order, recall) = (Order::default(), Recall::default());
        Ok(Self { from, order, recall, declared, totals: Totals::default(), missing_bytes: 0, extents_left: 0 })
    }

    /// The next entry; none after the last. Extents of the entry before that were not read are skipped, checked.
    pub fn entry(&mut self) -> Result<Option<Entry>, Error> {
        while self.extent()?.is_some() {}
        let [kind] = array(&mut self.from)?;
        if kind == 0 {
            return self.end().map(|()| None);
        }
        let depth = number_to(&mut self.from, DEPTH_MAX as u64, "folders lie too deep in each other")?;
        let depth = usize::try_from(depth).expect("few");
        let name = Name::new(string(&mut self.from, NAME_BYTES_MAX, "a name is too long")?)?;
        let kind = match kind {
            1 => Kind::Folder { mode: self.mode()? },
            2 => self.file()?,
            3 => self.link(depth)?,
            _ => return Err(Error::Refused("an entry is of no known kind")),
        };
        let entry = Entry { depth, name, kind };
        self.order.accept(&entry)?;
        self.totals.entries += 1;
        if self.totals.entries > self.declared.entries {
            return Err(Error::Refused("it has more entries than declared"));
        }
        Ok(Some(entry))
    }

    fn mode(&mut self) -> Result<u32, Error> {
        let mode = number_to(&mut self.from, u64::from(MODE_MAX), "permissions are out of range")?;
        Ok(u32::try_from(mode).expect("nine bits"))
    }

    fn file(&mut self) -> Result<Kind, Error> {
        let mode = self.mode()?;
        let seconds = unfold_sign(number(&mut self.from)?);
        let nanoseconds = number_to(&mut self.from, 999_999_999, "a time is out of range")?;
        let bytes = number_to(&mut self.from, FILE_BYTES_MAX, "a file is too large")?;
        self.totals.bytes = self.totals.bytes.saturating_add(bytes);
        if self.totals.bytes > self.declared.bytes {
            return Err(Error::Refused("its files are larger than declared"));
        }
        (self.missing_bytes, self.extents_left) = (bytes, extents_max(bytes));
        let changed = Time { seconds, nanoseconds: u32::try_from(nanoseconds).expect("less than a second") };
        Ok(Kind::File { mode, changed, bytes })
    }

    fn link(&mut self, depth: usize) -> Result<Kind, Error> {
        let target = string(&mut self.from, TARGET_BYTES_MAX, "the target of a link is too long")?;
        check_target(depth, &target).map_err(|_| Error::Refused("a link leads out of the folder"))?;
        Ok(Kind::Link { target })
    }

    /// The next extent of the file; none after its last, and for what is no file.
    pub fn extent(&mut self) -> Result<Option<Extent>, Error> {
        if self.missing_bytes == 0 {
            return Ok(None);
        }
        self.extents_left = self.extents_left.checked_sub(1).ok_or(Error::Refused("a file has too many extents"))?;
        let bytes = number_to(&mut self.from, self.missing_bytes, "the extents of a file are longer than the file")?;
        if bytes == 0 {
            return Err(Error::Refused("an extent is empty"));
        }
        self.missing_bytes -= bytes;
        let chunk = match number(&mut self.from)? {
            0 => return Ok(Some(Extent::Hole { bytes })),
            1 => {
                let chunk = chunk(&mut self.from)?;
                self.recall.remember(chunk.clone());
                chunk
            }
            back => {
                let chunk = self.recall.chunk(back - 2);
                chunk.ok_or(Error::Refused("an extent is of a chunk that was not named"))?.clone()
            }
        };
        let offset = number_to(&mut self.from, u64::from(chunk.plain_bytes), "an extent is outside of its chunk")?;
        if offset + bytes > u64::from(chunk.plain_bytes) {
            return Err(Error::Refused("an extent is outside of its chunk"));
        }
        self.totals.stored_bytes += bytes;
        if self.totals.stored_bytes > self.declared.stored_bytes {
            return Err(Error::Refused("its files take more room than declared"));
        }
        let small = |number: u64| u32::try_from(number).expect("less than a chunk");
        Ok(Some(Extent::Data { chunk, offset: small(offset), bytes: small(bytes) }))
    }

    fn end(&mut self) -> Result<(), Error> {
        let mut total = || number(&mut self.from);
        let ended = Totals { entries: total()?, bytes: total()?, stored_bytes: total()? };
        if ended != self.totals || ended != self.declared {
            return Err(Error::Refused("its totals are not what was declared"));
        }
        match self.from.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(Error::Refused("something follows its end")),
        }
    }
}

pub(super) fn chunk(from: &mut impl Read) -> Result<ChunkRef, Error> {
    let (id, key) = (gleaner_wire::Hash(array(from)?), ChunkKey::from_bytes(array(from)?));
    let plain = number_to(from, PLAIN_BYTES_MAX as u64, "a chunk is too large")?;
    let sealed = number_to(from, SEALED_BYTES_MAX as u64, "a chunk is too large")?;
    if plain == 0 || sealed == 0 {
        return Err(Error::Refused("a chunk is empty"));
    }
    let small = |number: u64| u32::try_from(number).expect("less than a chunk");
    Ok(ChunkRef { id, key, plain_bytes: small(plain), sealed_bytes: small(sealed) })
}
