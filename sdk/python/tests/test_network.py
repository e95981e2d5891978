"""Functions and job files on a real hub with a real worker, in real containers."""

from __future__ import annotations

import asyncio
import datetime
import os
import runpy
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

import gleaner_net as gn
from conftest import Remote
from network import ROOT, Account, Network, Podman, Registry, image_of, wait_for

PERIODS = 60


@dataclass
class Seen:
    number: int
    python: tuple[int, int]
    parts: dict[str, bytes]
    at: datetime.date


@pytest.fixture
def long(remote: Remote) -> gn.Function[[int], int]:
    """A function that takes as many seconds as it is told."""

    @remote()
    def long(seconds: int) -> int:
        print(f"begun with {seconds}")
        time.sleep(seconds)
        return seconds

    return long


def test_values_come_in_order_and_as_what_they_were(remote: Remote) -> None:
    @remote()
    def see(number: int, letter: str) -> Seen:
        return Seen(number, sys.version_info[:2], {letter: bytes([number])}, datetime.date(2024, 2, 29))

    found = list(see.map(range(4), "abcd"))
    assert [one.number for one in found] == [0, 1, 2, 3]
    assert found[3] == Seen(3, sys.version_info[:2], {"d": b"\x03"}, datetime.date(2024, 2, 29))


def test_values_stream_and_whoever_leaves_cancels_the_rest(long: gn.Function[[int], int]) -> None:
    results = long.map([PERIODS, 0], ordered=False)
    for value in results:
        assert value == 0, "the short one comes first"
        assert results.job is not None
        assert results.job.status().state == "running"
        break
    assert results.job is not None
    wait_for("it is cancelled", lambda: bool(results.job and results.job.status().state == "cancelled"))
    with pytest.raises(gn.GleanerError, match="iterated before"):
        next(iter(results))


def test_an_exception_comes_back_with_its_traceback_and_may_be_a_value(remote: Remote) -> None:
    def check(number: int) -> int:
        if number == 1:
            raise ValueError(f"no room for {number}")
        return number

    @remote()
    def checked(number: int) -> int:
        return check(number)

    with pytest.raises(ValueError, match="no room for 1") as told:
        list(checked.map([0, 1]))
    error = told.value
    assert isinstance(error, gn.RemoteError)
    assert error.index == 1
    assert "in check" in error.remote_traceback
    assert 'raise ValueError(f"no room for {number}")' in error.remote_traceback
    assert isinstance(error.__cause__, gn.RemoteTraceback)
    found = list(checked.map([0, 1, 2], return_exceptions=True))
    assert (found[0], found[2]) == (0, 2)
    assert isinstance(found[1], gn.RemoteError)


def test_packages_of_pypi_are_there_although_workers_have_no_network(remote: Remote) -> None:
    import numpy as np

    @remote(packages=["numpy==2.3.5"], inputs={"note": Path(__file__)}, env={"WORD": "wheat"})
    def squares(count: int) -> dict[str, object]:
        import numpy

        return {
            "version": numpy.__version__,
            "squares": numpy.arange(count, dtype=numpy.float32) ** 2,
            "note": Path("/in/note").read_bytes()[:3],
            "word": os.environ["WORD"],
        }

    found = squares.remote(5)
    array = found.pop("squares")
    assert isinstance(array, np.ndarray)
    assert (array.dtype, array.tolist()) == (np.float32, [0, 1, 4, 9, 16])
    assert found == {"version": "2.3.5", "note": b'"""', "word": "wheat"}


def test_packages_that_cannot_be_had_are_named(remote: Remote) -> None:
    @remote(packages=["gleaner-has-no-such-package"])
    def never() -> None: ...

    with pytest.raises(gn.PackageError, match="gleaner-has-no-such-package could not be had"):
        never.remote()


def test_everything_is_there_for_async_programs_too(long: gn.Function[[int], int], client: gn.Client) -> None:
    async def program() -> tuple[int, list[int], str, bool]:
        call = await long.asubmit(0)
        value, many = await asyncio.gather(call.aresult(), collect())
        running = await long.asubmit(PERIODS)
        async for line in running.alogs(follow=True):
            if "begun" in line.text:
                break
        stopped = await running.acancel()
        with pytest.raises(gn.JobCancelledError):
            await running.aresult()
        async for _ in left:
            break
        return value, many, (await call.astatus()).state, stopped

    async def collect() -> list[int]:
        return [value async for value in long.map([1, 0])]

    left = long.map([PERIODS, 0], ordered=False)
    assert asyncio.run(program()) == (0, [1, 0], "done", True)
    wait_for("what was left is cancelled", lambda: bool(left.job and left.job.status().state == "cancelled"))


