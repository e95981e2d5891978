"""One event loop in a thread of its own, on which everything happens. Sync callers wait for it, async callers await it.

So there is one way to do each thing, notebooks (whose thread has a loop already) work, and connections are shared.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Loop:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="gleaner", daemon=True)
        self.thread.start()


_lock = threading.Lock()
_current: _Loop | None = None


def _loop() -> _Loop:
    global _current  # noqa: PLW0603 - one for the process
    with _lock:
        # Threads do not survive a fork, so that a child needs one of its own.
        if _current is None or _current.pid != os.getpid():
            _current = _Loop()
        return _current


def wait(work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
    """Does something and waits for it. Whoever is interrupted meanwhile interrupts it too."""
    future = asyncio.run_coroutine_threadsafe(work, _loop().loop)
    try:
        return future.result(timeout)
    except BaseException:
        future.cancel()
        raise


async def on_loop(work: Coroutine[Any, Any, T]) -> T:
    """Does something on the package's own loop, from any other one."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _loop().loop))
