"""Calls of functions on other machines: what becomes of one, and of many."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from . import codec, loop
from .bundle import ResultsKind, python_version
from .errors import (
    GleanerError,
    PackageError,
    PythonVersionError,
    RemoteError,
    ResultTypeError,
    UntrustedResultError,
    remote_error,
)
from .feed import Feed
from .follow import Elements
from .hub import Hub
from .job import Job
from .progress import Progress
from .progress import progress as progress_of
from .views import Quote

R = TypeVar("R")

# What a result has beside its value: the head, and what little the encoding adds.
_MORE_BYTES = 1 << 20


@dataclass(frozen=True)
class Reading:
    """How results are read."""

    kind: ResultsKind
    known: Mapping[str, type]
    bytes_max: int
    image: str

    def value(self, content: bytes, index: int) -> Any:
        """The value that a call left, or the error for why it left none."""
        try:
            envelope = codec.decode(content, self.known)
        except codec.DecodeError as error:
            raise UntrustedResultError(f"the result of call {index} is refused: {error}") from error
        if envelope.kind == "value":
            return envelope.content
        if envelope.kind == "pickle" and self.kind == "pickle" and isinstance(envelope.content, bytes):
            return pickle.loads(envelope.content)
        if not isinstance(envelope.content, dict):
            raise UntrustedResultError(f"the result of call {index} is refused: it is not what was asked for")
        words = {str(name): codec.plain(str(text)) for name, text in envelope.content.items()}
        raise self.failure(envelope.kind, words, index)

    def failure(self, kind: str, words: Mapping[str, str], index: int) -> GleanerError:
        found = words.get("found", "")
        match kind:
            case "error":
                return remote_error(words.get("type", ""), _message(words), words.get("traceback", ""), index)
            case "type":
                return ResultTypeError(words.get("message", ""))
            case "version":
                return PythonVersionError(
                    f"this is {python_version()}, and the image {self.image} has {found}: "
                    "choose an image with the same minor version (image=…), or run this program with that Python"
                )
            case "machine":
                return PackageError(
                    f"the packages are for another machine than the worker's, which is a {found}: say machine=…"
                )
        return UntrustedResultError(f"the result of call {index} is refused: `{kind[:40]}` is not known")


def _message(words: Mapping[str, str]) -> str:
    message, missing = words.get("message", ""), words.get("missing")
    if missing is None:
        return message
    return f"{message}: it is not in the image. Name it in packages=[…], or in modules=[…] if it is yours"


@dataclass(frozen=True)
class Started:
    """Calls that were submitted."""

    hub: Hub
    job: int
    count: int
    reading: Reading

    def feed(self, shown: Progress, stopped: Callable[[], Coroutine[Any, Any, None]] | None) -> Feed[tuple[int, bytes]]:
        bytes_max = self.reading.bytes_max + _MORE_BYTES
        return Feed(Elements(self.hub, self.job, self.count, bytes_max, shown.show).produce, stopped)


class Call(Job, Generic[R]):
    """One call that was submitted."""

    def __init__(self, started: Started) -> None:
        super().__init__(started.hub, started.job)
        self._started = started
        self._content: bytes | None = None

    def result(self, timeout: float | None = None, *, progress: bool | None = False) -> R:
        """Waits for the value. What the function raised is raised here, as a `RemoteError`."""
        return self._value(loop.wait(self._wait(progress), timeout))

    async def aresult(self, *, progress: bool | None = False) -> R:
        return self._value(await loop.on_loop(self._wait(progress)))

    def _value(self, content: bytes) -> R:
        value: R = self._started.reading.value(content, 0)
        return value

    async def _wait(self, wanted: bool | None) -> bytes:
        if self._content is None:
            shown = progress_of(wanted)
            feed = self._started.feed(shown, None)
            try:
                found = await feed.next()
                # The end belongs to it, so that the last look is shown too.
                await feed.next()
            finally:
                await feed.close()
                shown.close()
            assert found is not None, "a job without its result raises"
            self._content = found[0][1]
        return self._content


class Results(Generic[R]):
    """The results of many calls, as they come. To be iterated once, with `for` or `async for`.

    The job is submitted when the iteration begins. Whoever leaves it before its end cancels what has not run yet.
    """

    def __init__(
        self,
        start: Callable[[], Coroutine[Any, Any, Started | None]],
        quote: Callable[[], Coroutine[Any, Any, Quote]],
        *,
        ordered: bool,
        return_exceptions: bool,
        progress: bool | None,
    ) -> None:
        self._start = start
        self._quote = quote
        self._is_ordered = ordered
        self._returns_exceptions = return_exceptions
        self._progress = progress
        self._has_begun = False
        #: The job, once the iteration has begun.
        self.job: Job | None = None

    def quote(self) -> Quote:
        """What all of it would cost. Nothing is submitted."""
        return loop.wait(self._quote())

    async def aquote(self) -> Quote:
        return await loop.on_loop(self._quote())

    def cancel(self) -> bool:
        """Stops what has not run yet. False if it had ended, or was never begun."""
        return self.job.cancel() if self.job is not None else False

    async def acancel(self) -> bool:
        return await self.job.acancel() if self.job is not None else False

    def __iter__(self) -> Iterator[R]:
        self._begin()
        started = loop.wait(self._start())
        if started is None:
            return
        feed, shown, sorting = self._open(started)
        values = feed.values()
        try:
            for index, content in values:
                yield from sorting.put(index, self._outcome(started, content, index))
        finally:
            values.close()
            shown.close()

    async def __aiter__(self) -> AsyncIterator[R]:
        self._begin()
        started = await loop.on_loop(self._start())
        if started is None:
            return
        feed, shown, sorting = self._open(started)
        values = feed.avalues()
        try:
            async for index, content in values:
                for value in sorting.put(index, self._outcome(started, content, index)):
                    yield value
        finally:
            await values.aclose()
            shown.close()

    def _begin(self) -> None:
        if self._has_begun:
            raise GleanerError("these results were iterated before: keep them in a list, or call map again")
        self._has_begun = True

    def _open(self, started: Started) -> tuple[Feed[tuple[int, bytes]], Progress, _Sorting]:
        job = Job(started.hub, started.job)
        self.job = job

        async def stopped() -> None:
            # What is not wanted any more is not paid for any more.
            await asyncio.shield(job._cancel())

        shown = progress_of(self._progress)
        return started.feed(shown, stopped), shown, _Sorting(self._is_ordered)

    def _outcome(self, started: Started, content: bytes, index: int) -> Any:
        try:
            return started.reading.value(content, index)
        except (RemoteError, ResultTypeError, UntrustedResultError) as error:
            if not self._returns_exceptions:
                raise
            return error


class _Sorting:
    """Puts values back into the order of their calls, if that is wanted."""

    def __init__(self, is_ordered: bool) -> None:
        self._is_ordered = is_ordered
        self._early: dict[int, Any] = {}
        self._next = 0

    def put(self, index: int, value: Any) -> Iterator[Any]:
        if not self._is_ordered:
            yield value
            return
        self._early[index] = value
        while self._next in self._early:
            yield self._early.pop(self._next)
            self._next += 1
