"""The archive of everything that a job delivered: unpacked as it arrives, and never anywhere but into its folder."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from .errors import UntrustedResultError

BYTES_MAX = 1 << 40
_FILES_MAX = 10_000_000
_PIECE_BYTES = 1 << 20
# What the file of an output is called that has one only.
_ONLY = "output"


def places(job: Mapping[str, Any]) -> Callable[[str], PurePosixPath]:
    """Where files of a job's archive go: TASK/INDEX/PATH, and TASK.png for a picture that is put together out of tiles."""
    groups = job.get("groups")
    extents = {str(group.get("name")): group.get("extent") for group in groups if isinstance(group, dict)} if groups else {}
    pictures = {f"{name}.png" for name, extent in extents.items() if isinstance(extent, dict) and "Tiles" in extent}

    def place(path: str) -> PurePosixPath:
        names = path.split("/")
        if any(name in ("", ".", "..") or "\0" in name or "\\" in name for name in names):
            raise UntrustedResultError(f"a result is called {path!r}, which is no name for a file")
        task, rest = names[0], names[1:]
        if task not in extents:
            if path in pictures:
                return PurePosixPath(path)
            raise UntrustedResultError(f"a result is called {path!r}, and the job has no such task")
        if extents[task] == "Single":
            return PurePosixPath(task, "0", *(rest or [_ONLY]))
        if not rest or not (rest[0].isascii() and rest[0].isdigit()):
            raise UntrustedResultError(f"a result is called {path!r}, which names no element of its task")
        return PurePosixPath(task, rest[0], *(rest[1:] or [_ONLY]))

    return place


def unpack(archive: BinaryIO, out: Path, place: Callable[[str], PurePosixPath], bytes_max: int) -> list[Path]:
    """Unpacks files into a folder, each of them at once when it is whole. Whatever is not a plain file is refused."""
    try:
        return _unpack(archive, out, place, bytes_max)
    except tarfile.TarError as error:
        raise UntrustedResultError(f"the archive of the results cannot be read: {error}") from error


def _unpack(archive: BinaryIO, out: Path, place: Callable[[str], PurePosixPath], bytes_max: int) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    left = bytes_max
    with tempfile.TemporaryDirectory(prefix=".gleaner-", dir=out) as scratch, tarfile.open(fileobj=archive, mode="r|") as tar:
        for member in _members(tar):
            left -= member.size
            if left < 0:
                raise UntrustedResultError(f"the results are larger than the {bytes_max} bytes that they may have")
            if len(written) >= _FILES_MAX:
                raise UntrustedResultError(f"there are more than {_FILES_MAX} results")
            target = out / place(member.name)
            part = Path(scratch) / "part"
            _write(tar, member, part)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                part.replace(target)
            except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                raise UntrustedResultError(f"{member.name!r} is in the way of another file of that name") from error
            written.append(target)
    return written


def _members(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (member := tar.next()) is not None:
        # What was read is not needed again, and there may be a million of them.
        tar.members = []  # type: ignore[attr-defined]
        if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise UntrustedResultError(f"{member.name!r} is no plain file")
        yield member


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, part: Path) -> None:
    content = tar.extractfile(member)
    assert content is not None, "it is a plain file"
    with part.open("wb") as file:
        while piece := content.read(_PIECE_BYTES):
            file.write(piece)
        if file.tell() != member.size:
            raise tarfile.ReadError(f"{member.name} breaks off")


async def arriving(pieces: AsyncIterator[bytes], read: Callable[[BinaryIO], list[Path]]) -> list[Path]:
    """Gives what arrives to a reader in a thread of its own, no faster than it reads."""
    loop = asyncio.get_running_loop()
    read_end, write_end = os.pipe()
    # A thread for each end, so that neither ever waits for a turn that the other one has.
    with contextlib.ExitStack() as ending:
        reader, writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        ending.callback(reader.shutdown, wait=False)
        ending.callback(writer.shutdown, wait=False)
        unpacking = loop.run_in_executor(reader, _read_all, read_end, read)
        try:
            async for piece in pieces:
                await loop.run_in_executor(writer, _write_all, write_end, piece)
        except BrokenPipeError:
            # The reader has enough of it, and says why.
            pass
        except BaseException:
            writer.submit(os.close, write_end)
            write_end = -1
            # Nobody may write into the folder any more when it is tried again.
            with contextlib.suppress(Exception):
                await unpacking
            raise
        finally:
            if write_end >= 0:
                # After whatever is being written.
                writer.submit(os.close, write_end)
        return await unpacking


def _read_all(end: int, read: Callable[[BinaryIO], list[Path]]) -> list[Path]:
    with os.fdopen(end, "rb") as file:
        found = read(file)
        # What follows the end of an archive means nothing, and is read for whoever still writes it.
        while file.read(_PIECE_BYTES):
            pass
        return found


def _write_all(end: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(end, view) :]
