"""What a command brings of a run: records for those that read what came of it, all for those that look."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_browsereval.features.remote import listing
from pytest_browsereval.features.remote.bucket import Bucket
from pytest_browsereval.features.remote.listing import list_parcels
from tests.features.remote.test_push_and_pull import bucket, cache, objects, pushed, written
from tests.hooks.small_evals import Evals

__all__ = ["bucket", "cache"]


@pytest.fixture
def got(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gather the files of runs that are asked for."""
    get, found = Bucket.get, list[str]()

    def watched(self: Bucket, path: str) -> bytes | None:
        found.extend([path] * ("/files/" in path or "/bundles/" in path))
        return get(self, path)

    monkeypatch.setattr(Bucket, "get", watched)
    return found


def copies(cache: Path) -> list[Path]:
    """Return the copies in the cache that are not whole."""
    return [path.parent for path in cache.rglob(".partial")]


def forget_digests(evals: Evals) -> None:
    """Have the bucket as another version has written it, whose digests nobody here can read."""
    for file in objects(evals, "done"):
        record = json.loads(file.read_text())
        assert record.pop("digests")["attempts"] == 4
        file.write_text(json.dumps(record))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("gate", "URL", "--config=shop.eval.yaml"),
        ("show", "URL"),
        ("compare", "URL", "OTHER"),
        ("flakes", "URL", "OTHER"),
        ("baseline", "URL", "base.json"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("has_digests", [True, False], ids=["digests", "records"])
def test_pictures_stay_there_until_somebody_looks(
    evals: Evals, bucket: str, cache: Path, got: list[str], command: tuple[str, ...], *, has_digests: bool
) -> None:
    """One object for all attempts, or one for each of them; a page has the rest brought, once."""
    run = written(evals)
    url, other = pushed(evals, run, bucket), pushed(evals, written(evals), bucket)
    if not has_digests:
        forget_digests(evals)
    pictures = {path.name for path in objects(evals, "*.jpeg")}
    args = [part.replace("URL", url).replace("OTHER", other) for part in command]
    got.clear()
    first = evals.run_command(*args)
    runs = sum("://" in part for part in args)
    assert sum("/bundles/" in path for path in got) == (0 if has_digests else 4 * runs)
    assert [path for path in got if "/files/tasks/" in path or "index." in path] == []
    assert len(copies(cache)) == runs
    of_folder = evals.run_command(*[arg.replace(url, str(run)) for arg in args])
    assert first.ret == of_folder.ret
    got.clear()
    viewed = evals.run_command("view", url)
    assert viewed.ret == 0
    assert {path.rpartition("/")[2] for path in got if "/files/tasks/" in path} == pictures
    assert sum("/bundles/" in path for path in got) == 4
    page = Path(viewed.outlines[-1])
    assert {path.name for path in page.parent.rglob("*.jpeg")} == pictures
    assert [name for name in (".partial", ".digests") if (page.parent / name).exists()] == []
    assert {path.name for path in page.parent.rglob("metadata.json")} == {"metadata.json"}
    assert len(copies(cache)) == runs
    got.clear()
    assert evals.run_command(*args).outlines == first.outlines
    assert {path.rpartition("/")[2] for path in got} == {"manifest.json"}  # which parts there are to be


def test_a_copy_without_pictures_passes_for_no_run(evals: Evals, bucket: str, cache: Path) -> None:
    """A command that needs files names the URL; what reads records takes the folder."""
    url = pushed(evals, written(evals), bucket)
    assert evals.run_command("show", url).ret == 0
    [copy] = copies(cache)
    for command in (("view", str(copy)), ("push", str(copy), bucket), ("label", str(copy))):
        refused = evals.run_command(*command)
        assert refused.ret == 4
        assert f"without its attempts' files. Give the run: {url}" in refused.stderr.str()
    for option in ("resume", "regrade"):
        run = evals.run("shop.eval.yaml", f"--eval-{option}={copy}")
        assert (run.ret, run.folders) == (pytest.ExitCode.USAGE_ERROR, ())
        assert f"Give the run: {url}" in run.stdout.str() + run.stderr.str()
    assert evals.run_command("show", str(copy)).ret == 0


def test_what_is_pulled_is_whole(evals: Evals, bucket: str) -> None:
    """Also where the cache has a part of it."""
    run = written(evals)
    url = pushed(evals, run, bucket)
    assert evals.run_command("gate", url, "--eval-set=gate={}").ret in (0, 1)
    assert evals.run_command("pull", url, "-o", "copy").ret == 0
    assert len(list_parcels(evals.path / "copy")) == len(list_parcels(run))


def test_a_copy_that_was_not_completed_is_completed(
    evals: Evals, bucket: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cable that was out leaves the records, and no half of the pictures."""
    url = pushed(evals, written(evals), bucket)
    get = Bucket.get

    def gone(self: Bucket, path: str) -> bytes | None:
        return None if path.endswith(".jpeg") else get(self, path)

    assert evals.run_command("show", url).ret == 0
    with monkeypatch.context() as patch:
        patch.setattr(Bucket, "get", gone)
        assert "is missing" in evals.run_command("view", url).stderr.str()
        assert evals.run_command("show", url).ret == 0
    assert len(copies(cache)) == 1
    assert list(cache.rglob("*.jpeg")) == []
    assert evals.run_command("view", url).ret == 0
    assert len(list(cache.rglob("*.jpeg"))) == len(objects(evals, "*.jpeg"))


def test_a_copy_that_others_read_is_not_touched(evals: Evals, bucket: str, cache: Path) -> None:
    """A gate that reads while a page is made would miss attempts."""
    url = pushed(evals, written(evals), bucket)
    assert evals.run_command("show", url).ret == 0
    before = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
    assert evals.run_command("view", url).ret == 0
    assert {path: path.read_bytes() for path in before if path.is_file()} == before


@pytest.mark.parametrize("command", ["show", "view"])
def test_a_copy_is_there_only_with_the_names_of_its_files(
    evals: Evals, bucket: str, cache: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Another process would take one without them for a copy that lacks files, and remove it."""
    url = pushed(evals, written(evals), bucket)

    def full(path: Path, content: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pytest_browsereval.features.remote.pull.write_whole", full)
        assert "No space left on device" in evals.run_command(command, url).stderr.str()
    assert [path for path in cache.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "spoil",
    [
        Path.unlink,
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"failed", b"passed")),
    ],
    ids=["gone", "cut", "forged"],
)
def test_digests_that_are_not_those_of_the_run_are_not_read(
    evals: Evals, bucket: str, spoil: Callable[[Path], object]
) -> None:
    """The records are."""
    run = written(evals)
    url = pushed(evals, run, bucket)
    spoil(objects(evals, "digests/*.jsonl")[0])
    here, there = (evals.run_command("gate", one, "--config=shop.eval.yaml") for one in (str(run), url))
    assert there.outlines[2:] == here.outlines[2:]
    assert there.ret == here.ret == 1


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_list_too_long_for_the_memory_is_checked_too(
    evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch, *, is_damaged: bool
) -> None:
    """It is brought in pieces and sorted in parts, which are put aside."""
    monkeypatch.setattr(listing, "SORTED_AT_ONCE", 2)
    monkeypatch.setattr("pytest_browsereval.features.remote.bucket.PIECE", 7)
    url = pushed(evals, run := written(evals), bucket)
    if is_damaged:
        file = objects(evals, "listing.jsonl")[0]
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
        result = evals.run_command("gate", url, "--config=shop.eval.yaml")
        assert (result.ret, result.stdout.str()) == (4, "")
        assert "is damaged: its objects are not those that are done" in result.stderr.str()
    else:
        here, there = (evals.run_command("gate", one, "--config=shop.eval.yaml") for one in (str(run), url))
        assert (there.ret, there.outlines[2:]) == (here.ret, here.outlines[2:])


def test_a_run_whose_files_contradict_each_other_has_no_digests(evals: Evals, bucket: str) -> None:
    """What a gate says of its folder it says of it there."""
    run = written(evals)
    grades = next(run.glob("tasks/bad/*/*/attempt-1/grades.json"))
    grades.write_text(grades.read_text().replace('"failed"', '"passed"'))
    url = pushed(evals, run, bucket)
    assert objects(evals, "digests/*") == []
    here, there = (evals.run_command("gate", one, "--config=shop.eval.yaml") for one in (str(run), url))
    assert [line for line in there.outlines if "records" in line] != []
    assert there.outlines[2:] == here.outlines[2:]


def test_digests_in_a_run_folder_are_read_by_nobody(evals: Evals, bucket: str, cache: Path) -> None:
    """A program of an agent can write some: neither here nor in a copy do they raise the rate."""
    first = written(evals)
    url = pushed(evals, first, bucket)
    assert evals.run_command("show", url).ret == 0
    [copy] = copies(cache)
    run = written(evals)
    shutil.copytree(copy / ".digests", run / ".digests")
    forged = next((run / ".digests").iterdir())
    forged.write_bytes(forged.read_bytes() * 2)
    (run / ".digests" / "more.jsonl").write_bytes(forged.read_bytes())
    there = pushed(evals, run, bucket)
    for one in (str(run), there):
        gated = evals.run_command("gate", one, "--config=shop.eval.yaml")
        assert "pass rate 75.0% (3 of 4 judged)" in gated.stdout.str()
