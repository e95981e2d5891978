"""What the hub says, as types."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

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
            running=_whole(view, "running"),
            retried=_whole(view, "retried"),
            spent=_amount(view, "spent") or Decimal(0),
            price_max=_amount(view, "price_max") or Decimal(0),
            reason=_text(view, "reason"),
            cause=_text(view, "cause") or None,
            task=_text(view, "task") or None,
            failures=tuple(failures),
        )


@dataclass(frozen=True)
class Choice:
    """What a job would cost and when it would be done, if price, time, or both alike mattered."""

    #: `cheap`, `balanced` or `fast`.
    name: str
    #: What it should cost, in GLN; none while nothing like it has run.
    price: Decimal | None
    #: What it never costs more than.
    cap: Decimal
    #: How long it should take, from and to.
    finish: tuple[datetime.timedelta, datetime.timedelta] | None
    #: On how many earlier tasks that rests, and why it is as sure as that, in words.
    rests_on: int
    why: str

    @classmethod
    def of(cls, view: Mapping[str, Any]) -> Choice:
        return cls(
            name=_text(view, "name"),
            price=_amount(view, "price"),
            cap=_amount(view, "cap") or Decimal(0),
            finish=_span(view.get("finish_ms")),
            rests_on=_whole(view, "rests_on"),
            why=_text(view, "why"),
        )


def _span(value: Any) -> tuple[datetime.timedelta, datetime.timedelta] | None:
    match value:
        case [int(low), int(high)]:
            return datetime.timedelta(milliseconds=low), datetime.timedelta(milliseconds=high)
    return None


@dataclass(frozen=True)
class Quote:
    """What a job would cost. Nothing is paid yet."""

    name: str
    tasks: int
    #: What it never costs more than, in GLN.
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
        cap = _amount(view, "cap") or Decimal(0)

        def chosen(name: str) -> Choice:
            return choices.get(name) or Choice(name, None, cap, None, 0, "the hub does not say")

        return cls(
            name=_text(view, "name"),
            tasks=_whole(view, "tasks"),
            cap=cap,
            cheap=chosen("cheap"),
            balanced=chosen("balanced"),
            fast=chosen("fast"),
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
        at = datetime.datetime.fromtimestamp(_whole(view, "at") / 1000, datetime.timezone.utc)
        return cls(at, _text(view, "task"), _text(view, "worker"), _text(view, "text"))


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
