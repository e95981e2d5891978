"""The safe encoding: what goes in comes out, and what no honest machine writes is refused."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import pickle
import random
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from gleaner_net import bundle, codec


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: int
    y: float


@dataclass
class Fit:
    colour: Colour
    points: list[Point]
    weights: Any
    note: str = "none"
    seen: int = field(default=0, init=False)


def fit() -> dict[str, Fit]:
    return {}


KNOWN = bundle.known_types(fit, ())


def through(value: Any) -> Any:
    envelope = codec.decode(codec.encode(value, KNOWN), KNOWN)
    assert envelope.kind == "value"
    return envelope.content


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(1 << 53),
        1 << 5000,
        1.0,
        0.1,
        -0.0,
        math.inf,
        3 + 4j,
        "",
        "grün \x00 \ud800 🌾",
        b"",
        bytes(range(256)),
        bytearray(b"ab"),
        [1, [2, ()]],
        (1, (2,), []),
        {1, 2},
        frozenset({(1, 2)}),
        collections.deque([1, 2]),
        {"a": 1, 2: None, (1, b"x"): {"t": "int", "v": "0x1"}},
        collections.OrderedDict(b=1, a=2),
        collections.Counter("abba"),
        range(10, 0, -3),
        decimal.Decimal("1.10"),
        fractions.Fraction(1, 3),
        datetime.datetime(2024, 2, 29, 12, 30, 1, 7, tzinfo=datetime.timezone.utc),
        datetime.datetime(2024, 2, 29, 12, 30, fold=1),  # noqa: DTZ001 - without a zone it must stay so
        datetime.date(2024, 2, 29),
        datetime.time(1, 2, 3),
        datetime.timedelta(days=-1, microseconds=7),
        uuid.UUID(int=7),
        pathlib.PurePosixPath("/a/b"),
        Colour.BLUE,
        Point(1, 2.5),
        Fit(Colour.RED, [Point(0, 0.0)], {"w": (1, 2)}, "ok"),
    ],
    ids=repr,
)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    back = through(value)
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_what_is_no_number_comes_back_as_none() -> None:
    assert math.isnan(through(math.nan))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=np.float32).reshape(2, 3, 4),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array([], dtype=np.uint8),
        np.array(7),
        np.array([True, False]),
        np.array(["a", "bc"]),
        np.array([("a", 1.5)], dtype=[("name", "U4"), ("size", "f8")]),
        np.array(["2024-01-01"], dtype="datetime64[D]"),
    ],
    ids=lambda array: str(array.dtype),
)
def test_an_array_comes_back_with_its_shape_and_type(array: Any) -> None:
    back = through({"here": array})["here"]
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert np.array_equal(back, array)
    assert back.flags.writeable


def test_a_number_of_numpy_stays_one() -> None:
    back = through([np.float32(0.1), np.int64(-7)])
    assert [type(one) for one in back] == [np.float32, np.int64]
    assert back == [np.float32(0.1), np.int64(-7)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), 'results="pickle"'),
        ([1, {"deep": lambda: 1}], "the result[1]['deep'] is a function"),
        (np.array([object()]), "numeric dtype"),
        (np.ma.masked_array([1], [True]), 'results="pickle"'),
        (collections.defaultdict(int), 'results="pickle"'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_does_not_travel_safely_is_named_with_its_place(value: Any, words: str) -> None:
    with pytest.raises(codec.EncodeError) as told:
        codec.encode(value, KNOWN)
    assert words in str(told.value)


def test_a_class_has_to_be_named_by_the_requester() -> None:
    with pytest.raises(codec.EncodeError, match="return annotation"):
        codec.encode(Colour.RED, ())
    sent = codec.encode(Colour.RED, KNOWN)
    with pytest.raises(codec.DecodeError, match="nobody asked for"):
        codec.decode(sent, {})


def test_what_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(codec.EncodeError, match="holds itself"):
        codec.encode(loop)


def framed(node: Any, blobs: bytes = b"") -> bytes:
    text = json.dumps({"kind": "value", "content": node}).encode()
    return codec.MAGIC + len(text).to_bytes(8, "little") + text + blobs


def npy(header: str, content: bytes) -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def array_of(content: bytes) -> bytes:
    return framed({"t": "array", "b": [0, len(content)]}, content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GLEANER",
        pickle.dumps([1]),
        codec.MAGIC + (1 << 62).to_bytes(8, "little"),
        codec.MAGIC + bytes(8),
        framed({"t": "bytes", "b": [0, 10]}),
        framed({"t": "bytes", "b": [-1, 1]}, b"ab"),
        framed({"t": "bytes", "b": "x"}),
        framed({"t": "class", "c": "os:system", "v": []}),
        framed({"t": "enum", "c": codec.type_name(Colour), "v": "__class__"}),
        framed({"t": "class", "c": codec.type_name(Point), "v": [["x", 1]]}),
        framed({"t": "class", "c": codec.type_name(Fit), "v": [["seen", 1]]}),
        framed({"t": "eval", "v": "1"}),
        framed({"t": "int", "v": []}),
        framed({"t": "dict", "v": [[[], 1]]}),
        framed({"t": "dict", "v": [1]}),
        framed({"t": "set", "v": [[1]]}),
        framed({"t": "range", "v": ["0x0", "0x1", "0x0"]}),
        framed({"t": "timedelta", "v": [1e99, 0, 0]}),
        framed({"t": "uuid", "v": {}}),
        framed({"x": 1}),
        array_of(b"no array"),
        array_of(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", pickle.dumps([1]))),
        array_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", bytes(8))),
        array_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", bytes(8))),
        array_of(npy("{'descr': '|V0', 'fortran_order': False, 'shape': (1000000000000,)}", b"")),
        array_of(npy("__import__('os').system('true')", b"")),
        framed({"t": "scalar", "b": [0, 144]}, npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", bytes(16))),
        codec.MAGIC + (4).to_bytes(8, "little") + b"NaN,",
    ],
)
def test_what_no_honest_machine_writes_is_refused(content: bytes) -> None:
    with pytest.raises(codec.DecodeError):
        codec.decode(content, KNOWN)


def test_what_is_nested_without_end_is_refused() -> None:
    deep = b"[" * 100_000
    with pytest.raises(codec.DecodeError):
        codec.decode(codec.MAGIC + len(deep).to_bytes(8, "little") + deep)


def test_almost_right_bytes_are_read_or_refused_and_never_break() -> None:
    chance = random.Random(7)
    right = codec.encode([Fit(Colour.RED, [Point(1, 2.0)], np.arange(5)), {"a": (1 << 80, b"xyz")}], KNOWN)
    refused = 0
    for _ in range(3000):
        wrong = bytearray(right)
        for _ in range(chance.randint(1, 4)):
            wrong[chance.randrange(len(wrong))] = chance.randrange(256)
        try:
            codec.decode(bytes(wrong), KNOWN)
        except codec.DecodeError:
            refused += 1
    assert refused > 1000


def test_words_of_strangers_do_not_steer_a_terminal() -> None:
    assert codec.plain("a\x1b[2Jb\r\n\tc\x07\u202e") == "a[2Jb\n\tc"
    assert codec.plain("x" * 10, 3) == "xxx…"
