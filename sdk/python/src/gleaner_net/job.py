"""Jobs that were submitted: how they stand, what they say, what they delivered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import BinaryIO

from . import loop
from .archive import BYTES_MAX, arriving, places, unpack
from .errors import HubError
from .feed import Feed
from .follow import ended, follow
from .hub import Hub, path_of
from .progress import progress as progress_of
from .views import JobStatus, LogLine, ResultFile, explained

_PAGE = 200
_LOG_SILENCE_MAX = 3600.0
_FILE_BYTES_MAX = 16 << 30


class Job:
    """A job on a hub. Each method has an async twin whose name begins with `a`."""

    def __init__(self, hub: Hub, number: int) -> None:
        self._hub = hub
        self.number = number

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.number})"

    def status(self) -> JobStatus:
        """How it stands now."""
        return loop.wait(self._status())

    async def astatus(self) -> JobStatus:
        return await loop.on_loop(self._status())

    async def _status(self) -> JobStatus:
        return JobStatus.of(await self._hub.get(path_of("jobs", self.number)))

    def finish(self, *, progress: bool | None = None) -> JobStatus:
        """Waits until it is done. Raises if it failed or was cancelled."""
        return loop.wait(self._finish(progress))

    async def afinish(self, *, progress: bool | None = None) -> JobStatus:
        return await loop.on_loop(self._finish(progress))

    async def _finish(self, wanted: bool | None) -> JobStatus:
        shown = progress_of(wanted)
        try:
            async with aclosing(follow(self._hub, self.number)) as looks:
                async for status in looks:
                    shown.show(status)
        finally:
            shown.close()
        if status.state != "done":
            raise ended(status)
        return status

    def cancel(self) -> bool:
        """Stops it. False if it had ended already."""
        return loop.wait(self._cancel())

    async def acancel(self) -> bool:
        return await loop.on_loop(self._cancel())

    async def _cancel(self) -> bool:
        # Sent again after a lost line, it finds the job cancelled, which is as well.
        answer = await self._hub.request(
            "POST",
            path_of("jobs", self.number, "cancel"),
            accept=frozenset({409}),
            may_repeat=True,
        )
        return answer.status_code != 409

    def explain(self) -> str:
        """Why its tasks wait, or run where they run, in words."""
        return loop.wait(self._explain())

    async def aexplain(self) -> str:
        return await loop.on_loop(self._explain())

    async def _explain(self) -> str:
        return explained(await self._hub.get(path_of("jobs", self.number, "explain")))

    def logs(self, *, follow: bool = False) -> Iterator[LogLine]:
        """What its tasks have printed so far; followed, also what they will, until it ends."""
        return self._logs(follow).values()

    def alogs(self, *, follow: bool = False) -> AsyncIterator[LogLine]:
        return self._logs(follow).avalues()

    def _logs(self, is_followed: bool) -> Feed[LogLine]:
        async def produce(put: Callable[[LogLine], Awaitable[None]]) -> None:
            path = path_of("jobs", self.number, "logs")
            asked = {"follow": "true" if is_followed else "false"}
            async with self._hub.stream(path, asked, _LOG_SILENCE_MAX) as lines:
                async for line in lines.aiter_lines():
                    if line.strip():
                        await put(LogLine.of(_object(line)))

        return Feed(produce)

    def files(self) -> list[ResultFile]:
        """The files that it has delivered so far."""
        return loop.wait(self._files())

    async def afiles(self) -> list[ResultFile]:
        return await loop.on_loop(self._files())

    async def _files(self) -> list[ResultFile]:
        files: list[ResultFile] = []
        params: dict[str, str | int] = {"limit": _PAGE}
        while True:
            page = await self._hub.get(path_of("desk", "jobs", self.number, "results"), **params)
            files += [ResultFile.of(item) for item in page.get("items", [])]
            if not page.get("next"):
                return files
            params["cursor"] = str(page["next"])

    def read(self, file: ResultFile) -> bytes:
        """What is in a file that it delivered."""
        return loop.wait(self._read(file))

    async def aread(self, file: ResultFile) -> bytes:
        return await loop.on_loop(self._read(file))

    async def _read(self, file: ResultFile) -> bytes:
        path = path_of("desk", "jobs", self.number, "results", file.task, file.index, file.path)
        return await self._hub.fetch(path, _FILE_BYTES_MAX)

    def download(self, out: str | Path, *, bytes_max: int = BYTES_MAX) -> list[Path]:
        """Puts everything that it has delivered into a folder, as TASK/INDEX/PATH. Each file appears there when it is whole."""
        return loop.wait(self._download(Path(out), bytes_max))

    async def adownload(self, out: str | Path, *, bytes_max: int = BYTES_MAX) -> list[Path]:
        return await loop.on_loop(self._download(Path(out), bytes_max))

    async def _download(self, out: Path, bytes_max: int = BYTES_MAX) -> list[Path]:
        place = places(await self._hub.get(path_of("jobs", self.number)))

        def unpacked(archive: BinaryIO) -> list[Path]:
            return unpack(archive, out, place, bytes_max)

        return await self._hub.read(
            path_of("desk", "jobs", self.number, "archive"), lambda answer: arriving(answer.aiter_bytes(), unpacked)
        )


def _object(line: str) -> dict[str, object]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise HubError(200, "no-hub", "no hub answers here", "a line of the log is no JSON") from error
    return found if isinstance(found, dict) else {}
