"""Packages that a function imports. Workers have no network, so they are gathered here, for the machine and the Python that
the function will run with, and travel as one of its inputs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .errors import PackageError
from .files import Tree, below

#: What workers are unless a function says otherwise.
MACHINE = "x86_64"
# The C library of Debian 12, on which the usual images stand.
_GLIBC_MINOR = 36
_PINNED = re.compile(r"==|===|@")
_STALE_AFTER = 86_400.0
_SHOWN_LINES = 12


def cache_folder() -> Path:
    """Where packages are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "gleaner" / "python"


def _platforms(machine: str) -> list[str]:
    many = [f"manylinux_2_{minor}_{machine}" for minor in range(_GLIBC_MINOR, 4, -1)]
    return [*many, f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"manylinux1_{machine}", f"linux_{machine}"]


async def tree(packages: Sequence[str], machine: str) -> Tree:
    """The packages with everything that they need, as files below `site`."""
    return await asyncio.to_thread(_tree, tuple(packages), machine)


def _tree(packages: tuple[str, ...], machine: str) -> Tree:
    version = "{}.{}".format(*sys.version_info[:2])
    key = json.dumps([sorted(packages), version, machine])
    home = cache_folder() / hashlib.sha256(key.encode()).hexdigest()[:32]
    if not _is_fresh(home, packages):
        _gather(home, packages, version, machine)
    return Tree((home / "name").read_text(), {f"site/{path}": file for path, file in below(home / "site")})


def _is_fresh(home: Path, packages: tuple[str, ...]) -> bool:
    """Whether what was gathered before will do. Without exact versions, that is so for a day."""
    try:
        age = time.time() - (home / "name").stat().st_mtime
    except FileNotFoundError:
        return False
    return age < _STALE_AFTER or all(_PINNED.search(package) for package in packages)


def _gather(home: Path, packages: tuple[str, ...], version: str, machine: str) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        made = Path(scratch) / "made"
        site = made / "site"
        site.mkdir(parents=True)
        _pip(site, packages, version, machine)
        # Programs for a shell are of no use to a function.
        shutil.rmtree(site / "bin", ignore_errors=True)
        named = Tree.of("python-packages", {f"site/{path}": file for path, file in below(site)})
        (made / "name").write_text(named.name)
        # All of it or nothing, whoever else gathers the same.
        old = Path(scratch) / "old"
        if home.exists():
            home.rename(old)
        try:
            made.rename(home)
        except OSError:
            if not (home / "name").exists():
                raise


def _pip(site: Path, packages: tuple[str, ...], version: str, machine: str) -> None:
    if any(package.startswith("-") for package in packages):
        raise PackageError("a package begins with a letter: options of pip are set in its own configuration")
    platforms = [word for platform in _platforms(machine) for word in ("--platform", platform)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    # Nothing is built here: what a build makes is for this machine.
    command += ["--target", str(site), "--only-binary", ":all:", "--python-version", version, "--implementation", "cp"]
    command += ["--no-compile", *platforms, "--", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    if "No module named pip" in done.stderr:
        raise PackageError(f"packages are gathered with pip, which {sys.executable} does not have: python -m ensurepip")
    said = "\n".join(done.stderr.strip().splitlines()[-_SHOWN_LINES:])
    raise PackageError(f"{', '.join(packages)} could not be had as wheels for Python {version} on {machine}:\n{said}")
