"""Job files: the one that calls of a function become, and those that people wrote."""

from __future__ import annotations

import copy
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, TypeAlias

from . import toml
from .bundle import RUNNER, ResultsKind
from .errors import GleanerError
from .files import Content, Tree, below

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Prefer: TypeAlias = Literal["cheap", "balanced", "fast"]
Price: TypeAlias = str | int | float | Decimal

TASK = "call"
_SIZE = re.compile(r"([0-9]+)\s*(B|KiB|MiB|GiB|TiB)")
_SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SPAN = re.compile(r"[0-9]+\s*(ms|s|m|min|h|d)")
_NAME = re.compile(r"[A-Za-z0-9_-]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
_TAKEN = ("call", "packages")


@dataclass(frozen=True)
class Options:
    """What a function asks of the machines that run it. Checked when it is made, so that mistakes show at the decorator."""

    gpu: str | int | bool | None = None
    gpus: int = 1
    device: str | None = None
    memory: str | None = None
    region: str | None = None
    packages: Sequence[str] = ()
    image: str | Path | None = None
    python: str = "python3"
    inputs: Mapping[str, str | Path] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    price_max: Price | None = None
    time_max: str | None = None
    job_time_max: str | None = None
    output_max: str = "64MiB"
    prefer: Prefer = "balanced"
    check: str | None = None
    cache: bool = False
    results: ResultsKind = "safe"
    machine: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.packages, str):
            raise ValueError('packages is a list of names: packages=["numpy"]')
        if self.results not in ("safe", "pickle"):
            raise ValueError('results is "safe" or "pickle"')
        if self.prefer not in ("cheap", "balanced", "fast"):
            raise ValueError('prefer is "cheap", "balanced" or "fast"')
        if self.gpu is not None and self.gpu is not False and self.memory is not None:
            raise ValueError('a device has one memory: say gpu="8GiB" or memory="8GiB", not both')
        for name, text in (("time_max", self.time_max), ("job_time_max", self.job_time_max)):
            if text is not None and not _SPAN.fullmatch(text):
                raise ValueError(f'{name}={text!r} is no duration: write a whole number with ms, s, m, h or d, such as "10m"')
        for name, size in (("gpu", self.gpu), ("memory", self.memory), ("output_max", self.output_max)):
            if isinstance(size, str):
                size_of(size, name)
        if self.price_max is not None:
            price_of(self.price_max)
        for name in self.inputs:
            if not _NAME.fullmatch(name) or name in _TAKEN:
                raise ValueError(f"an input cannot be called {name!r}")

    @property
    def output_bytes_max(self) -> int:
        return size_of(self.output_max, "output_max")

    def needs(self) -> dict[str, str]:
        """What the device must have."""
        wanted: dict[str, str] = {}
        if self.gpu is not None and self.gpu is not False:
            wanted["device"] = self.device or "gpu"
            if self.gpu is not True:
                wanted["memory"] = self.gpu if isinstance(self.gpu, str) else f"{self.gpu}GiB"
        elif self.device is not None:
            wanted["device"] = self.device
        if self.memory is not None:
            wanted["memory"] = self.memory
        if self.region is not None:
            wanted["region"] = self.region
        return {name: text.replace(" ", "") for name, text in wanted.items()}


def size_of(text: str, name: str) -> int:
    """Bytes that a text such as `8GiB` stands for."""
    found = _SIZE.fullmatch(text)
    if not found:
        raise ValueError(f'{name}={text!r} is no size: write a whole number with B, KiB, MiB, GiB or TiB, such as "8GiB"')
    return int(found[1]) * _SIZES[found[2]]


def price_of(price: Price) -> str:
    """A price as job files have it."""
    wrong = ValueError(f'price_max={price!r} is no price: write a number of GLN, such as "0.50"')
    if isinstance(price, float) and not math.isfinite(price):
        raise wrong
    try:
        amount = Decimal(price.removesuffix("GLN").strip() if isinstance(price, str) else str(price))
        units = amount.scaleb(9)
    except InvalidOperation as error:
        raise wrong from error
    if amount.is_signed() or units != units.to_integral_value():
        raise wrong
    return f"{amount:f}"


