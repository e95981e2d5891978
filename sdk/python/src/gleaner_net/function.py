"""Functions that run on other machines."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import types
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, overload

from . import image as images
from . import loop
from . import packages as wheels
from .bundle import Arguments, ResultsKind, bundle, known_types
from .call import Call, Reading, Results, Started
from .client import Client, default_client
from .errors import HubError
from .files import Tree, below, bring, remove
from .hub import Hub
from .job_file import Options, Places, Prefer, Price, of_calls
from .views import Quote

P = ParamSpec("P")
R = TypeVar("R")


class Function(Generic[P, R]):
    """A function that can run on other machines. Called as usual, it runs here."""

    def __init__(
        self,
        function: Callable[P, R],
        options: Options,
        *,
        client: Client | None,
        modules: Sequence[types.ModuleType],
        known: Sequence[type],
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options
        self._client = client
        self._modules = tuple(modules)
        self._named = tuple(known)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<gleaner function {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Where it runs, there is no hub to ask: among functions that are sent along, it is a plain one.
        return functools.partial, (self._function,)

    @property
    def name(self) -> str:
        return str(getattr(self._function, "__name__", "function"))

    def options(self, **changes: Any) -> Function[P, R]:
        """The same function with other options, such as `score.options(price_max="2")`."""
        changed = dataclasses.replace(self._options, **changes)
        return Function(self._function, changed, client=self._client, modules=self._modules, known=self._named)

    def on(self, client: Client) -> Function[P, R]:
        """The same function on another hub, or in another name."""
        return Function(self._function, self._options, client=client, modules=self._modules, known=self._named)

    # One call.

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Submits one call and does not wait for it."""
        return loop.wait(self._submit_one((args, kwargs)))

    async def asubmit(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        return await loop.on_loop(self._submit_one((args, kwargs)))

    def remote(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs one call elsewhere and waits for its value."""
        return self.submit(*args, **kwargs).result(progress=None)

    async def aremote(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return await (await self.asubmit(*args, **kwargs)).aresult(progress=None)

    def quote(self, *args: P.args, **kwargs: P.kwargs) -> Quote:
        """What one call would cost. Nothing is submitted."""
        return loop.wait(self._quote([(args, kwargs)]))

    async def aquote(self, *args: P.args, **kwargs: P.kwargs) -> Quote:
        return await loop.on_loop(self._quote([(args, kwargs)]))

    # Many calls.

    def map(
        self,
        *iterables: Iterable[Any],
        ordered: bool = True,
        return_exceptions: bool = False,
        quote: Quote | None = None,
        progress: bool | None = None,
    ) -> Results[R]:
        """Calls it for each element, as Python's own `map` does, on as many machines as there are.

        With a quote of the same calls, they are ordered for its binding price.
        """
        calls = [(args, dict[str, Any]()) for args in zip(*iterables, strict=False)]
        return self._results(calls, ordered, return_exceptions, quote, progress)

    def starmap(
        self,
        arguments: Iterable[Iterable[Any]],
        *,
        ordered: bool = True,
        return_exceptions: bool = False,
        quote: Quote | None = None,
        progress: bool | None = None,
    ) -> Results[R]:
        """Calls it for each tuple of arguments."""
        calls = [(tuple(args), dict[str, Any]()) for args in arguments]
        return self._results(calls, ordered, return_exceptions, quote, progress)

    def _results(
        self,
        calls: list[Arguments],
        ordered: bool,
        return_exceptions: bool,
        quote: Quote | None,
        progress: bool | None,
    ) -> Results[R]:
        async def start() -> Started | None:
            return await self._submit(calls, quote) if calls else None

        return Results(
            start,
            lambda: self._quote(calls),
            ordered=ordered,
            return_exceptions=return_exceptions,
            progress=progress,
        )

    # On the package's own loop.

    async def _submit_one(self, call: Arguments) -> Call[R]:
        return Call(await self._submit([call]))

    async def _submit(self, calls: list[Arguments], quote: Quote | None = None) -> Started:
        client = self._client or default_client()
        async with self._prepared(client.hub, calls) as (job, reading):
            number = await client.order(job, quote=quote)
        return Started(client.hub, number, len(calls), reading)

    async def _quote(self, calls: list[Arguments]) -> Quote:
        client = self._client or default_client()
        async with self._prepared(client.hub, calls) as (job, _):
            return await client.ask_quote(job)

    @asynccontextmanager
    async def _prepared(self, hub: Hub, calls: list[Arguments]) -> AsyncIterator[tuple[str, Reading]]:
        """The job file of some calls, once everything that it names is there, and how their results are read."""
        options = self._options
        known = known_types(self._function, self._named)
        needed = await wheels.tree(options.packages, options.machine or wheels.MACHINE) if options.packages else None
        machine = options.machine or (wheels.MACHINE if needed is not None else None)
        call = bundle(self._function, calls, results=options.results, known=known, machine=machine, modules=self._modules)
        image_tree, image_name = await self._image()
        inputs = {name: _input(Path(place)) for name, place in options.inputs.items()}
        places = Places(
            call=call.name,
            packages=needed.name if needed is not None else None,
            image_tree=image_tree.name if image_tree is not None else None,
            image_name=image_name,
            inputs={name: tree.name for name, tree in inputs.items()},
        )
        reading = Reading(options.results, known, options.output_bytes_max, str(options.image or images.default()))
        try:
            for tree in filter(None, [needed, image_tree, *inputs.values(), call]):
                await bring(hub, tree)
            yield of_calls(self.name, len(calls), options, places), reading
        finally:
            # The desk has read them by now, or never will. That they stay where it does not answer hides no other error.
            with contextlib.suppress(HubError):
                await remove(hub, call.name)

    async def _image(self) -> tuple[Tree | None, str | None]:
        wanted = self._options.image
        if wanted is None:
            return None, await images.resolve(images.default())
        found = images.local(Path(wanted))
        if found is not None:
            return found, None
        return None, await images.resolve(str(wanted))


def _input(place: Path) -> Tree:
    if place.is_dir():
        return Tree.of("python-input", {f"input/{path}": file for path, file in below(place)})
    if place.is_file():
        return Tree.of("python-input", {"input": place})
    raise FileNotFoundError(f"an input of the function is not there: {place}")


@overload
def function(wrapped: Callable[P, R], /) -> Function[P, R]: ...


@overload
def function(
    *,
    gpu: str | int | bool | None = None,
    gpus: int = 1,
    device: str | None = None,
    memory: str | None = None,
    region: str | None = None,
    packages: Sequence[str] = (),
    image: str | Path | None = None,
    python: str = "python3",
    inputs: dict[str, str | Path] | None = None,
    env: dict[str, str] | None = None,
    price_max: Price | None = None,
    time_max: str | None = None,
    job_time_max: str | None = None,
    output_max: str = "64MiB",
    prefer: Prefer = "balanced",
    check: str | None = None,
    cache: bool = False,
    results: ResultsKind = "safe",
    types: Sequence[type] = (),
    modules: Sequence[types.ModuleType] = (),
    machine: str | None = None,
    client: Client | None = None,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...


def function(
    wrapped: Callable[P, R] | None = None,
    /,
    *,
    client: Client | None = None,
    modules: Sequence[types.ModuleType] = (),
    types: Sequence[type] = (),
    **options: Any,
) -> Function[P, R] | Callable[[Callable[P, R]], Function[P, R]]:
    """Makes a function one that can run on other machines.

    gpu: memory that a graphics card must have, such as "8GiB", or True for any; gpus: how many cards; device: "nvidia",
    "amd", "cpu" and so on; memory: memory where there is no card; region: where the machine must be.
    packages: what pip is asked for; image: a name in a registry, or a folder in OCI layout; python: what it calls its Python;
    inputs: files and folders that the function finds as /in/NAME; env: environment.
    price_max: what a whole job may cost, in GLN; time_max: how long one call may take; job_time_max: how long all of them may;
    output_max: how large one result may be; prefer: "cheap", "balanced" or "fast"; check: how results are compared ("exact"
    if equal calls give equal bytes); cache: whether a result that is known of an equal call will do.
    results: "safe", or "pickle", by which the machines that run the function can run code here; types: classes that results
    may be of, beside those in the return annotation; modules: modules of yours that are sent along; machine: the processor.
    """

    def made(one: Callable[P, R]) -> Function[P, R]:
        given = {name: value for name, value in options.items() if value is not None}
        return Function(one, Options(**given), client=client, modules=modules, known=types)

    return made if wrapped is None else made(wrapped)
