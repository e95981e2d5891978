"""Running the `gleaner` program without making Blender wait for it."""

import json
import os
import re
import shutil
import subprocess


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

    def stop(self):
        if not self.ended():
            self.process.terminate()


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

    def fraction(self):
        return self.done / self.tasks if self.tasks else 0.0

    def problem(self):
        """Why it failed, or None."""
        if not self.call.failed():
            return None
        lines = [line for line in self.call.said().splitlines() if line.strip()]
        return lines[-1] if lines else "gleaner ended with code {}".format(self.call.process.returncode)

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
