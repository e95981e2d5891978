//! Attributes of files as SFTP version 3 sends them.

use bytes::{BufMut, BytesMut};
use rustix::fs::Stat;

use crate::packet::{Malformed, Reader};

const HAS_SIZE: u32 = 0x1;
const HAS_OWNER: u32 = 0x2;
const HAS_PERMISSIONS: u32 = 0x4;
const HAS_TIMES: u32 = 0x8;
const HAS_EXTENDED: u32 = 0x8000_0000;
/// Nobody sends more extended attributes than this, and none is understood.
const EXTENDED_MAX: u32 = 64;

/// What is known or asked about a file; anything may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) size: Option<u64>,
    pub(crate) owner: Option<(u32, u32)>,
    pub(crate) permissions: Option<u32>,
    /// Accessed and modified, in seconds since 1970.
    pub(crate) times: Option<(u32, u32)>,
}

impl Attributes {
    pub(crate) fn of(stat: &Stat) -> Self {
        let seconds = |time: i64| u32::try_from(time.max(0)).unwrap_or(u32::MAX);
        Self {
            size: Some(stat.st_size.unsigned_abs()),
            owner: Some((stat.st_uid, stat.st_gid)),
            permissions: Some(stat.st_mode),
            times: Some((seconds(stat.st_atime), seconds(stat.st_mtime))),
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, Malformed> {
        let flags = from.u32()?;
        let mut attributes = Self::default();
        if flags & HAS_SIZE != 0 {
            attributes.size = Some(from.u64()?);
        }
        if flags & HAS_OWNER != 0 {
            attributes.owner = Some((from.u32()?, from.u32()?));
        }
        if flags & HAS_PERMISSIONS != 0 {
            attributes.permissions = Some(from.u32()?);
        }
        if flags & HAS_TIMES != 0 {
            attributes.times = Some((from.u32()?, from.u32()?));
        }
        if flags & HAS_EXTENDED != 0 {
            let count = from.u32()?;
            if count > EXTENDED_MAX {
                return Err(Malformed);
            }
            for _ in 0..count {
                from.string()?;
                from.string()?;
            }
        }
        Ok(attributes)
    }

    pub(crate) fn write(&self, to: &mut BytesMut) {
        let mut flags = 0;
        flags |= if self.size.is_some() { HAS_SIZE } else { 0 };
        flags |= if self.owner.is_some() { HAS_OWNER } else { 0 };
        flags |= if self.permissions.is_some() { HAS_PERMISSIONS } else { 0 };
        flags |= if self.times.is_some() { HAS_TIMES } else { 0 };
        to.put_u32(flags);
        if let Some(size) = self.size {
            to.put_u64(size);
        }
        if let Some((user, group)) = self.owner {
            to.put_u32(user);
            to.put_u32(group);
        }
        if let Some(permissions) = self.permissions {
            to.put_u32(permissions);
        }
        if let Some((accessed, modified)) = self.times {
            to.put_u32(accessed);
            to.put_u32(modified);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn attributes_come_back_as_they_were_written(
            size in any::<Option<u64>>(),
            owner in any::<Option<(u32, u32)>>(),
            permissions in any::<Option<u32>>(),
            times in any::<Option<(u32, u32)>>(),
        ) {
            let attributes = Attributes { size, owner, permissions, times };
            let mut bytes = BytesMut::new();
            attributes.write(&mut bytes);
            let mut reader = Reader::new(bytes.freeze());
            prop_assert_eq!(Attributes::read(&mut reader), Ok(attributes));
            prop_assert_eq!(reader.u32(), Err(Malformed));
        }
    }

    #[test]
    fn countless_extended_attributes_are_refused() {
        let mut bytes = BytesMut::new();
        bytes.put_u32(HAS_EXTENDED);
        bytes.put_u32(EXTENDED_MAX + 1);
        bytes.put_bytes(0, 8 * (EXTENDED_MAX as usize + 1));
        assert_eq!(Attributes::read(&mut Reader::new(Bytes::from(bytes))), Err(Malformed));
    }
}
