//! What a task has written: in memory while it is small, in a scratch file when it is not.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Bytes kept in memory before a file moves to disk.
const MEMORY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A file that a task writes.
#[derive(Debug, Default)]
pub struct Body {
    store: Store,
    len: u64,
}

#[derive(Debug)]
enum Store {
    Memory(Vec<u8>),
    Disk(NamedTempFile),
}

impl Default for Store {
    fn default() -> Self {
        Self::Memory(Vec::new())
    }
}

/// The content of a body once nothing writes to it any more.
#[derive(Debug)]
pub enum Written {
    /// It is small.
    Memory(Vec<u8>),
    /// It is not.
    Disk(NamedTempFile),
}

/// All that a task has written.
#[derive(Debug, Default)]
pub struct Product {
    /// What went to standard output, or a kernel's output buffer.
    pub stdout: Body,
    /// Files under `/out`, in order of their names.
    pub files: Vec<(String, Body)>,
}

impl Body {
    /// Bytes written so far, holes included.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes, if they are in memory.
    pub fn in_memory(&self) -> Option<&[u8]> {
        match &self.store {
            Store::Memory(bytes) => Some(bytes),
            Store::Disk(_) => None,
        }
    }

    /// Writes at a position; what lies between the end and there becomes zero.
    pub fn write_at(&mut self, position: u64, bytes: &[u8], scratch: &Path) -> io::Result<()> {
        let end = position.checked_add(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        if end > self.len {
            self.resize(end, scratch)?;
        }
        match &mut self.store {
            Store::Memory(memory) => {
                let start = usize::try_from(position).expect("what is in memory is small");
                memory[start..start + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            Store::Disk(file) => file.as_file().write_all_at(bytes, position),
        }
    }

    /// Makes it longer or shorter.
    pub fn resize(&mut self, len: u64, scratch: &Path) -> io::Result<()> {
        if len > MEMORY_BYTES_MAX as u64
            && let Store::Memory(memory) = &self.store
        {
            let file = tempfile::Builder::new().prefix("output-").tempfile_in(scratch)?;
            file.as_file().write_all_at(memory, 0)?;
            self.store = Store::Disk(file);
        }
        match &mut self.store {
            Store::Memory(memory) => memory.resize(usize::try_from(len).expect("checked to be small"), 0),
            Store::Disk(file) => file.as_file().set_len(len)?,
        }
        self.len = len;
        Ok(())
    }

    /// Reads at a position into `buffer` and says how much was there.
    pub fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.store {
            Store::Memory(memory) => {
                let rest = usize::try_from(position).ok().and_then(|start| memory.get(start..)).unwrap_or_default();
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
            Store::Disk(file) => read_full_at(file.as_file(), position, buffer),
        }
    }

    /// The content, to be delivered.
    pub fn into_written(self) -> Written {
        match self.store {
            Store::Memory(bytes) => Written::Memory(bytes),
            Store::Disk(file) => Written::Disk(file),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self { len: bytes.len() as u64, store: Store::Memory(bytes) }
    }
}

/// Reads until the buffer is full or the file ends.
pub fn read_full_at(file: &File, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match file.read_at(&mut buffer[count..], position.saturating_add(count as u64))? {
            0 => break,
            read => count += read,
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_the_same_in_memory_and_on_disk() {
        let scratch = tempfile::tempdir().expect("a folder");
        let mut body = Body::default();
        body.write_at(3, b"abc", scratch.path()).expect("writes");
        body.write_at(MEMORY_BYTES_MAX as u64, b"xyz", scratch.path()).expect("moves to disk");
        assert!(body.in_memory().is_none());
        let mut start = [9; 6];
        assert_eq!(body.read_at(0, &mut start).expect("reads"), 6);
        assert_eq!(&start, b"\0\0\0abc");
        assert_eq!(body.len(), MEMORY_BYTES_MAX as u64 + 3);
        assert_eq!(body.read_at(body.len(), &mut start).expect("reads"), 0);
    }
}
