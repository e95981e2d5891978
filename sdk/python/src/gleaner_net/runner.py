"""Runs one call of a function in the sandbox, and leaves its result or the reason why there is none in /out/result.

Beside it in /in/call lie the pickled function, its arguments and how results are encoded. It is written for whatever Python
an image may have, since it is what says that it is the wrong one.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from typing import Any, Dict, Tuple

CALL = os.path.dirname(os.path.abspath(__file__))
PACKAGES = "/in/packages"
OUT = "/out/result"
MAGIC = b"GLEANER\x01"
LENGTH_BYTES = 8


def fail(kind: str, words: Dict[str, str]) -> None:
    """Leaves a failure as `codec.encode_failure` writes it, for Pythons that cannot read that file."""
    pairs = [[name, words[name]] for name in words]
    text = json.dumps({"kind": kind, "content": {"t": "dict", "v": pairs}}).encode("ascii")
    leave(MAGIC + len(text).to_bytes(LENGTH_BYTES, "little") + text)


def leave(content: bytes) -> None:
    with open(OUT + ".part", "wb") as file:
        file.write(content)
    os.rename(OUT + ".part", OUT)


def read(name: str) -> bytes:
    with open(os.path.join(CALL, name), "rb") as file:
        return file.read()


def refused(spec: Dict[str, Any]) -> bool:
    """Whether this is not the Python that the function was pickled with, or not the machine its packages are for."""
    found = "{}.{}".format(*sys.version_info[:2])
    if found != spec["python"] or sys.implementation.name != spec["implementation"]:
        fail("version", {"found": platform.python_implementation() + " " + platform.python_version()})
        return True
    if spec["machine"] and platform.machine() != spec["machine"]:
        fail("machine", {"found": platform.machine()})
        return True
    return False


def show_sources() -> None:
    """Lets tracebacks show lines of files that are on the requester's machine only."""
    import linecache

    for name, lines in json.loads(read("sources.json").decode("ascii")).items():
        # Without a time it is never looked whether the file has changed.
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)


def arguments(index: int) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """The arguments of one element, out of those of all."""
    import pickle

    places = json.loads(read("calls.json").decode("ascii"))
    start, length = places[index]
    with open(os.path.join(CALL, "calls.bin"), "rb") as file:
        file.seek(start)
        args, kwargs = pickle.loads(file.read(length))
    return args, kwargs


def call(index: int) -> Any:
    import pickle

    function = pickle.loads(read("function.pkl"))
    args, kwargs = arguments(index)
    value = function(*args, **kwargs)
    if hasattr(value, "__await__"):
        import asyncio

        async def awaited() -> Any:
            return await value

        value = asyncio.run(awaited())
    return value


def failure(error: BaseException, codec: Any) -> bytes:
    """The failure as the requester sees it: without our own frames."""
    import traceback

    kind = type(error)
    shown = traceback.TracebackException.from_exception(error)
    shown.stack = traceback.StackSummary.from_list(
        [frame for frame in shown.stack if os.path.abspath(frame.filename) != os.path.abspath(__file__)]
    )
    text = "".join(shown.format())
    name = kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__
    try:
        message = str(error)
    except Exception:  # an exception that cannot even say what it is
        message = ""
    words = {"type": name, "message": message, "traceback": text}
    if isinstance(error, ModuleNotFoundError) and error.name:
        words["missing"] = error.name
    told: bytes = codec.encode_failure("error", words)
    return told


def main() -> None:
    spec = json.loads(read("spec.json").decode("utf-8"))
    if refused(spec):
        return
    # Not this file's own folder: what lies there would hide modules of the same name.
    sys.path[0:1] = [os.path.join(CALL, "lib"), PACKAGES]
    import gleaner_codec as codec  # type: ignore[import-not-found]

    show_sources()
    try:
        value = call(int(os.environ["GLEANER_INDEX"]))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # SystemExit too: a function that ends the program has not returned anything.
        leave(failure(error, codec))
        return
    if spec["results"] == "pickle":
        import cloudpickle

        leave(codec.encode_pickle(cloudpickle.dumps(value)))
        return
    try:
        content = codec.encode(value, spec["types"])
    except codec.EncodeError as error:
        content = codec.encode_failure("type", {"message": str(error)})
    leave(content)


if __name__ == "__main__":
    main()
