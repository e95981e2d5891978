//! The open files of a program.
use std::fs::File;

use super::errno::Errno;
use super::stop::{Fail, Quota};
use super::tree::{Node, Tree, resolve};
use crate::content::Content;
use crate::product::{Body, read_full_at};

/// The most files that a program holds open.
const HANDLES_MAX: usize = 1024;
/// The numbers of standard input, output and error come first; then the root folder.
pub(crate) const ROOT: u32 = 3;

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    pub(crate) write: bool,
    pub(crate) append: bool,
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) folder: bool,
}

/// An open file or folder.
#[derive(Debug)]
pub(crate) enum Handle {
    Folder { path: String },
    Input { content: Content, file: Option<File>, position: u64 },
    Output { body: usize, position: u64, write: bool, append: bool },
}

/// Where a seek starts from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whence {
    Start,
    Here,
    End,
}

/// The open files of a program and all files it could open.
#[derive(Debug)]
pub(crate) struct Handles {
    pub(crate) tree: Tree,
    open: Vec<Option<Handle>>,
}

impl Handles {
    pub(crate) fn new(inputs: Content) -> Self {
        Self { tree: Tree::new(inputs), open: vec![Some(Handle::Folder { path: String::new() })] }
    }

    pub(crate) fn into_files(self) -> Vec<(String, Body)> {
        self.tree.into_files()
    }

    fn slot(number: u32) -> Result<usize, Errno> {
        number.checked_sub(ROOT).map(|slot| slot as usize).ok_or(Errno::BAD_HANDLE)
    }

    pub(crate) fn handle(&self, number: u32) -> Result<&Handle, Errno> {
        self.open.get(Self::slot(number)?).and_then(Option::as_ref).ok_or(Errno::BAD_HANDLE)
    }

    fn handle_mut(&mut self, number: u32) -> Result<&mut Handle, Errno> {
        self.open.get_mut(Self::slot(number)?).and_then(Option::as_mut).ok_or(Errno::BAD_HANDLE)
    }

    /// The resolved path of a path that starts at the folder with this number.
    pub(crate) fn path(&self, number: u32, path: &str) -> Result<String, Errno> {
        match self.handle(number)? {
            Handle::Folder { path: base } => resolve(base, path),
            Handle::Input { .. } | Handle::Output { .. } => Err(Errno::NOT_DIRECTORY),
        }
    }

    /// The contents that are open, which must outlive the removal of their names.
    pub(crate) fn open_bodies(&self) -> Vec<usize> {
        let body = |handle: &Handle| match handle {
            Handle::Folder { .. } | Handle::Input { .. } => None,
            Handle::Output { body, .. } => Some(*body),
        };
        self.open.iter().flatten().filter_map(body).collect()
    }

    pub(crate) fn open(&mut self, path: String, mode: Mode, quota: &mut Quota) -> Result<u32, Fail> {
        let handle = match self.tree.find(&path) {
            Ok(_) if mode.create && mode.exclusive => return Err(Errno::EXISTS.into()),
            Ok(Node::Folder) if mode.write && !mode.folder => return Err(Errno::IS_DIRECTORY.into()),
            Ok(Node::Folder) => Handle::Folder { path },
            Ok(Node::Input(_) | Node::Output(_)) if mode.folder => return Err(Errno::NOT_DIRECTORY.into()),
            Ok(Node::Input(_)) if mode.write || mode.truncate => return Err(Errno::READ_ONLY.into()),
            Ok(Node::Input(content)) => open_input(content)?,
            Ok(Node::Output(body)) => {
                if mode.truncate {
                    self.tree.resize(body, 0, quota)?;
                }
                Handle::Output { body, position: 0, write: mode.write, append: mode.append }
            }
            Err(Errno::MISSING) if mode.create && !mode.folder => {
                let body = self.tree.create_file(&path)?;
                Handle::Output { body, position: 0, write: mode.write, append: mode.append }
            }
            Err(errno) => return Err(errno.into()),
        };
        self.keep(handle).map_err(Fail::from)
    }

    fn keep(&mut self, handle: Handle) -> Result<u32, Errno> {
        let slot = match self.open.iter().position(Option::is_none) {
            Some(slot) => slot,
            None if self.open.len() >= HANDLES_MAX => return Err(Errno::TOO_MANY_HANDLES),
            None => {
                self.open.push(None);
                self.open.len() - 1
            }
        };
        self.open[slot] = Some(handle);
        Ok(ROOT + slot as u32)
    }

