//! What a task has written: in memory while it is small, in a scratch file when it is not.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use tempfile::TempPath;

/// Bytes of one file that are kept in memory before it moves to disk.
const FILE_MEMORY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of all files of one attempt that are kept in memory.
const ATTEMPT_MEMORY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Where one attempt writes: some memory, and a folder for what does not fit there.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
    memory_left: usize,
}

impl Scratch {
    /// Memory for one attempt, and this folder.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, memory_left: ATTEMPT_MEMORY_BYTES_MAX }
    }
}

/// A file that a task writes.
#[derive(Debug, Default)]
pub struct Body {
    store: Store,
    len: u64,
}

#[derive(Debug)]
enum Store {
    Memory(Vec<u8>),
    Disk(Spilled),
}

/// A file on disk. It is removed when this is dropped.
#[derive(Debug)]
struct Spilled {
    path: TempPath,
    /// Only a file that is large by itself stays open: of others there may be more than a process may open.
    open: Option<File>,
}

impl Spilled {
    fn create(memory: &[u8], scratch: &Scratch) -> io::Result<Self> {
        let (file, path) = tempfile::Builder::new().prefix("output-").tempfile_in(&scratch.dir)?.into_parts();
        file.write_all_at(memory, 0)?;
        Ok(Self { path, open: None })
    }

    fn with<T>(&self, work: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match &self.open {
            Some(file) => work(file),
            None => work(&self.reopen()?),
        }
    }

    fn reopen(&self) -> io::Result<File> {
        File::options().read(true).write(true).open(&self.path)
    }

    fn resize(&mut self, len: u64) -> io::Result<()> {
        if self.open.is_none() && len > FILE_MEMORY_BYTES_MAX as u64 {
            self.open = Some(self.reopen()?);
        }
        self.with(|file| file.set_len(len))
    }
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
    Disk(TempPath),
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
    pub fn write_at(&mut self, position: u64, bytes: &[u8], scratch: &mut Scratch) -> io::Result<()> {
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
            Store::Disk(spilled) => spilled.with(|file| file.write_all_at(bytes, position)),
        }
    }

    /// Makes it longer or shorter.
    pub fn resize(&mut self, len: u64, scratch: &mut Scratch) -> io::Result<()> {
        let fits = match &mut self.store {
            Store::Memory(memory) => resize_memory(memory, len, scratch),
            Store::Disk(_) => false,
        };
        if !fits {
            self.spill(scratch)?.resize(len)?;
        }
        self.len = len;
        Ok(())
    }

    /// Removes the content.
    pub fn clear(&mut self, scratch: &mut Scratch) {
        if let Store::Memory(memory) = &self.store {
            scratch.memory_left += memory.capacity();
        }
        *self = Self::default();
    }

    /// The file on disk, made from what is in memory if there is none.
    fn spill(&mut self, scratch: &mut Scratch) -> io::Result<&mut Spilled> {
        if let Store::Memory(memory) = &self.store {
            let spilled = Spilled::create(memory, scratch)?;
            scratch.memory_left += memory.capacity();
            self.store = Store::Disk(spilled);
        }
        match &mut self.store {
            Store::Disk(spilled) => Ok(spilled),
            Store::Memory(_) => unreachable!("it was moved to disk above"),
        }
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
            Store::Disk(spilled) => spilled.with(|file| read_full_at(file, position, buffer)),
        }
    }

    /// A file of this length that nothing writes to any more. It is removed when this is dropped.
    pub fn from_file(path: TempPath, len: u64) -> Self {
        Self { store: Store::Disk(Spilled { path, open: None }), len }
    }

    /// The content, to be delivered.
    pub fn into_written(self) -> Written {
        match self.store {
            Store::Memory(bytes) => Written::Memory(bytes),
            Store::Disk(spilled) => Written::Disk(spilled.path),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self { len: bytes.len() as u64, store: Store::Memory(bytes) }
    }
}

