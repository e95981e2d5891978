"""A real network for tests: the built binary as hub and worker, a container engine, and people with accounts."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[3]
#: Whoever waits longer than this for something has failed.
PATIENCE = 120.0
_LOOK_EVERY = 0.05
_DAY_MS = 86_400_000

_ENGINE = """
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "cni"
"""


def program() -> str:
    found = os.environ.get("GLEANER_BIN", "")
    assert os.access(found, os.X_OK), "GLEANER_BIN names the built program: sdk/python/check does"
    return found


def wait_for(what: str, look: Callable[[], bool], said: Callable[[], str] = str) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < deadline, f"{what}: {said()}"
        time.sleep(_LOOK_EVERY)


def image_of(*packages: str) -> Path:
    """An image of Debian packages, as the example makes it, once for all runs with the same recipe."""
    recipe = ROOT / "examples" / "train" / "make"
    name = hashlib.sha256(recipe.read_bytes() + "\0".join(packages).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gleaner"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"python-sdk-image-{name}"
    with (cache / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=cache) as scratch:
                made = Path(scratch) / "image"
                subprocess.run([str(recipe), str(made), *packages], check=True, stdout=subprocess.DEVNULL)
                made.rename(folder)
    return folder


class Process:
    """A process that ends with the test."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str], **more: Any) -> None:
        self.log = log
        names = ("GLEANER_HUB", "GLEANER_DIR", "GLEANER_LOG", "GLEANER_TOKEN")
        kept = {name: value for name, value in os.environ.items() if name not in names}
        with log.open("ab") as errors:
            self.child = subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stderr=errors, env={**kept, **environment}, **more
            )

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        self.child.kill()
        self.child.wait()


