"""The archive of a job's results: what is unpacked where, and what is not."""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import gleaner_net as gn
from gleaner_net.archive import BYTES_MAX, arriving, places, unpack

JOB = {
    "groups": [
        {"name": "one", "extent": "Single"},
        {"name": "many", "extent": {"Array": {"first": 0, "step": 1, "count": 9}}},
        {"name": "still", "extent": {"Tiles": {"width": 4, "height": 4}}},
    ]
}


def archive_of(*files: tuple[str, bytes], **more: object) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for field, value in more.items():
                setattr(member, field, value)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def unpacked(packed: bytes, out: Path, bytes_max: int = BYTES_MAX) -> dict[str, bytes]:
    written = unpack(io.BytesIO(packed), out, places(JOB), bytes_max)
    found = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert sorted(found) == sorted(path.relative_to(out).as_posix() for path in written)
    return found


def test_files_land_by_task_element_and_path(tmp_path: Path) -> None:
    deep = "/".join(["folder"] * 40)
    packed = archive_of(
        ("one", b"a"),
        ("many/7", b"b"),
        (f"many/8/{deep}/x", b"c"),
        ("still/0", b"d"),
        ("still.png", b"e"),
        ("many/8/x.part", b""),
    )
    assert unpacked(packed, tmp_path / "out") == {
        "one/0/output": b"a",
        "many/7/output": b"b",
        f"many/8/{deep}/x": b"c",
        "many/8/x.part": b"",
        "still/0/output": b"d",
        "still.png": b"e",
    }
    assert unpacked(archive_of(("one/sub/file", b"f")), tmp_path / "other") == {"one/0/sub/file": b"f"}
    assert unpacked(archive_of(), tmp_path / "empty") == {}


def test_what_was_there_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    place = tmp_path / "many/7/output"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"old")
    (tmp_path / "mine").write_bytes(b"mine")
    unpack(io.BytesIO(archive_of(("many/7", b"new"))), tmp_path, places(JOB), BYTES_MAX)
    assert (place.read_bytes(), (tmp_path / "mine").read_bytes()) == (b"new", b"mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many", "mine"], "nothing half done is left"


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/etc/x",
        "many/1/../../../x",
        "many/1//b",
        "one/.",
        "many/x",
        "many/\u0664/b",
        "other/1",
        "many",
        "many/1/a\\b",
        "many.png",
    ],
)
def test_names_of_results_do_not_lead_out_of_their_folder(name: str, tmp_path: Path) -> None:
    out = tmp_path / "in" / "out"
    with pytest.raises(gn.UntrustedResultError, match="a result is called"):
        unpack(io.BytesIO(archive_of((name, b"evil"))), out, places(JOB), BYTES_MAX)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_only_plain_files_are_unpacked(kind: bytes, tmp_path: Path) -> None:
    packed = archive_of(("many/1", b""), type=kind, linkname="/etc/passwd")
    with pytest.raises(gn.UntrustedResultError, match="no plain file"):
        unpack(io.BytesIO(packed), tmp_path, places(JOB), BYTES_MAX)
    assert list(tmp_path.iterdir()) == []


def test_results_that_are_too_large_or_in_each_others_way_are_refused(tmp_path: Path) -> None:
    with pytest.raises(gn.UntrustedResultError, match="larger than the 5 bytes"):
        unpack(io.BytesIO(archive_of(("many/1", b"123"), ("many/2", b"456"))), tmp_path, places(JOB), 5)
    with pytest.raises(gn.UntrustedResultError, match="in the way"):
        unpack(io.BytesIO(archive_of(("one/a", b""), ("one/a/b", b""))), tmp_path, places(JOB), BYTES_MAX)


def test_an_archive_that_breaks_off_leaves_only_whole_files(tmp_path: Path) -> None:
    packed = archive_of(("many/1", b"whole"), ("many/2", b"x" * 5000))
    with pytest.raises(gn.UntrustedResultError, match="cannot be read"):
        unpack(io.BytesIO(packed[:3000]), tmp_path, places(JOB), BYTES_MAX)
    with pytest.raises(gn.UntrustedResultError, match="cannot be read"):
        unpack(io.BytesIO(b"<html>no archive</html>" * 100), tmp_path, places(JOB), BYTES_MAX)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "many/1/output"]


def arrived(packed: bytes, out: Path, error: Exception | None = None) -> list[Path]:
    """Unpacks what arrives in small pieces, before the line breaks."""

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(packed), 999):
            yield packed[at : at + 999]
            await asyncio.sleep(0)
        if error is not None:
            raise error

    return asyncio.run(arriving(pieces(), lambda archive: unpack(archive, out, places(JOB), BYTES_MAX)))


def test_what_arrives_is_unpacked_meanwhile(tmp_path: Path) -> None:
    many = [(f"many/{index}", bytes([index % 256]) * 3000) for index in range(300)]
    assert len(arrived(archive_of(*many), tmp_path)) == 300
    assert (tmp_path / "many/299/output").read_bytes() == bytes([299 % 256]) * 3000


def test_a_line_that_breaks_is_told_and_so_is_what_the_reader_refuses(tmp_path: Path) -> None:
    whole = archive_of(("many/1", b"x" * 200_000), ("many/2", b"y" * 200_000))
    with pytest.raises(ConnectionError):
        arrived(whole[:250_000], tmp_path, ConnectionError())
    assert [path.parent.name for path in tmp_path.rglob("*") if path.is_file()] == ["1"]
    # More than a pipe holds follows what is refused: whoever sends must not wait for ever.
    with pytest.raises(gn.UntrustedResultError, match="a result is called"):
        arrived(archive_of(("../x", b""), ("many/1", b"x" * 2_000_000)), tmp_path)
