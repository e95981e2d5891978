"""A hub, as a program uses it: quotes, job files, jobs, files, money."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any

from . import loop
from .files import bring, remove
from .hub import Hub
from .job import Job
from .job_file import Prefer, Written, read
from .settings import find
from .views import Quote

_TIMEOUT = 30.0
# The desk reads and seals all files of a job before it answers.
_PACKING_TIME_MAX = 1800.0


@dataclass(frozen=True)
class Wallet:
    """What an account has, in GLN."""

    #: Who it is to the hub.
    address: str
    #: In its own hands, free for orders, and in open orders.
    balance: Decimal
    deposited: Decimal
    locked: Decimal


class Client:
    """A hub, as the holder of a token sees it. Each method has an async twin whose name begins with `a`."""

    def __init__(
        self,
        hub: str | None = None,
        token: str | None = None,
        *,
        requester: str | None = None,
        timeout: float = _TIMEOUT,
        allow_http: bool = False,
    ) -> None:
        self.settings = find(hub, token, requester, allow_http=allow_http)
        self.hub = Hub(self.settings, timeout)

    def __repr__(self) -> str:
        return f"Client({self.settings.hub!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def close(self) -> None:
        """Closes its connections."""
        loop.wait(self.hub.close())

    async def aclose(self) -> None:
        await loop.on_loop(self.hub.close())

    def quote(self, job_file: str | Path) -> Quote:
        """What a job file would cost. Its files are uploaded; nothing is submitted."""
        return loop.wait(self._quote(Path(job_file)))

    async def aquote(self, job_file: str | Path) -> Quote:
        return await loop.on_loop(self._quote(Path(job_file)))

    def submit(self, job_file: str | Path, *, choice: Prefer | None = None, quote: Quote | None = None) -> Job:
        """Submits a job file with the files that it names, and does not wait for it; with a quote, for its binding price."""
        return loop.wait(self._submit(Path(job_file), choice, quote))

    async def asubmit(self, job_file: str | Path, *, choice: Prefer | None = None, quote: Quote | None = None) -> Job:
        return await loop.on_loop(self._submit(Path(job_file), choice, quote))

    def run(
        self,
        job_file: str | Path,
        *,
        out: str | Path | None = None,
        choice: Prefer | None = None,
        quote: Quote | None = None,
        progress: bool | None = None,
    ) -> Job:
        """Submits a job file, waits until it is done, and puts what it delivered into the folder `out`, if one is named."""
        return loop.wait(self._run(Path(job_file), out, choice, quote, progress))

    async def arun(
        self,
        job_file: str | Path,
        *,
        out: str | Path | None = None,
        choice: Prefer | None = None,
        quote: Quote | None = None,
        progress: bool | None = None,
    ) -> Job:
        return await loop.on_loop(self._run(Path(job_file), out, choice, quote, progress))

    def job(self, number: int) -> Job:
        """A job that was submitted before."""
        return Job(self.hub, number)

    def wallet(self) -> Wallet:
        """What the account has."""
        return loop.wait(self._wallet())

    async def awallet(self) -> Wallet:
        return await loop.on_loop(self._wallet())

    def uploads(self) -> dict[str, int]:
        """What lies among the account's files, with the bytes that it takes: images, packages, files of jobs."""
        return loop.wait(self._uploads())

    async def auploads(self) -> dict[str, int]:
        return await loop.on_loop(self._uploads())

    def remove_upload(self, name: str) -> None:
        """Removes it. What is needed again is uploaded again."""
        loop.wait(remove(self.hub, name))

    async def aremove_upload(self, name: str) -> None:
        await loop.on_loop(remove(self.hub, name))

    # On the package's own loop.

    async def _brought(self, job_file: Path) -> Written:
        written = await asyncio.to_thread(read, job_file)
        if written.tree is not None:
            await bring(self.hub, written.tree)
        return written

    async def _quote(self, job_file: Path) -> Quote:
        written = await self._brought(job_file)
        return await self.ask_quote(written.text, written.tree.name if written.tree is not None else None)

    async def _submit(self, job_file: Path, choice: Prefer | None, quote: Quote | None) -> Job:
        written = await self._brought(job_file)
        folder = written.tree.name if written.tree is not None else None
        return Job(self.hub, await self.order(written.text, folder, choice, quote))

    async def _run(
        self,
        job_file: Path,
        out: str | Path | None,
        choice: Prefer | None,
        quote: Quote | None,
        progress: bool | None,
    ) -> Job:
        job = await self._submit(job_file, choice, quote)
        await job._finish(progress)
        if out is not None:
            await job._download(Path(out))
        return job

    async def ask_quote(self, job: str, folder: str | None = None) -> Quote:
        """What a job would cost whose files are there. On the package's own loop only."""
        view = await self.hub.post("/desk/quote", _wanted(job, folder), timeout=_PACKING_TIME_MAX)
        return Quote.of(view)

    async def order(self, job: str, folder: str | None = None, choice: Prefer | None = None, quote: Quote | None = None) -> int:
        """Submits a job whose files are there, once, however often its answer gets lost. On the package's own loop only."""
        ordered = await self.hub.post(
            "/desk/jobs", _wanted(job, folder, choice, quote), key=uuid.uuid4().hex, timeout=_PACKING_TIME_MAX
        )
        return int(ordered["job"])

    async def _wallet(self) -> Wallet:
        view = await self.hub.get("/desk/wallet")
        balance, deposited, locked = (Decimal(str(view[name])) for name in ("balance", "deposited", "locked"))
        return Wallet(str(view["address"]), balance, deposited, locked)

    async def _uploads(self) -> dict[str, int]:
        listed = await self.hub.get("/files")
        return {str(tree["name"]): int(tree["bytes"]) for tree in listed.get("items", [])}


def _wanted(job: str, folder: str | None, choice: Prefer | None = None, quote: Quote | None = None) -> Mapping[str, Any]:
    named = quote.id if quote is not None else None
    wanted = {"job": job, "folder": folder, "choice": choice, "quote": named}
    return {name: value for name, value in wanted.items() if value is not None}


_lock = threading.Lock()
_default: Client | None = None


def default_client() -> Client:
    """The client of functions that name none: by the environment and the file of settings, made at first use."""
    global _default  # noqa: PLW0603 - one for the process
    with _lock:
        if _default is None:
            _default = Client()
        return _default
