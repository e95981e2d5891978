"""A job as it goes on: looked at whenever the hub says that something happened, and now and then if it says nothing."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

from .errors import GleanerError, HubError, JobCancelledError, JobFailedError, UnavailableError
from .hub import Hub, path_of
from .job_file import TASK
from .views import JobStatus

T = TypeVar("T")

# While the hub tells what happens, looking is for what got lost on the way.
_LOOK_EVERY = 10.0
_LOOK_EVERY_UNTOLD = 1.0
# Looks are not more frequent than this, whatever is told.
_LOOK_GAP = 0.1
_SILENCE_MAX = 75.0
_RETRY_AFTER = 2.0
# How long a hub may be away.
_OUTAGE_MAX = 600.0
_PAGE = 10_000
_FETCHED_TOGETHER = 8
_RESULT = "result"


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Asks until the hub answers: a job goes on while its hub is started again."""
    deadline = time.monotonic() + _OUTAGE_MAX
    while True:
        try:
            return await ask()
        except UnavailableError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_RETRY_AFTER)


class _Ear:
    """Listens for events of one job."""

    def __init__(self, hub: Hub, job: int) -> None:
        self._hub = hub
        self._job = job
        self._rung = asyncio.Event()
        self._is_told = False

    async def listen(self) -> None:
        while True:
            with contextlib.suppress(HubError):
                async with self._hub.stream("/live/events", {"watch": f"job:{self._job}"}, _SILENCE_MAX) as events:
                    self._is_told = True
                    async for line in events.aiter_lines():
                        if line.startswith("data:"):
                            self._rung.set()
            self._is_told = False
            await asyncio.sleep(_RETRY_AFTER)

    async def wait(self) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._rung.wait(), _LOOK_EVERY if self._is_told else _LOOK_EVERY_UNTOLD)
        await asyncio.sleep(_LOOK_GAP)
        self._rung.clear()


async def follow(hub: Hub, job: int) -> AsyncGenerator[JobStatus, None]:
    """How a job stands, again and again until it has ended."""
    ear = _Ear(hub, job)
    listening = asyncio.ensure_future(ear.listen())
    try:
        while True:
            status = JobStatus.of(await patiently(lambda: hub.get(path_of("jobs", job))))
            yield status
            if status.has_ended:
                return
            await ear.wait()
    finally:
        listening.cancel()


class Elements:
    """The results of all calls of a job, each as soon as it is there."""

    def __init__(self, hub: Hub, job: int, count: int, bytes_max: int, looked: Callable[[JobStatus], None]) -> None:
        self._hub = hub
        self._job = job
        self._pending = set(range(count))
        self._bytes_max = bytes_max
        self._looked = looked

    async def produce(self, put: Callable[[tuple[int, bytes]], Awaitable[None]]) -> None:
        """Puts what each call left, in the order in which they end."""
        turns = asyncio.Semaphore(_FETCHED_TOGETHER)
        fetching: set[asyncio.Task[None]] = set()

        async def fetch(index: int) -> None:
            async with turns:
                path = path_of("desk", "jobs", self._job, "results", TASK, index, _RESULT)
                await put((index, await patiently(lambda: self._hub.fetch(path, self._bytes_max))))

        seen, status = 0, None
        try:
            async with aclosing(follow(self._hub, self._job)) as looks:
                async for status in looks:
                    self._looked(status)
                    if status.done > seen or status.has_ended:
                        seen = status.done
                        fetching |= {asyncio.ensure_future(fetch(index)) for index in await patiently(self._arrived)}
                    for task in [task for task in fetching if task.done()]:
                        fetching.discard(task)
                        await task
            await asyncio.gather(*fetching)
        finally:
            for task in fetching:
                task.cancel()
        if self._pending and status is not None:
            raise ended(status)

    async def _arrived(self) -> list[int]:
        """Elements that have a result now and had none before."""
        new: set[int] = set()
        # Cursors of the first task are the elements' own numbers.
        cursor: int | None = min(self._pending, default=None)
        while cursor is not None:
            asked: dict[str, str | int] = {"task": TASK, "from": cursor, "limit": _PAGE}
            page = await self._hub.get(path_of("jobs", self._job, "results"), **asked)
            new |= {result.get("index") for result in page.get("results", [])} & self._pending
            cursor = page.get("next")
        # Only now: what broke off before is asked for again.
        self._pending -= new
        return sorted(new)


def ended(status: JobStatus) -> GleanerError:
    """Why a job that has ended has no more results."""
    if status.state == "cancelled":
        return JobCancelledError(status.job)
    reason = status.reason or "it ended without all of its results"
    # The hub's reason is short; what the program said last is in the newest failure.
    if status.failures and status.failures[-1] not in reason:
        reason = f"{reason}\n{status.failures[-1]}"
    return JobFailedError(status.job, reason, status.cause, status.task)
