//! A program's memory, read and written with every bound checked. Addresses come from the program and are hostile.
use std::ops::Range;

use super::errno::Errno;

/// The most buffers in one scattered read or write.
const VECTORS_MAX: u32 = 1024;
/// The longest path.
const PATH_BYTES_MAX: u32 = 4096;

/// The memory of a running program.
pub(crate) struct Guest<'a>(pub(crate) &'a mut [u8]);

impl Guest<'_> {
    fn range(&self, at: u32, len: u32) -> Result<Range<usize>, Errno> {
        let end = u64::from(at) + u64::from(len);
        if end > self.0.len() as u64 {
            return Err(Errno::FAULT);
        }
        Ok(at as usize..at as usize + len as usize)
    }

    pub(crate) fn slice(&self, at: u32, len: u32) -> Result<&[u8], Errno> {
        self.range(at, len).map(|range| &self.0[range])
    }

    pub(crate) fn slice_mut(&mut self, at: u32, len: u32) -> Result<&mut [u8], Errno> {
        self.range(at, len).map(|range| &mut self.0[range])
    }

    pub(crate) fn put(&mut self, at: u32, bytes: &[u8]) -> Result<(), Errno> {
        let len = u32::try_from(bytes.len()).map_err(|_| Errno::FAULT)?;
        self.slice_mut(at, len)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn put_u32(&mut self, at: u32, value: u32) -> Result<(), Errno> {
        self.put(at, &value.to_le_bytes())
    }

    pub(crate) fn put_u64(&mut self, at: u32, value: u64) -> Result<(), Errno> {
        self.put(at, &value.to_le_bytes())
    }

    fn array<const N: usize>(&self, at: u32) -> Result<[u8; N], Errno> {
        let bytes = self.slice(at, N as u32)?;
        Ok(bytes.try_into().expect("the slice was taken with this length"))
    }

    pub(crate) fn u8(&self, at: u32) -> Result<u8, Errno> {
        self.array::<1>(at).map(|bytes| bytes[0])
    }

    pub(crate) fn u16(&self, at: u32) -> Result<u16, Errno> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&self, at: u32) -> Result<u32, Errno> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&self, at: u32) -> Result<u64, Errno> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// The buffers of a scattered read or write, each checked to lie in memory.
    pub(crate) fn vectors(&self, at: u32, count: u32) -> Result<Vec<(u32, u32)>, Errno> {
        if count > VECTORS_MAX {
            return Err(Errno::INVALID);
        }
        let vector = |number: u32| {
            let entry = at.checked_add(number * 8).ok_or(Errno::FAULT)?;
            let (start, len) = (self.u32(entry)?, self.u32(entry.checked_add(4).ok_or(Errno::FAULT)?)?);
            self.range(start, len).map(|_| (start, len))
        };
        (0..count).map(vector).collect()
    }

    pub(crate) fn path(&self, at: u32, len: u32) -> Result<&str, Errno> {
        if len > PATH_BYTES_MAX {
            return Err(Errno::NAME_TOO_LONG);
        }
        std::str::from_utf8(self.slice(at, len)?).map_err(|_| Errno::ILLEGAL_SEQUENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_outside_the_memory_are_refused() {
        let mut bytes = [0; 16];
        let mut guest = Guest(&mut bytes);
        assert_eq!(guest.slice(16, 0).map(<[u8]>::len), Ok(0));
        assert_eq!(guest.slice(15, 2), Err(Errno::FAULT));
        assert_eq!(guest.slice(u32::MAX, u32::MAX), Err(Errno::FAULT));
        assert_eq!(guest.put_u64(9, 1), Err(Errno::FAULT));
        assert_eq!(guest.vectors(8, VECTORS_MAX + 1), Err(Errno::INVALID));
        assert_eq!(guest.vectors(u32::MAX - 7, 2), Err(Errno::FAULT));
    }
}
