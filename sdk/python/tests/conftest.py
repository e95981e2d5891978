"""What tests share: one network for all of them, and an account at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

import pytest

import gleaner_net as gn
from network import Account, Network, Podman, Registry, closing_all, image_of

P = ParamSpec("P")
R = TypeVar("R")


class Remote(Protocol):
    """Makes functions that run on the tests' network."""

    def __call__(self, **options: Any) -> Callable[[Callable[P, R]], gn.Function[P, R]]: ...


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    registry = Registry()
    with closing_all(registry):
        yield registry


@pytest.fixture(scope="session")
def podman(registry: Registry) -> Iterator[Podman]:
    podman = Podman(registry.configuration)
    with closing_all(podman):
        yield podman


@pytest.fixture(scope="session")
def network(podman: Podman) -> Iterator[Network]:
    network = Network(podman)
    with closing_all(network):
        yield network


@pytest.fixture(scope="session")
def account(network: Network) -> Account:
    return network.account("ada")


@pytest.fixture(scope="session")
def client(network: Network, account: Account) -> Iterator[gn.Client]:
    with gn.Client(network.url, account.token()) as client:
        yield client


@pytest.fixture(scope="session")
def image() -> Path:
    """Debian's Python, and what wheels expect of any Linux."""
    return image_of("python3", "libstdc++6")


@pytest.fixture(scope="session")
def remote(client: gn.Client, image: Path) -> Remote:
    def made(**options: Any) -> Any:
        return gn.function(**{"client": client, "image": image, "memory": "256MiB", "time_max": "2m", **options})

    return made
