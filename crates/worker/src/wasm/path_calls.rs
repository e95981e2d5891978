//! WASI calls that name files and folders. The one folder handed to every program is the root.
use super::errno::Errno;
use super::file_calls::{KIND_FILE, KIND_FOLDER, RIGHT_WRITE, put_stat};
use super::guest::Guest;
use super::handle::{Handle, Handles, Mode, ROOT};
use super::host::Host;
use super::stop::{Fail, Quota};
use super::tree::Node;

const ROOT_NAME: &[u8] = b"/";
const OPEN_CREATE: u32 = 1;
const OPEN_FOLDER: u32 = 2;
const OPEN_EXCLUSIVE: u32 = 4;
const OPEN_TRUNCATE: u32 = 8;
const FLAG_APPEND: u32 = 1;
const ENTRY_BYTES: usize = 24;

fn files(host: &mut Host) -> Result<(&mut Handles, &mut Quota), Errno> {
    host.files().ok_or(Errno::BAD_HANDLE)
}

/// A number that stands for a path, the same on every machine and never zero.
fn number_of(path: &str) -> u64 {
    let hash = blake3::hash(path.as_bytes());
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes")) | 1
}

pub(super) fn fd_prestat_get(host: &mut Host, guest: &mut Guest<'_>, fd: u32, result: u32) -> Result<(), Fail> {
    if fd != ROOT || host.handles.is_none() {
        return Err(Errno::BAD_HANDLE.into());
    }
    guest.put_u32(result, 0)?;
    Ok(guest.put_u32(result.checked_add(4).ok_or(Errno::FAULT)?, ROOT_NAME.len() as u32)?)
}

pub(super) fn fd_prestat_dir_name(
    _: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    len: u32,
) -> Result<(), Fail> {
    if fd != ROOT {
        return Err(Errno::BAD_HANDLE.into());
    }
    if (len as usize) < ROOT_NAME.len() {
        return Err(Errno::NAME_TOO_LONG.into());
    }
    Ok(guest.put(path, ROOT_NAME)?)
}

#[expect(clippy::too_many_arguments, reason = "the interface has them")]
pub(super) fn path_open(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    _look: u32,
    path: u32,
    len: u32,
    open: u32,
    base: u64,
    _inheriting: u64,
    flags: u32,
    result: u32,
) -> Result<(), Fail> {
    let mode = Mode {
        write: base & RIGHT_WRITE != 0 && open & OPEN_FOLDER == 0,
        append: flags & FLAG_APPEND != 0,
        create: open & OPEN_CREATE != 0,
        exclusive: open & OPEN_EXCLUSIVE != 0,
        truncate: open & OPEN_TRUNCATE != 0,
        folder: open & OPEN_FOLDER != 0,
    };
    let (handles, quota) = files(host)?;
    let path = handles.path(fd, guest.path(path, len)?)?;
    let opened = handles.open(path, mode, quota)?;
    Ok(guest.put_u32(result, opened)?)
}

pub(super) fn path_filestat_get(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    _flags: u32,
    path: u32,
    len: u32,
    result: u32,
) -> Result<(), Fail> {
    let (handles, _) = files(host)?;
    let path = handles.path(fd, guest.path(path, len)?)?;
    let (kind, len) = match handles.tree.find(&path)? {
        Node::Folder => (KIND_FOLDER, 0),
        Node::Input(content) => (KIND_FILE, content.bytes()),
        Node::Output(body) => (KIND_FILE, handles.tree.body(body).len()),
    };
    put_stat(guest, result, kind, number_of(&path), len)
}

pub(super) fn path_create_directory(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    len: u32,
) -> Result<(), Fail> {
    let (handles, _) = files(host)?;
    let path = handles.path(fd, guest.path(path, len)?)?;
    Ok(handles.tree.create_folder(&path)?)
}

pub(super) fn path_remove_directory(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    len: u32,
) -> Result<(), Fail> {
    let (handles, _) = files(host)?;
    let path = handles.path(fd, guest.path(path, len)?)?;
    Ok(handles.tree.remove_folder(&path)?)
}

pub(super) fn path_unlink_file(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    len: u32,
) -> Result<(), Fail> {
    let (handles, quota) = files(host)?;
    let path = handles.path(fd, guest.path(path, len)?)?;
    let open = handles.open_bodies();
    Ok(handles.tree.remove_file(&path, &open, quota)?)
}

#[expect(clippy::too_many_arguments, reason = "the interface has them")]
pub(super) fn path_rename(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    len: u32,
    to_fd: u32,
    to: u32,
    to_len: u32,
) -> Result<(), Fail> {
    let (handles, quota) = files(host)?;
    let from = handles.path(fd, guest.path(path, len)?)?;
    let to = handles.path(to_fd, guest.path(to, to_len)?)?;
    let open = handles.open_bodies();
    Ok(handles.tree.rename(&from, &to, &open, quota)?)
}

/// There are no links, so nothing can be read from one.
#[expect(clippy::too_many_arguments, reason = "the interface has them")]
pub(super) fn path_readlink(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    len: u32,
    _to: u32,
    _to_len: u32,
    _result: u32,
) -> Result<(), Fail> {
    let (handles, _) = files(host)?;
    let path = handles.path(fd, guest.path(path, len)?)?;
    handles.tree.find(&path)?;
    Err(Errno::INVALID.into())
}

pub(super) fn fd_readdir(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    buffer: u32,
    len: u32,
    cookie: u64,
    result: u32,
) -> Result<(), Fail> {
    let (handles, _) = files(host)?;
    let Handle::Folder { path } = handles.handle(fd)? else { return Err(Errno::NOT_DIRECTORY.into()) };
    let first = u32::try_from(cookie).map_err(|_| Errno::INVALID)? as usize;
    let fits = len as usize / ENTRY_BYTES + 1;
    let dots = [".", ".."].map(|name| (name.to_owned(), true));
    let mut entries: Vec<_> = dots.into_iter().skip(first).collect();
    entries.extend(handles.tree.list(path, first.saturating_sub(2), fits)?);
    let mut bytes = Vec::new();
    for (next, (name, is_folder)) in (cookie + 1..).zip(entries) {
        bytes.extend_from_slice(&next.to_le_bytes());
        let whole = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        bytes.extend_from_slice(&number_of(&whole).to_le_bytes());
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&[if is_folder { KIND_FOLDER } else { KIND_FILE }, 0, 0, 0]);
        bytes.extend_from_slice(name.as_bytes());
        if bytes.len() >= len as usize {
            break;
        }
    }
    // An entry that does not fit is cut; the program asks for it again with a larger buffer.
    bytes.truncate(len as usize);
    guest.put(buffer, &bytes)?;
    Ok(guest.put_u32(result, bytes.len() as u32)?)
}
