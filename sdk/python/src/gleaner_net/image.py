"""Where a function runs: an image of a registry, named by its digest so that all machines run the same bytes, or one that
lies on this machine."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from .errors import ImageError
from .files import Tree, below

_KINDS = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_HOST = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-f:]+\])(:[0-9]+)?")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TIME_MAX = 30.0
_found: dict[str, str] = {}


def default() -> str:
    """The image with this very Python."""
    return "docker.io/library/python:{}.{}-slim".format(*sys.version_info[:2])


@dataclass(frozen=True)
class Name:
    """The name of an image, taken apart."""

    host: str
    path: str
    tag: str
    digest: str | None

    @classmethod
    def parse(cls, text: str) -> Name:
        wrong = ImageError(
            f"`{text}` is neither a folder or archive here nor the name of an image: write NAME, NAME:TAG or NAME@sha256:DIGEST"
        )
        name, at, digest = text.partition("@")
        first, slash, rest = name.partition("/")
        is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
        host, path = (first, rest) if is_host else ("docker.io", name)
        path, _, tag = path.rpartition(":") if ":" in path.rsplit("/", 1)[-1] else (path, "", "latest")
        if host == "docker.io" and "/" not in path:
            path = f"library/{path}"
        if (
            not _HOST.fullmatch(host)
            or not all(_PART.fullmatch(part) for part in [*path.split("/"), tag])
            or (at and not _DIGEST.fullmatch(digest))
        ):
            raise wrong
        return cls(host, path, tag, digest if at else None)

    @property
    def url(self) -> str:
        """Where its registry answers. On this machine that need not be encrypted."""
        host = "registry-1.docker.io" if self.host == "docker.io" else self.host
        bare = host.rsplit(":", 1)[0] if host.rsplit(":", 1)[-1].isdigit() else host
        scheme = "http" if bare in ("localhost", "127.0.0.1", "[::1]") else "https"
        return f"{scheme}://{host}/v2/{self.path}/manifests/{self.tag}"

    def exact(self, digest: str) -> str:
        return f"{self.host}/{self.path}@{digest}"


async def resolve(reference: str) -> str:
    """The exact name of an image: as it is if it has a digest, else by asking its registry, once for each process."""
    name = Name.parse(reference)
    if name.digest is not None:
        return name.exact(name.digest)
    if reference not in _found:
        _found[reference] = name.exact(await _ask(name))
    return _found[reference]


async def _ask(name: Name) -> str:
    async with httpx.AsyncClient(timeout=_TIME_MAX, trust_env=name.url.startswith("https://")) as http:
        try:
            answer = await http.head(name.url, headers={"accept": _KINDS})
            if answer.status_code == 401:
                answer = await http.head(name.url, headers={"accept": _KINDS, **await _bearer(http, answer)})
        except httpx.TransportError as error:
            raise ImageError(f"the registry {name.host} does not answer: {error or type(error).__name__}") from error
    if not answer.is_success:
        raise ImageError(f"the registry {name.host} does not give {name.path}:{name.tag}: status {answer.status_code}")
    digest = answer.headers.get("docker-content-digest", "")
    if not _DIGEST.fullmatch(digest):
        raise ImageError(f"the registry {name.host} does not say which image {name.path}:{name.tag} is")
    return str(digest)


async def _bearer(http: httpx.AsyncClient, refusal: httpx.Response) -> dict[str, str]:
    """The token that a registry gives to strangers, at the place that its refusal names."""
    parts = dict(re.findall(r'(\w+)="([^"]*)"', refusal.headers.get("www-authenticate", "")))
    realm = parts.get("realm", "")
    if urlsplit(realm).scheme != "https" and not realm.startswith("http://127.0.0.1"):
        return {}
    answer = await http.get(realm, params={name: parts[name] for name in ("service", "scope") if name in parts})
    try:
        said = answer.json()
    except json.JSONDecodeError:
        return {}
    token = said.get("token") or said.get("access_token") if isinstance(said, dict) else None
    return {"authorization": f"Bearer {token}"} if isinstance(token, str) else {}


def local(place: Path) -> Tree | None:
    """An image on this machine, as a folder in OCI layout or as an archive; none if there is nothing of that name."""
    if place.is_dir():
        if not (place / "oci-layout").is_file():
            raise ImageError(f"{place} is no image: a folder in OCI layout has a file `oci-layout`")
        return Tree.of("python-image", {f"image/{path}": file for path, file in below(place)})
    if place.is_file():
        return Tree.of("python-image", {"image": place})
    return None