@dataclass(frozen=True)
class Places:
    """Where the parts of a call lie among the account's files, or in a registry."""

    call: str
    packages: str | None
    image_tree: str | None
    image_name: str | None
    inputs: Mapping[str, str]


def of_calls(name: str, count: int, options: Options, places: Places) -> str:
    """The job file of some calls of a function."""
    container: dict[str, Any] = {
        "command": [options.python, f"/in/call/{RUNNER}"],
        "env": {"PYTHONUNBUFFERED": "1", "HOME": "/tmp", **options.env},  # noqa: S108 - it is the sandbox's own
    }
    if options.gpu is not None and options.gpu is not False:
        container["gpus"] = options.gpus
    inputs = [{"name": "call", "folder": f"/{places.call}/call"}]
    if places.packages is not None:
        inputs.append({"name": "packages", "folder": f"/{places.packages}/site"})
    for wanted, tree in places.inputs.items():
        kind = "folder" if Path(options.inputs[wanted]).is_dir() else "file"
        inputs.append({"name": wanted, kind: f"/{tree}/input"})
    task: dict[str, Any] = {"name": TASK, "runtime": "container", "each": f"0..{count - 1}", "memo": options.cache}
    if places.image_tree is not None:
        task["program"] = f"/{places.image_tree}/image"
    else:
        container["image"] = places.image_name
    task["output_max"] = options.output_max.replace(" ", "")
    if options.time_max is not None:
        task["time_max"] = options.time_max.replace(" ", "")
    if options.check is not None:
        task["check"] = options.check
    task |= {"container": container, "needs": options.needs(), "input": inputs}
    budget: dict[str, str] = {}
    if options.price_max is not None:
        budget["price_max"] = price_of(options.price_max)
    if options.job_time_max is not None:
        budget["time_max"] = options.job_time_max.replace(" ", "")
    return toml.dumps({"name": name, "prefer": options.prefer, "budget": budget, "task": [task]})


@dataclass(frozen=True)
class Written:
    """A job file that somebody wrote, with the files that it names."""

    text: str
    tree: Tree | None


def read(file: Path) -> Written:
    """Reads a job file and finds what it names. Files elsewhere than beside it get a place of their own."""
    text = file.read_text(encoding="utf-8")
    try:
        job = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GleanerError(f"{file}: {error}") from error
    home = file.parent.resolve()
    placed = copy.deepcopy(job)
    files: dict[str, Content] = {}
    for holder, name in _sources(placed):
        path = _within(home, holder[name], len(files))
        files.update(_files((file.parent / holder[name]), path, file))
        holder[name] = path
    tree = Tree.of("job", files) if files else None
    # As it was written wherever that will do, so that a refusal names its lines.
    return Written(text if placed == job else toml.dumps(placed), tree)


def _sources(job: Mapping[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Every place of a job file that names a file or folder here."""
    found: list[tuple[dict[str, Any], str]] = []
    tasks = job.get("task")
    for task in tasks if isinstance(tasks, list) else []:
        if not isinstance(task, dict):
            continue
        inputs = task.get("input")
        found.append((task, "program"))
        for one in inputs if isinstance(inputs, list) else []:
            if isinstance(one, dict):
                found += [(one, "file"), (one, "folder")]
    return [(holder, name) for holder, name in found if _is_path(holder.get(name))]


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and not value.startswith("data:")


def _within(home: Path, name: str, number: int) -> str:
    """Where a file lies in the tree: as it is named if it is beside the job file."""
    path = (home / name).resolve()
    if path.is_relative_to(home) and path != home and not Path(name).is_absolute() and ".." not in Path(name).parts:
        return Path(name).as_posix()
    return f"elsewhere/{number}/{path.name}"


def _files(place: Path, path: str, job_file: Path) -> dict[str, Content]:
    if place.is_dir():
        return {f"{path}/{inner}": file for inner, file in below(place)}
    if place.is_file():
        return {path: place}
    raise GleanerError(f"{job_file} names {place}, which is not there")
