"""What can go wrong, and what it carries for whoever catches it."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any


class GleanerError(Exception):
    """Everything that this package raises by itself."""


class ConfigError(GleanerError):
    """It is not known which hub to ask, or with which token."""


class PackageError(GleanerError):
    """The packages of a function could not be had for its machines."""


class ImageError(GleanerError):
    """The image of a function could not be found."""


class HubError(GleanerError):
    """The hub said no. `code` is a stable word for programs, `detail` the reason and what to do."""

    def __init__(self, status: int, code: str, title: str, detail: str, at: str | None = None, line: int | None = None) -> None:
        place = f" (line {line})" if line is not None else f" ({at})" if at else ""
        super().__init__(f"{detail or title}{place}")
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.at = at
        self.line = line


class UnauthorizedError(HubError):
    """The hub does not know the token."""


class ForbiddenError(HubError):
    """The token is not good for this: it lacks a scope, or may not spend as much."""


class JobRefusedError(HubError):
    """The job makes no sense to the hub."""


class NotEnoughMoneyError(HubError):
    """The account has less than the job may cost."""


class NotFoundError(HubError):
    """There is no such thing, or it is somebody else's."""


class UnavailableError(HubError):
    """The hub does not answer, also after it was asked again and again."""


class JobError(GleanerError):
    """A job ended without all of its results."""

    def __init__(self, job: int, message: str) -> None:
        super().__init__(message)
        self.job = job


class JobFailedError(JobError):
    """A job failed. `cause` is a stable word such as `out_of_memory`, and `task` the element, as `name[index]`."""

    def __init__(self, job: int, reason: str, cause: str | None = None, task: str | None = None) -> None:
        super().__init__(job, f"job {job} failed{f' at {task}' if task else ''}: {reason}")
        self.reason = reason
        self.cause = cause
        self.task = task


class JobCancelledError(JobError):
    """A job was cancelled before this result was there."""

    def __init__(self, job: int) -> None:
        super().__init__(job, f"job {job} was cancelled")


class ResultTypeError(GleanerError):
    """What a function returned does not travel in the safe encoding."""


class UntrustedResultError(GleanerError):
    """What came back is not what an honest machine sends. Nothing of it was executed."""


class PythonVersionError(GleanerError):
    """The Python of the image is another than the one that the function was pickled with."""


class RemoteTraceback(Exception):  # noqa: N818 - it is shown as the cause of an error, and is none itself
    """The traceback on the machine where the function ran, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n\n{self.text}"


class RemoteError(GleanerError):
    """The function raised an exception where it ran.

    If that was one of Python's common exceptions, this is one too: a remote `ValueError` is caught by `except ValueError`.
    """

    def __init__(self, type_name: str, message: str, traceback: str, index: int) -> None:
        Exception.__init__(self, type_name, message, traceback, index)
        #: The name of the exception's class, with its module unless that is `builtins`.
        self.type_name = type_name
        #: What the exception said.
        self.message = message
        #: The formatted traceback of the machine where it was raised.
        self.remote_traceback = traceback
        #: Which element it was: the position among the arguments of `map`, 0 for a single call.
        self.index = index

    def __str__(self) -> str:
        return f"{self.type_name}: {self.message}" if self.message else self.type_name

    def __reduce__(self) -> tuple[Any, ...]:
        return remote_error, (self.type_name, self.message, self.remote_traceback, self.index)


# Exceptions that are made of a message alone, so that ours may be one of them as well.
_COMMON = frozenset(
    [
        "ArithmeticError",
        "AssertionError",
        "AttributeError",
        "BufferError",
        "EOFError",
        "FloatingPointError",
        "IndexError",
        "KeyError",
        "LookupError",
        "MemoryError",
        "NotImplementedError",
        "OverflowError",
        "RecursionError",
        "ReferenceError",
        "RuntimeError",
        "TypeError",
        "ValueError",
        "ZeroDivisionError",
    ]
)
_CLASSES: dict[str, type[RemoteError]] = {}


def remote_error(type_name: str, message: str, traceback: str, index: int) -> RemoteError:
    """The error for an exception that was raised elsewhere, with the traceback as its cause."""
    cls = RemoteError
    # StopIteration is none of them: raised here, it would end loops silently.
    if type_name in _COMMON:
        cls = _CLASSES.setdefault(type_name, _both(type_name))
    error = cls(type_name, message, traceback, index)
    error.__cause__ = RemoteTraceback(traceback)
    return error


def _both(type_name: str) -> type[RemoteError]:
    base: type[Exception] = getattr(builtins, type_name)
    return type(f"Remote{type_name}", (RemoteError, base), {"__doc__": f"A `{type_name}` that was raised elsewhere."})


def of_problem(status: int, problem: Mapping[str, Any]) -> HubError:
    """The error for a hub's `application/problem+json`."""

    def text(name: str) -> str:
        value = problem.get(name)
        return value if isinstance(value, str) else ""

    code = text("code") or text("type")
    line = problem.get("line")
    return _class_of(status, code)(
        status,
        code,
        text("title") or f"the hub answered with status {status}",
        text("detail"),
        text("at") or None,
        line if isinstance(line, int) else None,
    )


def _class_of(status: int, code: str) -> type[HubError]:
    if code == "job-refused":
        return JobRefusedError
    by_status: dict[int, type[HubError]] = {
        401: UnauthorizedError,
        402: NotEnoughMoneyError,
        403: ForbiddenError,
        404: NotFoundError,
        422: JobRefusedError,
        429: UnavailableError,
        503: UnavailableError,
    }
    return by_status.get(status, HubError)
