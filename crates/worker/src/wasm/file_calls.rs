//! WASI calls on open files and on standard input, output and error.
use super::errno::Errno;
use super::guest::Guest;
use super::handle::{Handle, Whence};
use super::host::Host;
use super::stop::Fail;

const STDIN: u32 = 0;
const STDOUT: u32 = 1;
const STDERR: u32 = 2;

const APPEND: u32 = 1;
const KIND_UNKNOWN: u8 = 0;
pub(super) const KIND_FOLDER: u8 = 3;
pub(super) const KIND_FILE: u8 = 4;
const RIGHT_READ: u64 = 1 << 1;
pub(super) const RIGHT_WRITE: u64 = 1 << 6;
const RIGHTS_ALL: u64 = (1 << 30) - 1;

fn is_standard(fd: u32) -> bool {
    fd <= STDERR
}

fn read(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    vectors: (u32, u32),
    offset: Option<u64>,
) -> Result<u32, Fail> {
    if fd == STDIN {
        return Ok(0);
    }
    let (handles, _) = host.files().ok_or(Errno::BAD_HANDLE)?;
    let mut total = 0_u32;
    for (at, len) in guest.vectors(vectors.0, vectors.1)? {
        let position = offset.map(|offset| offset.saturating_add(u64::from(total)));
        let count = handles.read(fd, position, guest.slice_mut(at, len)?)?;
        total = total.saturating_add(count as u32);
        if count < len as usize {
            break;
        }
    }
    Ok(total)
}

fn write(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    vectors: (u32, u32),
    offset: Option<u64>,
) -> Result<u32, Fail> {
    let mut total = 0_u32;
    for (at, len) in guest.vectors(vectors.0, vectors.1)? {
        let bytes = guest.slice(at, len)?;
        let position = offset.map(|offset| offset.saturating_add(u64::from(total)));
        match fd {
            STDIN => return Err(Errno::BAD_HANDLE.into()),
            STDOUT => host.write_stdout(bytes)?,
            STDERR => host.log.write(bytes),
            fd => {
                let (handles, quota) = host.files().ok_or(Errno::BAD_HANDLE)?;
                handles.write(fd, position, bytes, quota)?;
            }
        }
        total = total.saturating_add(len);
    }
    Ok(total)
}

pub(super) fn fd_read(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    at: u32,
    n: u32,
    result: u32,
) -> Result<(), Fail> {
    let count = read(host, guest, fd, (at, n), None)?;
    Ok(guest.put_u32(result, count)?)
}

pub(super) fn fd_pread(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    at: u32,
    n: u32,
    offset: u64,
    result: u32,
) -> Result<(), Fail> {
    if is_standard(fd) {
        return Err(Errno::NOT_SEEKABLE.into());
    }
    let count = read(host, guest, fd, (at, n), Some(offset))?;
    Ok(guest.put_u32(result, count)?)
}

pub(super) fn fd_write(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    at: u32,
    n: u32,
    result: u32,
) -> Result<(), Fail> {
    let count = write(host, guest, fd, (at, n), None)?;
    Ok(guest.put_u32(result, count)?)
}

pub(super) fn fd_pwrite(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    at: u32,
    n: u32,
    offset: u64,
    result: u32,
) -> Result<(), Fail> {
    if is_standard(fd) {
        return Err(Errno::NOT_SEEKABLE.into());
    }
    let count = write(host, guest, fd, (at, n), Some(offset))?;
    Ok(guest.put_u32(result, count)?)
}

/// Checks that a file is open, for calls that have nothing to do.
fn exists(host: &mut Host, fd: u32) -> Result<(), Fail> {
    if is_standard(fd) {
        return Ok(());
    }
    let (handles, _) = host.files().ok_or(Errno::BAD_HANDLE)?;
    handles.handle(fd)?;
    Ok(())
}

pub(super) fn fd_advise(host: &mut Host, _: &mut Guest<'_>, fd: u32, _: u64, _: u64, _: u32) -> Result<(), Fail> {
    exists(host, fd)
}

pub(super) fn fd_sync(host: &mut Host, _: &mut Guest<'_>, fd: u32) -> Result<(), Fail> {
    exists(host, fd)
}

pub(super) fn fd_fdstat_set_rights(host: &mut Host, _: &mut Guest<'_>, fd: u32, _: u64, _: u64) -> Result<(), Fail> {
    exists(host, fd)
}

/// Times of files are always zero, so setting them changes nothing.
pub(super) fn fd_filestat_set_times(
    host: &mut Host,
    _: &mut Guest<'_>,
    fd: u32,
    _: u64,
    _: u64,
    _: u32,
) -> Result<(), Fail> {
    exists(host, fd)
}

