//! What requests do in a user's folder.

use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, chmod, fstat, fsync, ftruncate,
    mkdirat, readlinkat, renameat, renameat_with, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::{Errno, pread, pwrite};

use crate::attributes::Attributes;
use crate::change::{Changes, Writing};
use crate::folder::{Folder, proc_path, stays_inside};
use crate::handle::File;
use crate::quota::{ENTRY_BYTES, Quota, weight};
use crate::refusal::Refusal;

const OPEN_READ: u32 = 0x1;
const OPEN_WRITE: u32 = 0x2;
const OPEN_APPEND: u32 = 0x4;
const OPEN_CREATE: u32 = 0x8;
const OPEN_TRUNCATE: u32 = 0x10;
const OPEN_EXCLUSIVE: u32 = 0x20;

/// A user's folder with its books.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) folder: Folder,
    pub(crate) name: String,
    pub(crate) bytes_max: u64,
    pub(crate) quota: Arc<Quota>,
    pub(crate) changes: Arc<Changes>,
}

impl Files {
    fn take(&self, bytes: u64) -> Result<(), Refusal> {
        self.quota.take(&self.name, self.bytes_max, bytes)
    }

    fn give(&self, bytes: u64) {
        self.quota.give(&self.name, bytes);
    }

    fn touched(&self, place: Option<&[u8]>) {
        self.changes.touched(&self.name, place);
    }

    fn replaced(&self, place: Option<&[u8]>) {
        self.changes.replaced(&self.name, place);
    }

