"""Files on their way to the hub: trees that are named by what is in them, so that nothing is brought twice."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .errors import GleanerError, HubError
from .hub import Hub, path_of

Content: TypeAlias = bytes | Path

PIECE_BYTES = 8 << 20
_TOGETHER_MAX = 8
_RESUMES_MAX = 100
# Put last: where it lies, everything else does.
_MARK = ".uploaded"
_OFFSET = "upload-offset"
# Datasets know when their files were changed. Trees are named by what is in them and never change, and equal ones should be
# equal to the hub too: so it knows their results, and quotes for them, again.
_VERSION = {"modified": 1_000_000_000_000}


@dataclass(frozen=True)
class Tree:
    """Files by their paths, under a name that says what they are."""

    name: str
    files: Mapping[str, Content]

    @classmethod
    def of(cls, prefix: str, files: Mapping[str, Content]) -> Tree:
        """A tree with a name of its own. Reads all files."""
        digest = hashlib.sha256()
        for path, content in sorted(files.items()):
            digest.update(f"{path}\0{_digest(content)}\0".encode())
        return cls(f"{prefix}-{digest.hexdigest()[:32]}", files)


def _digest(content: Content) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    digest = hashlib.sha256()
    with content.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def below(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files below a folder, with their paths in it. A link that leads out of it is refused."""
    home = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not path.resolve().is_relative_to(home):
            raise GleanerError(f"{path} leads out of {folder}: put the file itself there")
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


async def bring(hub: Hub, tree: Tree) -> None:
    """Brings a tree to the hub, unless it is there."""
    there = await hub.request("HEAD", path_of("files", tree.name, _MARK), accept=frozenset({404}))
    if there.status_code != 404:
        return
    turns = asyncio.Semaphore(_TOGETHER_MAX)

    async def one(path: str, content: Content) -> None:
        async with turns:
            await _bring_file(hub, path_of("files", tree.name, path), content)

    tasks = [asyncio.ensure_future(one(path, content)) for path, content in tree.files.items()]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    await _bring_file(hub, path_of("files", tree.name, _MARK), b"")


async def _bring_file(hub: Hub, path: str, content: Content) -> None:
    if isinstance(content, Path):
        if content.stat().st_size > PIECE_BYTES:
            await _bring_pieces(hub, path, content)
            return
        content = await asyncio.to_thread(content.read_bytes)
    await hub.request("PUT", path, params=_VERSION, content=content)


async def _bring_pieces(hub: Hub, path: str, file: Path) -> None:
    """A large file in pieces. What is there of it already, from a line that broke, is not sent again."""
    total = file.stat().st_size
    arrived = await hub.request("HEAD", path, params=_VERSION, accept=frozenset({404}))
    if arrived.status_code != 404:
        return
    at = int(arrived.headers.get(_OFFSET, "0"))
    resumes = 0
    while at < total:
        piece = await asyncio.to_thread(_piece, file, at)
        sent = {"content-range": f"bytes {at}-{at + len(piece) - 1}/{total}"}
        answer = await hub.request("PUT", path, params=_VERSION, content=piece, headers=sent, accept=frozenset({409}))
        if answer.status_code == 409:
            # The piece was taken before its answer was lost, or another one has to come first.
            resumes += 1
            if _OFFSET not in answer.headers or resumes > _RESUMES_MAX:
                raise HubError(409, "offset", "the upload does not go on", f"{file} could not be brought to the hub")
            at = int(answer.headers[_OFFSET])
            if at == total:
                return
            continue
        at += len(piece)


def _piece(file: Path, at: int) -> bytes:
    with file.open("rb") as opened:
        opened.seek(at)
        piece = opened.read(PIECE_BYTES)
    if not piece:
        raise GleanerError(f"{file} became shorter while it was sent")
    return piece


async def remove(hub: Hub, name: str) -> None:
    """Removes a tree. That it was not there is no fault."""
    await hub.request("DELETE", path_of("files", name), accept=frozenset({404}))
