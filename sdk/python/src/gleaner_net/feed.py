"""Values that a task on the package's own loop produces, for readers on any thread or any other loop."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from . import loop

T = TypeVar("T")

# Values that wait for their reader; then the producer waits.
_WAITING_MAX = 64
_END_TIME_MAX = 10.0
_open: weakref.WeakSet[Feed[Any]] = weakref.WeakSet()


class Feed(Generic[T]):
    """A producer and its queue. `stopped` is done if the reader leaves before the producer has ended."""

    def __init__(
        self,
        produce: Callable[[Callable[[T], Awaitable[None]]], Coroutine[Any, Any, None]],
        stopped: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        self._produce = produce
        self._stopped = stopped
        self._queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue(_WAITING_MAX)
        self._task: asyncio.Task[None] | None = None
        self._has_ended = False

    async def next(self) -> tuple[T] | None:
        """The next value, or nothing at the end; what the producer raised is raised after its values."""
        if self._task is None:
            _open.add(self)
            self._task = asyncio.ensure_future(self._run())
        found = await self._queue.get()
        if found is None:
            self._has_ended = True
            _open.discard(self)
            await self._task
        return found

    async def _run(self) -> None:
        try:
            await self._produce(lambda value: self._queue.put((value,)))
        finally:
            # A reader that has left reads nothing any more.
            with contextlib.suppress(asyncio.CancelledError):
                await self._queue.put(None)

    async def close(self) -> None:
        """Ends the producer, if the reader leaves before it has."""
        _open.discard(self)
        if self._has_ended or self._task is None:
            return
        self._has_ended = True
        self._task.cancel()
        while not self._queue.empty():
            self._queue.get_nowait()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self._task
        if self._stopped is not None:
            await self._stopped()

    def values(self) -> Generator[T, None, None]:
        """For readers that wait."""
        try:
            while (found := loop.wait(self.next())) is not None:
                yield found[0]
        finally:
            loop.wait(self.close())

    async def avalues(self) -> AsyncGenerator[T, None]:
        """For readers on a loop of their own."""
        try:
            while (found := await loop.on_loop(self.next())) is not None:
                yield found[0]
        finally:
            await loop.on_loop(self.close())


@atexit.register
def _close_all() -> None:
    """A program that ends in the middle of a loop has left it too."""
    for feed in list(_open):
        with contextlib.suppress(Exception):
            loop.wait(feed.close(), timeout=_END_TIME_MAX)