class Podman:
    """A container engine of the tests' own: everything that it has is in one folder."""

    def __init__(self, registries: str = "") -> None:
        # Short, because the name of a socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="pod", dir="/tmp"))
        (self.folder / "containers.conf").write_text(_ENGINE)
        (self.folder / "registries.conf").write_text(registries)
        self.socket = self.folder / "s"
        self.host = f"unix://{self.socket}"
        command = self.command("system", "service", "--time", "0", self.host)
        self.service = Process(command, self.folder / "log", self.environment, stdout=subprocess.DEVNULL, cwd=self.folder)
        wait_for("podman listens", self._listens, self.service.said)

    @property
    def environment(self) -> dict[str, str]:
        conf = {"CONTAINERS_CONF": "containers.conf", "CONTAINERS_REGISTRIES_CONF": "registries.conf"}
        return {name: str(self.folder / file) for name, file in conf.items()}

    def command(self, *arguments: str) -> list[str]:
        places = [word for name in ("root", "runroot", "tmpdir") for word in (f"--{name}", str(self.folder / name))]
        return ["podman", *places, "--storage-driver", "overlay", "--log-level", "error", *arguments]

    def run(self, *arguments: str) -> str:
        environment = {**os.environ, **self.environment}
        command = self.command(*arguments)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=self.folder)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout.strip()

    def push(self, layout: Path, name: str) -> None:
        """Puts an image in OCI layout into a registry, and keeps nothing of it."""
        archive = self.folder / "push.tar"
        subprocess.run(["tar", "-cf", str(archive), "-C", str(layout), "."], check=True)
        loaded = self.run("load", "--quiet", "--input", str(archive)).split()[-1]
        self.run("tag", loaded, name)
        self.run("push", "--quiet", name)
        self.run("rmi", name)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as tried:
            return tried.connect_ex(str(self.socket)) == 0

    def close(self) -> None:
        self.run("rm", "--all", "--force", "--time", "0")
        self.service.kill()
        # Layers are mounted below the folder, which could not be removed then.
        subprocess.run(["umount", "--recursive", "--quiet", str(self.folder / "root/overlay")], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


class Registry:
    """A registry of images on this machine."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gleaner-registry-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        config = self.folder / "config.yml"
        config.write_text(
            f"version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {self.folder}\n"
            f"http:\n  addr: 127.0.0.1:{self.port}\n"
        )
        command = ["docker-registry", "serve", str(config)]
        self.server = Process(command, self.folder / "log", {}, stdout=subprocess.DEVNULL)
        wait_for("the registry listens", self._listens, self.server.said)

    def _listens(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def configuration(self) -> str:
        return f'[[registry]]\nlocation = "127.0.0.1:{self.port}"\ninsecure = true\n'

    def name(self, image: str) -> str:
        return f"127.0.0.1:{self.port}/{image}"

    def close(self) -> None:
        self.server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Network:
    """A hub and a worker that runs containers."""

    def __init__(self, podman: Podman, slots: int = 2) -> None:
        self.podman = podman
        self.accounts: list[Account] = []
        self.folder = Path(tempfile.mkdtemp(prefix="gleaner-python-"))
        self.state = self.folder / "state"
        self.listen = "127.0.0.1:0"
        self.hub = self.start_hub()
        self.worker = self._gleaner("worker", "share", "--hub", self.url, "--name", "tester", *self._shared(slots))
        wait_for("the worker joins", self._has_worker, self.worker.said)

    @staticmethod
    def _shared(slots: int) -> list[str]:
        return ["--dedicated", "--no-gpu", "--no-blender", "--cpu-slots", str(slots)]

    def _gleaner(self, name: str, *arguments: str, **more: Any) -> Process:
        environment = {"DOCKER_HOST": self.podman.host, "NO_COLOR": "1"}
        command = [program(), "--dir", str(self.state), *arguments]
        more.setdefault("stdout", subprocess.DEVNULL)
        return Process(command, self.folder / f"{name}.log", environment, **more)

    def start_hub(self) -> Process:
        """Starts the hub, at the place where it was before if it ran before."""
        hub = self._gleaner("hub", "hub", "--listen", self.listen, "--no-tests", stdout=subprocess.PIPE)
        assert hub.child.stdout is not None
        line = hub.child.stdout.readline().decode().strip()
        hub.child.stdout.close()
        assert line.startswith("http://"), f"the hub ended: {hub.said()}"
        self.listen = line.removeprefix("http://")
        return hub

    def restart_hub(self) -> None:
        """Kills the hub without notice, and starts it again."""
        self.hub.kill()
        self.hub = self.start_hub()

    @property
    def url(self) -> str:
        return f"http://{self.listen}"

    @property
    def operator_token(self) -> str:
        return (self.state / "hub" / "api.token").read_text().strip()

    def _has_worker(self) -> bool:
        answer = httpx.get(f"{self.url}/api/v1/workers", trust_env=False, timeout=PATIENCE)
        offered = [device["runtimes"] for worker in answer.json()["items"] for device in worker["offer"]["devices"]]
        return any(one["runtime"] == "container" for runtimes in offered for one in runtimes)

    def account(self, name: str) -> Account:
        account = Account(self, name)
        self.accounts.append(account)
        return account

    def close(self) -> None:
        for account in self.accounts:
            account.http.close()
        # Asked twice, a worker leaves at once and takes its containers with it.
        self.worker.child.send_signal(signal.SIGINT)
        self.worker.child.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.worker.child.wait(30)
        self.worker.kill()
        self.hub.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Account:
    """Somebody who has signed up."""

    def __init__(self, network: Network, name: str) -> None:
        self.http = httpx.Client(base_url=f"{network.url}/api/v1", trust_env=False, timeout=PATIENCE)
        said = {"name": name, "passphrase": "seven quiet herons wade at dawn"}
        self.csrf = self._made("/accounts", said, {})["csrf"]

    def _made(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        answer = self.http.post(path, json=body, headers=dict(headers))
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def token(self, spend: str | None = "50", **scopes: bool) -> str:
        """A new token, good for everything that a requester does unless that is said."""
        wanted = {"label": "test", "scopes": {"read": True, "submit": True, **scopes}, "ends_at": _tomorrow()}
        if spend is not None:
            wanted["scopes"]["spend"] = spend  # type: ignore[index]
        return str(self._made("/account/tokens", wanted, {"x-gleaner-csrf": self.csrf})["text"])


def _tomorrow() -> int:
    return int(time.time() * 1000) + _DAY_MS


@contextlib.contextmanager
def closing_all(*things: Any) -> Iterator[None]:
    try:
        yield
    finally:
        for thing in things:
            thing.close()
