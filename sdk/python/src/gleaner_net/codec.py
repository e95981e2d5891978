"""How results travel: a tree of plain values as JSON, and long runs of bytes behind it. Reading it executes nothing.

Results come from machines of strangers. Unpickling them would let such a machine run code on the requester's, so the safe
encoding knows values only, and classes only if the requester has named them. This file is sent along with each function, so
it knows nothing of the rest of the package, and NumPy only where it is there already.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

MAGIC = b"GLEANER\x01"
DEPTH_MAX = 200
HEAD_BYTES_MAX = 1 << 30
_PLAIN_INT_MAX = 1 << 53
_LENGTH_BYTES = 8
_NPY_VERSIONS = ((1, 0), (2, 0))


class EncodeError(TypeError):
    """A value that the safe encoding does not know."""


class DecodeError(ValueError):
    """Bytes that no honest encoder writes."""


class Envelope(NamedTuple):
    """What one call left behind."""

    #: `value`, `pickle`, `error`, `type`, `version` or `machine`.
    kind: str
    #: The value, the pickled bytes, or what is to be said of the failure.
    content: Any


def type_name(cls: type) -> str:
    """By what both sides call a class."""
    return f"{cls.__module__}:{cls.__qualname__}"


# --- writing -----------------------------------------------------------------------------------------------------------


class _Writer:
    def __init__(self, known: Iterable[str]) -> None:
        self.known = frozenset(known)
        self.blobs: list[bytes] = []
        self.offset = 0

    def blob(self, content: bytes) -> list[int]:
        place = [self.offset, len(content)]
        self.blobs.append(content)
        self.offset += len(content)
        return place

    def node(self, value: Any, at: str, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise EncodeError(f"{at} is nested deeper than {DEPTH_MAX} levels, or holds itself")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if abs(value) < _PLAIN_INT_MAX else {"t": "int", "v": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"t": "float", "v": repr(value)}
        if kind is list:
            return [self.node(one, f"{at}[{i}]", depth + 1) for i, one in enumerate(value)]
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return {"t": simple[0], "v": simple[1](value)}
        return self.composite(kind, value, at, depth)

    def composite(self, kind: type, value: Any, at: str, depth: int) -> Any:
        if kind is bytes or kind is bytearray:
            return {"t": kind.__name__, "b": self.blob(bytes(value))}
        sequence = _SEQUENCES.get(kind)
        if sequence is not None:
            # Sets have no order of their own; equal ones should look alike as far as that goes.
            items = sorted(value, key=repr) if kind in (set, frozenset) else value
            return {"t": sequence, "v": [self.node(one, f"{at}[{i}]", depth + 1) for i, one in enumerate(items)]}
        mapping = _MAPPINGS.get(kind)
        if mapping is not None:
            return {"t": mapping, "v": self.pairs(value.items(), at, depth)}
        if kind.__module__ == "numpy":
            return self.array(kind, value, at)
        if type_name(kind) in self.known:
            return self.known_class(kind, value, at, depth)
        raise EncodeError(_advice(kind, at))

    def pairs(self, items: Iterable[tuple[Any, Any]], at: str, depth: int) -> list[Any]:
        return [
            [self.node(key, f"a key of {at}", depth + 1), self.node(one, f"{at}[{key!r}]", depth + 1)] for key, one in items
        ]

    def array(self, kind: type, value: Any, at: str) -> Any:
        import io

        import numpy as np

        array = np.asarray(value)
        if array.dtype.hasobject:
            raise EncodeError(f"{at} is an array of Python objects: give it a numeric dtype")
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asanyarray(array), version=None, allow_pickle=False)
        if kind is not np.ndarray and not isinstance(value, np.generic):
            raise EncodeError(_advice(kind, at))
        return {"t": "scalar" if isinstance(value, np.generic) else "array", "b": self.blob(buffer.getvalue())}

    def known_class(self, kind: type, value: Any, at: str, depth: int) -> Any:
        name = type_name(kind)
        if isinstance(value, enum.Enum):
            return {"t": "enum", "c": name, "v": value.name}
        if dataclasses.is_dataclass(value):
            fields = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if f.init]
        elif isinstance(value, tuple) and hasattr(kind, "_fields"):
            fields = list(zip(kind._fields, value, strict=True))
        else:
            raise EncodeError(_advice(kind, at))
        return {"t": "class", "c": name, "v": [[n, self.node(one, f"{at}.{n}", depth + 1)] for n, one in fields]}


def _advice(kind: type, at: str) -> str:
    name = f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__
    if dataclasses.is_dataclass(kind) or issubclass(kind, enum.Enum) or hasattr(kind, "_fields"):
        return f"{at} is a {name}: name the class in the function's return annotation, or in types=[…]"
    return f'{at} is a {name}, which does not travel safely: return plain values or arrays, or choose results="pickle"'


_SIMPLE: dict[type, tuple[str, Callable[[Any], Any]]] = {
    complex: ("complex", lambda value: [repr(value.real), repr(value.imag)]),
    range: ("range", lambda value: [hex(value.start), hex(value.stop), hex(value.step)]),
    decimal.Decimal: ("decimal", str),
    fractions.Fraction: ("fraction", lambda value: [hex(value.numerator), hex(value.denominator)]),
    datetime.datetime: ("datetime", lambda value: [value.isoformat(), value.fold]),
    datetime.date: ("date", lambda value: value.isoformat()),
    datetime.time: ("time", lambda value: value.isoformat()),
    datetime.timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    uuid.UUID: ("uuid", str),
    pathlib.PurePosixPath: ("path", str),
    pathlib.PosixPath: ("path", str),
}
_SEQUENCES: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset", collections.deque: "deque"}
_MAPPINGS: dict[type, str] = {dict: "dict", collections.OrderedDict: "ordered_dict", collections.Counter: "counter"}


def _framed(head: Mapping[str, Any], blobs: Iterable[bytes]) -> bytes:
    text = json.dumps(head, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    return b"".join([MAGIC, len(text).to_bytes(_LENGTH_BYTES, "little"), text, *blobs])


def encode(value: Any, known: Iterable[str] = ()) -> bytes:
    """A value, in the safe encoding. `known` names the classes that the requester can read."""
    writer = _Writer(known)
    node = writer.node(value, "the result", 0)
    return _framed({"kind": "value", "content": node}, writer.blobs)


def encode_pickle(pickled: bytes) -> bytes:
    """A value that was pickled, for requesters who have asked for that."""
    return _framed({"kind": "pickle", "content": {"t": "bytes", "b": [0, len(pickled)]}}, [pickled])


def encode_failure(kind: str, words: Mapping[str, str]) -> bytes:
    """Why there is no value."""
    return _framed({"kind": kind, "content": {"t": "dict", "v": [[name, text] for name, text in words.items()]}}, [])


# --- reading -----------------------------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, blobs: memoryview, known: Mapping[str, type]) -> None:
        self.blobs = blobs
        self.known = known

    def blob(self, place: Any) -> bytes:
        match place:
            case [int(offset), int(length)] if 0 <= offset <= offset + length <= len(self.blobs):
                return bytes(self.blobs[offset : offset + length])
        raise DecodeError("bytes that are not there")

    def value(self, node: Any, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise DecodeError("it is nested too deep")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.value(one, depth + 1) for one in node]
        match node:
            case {"t": str(tag), "b": place}:
                return self.bytes_of(tag, place)
            case {"t": "class", "c": str(name), "v": list(fields)}:
                return self.known_class(name, fields, depth)
            case {"t": "enum", "c": str(name), "v": str(member)}:
                return self.member(name, member)
            case {"t": str(tag), "v": inner}:
                return self.tagged(tag, inner, depth)
        raise DecodeError("a node of no known kind")

    def tagged(self, tag: str, inner: Any, depth: int) -> Any:
        reader = _READERS.get(tag)
        if reader is not None:
            return reader(inner)
        sequence = _SEQUENCE_TYPES.get(tag)
        if sequence is not None and isinstance(inner, list):
            return sequence(self.value(one, depth + 1) for one in inner)
        mapping = _MAPPING_TYPES.get(tag)
        if mapping is not None and isinstance(inner, list):
            return mapping({self.value(key, depth + 1): self.value(one, depth + 1) for key, one in inner})
        raise DecodeError(f"a `{tag[:40]}`, which is not known")

    def bytes_of(self, tag: str, place: Any) -> Any:
        content = self.blob(place)
        match tag:
            case "bytes":
                return content
            case "bytearray":
                return bytearray(content)
            case "array":
                return _array(content)
            case "scalar":
                array = _array(content)
                if array.shape != ():
                    raise DecodeError("a single number that is several")
                return array[()]
        raise DecodeError("bytes of no known kind")

    def class_called(self, name: str) -> type:
        cls = self.known.get(name)
        if cls is None:
            raise DecodeError(f"a class `{name[:100]}` that nobody asked for")
        return cls

    def known_class(self, name: str, fields: list[Any], depth: int) -> Any:
        cls = self.class_called(name)
        values = {str(field): self.value(one, depth + 1) for field, one in fields}
        if dataclasses.is_dataclass(cls):
            wanted = {f.name for f in dataclasses.fields(cls) if f.init}
        else:
            wanted = set(getattr(cls, "_fields", ()))
        if set(values) != wanted:
            raise DecodeError(f"a {cls.__qualname__} with other fields")
        return cls(**values)

    def member(self, name: str, member: str) -> Any:
        cls = self.class_called(name)
        if not issubclass(cls, enum.Enum) or member not in cls.__members__:
            raise DecodeError(f"a member of {cls.__qualname__} that there is not")
        return cls.__members__[member]


def _array(content: bytes) -> Any:
    """An array in NumPy's own format. Its size is compared with what is there before anything is made."""
    import io

    try:
        import numpy as np
    except ModuleNotFoundError as error:
        raise DecodeError("the result holds NumPy arrays, and NumPy is not installed here: pip install numpy") from error
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version not in _NPY_VERSIONS:
        raise DecodeError("an array of another version")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(file)
    if dtype.hasobject or (dtype.itemsize == 0 and math.prod(shape) > len(content)):
        raise DecodeError("an array of Python objects")
    if math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise DecodeError("an array of another size than it says")
    flat = np.frombuffer(content, dtype=dtype, count=math.prod(shape), offset=file.tell())
    return flat.reshape(shape, order="F" if is_fortran else "C").copy()


