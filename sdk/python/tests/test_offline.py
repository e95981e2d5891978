"""What needs no hub: settings, job files, bundles, errors, packages' and images' names."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
import tomllib
import traceback
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import gleaner_net as gn
from gleaner_net import bundle, call, codec, errors, image, job_file, runner, settings, toml, views
from gleaner_net.call import Reading
from gleaner_net.files import Tree, below
from gleaner_net.job_file import Options, Places


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GLEANER_HUB", "GLEANER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def write_settings(text: str) -> None:
    settings.config_file().parent.mkdir(parents=True, exist_ok=True)
    settings.config_file().write_text(text)


# Settings.


def test_arguments_count_before_the_environment_and_that_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write_settings('hub = "https://file.example"\ntoken = "of-file"\nrequester = "ada"\n')
    assert settings.find() == settings.Settings("https://file.example", "of-file", "ada")
    monkeypatch.setenv("GLEANER_HUB", "https://environment.example/")
    monkeypatch.setenv("GLEANER_TOKEN", "of-environment")
    assert settings.find() == settings.Settings("https://environment.example", "of-environment", "ada")
    assert settings.find("https://said.example", "said", "bob") == settings.Settings("https://said.example", "said", "bob")


def test_a_token_may_lie_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    write_settings(f'token_file = "{tmp_path / "token"}"\n')
    found = settings.find()
    assert (found.hub, found.token) == (settings.HUB_DEFAULT, "secret")
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "GLEANER_TOKEN"),
        ('tokn = "x"', "`tokn` is not known"),
        ("token = 7", "must be a text"),
        ("token = ", "python.toml"),
        ('token_file = "/nowhere/token"', "/nowhere/token"),
        ('token = "x"\nhub = "hub.example"', "not the address of a hub"),
        ('token = "x"\nhub = "http://hub.example"', "not encrypted"),
    ],
)
def test_what_is_wrong_with_settings_is_said(text: str, words: str) -> None:
    write_settings(text)
    with pytest.raises(gn.ConfigError) as told:
        gn.Client()
    assert words in str(told.value)


def test_an_unencrypted_hub_elsewhere_is_asked_only_if_that_is_said() -> None:
    assert settings.find("http://hub.example", "x", allow_http=True).hub == "http://hub.example"
    for near in ("http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"):
        assert settings.find(near, "x").is_local


# Job files.


def test_toml_that_is_written_is_read_back() -> None:
    table = {
        "name": 'a "b"\\ \n\t\x01\x7f ü',
        "yes": True,
        "count": 7,
        "list": ["x", 1, [False]],
        "empty": [],
        "table": {"odd key.": "v", "inner": {"x": 1}},
        "task": [{"name": "a", "input": [{"name": "i"}, {"name": "j", "map": {"k": "v"}}]}, {"name": "b"}],
    }
    assert tomllib.loads(toml.dumps(table)) == table


def written(options: Options, count: int = 3) -> dict[str, Any]:
    places = Places(call="python-call-1", packages="python-packages-2", image_tree=None, image_name="x@sha256:1", inputs={})
    return tomllib.loads(job_file.of_calls("score", count, options, places))


def test_a_function_becomes_a_job_file() -> None:
    options = Options(gpu="8GiB", packages=["numpy"], price_max="0.50", time_max="10m", job_time_max="2h")
    job = written(options, 100)
    assert job["budget"] == {"price_max": "0.50", "time_max": "2h"}
    task = job["task"][0]
    assert (task["runtime"], task["each"], task["time_max"], task["memo"]) == ("container", "0..99", "10m", False)
    assert task["needs"] == {"device": "gpu", "memory": "8GiB"}
    assert task["container"]["gpus"] == 1
    assert task["container"]["command"] == ["python3", "/in/call/runner.py"]
    assert [(one["name"], one["folder"]) for one in task["input"]] == [
        ("call", "/python-call-1/call"),
        ("packages", "/python-packages-2/site"),
    ]


@pytest.mark.parametrize(
    ("gpu", "needs"),
    [
        (None, {}),
        (False, {}),
        (True, {"device": "gpu"}),
        (24, {"device": "gpu", "memory": "24GiB"}),
        ("512 MiB", {"device": "gpu", "memory": "512MiB"}),
    ],
)
def test_a_card_may_be_asked_for_in_several_ways(gpu: Any, needs: dict[str, str]) -> None:
    task = written(Options(gpu=gpu))["task"][0]
    assert task["needs"] == needs
    assert ("gpus" in task["container"]) == bool(needs)


@pytest.mark.parametrize(
    ("price", "text"),
    [("0.50", "0.50"), ("2 GLN", "2"), (1, "1"), (0.1, "0.1"), (1e-7, "0.0000001"), (Decimal("3"), "3")],
)
def test_prices_are_written_as_decimals(price: Any, text: str) -> None:
    assert job_file.price_of(price) == text


@pytest.mark.parametrize(
    "wrong",
    [
        {"price_max": "much"},
        {"price_max": -1},
        {"price_max": float("nan")},
        {"price_max": "0.0000000001"},
        {"time_max": "10 minutes"},
        {"gpu": "8GB"},
        {"gpu": "8GiB", "memory": "1GiB"},
        {"output_max": "lots"},
        {"packages": "numpy"},
        {"results": "json"},
        {"prefer": "best"},
        {"inputs": {"call": "x"}},
        {"inputs": {"../x": "x"}},
    ],
    ids=str,
)
def test_a_mistake_shows_at_the_decorator(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)) if "inputs" not in wrong else "input"):
        gn.function(**wrong)(lambda: None)


def test_a_job_file_brings_its_files_and_keeps_its_lines(tmp_path: Path) -> None:
    home = tmp_path / "work"
    (home / "data").mkdir(parents=True)
    (home / "data" / "a").write_text("a")
    (home / "program").write_text("p")
    inputs = '[{ name = "d", folder = "data" }, { name = "e", from = "y" }]'
    text = f'# mine\nname = "x"\n[[task]]\nprogram = "program"\ninput = {inputs}\n'
    (home / "job.toml").write_text(text)
    found = job_file.read(home / "job.toml")
    assert found.text == text
    assert found.tree is not None
    assert sorted(found.tree.files) == ["data/a", "program"]


def test_files_elsewhere_get_a_place_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("o")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "job.toml").write_text(
        f'name = "x"\n[[task]]\nprogram = "../outside"\ninput = [{{ name = "i", file = "{tmp_path}/outside" }}]\n'
    )
    found = job_file.read(tmp_path / "work" / "job.toml")
    assert found.tree is not None
    task = tomllib.loads(found.text)["task"][0]
    assert {task["program"], task["input"][0]["file"]} == set(found.tree.files)
    assert len(found.tree.files) == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('name = "x"\n[[task]]\nprogram = "gone.wasm"\n')
    with pytest.raises(gn.GleanerError, match=r"gone\.wasm, which is not there"):
        job_file.read(tmp_path / "job.toml")


# Trees.


def test_a_tree_is_named_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    tree = Tree.of("x", dict(below(tmp_path)))
    assert tree.name == Tree.of("x", {"a": b"one"}).name
    assert tree.name not in {Tree.of("x", {"a": b"two"}).name, Tree.of("x", {"b": b"one"}).name}


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to("/etc/passwd")
    with pytest.raises(gn.GleanerError, match="leads out"):
        list(below(tmp_path / "in"))


# Images.


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("python:3.11-slim", "https://registry-1.docker.io/v2/library/python/manifests/3.11-slim"),
        ("someone/thing", "https://registry-1.docker.io/v2/someone/thing/manifests/latest"),
        ("ghcr.io/a/b:1", "https://ghcr.io/v2/a/b/manifests/1"),
        ("127.0.0.1:5000/a:2", "http://127.0.0.1:5000/v2/a/manifests/2"),
    ],
)
def test_images_are_asked_for_where_they_are(text: str, url: str) -> None:
    assert image.Name.parse(text).url == url


@pytest.mark.parametrize("text", ["", "a b", "a/", "a:", "a@sha256:12", "../x", "a?b"])
def test_what_is_no_image_is_refused(text: str) -> None:
    with pytest.raises(gn.ImageError):
        image.Name.parse(text)


def test_the_usual_image_has_this_very_python() -> None:
    assert image.default().endswith(f"python:{sys.version_info[0]}.{sys.version_info[1]}-slim")


# Functions.


@dataclass
class Pair:
    one: int
    other: float


@gn.function(memory="1GiB")
def halves(number: int) -> list[Pair]:
    return [Pair(number // 2, number / 2)]


@gn.function
def twice(number: int) -> int:
    """Two times."""
    return halves(number * 4)[0].one


def test_a_function_is_called_here_as_usual() -> None:
    assert twice(3) == 6
    assert (twice.name, twice.__doc__) == ("twice", "Two times.")


def test_options_are_changed_in_a_copy() -> None:
    dearer = halves.options(price_max="2", memory="2GiB")
    assert (dearer._options.memory, halves._options.memory) == ("2GiB", "1GiB")
    with pytest.raises(TypeError):
        halves.options(pricemax="2")


def test_classes_of_results_are_those_of_the_annotation() -> None:
    assert bundle.known_types(halves._function, ()) == {codec.type_name(Pair): Pair}


def in_a_sandbox(tmp_path: Path, tree: Tree, index: int = 0) -> bytes:
    """What a bundle leaves when it is run by a Python that has none of this package."""
    (tmp_path / "out").mkdir(exist_ok=True)
    for path, content in tree.files.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        assert isinstance(content, bytes)
        text = content.replace(b'"/out/result"', f'"{tmp_path}/out/result"'.encode()) if path.endswith("runner.py") else content
        place.write_bytes(text)
    command = [sys.executable, "-I", str(tmp_path / "call" / "runner.py")]
    subprocess.run(command, check=True, env={"GLEANER_INDEX": str(index)})
    return (tmp_path / "out" / "result").read_bytes()


def bundled(function: Any, *calls: tuple[Any, ...], results: bundle.ResultsKind = "safe", machine: str | None = None) -> Tree:
    known = bundle.known_types(function, ())
    return bundle.bundle(function, [(c, {}) for c in calls], results=results, known=known, machine=machine, modules=[])


def reading(kind: bundle.ResultsKind = "safe", known: dict[str, type] | None = None) -> Reading:
    return Reading(kind, known or {}, 1 << 20, "python:slim")


def test_a_function_takes_along_its_module_and_the_functions_that_it_calls(tmp_path: Path) -> None:
    tree = bundled(twice._function, (1,), (5,))
    assert reading().value(in_a_sandbox(tmp_path, tree, 1), 1) == 10


def test_a_dataclass_comes_back_as_this_programs_own(tmp_path: Path) -> None:
    known = bundle.known_types(halves._function, ())
    assert reading(known=known).value(in_a_sandbox(tmp_path, bundled(halves._function, (7,))), 0) == [Pair(3, 3.5)]


def test_what_a_function_raises_comes_back_with_its_traceback(tmp_path: Path) -> None:
    def inner(number: int) -> float:
        return 1 / number

    def outer(number: int) -> float:
        return inner(number)

    content = in_a_sandbox(tmp_path, bundled(outer, (0,)))
    with pytest.raises(ZeroDivisionError) as told:
        reading().value(content, 4)
    error = told.value
    assert isinstance(error, gn.RemoteError)
    assert (error.type_name, error.message, error.index) == ("ZeroDivisionError", "division by zero", 4)
    assert "in inner" in error.remote_traceback
    assert "return 1 / number" in error.remote_traceback
    assert "runner.py" not in error.remote_traceback
    assert "in outer" in "".join(traceback.format_exception(error))


def test_a_function_that_ends_the_program_has_not_returned(tmp_path: Path) -> None:
    content = in_a_sandbox(tmp_path, bundled(sys.exit, (3,)))
    with pytest.raises(gn.RemoteError, match="SystemExit: 3"):
        reading().value(content, 0)


def test_an_async_function_is_awaited(tmp_path: Path) -> None:
    async def slow() -> int:
        return 7

    assert reading().value(in_a_sandbox(tmp_path, bundled(slow, ())), 0) == 7


def test_a_module_that_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    def needy() -> None:
        import a_module_of_nobody  # type: ignore[import-not-found]  # noqa: F401

    with pytest.raises(gn.RemoteError, match=r"a_module_of_nobody.*packages=\[…\]"):
        reading().value(in_a_sandbox(tmp_path, bundled(needy, ())), 0)


def test_what_does_not_travel_safely_is_said_and_pickled_only_if_that_was_chosen(tmp_path: Path) -> None:
    def strange() -> object:
        return complex

    with pytest.raises(gn.ResultTypeError, match='results="pickle"'):
        reading().value(in_a_sandbox(tmp_path, bundled(strange, ())), 0)
    pickled = in_a_sandbox(tmp_path, bundled(strange, (), results="pickle"))
    assert reading("pickle").value(pickled, 0) is complex
    with pytest.raises(gn.UntrustedResultError):
        reading().value(pickled, 0)


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("/tmp/gleaner-must-not-be-there"),)


def test_nothing_that_comes_back_is_executed() -> None:
    for content in (cloudpickle.dumps(Bomb()), codec.encode_pickle(cloudpickle.dumps(Bomb()))):
        with pytest.raises(gn.UntrustedResultError):
            reading().value(content, 0)
    assert not Path("/tmp/gleaner-must-not-be-there").exists()


def test_another_python_is_noticed_before_anything_is_unpickled(tmp_path: Path) -> None:
    tree = bundled(halves._function, (1,))
    spec = tree.files["call/spec.json"]
    assert isinstance(spec, bytes)
    here = f'"{sys.version_info[0]}.{sys.version_info[1]}"'.encode()
    other = Tree(tree.name, {**tree.files, "call/spec.json": spec.replace(here, b'"3.1"'), "call/function.pkl": b"no pickle"})
    with pytest.raises(gn.PythonVersionError, match="python:slim has CPython"):
        reading().value(in_a_sandbox(tmp_path, other), 0)


def test_packages_for_another_machine_are_noticed(tmp_path: Path) -> None:
    with pytest.raises(gn.PackageError, match="say machine="):
        reading().value(in_a_sandbox(tmp_path, bundled(halves._function, (1,), machine="riscv")), 0)


def test_what_cannot_be_pickled_is_said_before_anything_is_sent() -> None:
    with pytest.raises(gn.GleanerError, match="cannot be pickled"):
        bundled(halves._function, (sys.stdout,))


def test_the_runner_is_read_by_old_pythons_too() -> None:
    ast.parse(Path(runner.__file__).read_text(), feature_version=(3, 7))


def test_values_are_put_back_into_the_order_of_their_calls() -> None:
    came = [(2, "c"), (0, "a"), (1, "b"), (3, "d")]
    sorting, taking = call._Sorting(True), call._Sorting(False)
    assert [list(sorting.put(*one)) for one in came] == [[], ["a"], ["b", "c"], ["d"]]
    assert [value for one in came for value in taking.put(*one)] == ["c", "a", "b", "d"]


# Errors and views.


def test_errors_survive_being_pickled() -> None:
    error = errors.remote_error("ValueError", "no", "trace", 3)
    back = pickle.loads(pickle.dumps(error))
    assert isinstance(back, ValueError)
    assert isinstance(back, gn.RemoteError)
    assert (str(back), back.index, str(back.__cause__)) == ("ValueError: no", 3, "\n\ntrace")


def test_a_remote_end_of_iteration_ends_no_loop_here() -> None:
    assert not isinstance(errors.remote_error("StopIteration", "", "", 0), StopIteration)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "unauthorized", gn.UnauthorizedError),
        (402, "too-poor", gn.NotEnoughMoneyError),
        (403, "spend-limit", gn.ForbiddenError),
        (404, "not-found", gn.NotFoundError),
        (422, "job-refused", gn.JobRefusedError),
        (500, "desk", gn.HubError),
    ],
)
def test_refusals_have_their_class(status: int, code: str, kind: type[gn.HubError]) -> None:
    error = errors.of_problem(status, {"code": code, "detail": "why", "line": 3})
    assert type(error) is kind
    assert (error.code, str(error)) == (code, "why (line 3)")


def test_a_quote_is_read() -> None:
    price = {"low": "0.4", "expected": "0.5", "high": "0.7"}
    finish = {"low": 1000, "expected": 1500, "high": 2000}
    binding = {"price": "0.8", "until": 1_700_000_000_000}
    choice = {"price": price, "finish_ms": finish, "sure": "fair", "rests_on": 4, "why": "because", "binding": binding}
    view = {
        "name": "x",
        "tasks": 2,
        "cap": "1",
        "choices": [{"name": "fast", **choice}, {"name": "cheap", "price": None}],
        "reasons": [{"text": "busy"}],
    }
    quote = views.Quote.of(view)
    assert (quote.fast.price and quote.fast.price.expected, quote.cap, quote.is_possible, quote.reasons) == (
        Decimal("0.5"),
        Decimal(1),
        False,
        ("busy",),
    )
    assert quote.fast.finish is not None
    assert quote.fast.finish.high.total_seconds() == 2
    assert quote.fast.binding is not None
    assert (quote.fast.binding.price, quote.fast.binding.until.year) == (Decimal("0.8"), 2023)
    assert (quote.cheap.price, quote.balanced.binding) == (None, None)