pub(super) fn fd_allocate(host: &mut Host, _: &mut Guest<'_>, fd: u32, offset: u64, len: u64) -> Result<(), Fail> {
    let (handles, quota) = host.files().ok_or(Errno::BAD_HANDLE)?;
    let end = offset.checked_add(len).ok_or(Errno::INVALID)?;
    if end > handles.len(fd)? { handles.resize(fd, end, quota) } else { Ok(()) }
}

pub(super) fn fd_filestat_set_size(host: &mut Host, _: &mut Guest<'_>, fd: u32, len: u64) -> Result<(), Fail> {
    let (handles, quota) = host.files().ok_or(Errno::BAD_HANDLE)?;
    handles.resize(fd, len, quota)
}

pub(super) fn fd_close(host: &mut Host, _: &mut Guest<'_>, fd: u32) -> Result<(), Fail> {
    if is_standard(fd) {
        return Ok(());
    }
    let (handles, _) = host.files().ok_or(Errno::BAD_HANDLE)?;
    Ok(handles.close(fd)?)
}

pub(super) fn fd_renumber(host: &mut Host, _: &mut Guest<'_>, from: u32, to: u32) -> Result<(), Fail> {
    let (handles, _) = host.files().ok_or(Errno::BAD_HANDLE)?;
    Ok(handles.renumber(from, to)?)
}

pub(super) fn fd_fdstat_get(host: &mut Host, guest: &mut Guest<'_>, fd: u32, result: u32) -> Result<(), Fail> {
    let (kind, flags, base, inheriting) = match fd {
        STDIN => (KIND_UNKNOWN, 0, RIGHT_READ, 0),
        STDOUT | STDERR => (KIND_UNKNOWN, APPEND, RIGHT_WRITE, 0),
        fd => {
            let (handles, _) = host.files().ok_or(Errno::BAD_HANDLE)?;
            match handles.handle(fd)? {
                Handle::Folder { .. } => (KIND_FOLDER, 0, RIGHTS_ALL, RIGHTS_ALL),
                Handle::Input { .. } | Handle::Output { write: false, .. } => {
                    (KIND_FILE, 0, RIGHTS_ALL & !RIGHT_WRITE, 0)
                }
                Handle::Output { append, .. } => (KIND_FILE, u32::from(*append), RIGHTS_ALL, 0),
            }
        }
    };
    let mut stat = [0; 24];
    stat[0] = kind;
    stat[2..4].copy_from_slice(&(flags as u16).to_le_bytes());
    stat[8..16].copy_from_slice(&base.to_le_bytes());
    stat[16..24].copy_from_slice(&u64::to_le_bytes(inheriting));
    Ok(guest.put(result, &stat)?)
}

pub(super) fn fd_fdstat_set_flags(host: &mut Host, _: &mut Guest<'_>, fd: u32, flags: u32) -> Result<(), Fail> {
    if is_standard(fd) {
        return Ok(());
    }
    let (handles, _) = host.files().ok_or(Errno::BAD_HANDLE)?;
    Ok(handles.set_append(fd, flags & APPEND != 0)?)
}

/// What a program is told about a file: its kind and length. Number and times would differ between machines.
pub(super) fn put_stat(guest: &mut Guest<'_>, result: u32, kind: u8, number: u64, len: u64) -> Result<(), Fail> {
    let mut stat = [0; 64];
    stat[0] = 1;
    stat[8..16].copy_from_slice(&number.to_le_bytes());
    stat[16] = kind;
    stat[24] = 1;
    stat[32..40].copy_from_slice(&len.to_le_bytes());
    Ok(guest.put(result, &stat)?)
}

pub(super) fn fd_filestat_get(host: &mut Host, guest: &mut Guest<'_>, fd: u32, result: u32) -> Result<(), Fail> {
    if is_standard(fd) {
        return put_stat(guest, result, KIND_UNKNOWN, u64::from(fd), 0);
    }
    let (handles, _) = host.files().ok_or(Errno::BAD_HANDLE)?;
    let (kind, len) = match handles.handle(fd)? {
        Handle::Folder { .. } => (KIND_FOLDER, 0),
        Handle::Input { .. } | Handle::Output { .. } => (KIND_FILE, handles.len(fd)?),
    };
    put_stat(guest, result, kind, u64::from(fd), len)
}

pub(super) fn fd_seek(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    offset: i64,
    whence: u32,
    result: u32,
) -> Result<(), Fail> {
    if is_standard(fd) {
        return Err(Errno::NOT_SEEKABLE.into());
    }
    let whence = match whence {
        0 => Whence::Start,
        1 => Whence::Here,
        2 => Whence::End,
        _ => return Err(Errno::INVALID.into()),
    };
    let (handles, _) = host.files().ok_or(Errno::BAD_HANDLE)?;
    let position = handles.seek(fd, offset, whence)?;
    Ok(guest.put_u64(result, position)?)
}

pub(super) fn fd_tell(host: &mut Host, guest: &mut Guest<'_>, fd: u32, result: u32) -> Result<(), Fail> {
    fd_seek(host, guest, fd, 0, 1, result)
}
