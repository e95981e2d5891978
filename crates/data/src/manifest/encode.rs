//! Writing a manifest.
use std::io::Write;

use super::bytes::{fold_sign, put_number, put_string};
use super::order::Order;
use super::recall::Named;
use super::{Entry, Error, Kind, MAGIC, Totals, VERSION, extents_max};
use crate::chunk::{ChunkRef, Extent};

/// Writes a manifest as a stream: an entry, the extents of it if it is a file, the next entry.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    order: Order,
    named: Named,
    totals: Totals,
    missing_bytes: u64,
    extents_left: u64,
    pending: Option<Extent>,
}

impl<W: Write> Writer<W> {
    /// Begins a manifest.
    pub fn new(mut to: W) -> Result<Self, Error> {
        to.write_all(&MAGIC)?;
        to.write_all(&[VERSION])?;
        Ok(Self {
            to,
            order: Order::default(),
            named: Named::default(),
            totals: Totals::default(),
            missing_bytes: 0,
            extents_left: 0,
            pending: None,
        })
    }

    /// Writes an entry. The extents of a file follow.
    pub fn entry(&mut self, entry: &Entry) -> Result<(), Error> {
        self.end_file()?;
        self.order.accept(entry)?;
        self.totals.entries += 1;
        let (kind, to) = (kind_byte(&entry.kind), &mut self.to);
        to.write_all(&[kind])?;
        put_number(to, entry.depth as u64)?;
        put_string(to, entry.name.as_bytes())?;
        match &entry.kind {
            Kind::Folder { mode } => put_number(to, u64::from(*mode))?,
            Kind::File { mode, changed, bytes } => {
                put_number(to, u64::from(*mode))?;
                put_number(to, fold_sign(changed.seconds))?;
                put_number(to, u64::from(changed.nanoseconds))?;
                put_number(to, *bytes)?;
                self.totals.bytes += bytes;
                self.missing_bytes = *bytes;
                self.extents_left = extents_max(*bytes);
            }
            Kind::Link { target } => put_string(to, target)?,
        }
        Ok(())
    }

    /// Writes the next extent of the file. Together they are as long as the file.
    pub fn extent(&mut self, extent: Extent) -> Result<(), Error> {
        let too_long = Error::Refused("the extents of a file are longer than the file");
        self.missing_bytes = self.missing_bytes.checked_sub(extent.bytes()).ok_or(too_long)?;
        match &mut self.pending {
            Some(before) if continues(before, &extent) => lengthen(before, &extent),
            _ => {
                let before = self.pending.replace(extent);
                self.put(before)?;
            }
        }
        Ok(())
    }

    fn put(&mut self, extent: Option<Extent>) -> Result<(), Error> {
        let Some(extent) = extent else { return Ok(()) };
        self.extents_left = self.extents_left.checked_sub(1).ok_or(Error::Refused("a file has too many extents"))?;
        put_number(&mut self.to, extent.bytes())?;
        match extent {
            Extent::Hole { .. } => put_number(&mut self.to, 0)?,
            Extent::Data { chunk, offset, bytes } => {
                self.totals.stored_bytes += u64::from(bytes);
                match self.named.name(chunk.id) {
                    Some(distance) => put_number(&mut self.to, distance + 2)?,
                    None => {
                        put_number(&mut self.to, 1)?;
                        put_chunk(&mut self.to, &chunk)?;
                    }
                }
                put_number(&mut self.to, u64::from(offset))?;
            }
        }
        Ok(())
    }

    /// Where it is written to.
    pub fn inner(&mut self) -> &mut W {
        &mut self.to
    }

    fn end_file(&mut self) -> Result<(), Error> {
        let last = self.pending.take();
        self.put(last)?;
        if self.missing_bytes > 0 {
            return Err(Error::Refused("the extents of a file are shorter than the file"));
        }
        Ok(())
    }

    /// Ends the manifest.
    pub fn finish(mut self) -> Result<(W, Totals), Error> {
        self.end_file()?;
        self.to.write_all(&[0])?;
        put_number(&mut self.to, self.totals.entries)?;
        put_number(&mut self.to, self.totals.bytes)?;
        put_number(&mut self.to, self.totals.stored_bytes)?;
        Ok((self.to, self.totals))
    }
}

fn kind_byte(kind: &Kind) -> u8 {
    match kind {
        Kind::Folder { .. } => 1,
        Kind::File { .. } => 2,
        Kind::Link { .. } => 3,
    }
}

pub(super) fn put_chunk(to: &mut impl Write, chunk: &ChunkRef) -> Result<(), Error> {
    to.write_all(&chunk.id.0)?;
    to.write_all(chunk.key.expose())?;
    put_number(to, u64::from(chunk.plain_bytes))?;
    put_number(to, u64::from(chunk.sealed_bytes))
}

fn continues(before: &Extent, next: &Extent) -> bool {
    match (before, next) {
        (Extent::Hole { .. }, Extent::Hole { .. }) => true,
        (Extent::Data { chunk, offset, bytes }, Extent::Data { chunk: next, offset: next_offset, .. }) => {
            chunk.id == next.id && u64::from(*offset) + u64::from(*bytes) == u64::from(*next_offset)
        }
        (Extent::Hole { .. }, Extent::Data { .. }) | (Extent::Data { .. }, Extent::Hole { .. }) => false,
    }
}

fn lengthen(before: &mut Extent, next: &Extent) {
    match before {
        Extent::Hole { bytes } => *bytes += next.bytes(),
        Extent::Data { bytes, .. } => *bytes += u32::try_from(next.bytes()).expect("parts of one chunk"),
    }
}