/// Makes a file in memory longer or shorter, if there is room for that. What counts is what is allocated: a file that
/// was cut short must not keep more than it shows.
fn resize_memory(memory: &mut Vec<u8>, len: u64, scratch: &mut Scratch) -> bool {
    let Some(len) = usize::try_from(len).ok().filter(|len| *len <= FILE_MEMORY_BYTES_MAX) else { return false };
    let before = memory.capacity();
    if len > before {
        let ahead = len.max(before.saturating_mul(2)).min(FILE_MEMORY_BYTES_MAX);
        let Some(room) = [ahead, len].into_iter().find(|room| room - before <= scratch.memory_left) else {
            return false;
        };
        memory.reserve_exact(room - memory.len());
    }
    memory.resize(len, 0);
    if len < memory.capacity() / 4 {
        memory.shrink_to_fit();
    }
    // An allocator may give a little more than was asked for.
    scratch.memory_left = (scratch.memory_left + before).saturating_sub(memory.capacity());
    true
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
        let (mut scratch, mut body) = (Scratch::new(scratch.path().to_path_buf()), Body::default());
        body.write_at(3, b"abc", &mut scratch).expect("writes");
        body.write_at(FILE_MEMORY_BYTES_MAX as u64, b"xyz", &mut scratch).expect("moves to disk");
        assert!(body.in_memory().is_none());
        let mut start = [9; 6];
        assert_eq!(body.read_at(0, &mut start).expect("reads"), 6);
        assert_eq!(&start, b"\0\0\0abc");
        assert_eq!(body.len(), FILE_MEMORY_BYTES_MAX as u64 + 3);
        assert_eq!(body.read_at(body.len(), &mut start).expect("reads"), 0);
    }
    const SMALL: usize = 100_000;

    fn in_memory(bodies: &[Body]) -> usize {
        let allocated = |body: &Body| match &body.store {
            Store::Memory(memory) => memory.capacity(),
            Store::Disk(_) => 0,
        };
        bodies.iter().map(allocated).sum()
    }

    #[test]
    fn many_small_files_do_not_stay_in_memory() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut scratch = Scratch::new(dir.path().to_path_buf());
        // More than a process may usually open.
        let mut bodies: Vec<_> = (0..1500).map(|_| Body::default()).collect();
        for (number, body) in bodies.iter_mut().enumerate() {
            for position in [0, SMALL / 2] {
                body.write_at(position as u64, &[number as u8; SMALL / 2], &mut scratch).expect("writes");
            }
        }
        assert!(in_memory(&bodies) <= ATTEMPT_MEMORY_BYTES_MAX);
        assert!(in_memory(&bodies) > ATTEMPT_MEMORY_BYTES_MAX / 2, "memory is used while there is some");
        for (number, body) in bodies.iter().enumerate() {
            let mut content = vec![0; SMALL + 1];
            assert_eq!(body.read_at(0, &mut content).expect("reads"), SMALL);
            assert!(content[..SMALL].iter().all(|byte| *byte == number as u8));
        }
        bodies.iter_mut().for_each(|body| body.clear(&mut scratch));
        assert_eq!(scratch.memory_left, ATTEMPT_MEMORY_BYTES_MAX);
        assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn files_that_are_cut_short_give_their_memory_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut scratch = Scratch::new(dir.path().to_path_buf());
        let mut bodies: Vec<_> = (0..100).map(|_| Body::default()).collect();
        for body in &mut bodies {
            body.resize(FILE_MEMORY_BYTES_MAX as u64, &mut scratch).expect("grows");
            body.resize(1, &mut scratch).expect("shrinks");
        }
        assert!(bodies.iter().all(|body| body.in_memory() == Some(&[0])));
        assert!(in_memory(&bodies) < SMALL);
        assert_eq!(scratch.memory_left, ATTEMPT_MEMORY_BYTES_MAX - in_memory(&bodies));
    }
}