    pub(crate) fn close(&mut self, number: u32) -> Result<(), Errno> {
        self.handle(number)?;
        self.open[Self::slot(number)?] = None;
        Ok(())
    }

    /// Moves an open file to another number, closing what is open there.
    pub(crate) fn renumber(&mut self, from: u32, to: u32) -> Result<(), Errno> {
        self.handle(from)?;
        self.handle(to)?;
        let handle = self.open[Self::slot(from)?].take();
        self.open[Self::slot(to)?] = handle;
        Ok(())
    }

    pub(crate) fn set_append(&mut self, number: u32, on: bool) -> Result<(), Errno> {
        match self.handle_mut(number)? {
            Handle::Output { append, .. } => *append = on,
            Handle::Folder { .. } | Handle::Input { .. } => {}
        }
        Ok(())
    }

    pub(crate) fn len(&self, number: u32) -> Result<u64, Errno> {
        Ok(match self.handle(number)? {
            Handle::Folder { .. } => 0,
            Handle::Input { content, .. } => content.bytes(),
            Handle::Output { body, .. } => self.tree.body(*body).len(),
        })
    }

    /// Reads at a position, or where the file stands, which then moves on.
    pub(crate) fn read(&mut self, number: u32, at: Option<u64>, buffer: &mut [u8]) -> Result<usize, Errno> {
        let start = at.unwrap_or(self.position(number)?);
        let count = match self.handle(number)? {
            Handle::Folder { .. } => return Err(Errno::IS_DIRECTORY),
            Handle::Input { file: Some(file), .. } => read_full_at(file, start, buffer)?,
            Handle::Input { content, file: None, .. } => {
                let Content::Bytes(output) = content else { return Err(Errno::INPUT_OUTPUT) };
                let bytes = output.content().unwrap_or_default();
                let rest = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                count
            }
            Handle::Output { body, .. } => self.tree.body(*body).read_at(start, buffer)?,
        };
        if at.is_none() {
            self.set_position(number, start + count as u64)?;
        }
        Ok(count)
    }

    /// Writes at a position, or where the file stands, which then moves on.
    pub(crate) fn write(&mut self, number: u32, at: Option<u64>, bytes: &[u8], quota: &mut Quota) -> Result<(), Fail> {
        let (body, start) = match self.handle(number)? {
            Handle::Folder { .. } => return Err(Errno::IS_DIRECTORY.into()),
            Handle::Input { .. } | Handle::Output { write: false, .. } => return Err(Errno::BAD_HANDLE.into()),
            Handle::Output { body, append: true, .. } if at.is_none() => (*body, self.tree.body(*body).len()),
            Handle::Output { body, position, .. } => (*body, at.unwrap_or(*position)),
        };
        self.tree.write(body, start, bytes, quota)?;
        if at.is_none() {
            self.set_position(number, start + bytes.len() as u64)?;
        }
        Ok(())
    }

    pub(crate) fn resize(&mut self, number: u32, len: u64, quota: &mut Quota) -> Result<(), Fail> {
        match self.handle(number)? {
            Handle::Output { body, write: true, .. } => self.tree.resize(*body, len, quota),
            Handle::Folder { .. } | Handle::Input { .. } | Handle::Output { .. } => Err(Errno::BAD_HANDLE.into()),
        }
    }

    fn position(&self, number: u32) -> Result<u64, Errno> {
        match self.handle(number)? {
            Handle::Folder { .. } => Err(Errno::IS_DIRECTORY),
            Handle::Input { position, .. } | Handle::Output { position, .. } => Ok(*position),
        }
    }

    fn set_position(&mut self, number: u32, to: u64) -> Result<(), Errno> {
        match self.handle_mut(number)? {
            Handle::Folder { .. } => Err(Errno::IS_DIRECTORY),
            Handle::Input { position, .. } | Handle::Output { position, .. } => {
                *position = to;
                Ok(())
            }
        }
    }

    pub(crate) fn seek(&mut self, number: u32, offset: i64, whence: Whence) -> Result<u64, Errno> {
        let base = match whence {
            Whence::Start => 0,
            Whence::Here => self.position(number)?,
            Whence::End => self.len(number)?,
        };
        let to = base.checked_add_signed(offset).ok_or(Errno::INVALID)?;
        self.set_position(number, to)?;
        Ok(to)
    }
}

fn open_input(content: Content) -> Result<Handle, Errno> {
    let file = match &content {
        Content::File(file) => Some(File::open(file.path())?),
        Content::Bytes(_) | Content::Folder(_) | Content::Gather(_) => None,
    };
    Ok(Handle::Input { content, file, position: 0 })
}
