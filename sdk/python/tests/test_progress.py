"""Progress where somebody looks: in a real terminal, and in a real notebook's kernel."""

from __future__ import annotations

import os
import pty
import sys
from decimal import Decimal
from queue import Empty

import pytest
from jupyter_client.manager import start_new_kernel

from gleaner_net import progress
from gleaner_net.views import JobStatus

PATIENCE = 60


def status(done: int, state: str = "running") -> JobStatus:
    return JobStatus(1, "score", state, 10, done, 0, 2, 1, Decimal("0.0120"), Decimal("0.5"))


def test_a_terminal_has_one_line_that_is_drawn_over(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = pty.openpty()
    monkeypatch.setenv("COLUMNS", "80")
    with os.fdopen(writer, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        shown = progress.progress(None)
        shown.show(status(0))
        shown.show(status(10, "done"))
        shown.close()
        text = b""
        while not text.endswith(b"\n"):
            text += os.read(reader, 10_000)
    os.close(reader)
    drawn = text.decode().rstrip().split("\r\x1b[K")[1:]
    assert [line.split(" ")[0] for line in drawn] == ["score", "score"]
    assert "0/10 · 2 running · 1 tried again · 0.012 of 0.5 GLN" in drawn[0]
    assert "━" not in drawn[0]
    assert "╌" not in drawn[1]
    assert all(len(line) <= 80 for line in drawn)


def test_nothing_is_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    shown = progress.progress(None)
    shown.show(status(3))
    shown.close()
    progress.progress(False).show(status(3))
    assert capsys.readouterr() == ("", "")


def test_a_notebook_has_a_bar_that_moves() -> None:
    code = (
        "from gleaner_net import progress\nfrom gleaner_net.views import JobStatus\nfrom decimal import Decimal\n"
        "shown = progress.progress(None)\n"
        "shown.show(JobStatus(1, 'a<b', 'done', 4, 4, 0, 0, 0, Decimal(1), Decimal(2)))\nshown.close()\n"
    )
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        client.execute(code)
        drawn: list[tuple[str, str]] = []
        while True:
            try:
                message = client.get_iopub_msg(timeout=PATIENCE)
            except Empty:
                pytest.fail(f"the kernel says nothing: {drawn}")
            assert message["msg_type"] != "error", message["content"]
            if message["msg_type"] in ("display_data", "update_display_data"):
                drawn.append((message["msg_type"], message["content"]["data"]["text/html"]))
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle" and drawn:
                break
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert [kind for kind, _ in drawn] == ["display_data", "update_display_data"]
    assert 'a&lt;b <progress max="4" value="4">' in drawn[1][1]