def test_a_call_can_be_watched_cancelled_and_found_again(long: gn.Function[[int], int], client: gn.Client) -> None:
    call = long.submit(PERIODS)
    line = next(line for line in call.logs(follow=True) if "begun" in line.text)
    assert (line.text.strip(), line.task, line.worker) == (f"begun with {PERIODS}", "call", "tester")
    with pytest.raises(TimeoutError):
        call.result(timeout=0.1)
    assert "tester" in client.job(call.number).explain()
    assert call.cancel()
    with pytest.raises(gn.JobCancelledError):
        call.result()
    assert not call.cancel(), "it has ended"


def test_a_quote_says_what_it_rests_on_and_why_nobody_could(long: gn.Function[[int], int]) -> None:
    assert long.remote(0) == 0
    quote = long.options(price_max="0.25").quote(0)
    assert (quote.tasks, quote.cap, quote.is_possible) == (1, Decimal("0.25"), True)
    assert quote.balanced.why
    both = long.map([0, 0]).quote()
    assert both.tasks == 2
    assert both.balanced.binding is not None, "it has run before"
    with pytest.raises(gn.HubError, match="quote"):
        list(long.map([0, 1], quote=both))
    impossible = long.options(memory=None, gpu="8GiB").quote(0)
    assert not impossible.is_possible
    assert impossible.cheap.price is None


def test_a_job_that_costs_less_than_its_binding_price_is_done_for_what_it_costs(long: gn.Function[[int], int]) -> None:
    # Calls are alike by their command, whatever their arguments are; another name for Python makes these a kind of their own.
    slow = long.options(python="/usr/bin/python3")
    assert slow.remote(8) == 8
    calls = slow.map([0, 0])
    quote = calls.quote()
    assert quote.balanced.binding is not None, "it has run before"
    ordered = slow.map([0, 0], quote=quote)
    assert list(ordered) == [0, 0]
    assert ordered.job is not None
    status = ordered.job.status()
    assert status.price_max == quote.balanced.binding.price
    assert Decimal(0) < status.spent <= status.price_max


def test_a_job_that_would_cost_more_than_its_binding_price_ends_there(long: gn.Function[[int], int]) -> None:
    quick = long.options(python="/usr/bin/../bin/python3")
    assert list(quick.map([0, 0, 0, 0])) == [0, 0, 0, 0]
    quote = quick.map([PERIODS, PERIODS]).quote()
    assert quote.balanced.binding is not None, "it has run before"
    ordered = quick.map([PERIODS, PERIODS], quote=quote)
    with pytest.raises(gn.JobFailedError, match=r"the price cap of .* is used up"):
        list(ordered)
    assert ordered.job is not None
    status = ordered.job.status()
    assert status.price_max == quote.balanced.binding.price
    assert status.spent <= status.price_max, "nothing beyond the binding price is charged"


def test_a_result_that_is_known_will_do_if_that_is_said(remote: Remote) -> None:
    @remote(cache=True)
    def moment(_: int) -> float:
        return time.time()

    first, other = moment.remote(1), moment.remote(2)
    again = moment.submit(1)
    assert again.result() == first != other
    assert again.status().known == 1
    assert moment.options(cache=False).remote(1) != first


