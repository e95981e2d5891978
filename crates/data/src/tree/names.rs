//! The names in a folder, sorted, in little memory: some folders hold a million.
use std::os::fd::AsFd;

use rustix::fs::Dir;

#[derive(Debug, Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    places: Vec<(usize, u16)>,
    next: usize,
}

impl Names {
    pub(super) fn of(folder: impl AsFd) -> rustix::io::Result<Self> {
        let mut names = Self::default();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name);
            }
        }
        let Self { bytes, places, .. } = &mut names;
        places.sort_unstable_by(|one, other| at(bytes, *one).cmp(at(bytes, *other)));
        Ok(names)
    }

    pub(super) fn one(name: &[u8]) -> Self {
        let mut names = Self::default();
        names.push(name);
        names
    }

    fn push(&mut self, name: &[u8]) {
        self.places.push((self.bytes.len(), u16::try_from(name.len()).expect("names are short")));
        self.bytes.extend_from_slice(name);
    }

    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let place = *self.places.get(self.next)?;
        self.next += 1;
        Some(at(&self.bytes, place))
    }
}

fn at(bytes: &[u8], (start, length): (usize, u16)) -> &[u8] {
    &bytes[start..start + usize::from(length)]
}
