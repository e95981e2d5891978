"""A line that shows how far a job is: in a terminal, in a notebook, or nowhere."""

from __future__ import annotations

import html
import shutil
import sys
import threading
import time
from typing import Any, Protocol, TextIO

from .views import JobStatus

_DRAW_EVERY = 0.1
_BAR_MAX = 40


class Progress(Protocol):
    """Something that shows how far a job is."""

    def show(self, status: JobStatus) -> None: ...

    def close(self) -> None: ...


class Nowhere:
    """Shows nothing."""

    def show(self, status: JobStatus) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def figures(status: JobStatus, seconds: float) -> str:
    """How far a job is, in words and numbers."""
    minutes, rest = divmod(int(seconds), 60)
    parts = [f"{status.done}/{status.tasks}"]
    if status.running:
        parts.append(f"{status.running} running")
    if status.retried:
        parts.append(f"{status.retried} tried again")
    parts += [f"{status.spent.normalize():f} of {status.price_max.normalize():f} GLN", f"{minutes}:{rest:02}"]
    if status.has_ended and status.state != "done":
        parts.append(status.state)
    return " · ".join(parts)


class Terminal:
    """One line that is drawn over again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = self._drawn = time.monotonic() - _DRAW_EVERY
        self._lock = threading.Lock()
        self._is_open = True

    def show(self, status: JobStatus) -> None:
        with self._lock:
            now = time.monotonic()
            if not self._is_open or (now - self._drawn < _DRAW_EVERY and not status.has_ended):
                return
            self._drawn = now
            text = f" {figures(status, now - self._began)}"
            name = f"{status.name} "
            columns = shutil.get_terminal_size().columns
            width = max(0, min(_BAR_MAX, columns - len(name) - len(text) - 1))
            full = width * status.done // max(status.tasks, 1)
            self._stream.write(f"\r\x1b[K{name}{'━' * full}{'╌' * (width - full)}{text}"[: columns + 4])
            self._stream.flush()

    def close(self) -> None:
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._stream.write("\n")
                self._stream.flush()


class Notebook:
    """A bar in the output of a cell."""

    def __init__(self, display: Any, markup: Any) -> None:
        self._markup = markup
        self._began = self._drawn = time.monotonic() - _DRAW_EVERY
        self._handle = display(markup("…"), display_id=True)

    def show(self, status: JobStatus) -> None:
        now = time.monotonic()
        if now - self._drawn < _DRAW_EVERY and not status.has_ended:
            return
        self._drawn = now
        text = html.escape(figures(status, now - self._began))
        bar = f'<progress max="{max(status.tasks, 1)}" value="{status.done}"></progress>'
        self._handle.update(self._markup(f"{html.escape(status.name)} {bar} {text}"))

    def close(self) -> None:
        """What was drawn last stays."""


def progress(wanted: bool | None) -> Progress:
    """Where progress is shown: where somebody looks, unless that is said."""
    if wanted is False:
        return Nowhere()
    if _is_notebook():
        from IPython.display import HTML, display

        return Notebook(display, HTML)
    if wanted or sys.stderr.isatty():
        return Terminal(sys.stderr)
    return Nowhere()


def _is_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