def test_a_job_file_runs_and_leaves_what_it_delivered(client: gn.Client, tmp_path: Path) -> None:
    job_file = ROOT / "examples" / "array" / "job.toml"
    assert client.quote(job_file).tasks == 100
    job = client.run(job_file, out=tmp_path / "out")
    status = job.status()
    assert (status.state, status.done) == ("done", 100)
    assert Decimal(0) < status.spent <= status.price_max
    counted = [int(path.read_text()) for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert (len(counted), sum(counted)) == (100, 664_579)


def test_an_output_of_many_files_comes_back_whole(client: gn.Client, image: Path, tmp_path: Path) -> None:
    made = "import pathlib; out = pathlib.Path('/out'); (out / 'deep').mkdir(); "
    made += (
        "[(out / 'deep' / f'{n}.txt').write_text(str(n)) for n in range(300)]; (out / 'large').write_bytes(bytes(5_000_000))"
    )
    (tmp_path / "job.toml").write_text(f'''
name = "many files"
[budget]
price_max = "1 GLN"
[[task]]
name = "many"
runtime = "container"
program = "{image}"
time_max = "2m"
needs = {{ memory = "256MiB" }}
[task.container]
command = ["python3", "-c", """{made}"""]
''')
    job = client.run(tmp_path / "job.toml", out=tmp_path / "out")
    listed = {file.path for file in job.files()}
    assert listed == {"large", *(f"deep/{n}.txt" for n in range(300))}, "the list goes on page by page within one output"
    assert len(job.files()) == 301, "and names each file once"
    top = tmp_path / "out" / "many" / "0"
    assert {path.name: path.read_text() for path in (top / "deep").iterdir()} == {f"{n}.txt": str(n) for n in range(300)}
    assert (top / "large").stat().st_size == 5_000_000
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["many"]
    again = job.download(tmp_path / "again")
    assert len(again) == 301
    with pytest.raises(gn.UntrustedResultError, match="larger than"):
        job.download(tmp_path / "small", bytes_max=4_000_000)


def test_a_mistake_in_a_job_file_is_refused_with_its_line(client: gn.Client, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('name = "x"\n[[task]]\nname = "a"\nruntime = "wasm"\neech = "0..1"\n')
    with pytest.raises(gn.JobRefusedError) as told:
        client.submit(tmp_path / "job.toml")
    assert told.value.line == 5


def test_another_python_in_the_image_is_said(remote: Remote) -> None:
    @remote(image=image_of("pypy3"), python="pypy3")
    def never() -> int:
        return 1

    with pytest.raises(gn.PythonVersionError, match=r"has PyPy 3\.9"):
        never.remote()


def test_an_image_of_a_registry_is_found_by_its_tag(remote: Remote, registry: Registry, podman: Podman, image: Path) -> None:
    name = registry.name("python:here")
    podman.push(image, name)

    @remote(image=name)
    def version() -> tuple[int, int]:
        return sys.version_info[:2]

    assert version.remote() == sys.version_info[:2]
    with pytest.raises(gn.ImageError, match="does not give python:gone"):
        version.options(image=registry.name("python:gone")).remote()


def test_a_program_that_takes_too_much_fails_with_its_cause(remote: Remote) -> None:
    @remote(memory="64MiB")
    def hungry() -> int:
        return len(bytearray(1 << 30))

    with pytest.raises(gn.JobFailedError) as told:
        hungry.remote()
    assert told.value.cause == "out_of_memory"


def test_a_call_that_takes_too_long_fails_with_its_cause(long: gn.Function[[int], int]) -> None:
    with pytest.raises(gn.JobFailedError) as told:
        long.options(time_max="1s").remote(PERIODS)
    assert told.value.cause == "time_limit"


def test_what_a_token_may_not_do_is_refused(network: Network, account: Account, remote: Remote) -> None:
    @remote(price_max="2")
    def one() -> int:
        return 1

    def submit(token: str) -> gn.HubError:
        with gn.Client(network.url, token) as client, pytest.raises(gn.HubError) as told:
            one.on(client).submit()
        return told.value

    unknown = submit("glnr_no-such-token")
    assert isinstance(unknown, gn.UnauthorizedError)
    unfit = submit(account.token(submit=False))
    assert (type(unfit), unfit.code) == (gn.ForbiddenError, "scope")
    poor = submit(account.token(spend="1"))
    assert (type(poor), poor.code) == (gn.ForbiddenError, "spend-limit")
    assert "may spend 1 GLN" in poor.detail


def test_nobody_sees_anothers_jobs(network: Network, client: gn.Client, long: gn.Function[[int], int]) -> None:
    call = long.submit(0)
    with gn.Client(network.url, network.account("bob").token()) as bob:
        with pytest.raises(gn.NotFoundError):
            bob.job(call.number).status()
        with pytest.raises(gn.NotFoundError):
            bob.job(call.number).files()
    assert call.result() == 0


def test_the_operators_token_works_in_anybodys_name(network: Network, remote: Remote) -> None:
    @remote()
    def one() -> int:
        return 1

    with gn.Client(network.url, network.operator_token, requester="carol") as client:
        assert one.on(client).remote() == 1
        assert client.wallet().locked >= 0


def test_what_was_called_with_is_not_kept_and_what_is_needed_again_is(client: gn.Client, long: gn.Function[[int], int]) -> None:
    assert long.remote(0) == 0
    kept = {name.rpartition("-")[0] for name in client.uploads()}
    assert "python-image" in kept
    assert "python-call" not in kept


def test_a_hub_that_dies_in_the_middle_is_waited_for(network: Network, long: gn.Function[[int], int]) -> None:
    def values() -> Iterator[int]:
        for value in long.map([0, 6], ordered=False):
            if value == 0:
                network.restart_hub()
            yield value

    assert list(values()) == [0, 6]


def test_the_example_counts_primes(client: gn.Client, image: Path) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "python" / "primes.py"))
    primes: gn.Function[[int], int] = example["primes"].options(image=image, packages=["numpy==2.3.5"]).on(client)
    assert list(primes.map([0, example["STEP"]])) == [41_538, 36_960]
