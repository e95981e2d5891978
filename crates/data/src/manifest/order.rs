//! The order of entries, by which a stream of them can be checked with the memory of one path.
use super::{DEPTH_MAX, Entry, Error, Kind, PATH_BYTES_MAX};

/// Where a walk through a folder stands.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The last name at each depth, down to the last entry.
    names: Vec<Vec<u8>>,
    is_in_folder: bool,
}

impl Order {
    /// Accepts the next entry if it may come here.
    pub(super) fn accept(&mut self, entry: &Entry) -> Result<(), Error> {
        let deepest = self.names.len() + usize::from(self.is_in_folder || self.names.is_empty());
        if entry.depth == 0 || entry.depth > deepest || entry.depth > DEPTH_MAX {
            return Err(Error::Refused("an entry lies in no folder"));
        }
        let name = entry.name.as_bytes();
        if self.names.get(entry.depth - 1).is_some_and(|before| before.as_slice() >= name) {
            return Err(Error::Refused("names are there twice, or out of order"));
        }
        self.names.truncate(entry.depth - 1);
        let above: usize = self.names.iter().map(|name| name.len() + 1).sum();
        if above + name.len() > PATH_BYTES_MAX {
            return Err(Error::Refused("a path is too long"));
        }
        self.names.push(name.to_vec());
        self.is_in_folder = matches!(entry.kind, Kind::Folder { .. });
        Ok(())
    }
}
