"""What the hub says, as types."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Generic, TypeVar

from .codec import plain

_ENDED = ("done", "cancelled", "failed")


def _text(view: Mapping[str, Any], name: str) -> str:
    value = view.get(name)
    return plain(value) if isinstance(value, str) else ""


def _whole(view: Mapping[str, Any], name: str) -> int:
    value = view.get(name)
    return value if isinstance(value, int) else 0


def _amount(view: Mapping[str, Any], name: str) -> Decimal | None:
    value = view.get(name)
    try:
        return Decimal(value) if isinstance(value, str) else None
    except InvalidOperation:
        return None


def _items(view: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = view.get(name)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


@dataclass(frozen=True)
class JobStatus:
    """Where a job stands."""

    job: int
    name: str
    #: `ordered`, `running`, `done`, `cancelled` or `failed`.
    state: str
    tasks: int
    done: int
    #: How many of those needed no run, because the result was known.
    known: int
    running: int
    #: How many attempts failed or were lost so far.
    retried: int
    #: What was paid so far, and what it may cost at most, in GLN.
    spent: Decimal
    price_max: Decimal
    #: Why it failed, if it did, with the cause as a stable word and the element as `name[index]`.
    reason: str = ""
    cause: str | None = None
    task: str | None = None
    #: What attempts failed with, the newest last.
    failures: tuple[str, ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.state in _ENDED

    @classmethod
    def of(cls, view: Mapping[str, Any]) -> JobStatus:
        failures = (
            f"{_text(one, 'task')} on {_text(one, 'worker')}: {_text(one, 'detail')}" for one in _items(view, "failures")
        )
        return cls(
            job=_whole(view, "id"),
            name=_text(view, "name"),
            state=_text(view, "state"),
            tasks=_whole(view, "tasks"),
            done=_whole(view, "done"),
            known=_whole(view, "known"),
            running=_whole(view, "running"),
            retried=_whole(view, "retried"),
            spent=_amount(view, "spent") or Decimal(0),
            price_max=_amount(view, "price_max") or Decimal(0),
            reason=_text(view, "reason"),
            cause=_text(view, "cause") or None,
            task=_text(view, "task") or None,
            failures=tuple(failures),
        )


T = TypeVar("T")


@dataclass(frozen=True)
class Range(Generic[T]):
    """What is expected, and between what eight of ten such jobs end."""

    low: T
    expected: T
    high: T


@dataclass(frozen=True)
class Binding:
    """A price that the hub has promised: a job that is ordered by it costs no more, whatever happens."""

    price: Decimal
    until: datetime.datetime


@dataclass(frozen=True)
class Choice:
    """What a job would cost and when it would be done, if price, time, or both alike mattered."""

    #: `cheap`, `balanced` or `fast`.
    name: str
    #: What it should cost, in GLN, and how long it should take; none while nothing like it has run.
    price: Range[Decimal] | None = None
    finish: Range[datetime.timedelta] | None = None
    #: How sure that is: `unknown`, `guess`, `rough`, `fair` or `good`.
    sure: str = "unknown"
    #: Why it is as sure as that, in words, and on how many earlier tasks it rests.
    why: str = ""
    rests_on: int = 0
    #: What it can be ordered for; none where nothing is known, or where that is over `price_max`.
    binding: Binding | None = None

    @classmethod
    def of(cls, view: Mapping[str, Any]) -> Choice:
        return cls(
            name=_text(view, "name"),
            price=_range(view.get("price"), _amount),
            finish=_range(view.get("finish_ms"), _span),
            sure=_text(view, "sure") or "unknown",
            why=_text(view, "why"),
            rests_on=_whole(view, "rests_on"),
            binding=_binding(view.get("binding")),
        )


def _range(view: Any, read: Callable[[Mapping[str, Any], str], T | None]) -> Range[T] | None:
    if not isinstance(view, Mapping):
        return None
    low, expected, high = (read(view, name) for name in ("low", "expected", "high"))
    return None if low is None or expected is None or high is None else Range(low, expected, high)


def _span(view: Mapping[str, Any], name: str) -> datetime.timedelta:
    return datetime.timedelta(milliseconds=_whole(view, name))


def _moment(view: Mapping[str, Any], name: str) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(_whole(view, name) / 1000, datetime.timezone.utc)


def _binding(view: Any) -> Binding | None:
    price = _amount(view, "price") if isinstance(view, Mapping) else None
    return None if price is None else Binding(price, _moment(view, "until"))


@dataclass(frozen=True)
class Quote:
    """What a job would cost. Nothing is paid yet."""

    #: What names the quote at the hub.
    id: str
    name: str
    tasks: int
    #: What it never costs more than, in GLN, also where no price is binding.
    cap: Decimal
    cheap: Choice
    balanced: Choice
    fast: Choice
    #: Why nobody could take one of its tasks now; empty if somebody could.
    reasons: tuple[str, ...]

    @property
    def is_possible(self) -> bool:
        """Whether somebody could take each of its tasks now."""
        return not self.reasons

    @classmethod
    def of(cls, view: Mapping[str, Any]) -> Quote:
        choices = {choice.name: choice for choice in map(Choice.of, _items(view, "choices"))}
        cheap, balanced, fast = (choices.get(name) or Choice(name) for name in ("cheap", "balanced", "fast"))
        return cls(
            id=_text(view, "quote"),
            name=_text(view, "name"),
            tasks=_whole(view, "tasks"),
            cap=_amount(view, "cap") or Decimal(0),
            cheap=cheap,
            balanced=balanced,
            fast=fast,
            reasons=tuple(_text(one, "text") for one in _items(view, "reasons")),
        )


@dataclass(frozen=True)
class LogLine:
    """Something that a task printed, or that its worker says of it."""

    at: datetime.datetime
    #: The element, as `name[index]`.
    task: str
    worker: str
    text: str

    @classmethod
    def of(cls, view: Mapping[str, Any]) -> LogLine:
        return cls(_moment(view, "at"), _text(view, "task"), _text(view, "worker"), _text(view, "text"))


@dataclass(frozen=True)
class ResultFile:
    """A file that a job delivered."""

    task: str
    index: int
    path: str
    bytes: int
    #: `image`, `text`, `table` or `other`.
    kind: str

    @classmethod
    def of(cls, view: Mapping[str, Any]) -> ResultFile:
        task, path = view.get("task"), view.get("path")
        index, length = _whole(view, "index"), _whole(view, "bytes")
        return cls(str(task), index, str(path), length, _text(view, "kind"))


def explained(view: Mapping[str, Any]) -> str:
    """Why a job stands where it stands, in words."""
    lines = [f"{_text(one, 'task')} runs on {_text(one, 'worker')}: {_text(one, 'why')}" for one in _items(view, "running")]
    for waiting in _items(view, "waiting"):
        lines.append(f"{_whole(waiting, 'queued')} of {_text(waiting, 'task')} wait:")
        lines += [f"  {_text(reason, 'text')}" for reason in _items(waiting, "reasons")]
    return "\n".join(lines) or f"it is {_text(view, 'state')}"
