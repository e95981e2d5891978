"""Job files are TOML, and Python only reads that: this writes the little of it that job files are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def dumps(table: Mapping[str, Any]) -> str:
    """A document of texts, whole numbers, truth values, lists and tables."""
    lines: list[str] = []
    _table(lines, "", table)
    return "\n".join(lines) + "\n"


def _table(lines: list[str], path: str, table: Mapping[str, Any]) -> None:
    inner: list[tuple[str, Any]] = []
    for name, value in table.items():
        if isinstance(value, Mapping) or _is_tables(value):
            inner.append((name, value))
        else:
            lines.append(f"{_key(name)} = {_value(value)}")
    for name, value in inner:
        below = f"{path}.{_key(name)}" if path else _key(name)
        for one in [value] if isinstance(value, Mapping) else value:
            lines.append(f"[{below}]" if isinstance(value, Mapping) else f"[[{below}]]")
            _table(lines, below, one)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _key(name: str) -> str:
    is_bare = bool(name) and all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
    return name if is_bare else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {_value(one)}' for name, one in value.items())} }}"
    raise TypeError(f"{type(value).__name__} has no place in a job file")


def _text(text: str) -> str:
    def escaped(c: str) -> str:
        if c in _ESCAPED:
            return _ESCAPED[c]
        return f"\\u{ord(c):04x}" if ord(c) < 0x20 or ord(c) == 0x7F else c

    return f'"{"".join(map(escaped, text))}"'