def _int(text: Any) -> int:
    return int(text, 16)


def _posix_path(text: Any) -> pathlib.PurePath:
    return pathlib.PurePosixPath(text)


_READERS: dict[str, Callable[[Any], Any]] = {
    "int": _int,
    "float": float,
    "complex": lambda parts: complex(float(parts[0]), float(parts[1])),
    "range": lambda parts: range(_int(parts[0]), _int(parts[1]), _int(parts[2])),
    "decimal": lambda text: decimal.Decimal(str(text)),
    "fraction": lambda parts: fractions.Fraction(_int(parts[0]), _int(parts[1])),
    "datetime": lambda parts: datetime.datetime.fromisoformat(parts[0]).replace(fold=parts[1]),
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda parts: datetime.timedelta(days=parts[0], seconds=parts[1], microseconds=parts[2]),
    "uuid": uuid.UUID,
    "path": _posix_path,
}
_SEQUENCE_TYPES: dict[str, Callable[[Iterable[Any]], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
}
_MAPPING_TYPES: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "dict": dict,
    "ordered_dict": collections.OrderedDict,
    "counter": collections.Counter,
}


def decode(content: bytes, known: Mapping[str, type] | None = None) -> Envelope:
    """Reads what a call left behind. Whatever it is, nothing of it is executed; it is refused with a `DecodeError`."""
    start = len(MAGIC) + _LENGTH_BYTES
    if content[: len(MAGIC)] != MAGIC or len(content) < start:
        raise DecodeError("this is not how results begin")
    length = int.from_bytes(content[len(MAGIC) : start], "little")
    if length > min(HEAD_BYTES_MAX, len(content) - start):
        raise DecodeError("it is shorter than it says")
    try:
        head = json.loads(content[start : start + length].decode("ascii"), parse_constant=_no_constant)
        match head:
            case {"kind": str(kind), "content": node}:
                reader = _Reader(memoryview(content)[start + length :], known or {})
                return Envelope(kind, reader.value(node, 0))
    except DecodeError:
        raise
    except Exception as error:
        # Whatever it is that strangers make the readers of JSON, dates and arrays stumble over.
        raise DecodeError(f"it makes no sense: {error}"[:500]) from error
    raise DecodeError("it makes no sense")


def _no_constant(text: str) -> Any:
    raise DecodeError(f"{text} is no JSON")


def plain(text: str, characters_max: int = 100_000) -> str:
    """A stranger's text without what would steer a terminal."""
    kept = "".join(c for c in text[:characters_max] if c in "\n\t" or (c.isprintable() or c == " "))
    return kept if len(text) <= characters_max else f"{kept}…"


assert sys.version_info >= (3, 10), "the runner asks for the version before it reads this file"
