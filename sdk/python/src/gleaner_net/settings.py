"""Which hub is asked, and in whose name: from arguments, the environment, or a file."""

from __future__ import annotations

import ipaddress
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HUB_DEFAULT = "http://127.0.0.1:7700"
_FILE = "gleaner/python.toml"
_KNOWN = ("hub", "token", "token_file", "requester")


@dataclass(frozen=True)
class Settings:
    """A hub, and what opens it."""

    hub: str
    token: str = field(repr=False)
    requester: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether the hub is on this machine."""
        host = urlsplit(self.hub).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")


def config_file() -> Path:
    """Where settings are kept."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / _FILE


def find(
    hub: str | None = None, token: str | None = None, requester: str | None = None, *, allow_http: bool = False
) -> Settings:
    """Settings from arguments, else from GLEANER_HUB and GLEANER_TOKEN, else from the file."""
    written = _written(config_file())
    address = hub or os.environ.get("GLEANER_HUB") or written.get("hub") or HUB_DEFAULT
    secret = token or os.environ.get("GLEANER_TOKEN") or written.get("token") or _read(written.get("token_file"))
    if not secret:
        raise ConfigError(
            "no token is known: make one on the hub's page under Account, and set GLEANER_TOKEN, "
            f'pass token=…, or write `token = "…"` into {config_file()}'
        )
    settings = Settings(_address(address), secret.strip(), requester or written.get("requester"))
    if settings.hub.startswith("http://") and not settings.is_local and not allow_http:
        raise ConfigError(
            f"{settings.hub} is not encrypted: everybody on the way could read the token. Use https://, or pass allow_http=True"
        )
    return settings


def _address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ConfigError(f"`{text}` is not the address of a hub: write https://HOST or http://127.0.0.1:7700")
    return text.rstrip("/")


def _written(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from error
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}") from error
    for name, value in values.items():
        if name not in _KNOWN:
            raise ConfigError(f"{file}: `{name}` is not known; there are {', '.join(_KNOWN)}")
        if not isinstance(value, str):
            raise ConfigError(f"{file}: `{name}` must be a text")
    return values


def _read(name: str | None) -> str | None:
    if not name:
        return None
    file = Path(name).expanduser()
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the token from {file}: {error.strerror}") from error
