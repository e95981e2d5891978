"""A function on its way to other machines: pickled with the arguments of each call, beside what runs it there."""

from __future__ import annotations

import dataclasses
import enum
import json
import linecache
import platform
import sys
import sysconfig
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import cloudpickle

from . import codec
from .errors import GleanerError
from .files import Content, Tree

#: `safe`: plain values and arrays, which execute nothing. `pickle`: anything, and whoever sends it can execute code here.
ResultsKind: TypeAlias = Literal["safe", "pickle"]
#: The arguments of one call.
Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]

RUNNER = "runner.py"
# Longer files are data, not programs.
_LINES_MAX = 20_000
_HERE = Path(__file__).resolve().parent


def bundle(
    function: Callable[..., Any],
    calls: Iterable[Arguments],
    *,
    results: ResultsKind,
    known: Iterable[str],
    machine: str | None,
    modules: Sequence[types.ModuleType],
) -> Tree:
    """The files of some calls, below `call`. Their number is `count` of the tree's `calls.json`."""
    spec = {
        "python": "{}.{}".format(*sys.version_info[:2]),
        "implementation": sys.implementation.name,
        "machine": machine,
        "results": results,
        "types": sorted(known),
    }
    sent = [*_own_modules(function), *modules]
    with _by_value(sent):
        try:
            pickled = cloudpickle.dumps(function)
            content, places = _calls(calls)
        except Exception as error:
            raise GleanerError(f"{_name(function)} or what it is called with cannot be pickled: {error}") from error
    files: dict[str, Content] = {
        "spec.json": json.dumps(spec).encode(),
        "function.pkl": pickled,
        "calls.bin": content,
        "calls.json": json.dumps(places).encode(),
        "sources.json": json.dumps(_sources(function, sent)).encode(),
        RUNNER: (_HERE / RUNNER).read_bytes(),
        "lib/gleaner_codec.py": (_HERE / "codec.py").read_bytes(),
    }
    pickler = Path(cloudpickle.__file__).resolve().parent
    files.update({f"lib/cloudpickle/{path.name}": path.read_bytes() for path in sorted(pickler.glob("*.py"))})
    return Tree.of("python-call", {f"call/{path}": content for path, content in files.items()})


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)


def _sources(function: Callable[..., Any], modules: Iterable[types.ModuleType]) -> dict[str, list[str]]:
    """The lines of what is sent by value, so that a traceback shows them where there are no such files."""
    code = getattr(function, "__code__", None)
    names = {str(getattr(module, "__file__", "")) for module in modules} | {code.co_filename if code is not None else ""}
    return {name: lines for name in sorted(names) if (lines := linecache.getlines(name)) and len(lines) <= _LINES_MAX}


def _calls(calls: Iterable[Arguments]) -> tuple[bytes, list[tuple[int, int]]]:
    pieces: list[bytes] = []
    places: list[tuple[int, int]] = []
    offset = 0
    for args, kwargs in calls:
        pickled = cloudpickle.dumps((args, kwargs))
        places.append((offset, len(pickled)))
        pieces.append(pickled)
        offset += len(pickled)
    return b"".join(pieces), places


def _own_modules(function: Callable[..., Any]) -> Iterator[types.ModuleType]:
    """The modules of the function's own package, unless it is an installed one: they are not where it will run."""
    name = getattr(function, "__module__", None)
    module = sys.modules.get(name or "")
    if module is None or name == "__main__" or not _is_own(module):
        return
    top = module.__name__.partition(".")[0]
    for other_name, other in list(sys.modules.items()):
        if other_name.partition(".")[0] == top and isinstance(other, types.ModuleType) and _is_own(other):
            yield other


def _is_own(module: types.ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if file is None:
        return False
    path = Path(file).resolve()
    installed = [sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    return not any(path.is_relative_to(Path(place).resolve()) for place in installed)


@contextmanager
def _by_value(modules: Iterable[types.ModuleType]) -> Iterator[None]:
    """Has cloudpickle take along what is defined in these modules, instead of naming them."""
    before = set(cloudpickle.list_registry_pickle_by_value())
    added = [module for module in {id(m): m for m in modules}.values() if module.__name__ not in before]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)


def known_types(function: Callable[..., Any], more: Iterable[type]) -> dict[str, type]:
    """Classes that results may be of: those in the function's return annotation, those named, and those in their fields."""
    found: dict[str, type] = {}
    try:
        # Where this class may be defined inside another function, its names are among the closure's.
        hint = typing.get_type_hints(function, localns=_closure(function)).get("return")
    except Exception:
        # An annotation that names nothing is no fault of the call: the class has to be named in `types`.
        hint = None
    left: list[Any] = [hint, *more]
    while left:
        one = left.pop()
        left.extend(typing.get_args(one))
        if isinstance(one, type) and _is_record(one) and codec.type_name(one) not in found:
            found[codec.type_name(one)] = one
            left.extend(_field_types(one))
    return found


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    names = code.co_freevars if code is not None else ()
    found = {}
    for name, cell in zip(names, cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def _is_record(cls: type) -> bool:
    is_named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return dataclasses.is_dataclass(cls) or issubclass(cls, enum.Enum) or is_named_tuple


def _field_types(cls: type) -> list[Any]:
    try:
        return list(typing.get_type_hints(cls).values())
    except Exception:
        return []


def python_version() -> str:
    """This Python, as people call it."""
    return f"{platform.python_implementation()} {platform.python_version()}"
