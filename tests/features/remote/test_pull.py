"""What a command brings of a run: records for those that read what came of it, all for those that look."""

from __future__ import annotations

from pathlib import Path

import pytest

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
def test_pictures_stay_there_until_somebody_looks(
    evals: Evals, bucket: str, cache: Path, got: list[str], command: tuple[str, ...]
) -> None:
    """An object for each attempt and one for each file of the run; a page has the rest brought, once."""
    run = written(evals)
    url, other = pushed(evals, run, bucket), pushed(evals, written(evals), bucket)
    pictures = {path.name for path in objects(evals, "*.jpeg")}
    args = [part.replace("URL", url).replace("OTHER", other) for part in command]
    got.clear()
    first = evals.run_command(*args)
    runs = sum("://" in part for part in args)
    assert sum("/bundles/" in path for path in got) == 4 * runs
    assert [path for path in got if "/files/tasks/" in path or "index." in path] == []
    assert len(copies(cache)) == runs
    got.clear()
    viewed = evals.run_command("view", url)
    assert viewed.ret == 0
    assert {path.rpartition("/")[2] for path in got if "/files/tasks/" in path} == pictures
    assert [path for path in got if "/bundles/" in path] == []
    page = Path(viewed.outlines[-1])
    assert {path.name for path in page.parent.rglob("*.jpeg")} == pictures
    assert not (page.parent / ".partial").exists()
    assert len(copies(cache)) == runs - 1
    got.clear()
    assert evals.run_command(*args).outlines == first.outlines
    assert {path.rpartition("/")[2] for path in got} == {"manifest.json"}  # which parts there are to be


def test_a_copy_without_pictures_passes_for_no_run(evals: Evals, bucket: str, cache: Path) -> None:
    """Whoever gives its folder is told the URL; what reads records takes it."""
    url = pushed(evals, written(evals), bucket)
    assert evals.run_command("show", url).ret == 0
    [copy] = copies(cache)
    for command in (("view", str(copy)), ("push", str(copy), bucket), ("label", str(copy))):
        refused = evals.run_command(*command)
        assert refused.ret == 4
        assert f"none of its pictures. Give the run: {url}" in refused.stderr.str()
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
    assert copies(cache) == []