    pub(crate) fn open(&self, path: &[u8], flags: u32, attributes: &Attributes) -> Result<File, Refusal> {
        let is_written = flags & OPEN_WRITE != 0;
        let mut open = match (flags & OPEN_READ != 0, is_written) {
            (_, false) => OFlags::RDONLY,
            (false, true) => OFlags::WRONLY,
            (true, true) => OFlags::RDWR,
        };
        // Nothing in the folder should be a pipe or a device, but if it were, opening it must not wait for anybody.
        open |= OFlags::NONBLOCK | OFlags::NOCTTY;
        if flags & OPEN_APPEND != 0 {
            open |= OFlags::APPEND;
        }
        let fd = if is_written && flags & OPEN_CREATE != 0 {
            self.create(path, open, flags & OPEN_EXCLUSIVE != 0, attributes)?
        } else {
            self.folder.resolve(path, open, Mode::empty())?
        };
        let stat = fstat(&fd)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(Refusal::denied("this is not a file")),
        }
        if is_written && flags & OPEN_TRUNCATE != 0 && stat.st_size > 0 {
            ftruncate(&fd, 0)?;
            self.give(stat.st_size.unsigned_abs());
        }
        let writing = is_written.then(|| self.writing(&fd));
        Ok(File { fd, is_appended: flags & OPEN_APPEND != 0, writing })
    }

    fn writing(&self, fd: impl std::os::fd::AsFd) -> Writing {
        self.changes.opened(&self.name, self.folder.place(fd))
    }

    /// Opens a file for writing that need not exist. A new one is paid for first.
    fn create(
        &self,
        path: &[u8],
        open: OFlags,
        is_exclusive: bool,
        attributes: &Attributes,
    ) -> Result<std::os::fd::OwnedFd, Refusal> {
        if !is_exclusive {
            match self.folder.resolve(path, open, Mode::empty()) {
                Err(Errno::NOENT) => {}
                opened => return Ok(opened?),
            }
        }
        let mode = Mode::from_raw_mode(attributes.permissions.unwrap_or(0o666) & 0o777 | 0o600);
        let exclusive = if is_exclusive { OFlags::EXCL } else { OFlags::empty() };
        self.take(ENTRY_BYTES)?;
        self.folder.resolve(path, open | OFlags::CREATE | exclusive, mode).map_err(|error| {
            self.give(ENTRY_BYTES);
            error.into()
        })
    }

    pub(crate) fn read(file: &File, offset: u64, room: &mut [u8]) -> Result<usize, Refusal> {
        let mut filled = 0;
        while filled < room.len() {
            match pread(&file.fd, &mut room[filled..], offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                // No file reaches that far.
                Err(Errno::INVAL) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(filled)
    }

    pub(crate) fn write(&self, file: &File, offset: u64, data: &[u8]) -> Result<(), Refusal> {
        if file.writing.is_none() {
            return Err(Refusal::denied("this file is open for reading only"));
        }
        let size = fstat(&file.fd)?.st_size.unsigned_abs();
        let offset = if file.is_appended { size } else { offset };
        let end = offset.checked_add(data.len() as u64).ok_or(Errno::FBIG)?;
        let growth = end.saturating_sub(size);
        self.take(growth)?;
        write_all(file, offset, data).map_err(|error| {
            let grown = fstat(&file.fd).map_or(0, |stat| stat.st_size.unsigned_abs().saturating_sub(size));
            self.give(growth.saturating_sub(grown));
            error.into()
        })
    }

    pub(crate) fn stat(&self, path: &[u8], is_followed: bool) -> Result<Attributes, Refusal> {
        let located = self.folder.locate(path, is_followed)?;
        Ok(Attributes::of(&fstat(located)?))
    }

    pub(crate) fn fstat(file: &File) -> Result<Attributes, Refusal> {
        Ok(Attributes::of(&fstat(&file.fd)?))
    }

    pub(crate) fn fsync(file: &File) -> Result<(), Refusal> {
        Ok(fsync(&file.fd)?)
    }

    pub(crate) fn set_stat(&self, path: &[u8], is_followed: bool, attributes: &Attributes) -> Result<(), Refusal> {
        if attributes.size.is_some() {
            let file = self.open(path, OPEN_WRITE, attributes)?;
            self.fset_stat(&file, attributes)?;
            if let Some(writing) = file.writing {
                writing.close();
            }
            return Ok(());
        }
        let located = self.folder.locate(path, is_followed)?;
        self.adjust(&located, attributes)
    }

    pub(crate) fn fset_stat(&self, file: &File, attributes: &Attributes) -> Result<(), Refusal> {
        if let Some(size) = attributes.size {
            self.resize(file, size)?;
        }
        self.adjust(&file.fd, attributes)
    }

    fn resize(&self, file: &File, size: u64) -> Result<(), Refusal> {
        if file.writing.is_none() {
            return Err(Refusal::denied("this file is open for reading only"));
        }
        let before = fstat(&file.fd)?.st_size.unsigned_abs();
        self.take(size.saturating_sub(before))?;
        if let Err(error) = ftruncate(&file.fd, size) {
            self.give(size.saturating_sub(before));
            return Err(error.into());
        }
        self.give(before.saturating_sub(size));
        Ok(())
    }

    /// Sets permissions and times. Owners stay as they are: the files belong to the hub.
    fn adjust(&self, located: impl std::os::fd::AsFd, attributes: &Attributes) -> Result<(), Refusal> {
        let kind = FileType::from_raw_mode(fstat(&located)?.st_mode);
        if attributes.owner.is_some() && attributes.permissions.is_none() && attributes.times.is_none() {
            return Err(Refusal::denied("files here belong to the hub; their owner cannot be changed"));
        }
        if let Some(permissions) = attributes.permissions
            && kind != FileType::Symlink
        {
            // The hub has to read files and to look into folders, whatever their permissions are to be.
            let needed = if kind == FileType::Directory { 0o700 } else { 0o400 };
            chmod(proc_path(&located), Mode::from_raw_mode(permissions & 0o777 | needed))?;
        }
        if let Some((accessed, modified)) = attributes.times {
            let time = |seconds: u32| Timespec { tv_sec: seconds.into(), tv_nsec: 0 };
            let times = Timestamps { last_access: time(accessed), last_modification: time(modified) };
            utimensat(&located, "", &times, AtFlags::EMPTY_PATH)?;
        }
        self.touched(self.folder.place(located).filter(|place| !place.is_empty()).as_deref());
        Ok(())
    }

    pub(crate) fn listing(&self, path: &[u8]) -> Result<Dir, Refusal> {
        let fd = self.folder.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Dir::new(fd)?)
    }

    pub(crate) fn make_dir(&self, path: &[u8]) -> Result<(), Refusal> {
        let spot = self.folder.spot(path)?;
        self.take(ENTRY_BYTES)?;
        if let Err(error) = mkdirat(&spot.parent, spot.name, Mode::from_raw_mode(0o755)) {
            self.give(ENTRY_BYTES);
            return Err(error.into());
        }
        self.touched(spot.place.as_deref());
        Ok(())
    }

    pub(crate) fn remove(&self, path: &[u8], flags: AtFlags) -> Result<(), Refusal> {
        let spot = self.folder.spot(path)?;
        let stat = statat(&spot.parent, spot.name, AtFlags::SYMLINK_NOFOLLOW)?;
        unlinkat(&spot.parent, spot.name, flags)?;
        self.give(weight(&stat));
        self.replaced(spot.place.as_deref());
        Ok(())
    }

    /// Gives something another name; what has that name already is replaced, or the reason of a refusal.
    pub(crate) fn rename(&self, from: &[u8], to: &[u8], is_replacing: bool) -> Result<(), Refusal> {
        let (from, to) = (self.folder.spot(from)?, self.folder.spot(to)?);
        let moved = statat(&from.parent, from.name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(moved.st_mode) == FileType::Symlink {
            let target = readlinkat(&from.parent, from.name, Vec::new())?;
            check_link(to.place.as_deref(), target.as_bytes())?;
        }
        let replaced = statat(&to.parent, to.name, AtFlags::SYMLINK_NOFOLLOW).ok();
        if is_replacing {
            renameat(&from.parent, from.name, &to.parent, to.name)?;
        } else {
            renameat_with(&from.parent, from.name, &to.parent, to.name, RenameFlags::NOREPLACE)?;
        }
        let is_same = |stat: &Stat| (stat.st_dev, stat.st_ino) == (moved.st_dev, moved.st_ino);
        if let Some(replaced) = replaced.filter(|replaced| is_replacing && !is_same(replaced)) {
            self.give(weight(&replaced));
        }
        self.replaced(from.place.as_deref());
        self.replaced(to.place.as_deref());
        Ok(())
    }

    pub(crate) fn read_link(&self, path: &[u8]) -> Result<Vec<u8>, Refusal> {
        let spot = self.folder.spot(path)?;
        Ok(readlinkat(&spot.parent, spot.name, Vec::new())?.into_bytes())
    }

    pub(crate) fn make_link(&self, target: &Bytes, link: &[u8]) -> Result<(), Refusal> {
        let spot = self.folder.spot(link)?;
        check_link(spot.place.as_deref(), target)?;
        self.take(ENTRY_BYTES)?;
        if let Err(error) = symlinkat(&target[..], &spot.parent, spot.name) {
            self.give(ENTRY_BYTES);
            return Err(error.into());
        }
        self.touched(spot.place.as_deref());
        Ok(())
    }
}

fn check_link(place: Option<&[u8]>, target: &[u8]) -> Result<(), Refusal> {
    if place.is_some_and(|place| stays_inside(place, target)) {
        return Ok(());
    }
    Err(Refusal::denied("a link has to point into your folder, by a relative path"))
}

fn write_all(file: &File, mut offset: u64, mut data: &[u8]) -> Result<(), Errno> {
    while !data.is_empty() {
        match pwrite(&file.fd, data, offset) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(count) => {
                data = &data[count..];
                offset += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
