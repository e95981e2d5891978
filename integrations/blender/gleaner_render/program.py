"""Running the `gleaner` program without making Blender wait for it."""

import json
import os
import re
import shutil
import subprocess


LINES_MAX = 6


class Missing(Exception):
    """There is no such program."""


def command(program, hub, token_file, *words):
    """The words of a command; the token itself is never one of them."""
    path = shutil.which(program)
    if path is None:
        help = "install Gleaner, or name the program in the add-on's preferences"
        raise Missing("{} is not there: {}".format(program, help))
    options = ["--hub", hub] if hub else []
    options += ["--token-file", token_file] if token_file else []
    return [path, *words, *options]


class Call:
    """One command whose outputs go to files, so that a full pipe never stops it."""

    def __init__(self, words, folder, name):
        self.folder = folder
        self.out = os.path.join(folder, name + ".out")
        self.log = os.path.join(folder, name + ".log")
        with open(self.out, "wb") as out, open(self.log, "wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=log)

    def ended(self):
        return self.process.poll() is not None

    def failed(self):
        return self.process.poll() not in (None, 0)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def answer(self):
        """What it printed as JSON, or None."""
        try:
            with open(self.out, encoding="utf-8") as out:
                return json.load(out)
        except ValueError:
            return None

    def problem(self):
        """Why it failed and what to do, or None."""
        if not self.failed():
            return None
        return problem_in(self.said()) or "gleaner ended with code {}".format(self.process.returncode)

    def stop(self):
        if not self.ended():
            self.process.terminate()


def problem_in(said):
    """The error with its cause and advice; else what the job failed of; else the last words."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for at in reversed(range(len(lines))):
        if lines[at].startswith("error:"):
            return "\n".join(lines[at : at + LINES_MAX])
    failed = [line for line in lines if line.startswith("failed:")]
    return (failed or lines or [""])[-1]


def quote_words(quote):
    """What stands beside a price: what it rests on, and who could render now."""
    if not quote:
        return ""
    if quote.get("expected") is None:
        words = ["nothing like it has run here yet: this is the most it can cost"]
    else:
        words = ["at most {} GLN; rests on {} tasks".format(quote.get("cap"), quote.get("rests_on"))]
    waiting = [group for group in quote.get("groups", ()) if group.get("workers") == 0]
    for reason in waiting[0].get("reasons", ()) if waiting else ():
        words.append("no worker could take it now: {}".format(reason.get("text")))
    return "\n".join(words[:LINES_MAX])


class Run:
    """A render on its way: `step` is called now and then and returns at once."""

    def __init__(self, base, job, out, folder):
        self.base = base
        self.folder = folder
        self.results = out
        self.call = Call(base("run", job, "--out", out, "--json"), folder, "run")
        self.look = None
        self.number = None
        self.done = 0
        self.tasks = 0
        self.spent = None

    def step(self):
        """True while it goes on."""
        if self.number is None:
            found = re.search(r"^job (\S+) ·", self.call.said(), re.MULTILINE)
            self.number = found and found.group(1)
        if self.call.ended():
            self.read(self.call.answer())
            return False
        if self.look is not None and self.look.ended():
            self.read(self.look.answer())
            self.look = None
        elif self.look is None and self.number is not None:
            self.look = Call(self.base("job", "show", self.number, "--json"), self.folder, "show")
        return True

    def read(self, view):
        if isinstance(view, dict):
            self.done = int(view.get("done", self.done))
            self.tasks = int(view.get("tasks", self.tasks))
            self.spent = view.get("spent", self.spent)

    def fraction(self):
        return self.done / self.tasks if self.tasks else 0.0

    def problem(self):
        return self.call.problem()

    def outcome(self):
        """What there is now, where, and what it has cost."""
        count = len(self.pictures())
        cost = ", {} GLN".format(self.spent) if self.spent is not None else ""
        return "done: {} picture{} in {}{}".format(count, "" if count == 1 else "s", self.results, cost)

    def pictures(self):
        """What was delivered, in the order of the frames; pieces of frames are none."""
        found = []
        for folder, _, names in os.walk(self.results):
            found += [os.path.join(folder, name) for name in names if is_picture(name)]
        return sorted(found, key=number)


def is_picture(name):
    return name.endswith((".png", ".exr")) and not name.endswith(".piece.exr")


def number(path):
    """The frame that a picture is named after."""
    found = re.match(r"-?\d+", os.path.basename(path))
    return (int(found.group()) if found else 0, path)
