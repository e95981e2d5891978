"""A hub and its desk over HTTP: requests that are sent again where that is safe, and refusals as exceptions."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote as escape

import httpx

from .errors import HubError, UnavailableError, UntrustedResultError, of_problem
from .settings import Settings

API = "/api/v1"
TRIES_MAX = 8
_PAUSE_FIRST = 0.2
_PAUSE_MAX = 5.0
# A hub that says how long to wait is believed up to here.
_WAIT_MAX = 60.0
_AGAIN = frozenset({429, 502, 503, 504})
_SAFE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_CONNECTIONS_MAX = 64
# The desk opens what it sends, and may need a while for the next piece of it.
_SILENCE_MAX = 60.0

T = TypeVar("T")


class Hub:
    """One hub, as the holder of one token sees it. Only to be used on the package's own loop."""

    def __init__(self, settings: Settings, timeout: float) -> None:
        self.settings = settings
        headers = {"authorization": f"Bearer {settings.token}", "user-agent": "gleaner-sdk"}
        if settings.requester is not None:
            headers["gleaner-requester"] = settings.requester
        self._http = httpx.AsyncClient(
            base_url=settings.hub,
            headers=headers,
            timeout=timeout,
            limits=httpx.Limits(max_connections=_CONNECTIONS_MAX, max_keepalive_connections=_CONNECTIONS_MAX),
            # A proxy of the environment is for other machines than this one.
            trust_env=not settings.is_local,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        accept: frozenset[int] = frozenset(),
        timeout: float | None = None,
        may_repeat: bool = False,
    ) -> httpx.Response:
        """Asks, and asks again if that does nothing twice. A refusal is raised unless its status is accepted."""
        sent = dict(headers or {})
        may_repeat = may_repeat or method in _SAFE or "idempotency-key" in sent
        request = self._http.build_request(
            method,
            f"{API}{path}",
            params=dict(params) if params else None,
            json=body,
            content=content,
            headers=sent,
            timeout=timeout if timeout is not None else httpx.USE_CLIENT_DEFAULT,
        )
        for tried in range(1, TRIES_MAX + 1):
            is_last = tried == TRIES_MAX or not may_repeat
            try:
                response = await self._http.send(request)
            except httpx.TransportError as error:
                if is_last:
                    raise self._silent(error) from error
                await asyncio.sleep(_pause(tried))
                continue
            if response.is_success or response.status_code in accept:
                return response
            if response.status_code not in _AGAIN or (is_last and response.status_code != 429):
                raise refusal(response)
            if tried == TRIES_MAX:
                raise refusal(response)
            await asyncio.sleep(_wait(response, tried))
        raise AssertionError("the last try returns or raises")

    def _silent(self, error: Exception) -> UnavailableError:
        reason = str(error) or type(error).__name__
        return UnavailableError(0, "unreachable", "the hub does not answer", f"{self.settings.hub} does not answer: {reason}")

    async def get(self, path: str, **params: str | int) -> dict[str, Any]:
        """An object of JSON."""
        return json_of(await self.request("GET", path, params=params))

    async def post(self, path: str, body: Any, key: str | None = None, timeout: float | None = None) -> dict[str, Any]:
        headers = {"idempotency-key": key} if key is not None else None
        return json_of(await self.request("POST", path, body=body, headers=headers, timeout=timeout))

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str | int] | None = None, silence_max: float | None = None
    ) -> AsyncIterator[httpx.Response]:
        """An answer as it comes."""
        timeout = httpx.Timeout(self._http.timeout.connect, read=silence_max)
        try:
            async with self._http.stream("GET", f"{API}{path}", params=params, timeout=timeout) as response:
                if not response.is_success:
                    await response.aread()
                    raise refusal(response)
                yield response
        except httpx.TransportError as error:
            raise self._silent(error) from error

    async def fetch(self, path: str, bytes_max: int) -> bytes:
        """A file of at most so many bytes; more than that is not read."""
        return await self.read(path, lambda response: _at_most(response, bytes_max))

    async def read(self, path: str, reader: Callable[[httpx.Response], Awaitable[T]]) -> T:
        """What is read of an answer as it comes. If it breaks off, it is asked for and read again from its beginning."""
        for tried in range(1, TRIES_MAX + 1):
            try:
                async with self.stream(path, silence_max=_SILENCE_MAX) as response:
                    return await reader(response)
            except HubError as error:
                if tried == TRIES_MAX or (error.status and error.status not in _AGAIN):
                    raise
            await asyncio.sleep(_pause(tried))
        raise AssertionError("the last try returns or raises")


async def _at_most(response: httpx.Response, bytes_max: int) -> bytes:
    pieces: list[bytes] = []
    length = 0
    async for piece in response.aiter_bytes():
        length += len(piece)
        if length > bytes_max:
            raise UntrustedResultError(f"a result is longer than the {bytes_max} bytes that it may have")
        pieces.append(piece)
    return b"".join(pieces)


def json_of(response: httpx.Response) -> dict[str, Any]:
    """The object that an answer is."""
    try:
        value = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _no_hub(response) from error
    if not isinstance(value, dict):
        raise _no_hub(response)
    return value


def _no_hub(response: httpx.Response) -> HubError:
    return HubError(response.status_code, "no-hub", "no hub answers here", f"{response.url.host} answers, but not like a hub")


def refusal(response: httpx.Response) -> HubError:
    """The exception for an answer that is none."""
    try:
        problem = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        problem = {}
    return of_problem(response.status_code, problem if isinstance(problem, dict) else {})


def _pause(tried: int) -> float:
    longest = min(_PAUSE_FIRST * 2.0 ** (tried - 1), _PAUSE_MAX)
    # Many who were turned away together must not come back together.
    return longest * random.uniform(0.5, 1.0)  # noqa: S311


def _wait(response: httpx.Response, tried: int) -> float:
    said = response.headers.get("retry-after", "")
    return min(float(said), _WAIT_MAX) if said.isascii() and said.isdigit() else _pause(tried)


def path_of(*parts: str | int) -> str:
    """Parts of an address, each of them one name or a path of names."""
    return "".join(f"/{escape(str(part), safe='/')}" for part in parts)
