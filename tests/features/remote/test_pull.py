"""What a command brings of a run: records for those that read what came of it, all for those that look."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.features.remote.bucket import Bucket
from tests.features.remote.test_push_and_pull import objects, pushed, written
from tests.hooks.small_evals import Evals


@pytest.fixture
def got(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gather the files of runs that are asked for."""
    get, found = Bucket.get, list[str]()

    def watched(self: Bucket, path: str) -> bytes | None:
        found.extend([path] * ("/try-" in path))
        return get(self, path)

    monkeypatch.setattr(Bucket, "get", watched)
    return found


def copies(cache: Path) -> list[Path]:
    """Return the copies in the cache that are not whole."""
    return [path.parent for path in cache.rglob(".partial")]


@pytest.mark.slow
def test_pictures_stay_there_until_somebody_looks(
    evals: Evals, bucket: str, cache: Path, got: list[str]
) -> None:
    """The lines of all attempts are brought, and none of their folders; a page has the rest brought, once."""
    run = written(evals)
    url, other = pushed(evals, run, bucket), pushed(evals, written(evals), bucket)
    pictures = {path.name for path in objects(evals, "*.jpeg")}
    args = ["runs", url, other]
    got.clear()
    first = evals.run_command(*args)
    assert sum("/attempts/" in path for path in got) == 2
    assert [path for path in got if "/tasks/" in path or "index." in path] == []
    assert len(copies(cache)) == 2
    of_folder = evals.run_command(*[arg.replace(url, str(run)) for arg in args])
    assert first.ret == of_folder.ret
    got.clear()
    viewed = evals.run_command("view", url)
    assert viewed.ret == 0
    assert {name for path in got if (name := path.rpartition("/")[2]).endswith(".jpeg")} == pictures
    page = Path(viewed.outlines[-1])
    assert {path.name for path in page.parent.rglob("*.jpeg")} == pictures
    assert not (page.parent / ".partial").exists()
    assert {path.name for path in page.parent.rglob("metadata.json")} == {"metadata.json"}
    assert len(copies(cache)) == 2
    got.clear()
    assert evals.run_command(*args).outlines == first.outlines
    assert got == []


def test_a_copy_without_pictures_passes_for_no_run(evals: Evals, bucket: str, cache: Path) -> None:
    """A command that needs files names the URL; what reads records takes the folder."""
    url = pushed(evals, written(evals), bucket)
    assert evals.run_command("runs", url).ret == 0
    [copy] = copies(cache)
    for command in (("view", str(copy)), ("push", str(copy), bucket), ("label", str(copy))):
        refused = evals.run_command(*command)
        assert refused.ret == 4
        assert f"without its attempts' files. Give the run: {url}" in refused.stderr.str()
    for option in ("resume", "regrade"):
        run = evals.run("shop.eval.yaml", f"--eval-{option}={copy}")
        assert (run.ret, run.folders) == (pytest.ExitCode.USAGE_ERROR, ())
        assert f"Give the run: {url}" in run.stdout.str() + run.stderr.str()
    assert evals.run_command("runs", str(copy)).ret == 0


def test_the_newest_run_is_pulled_by_name(evals: Evals, bucket: str) -> None:
    """What a refused resume says to type is what brings the copy."""
    pushed_url = pushed(evals, written(evals), bucket)
    latest = f"{pushed_url.rpartition('/')[0]}/latest"
    refused = evals.run("shop.eval.yaml", f"--eval-resume={latest}")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    said = refused.stderr.str()
    assert f"Run `browsereval pull {latest} -o FOLDER`" in said
    assert evals.run_command("pull", latest, "-o", str(evals.path / "copy")).ret == 0
    assert (evals.path / "copy/summary.json").is_file()


def test_a_copy_that_was_not_completed_is_completed(
    evals: Evals, bucket: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cable that was out leaves the records, and no half of the pictures."""
    url = pushed(evals, written(evals), bucket)
    get = Bucket.get

    def gone(self: Bucket, path: str) -> bytes | None:
        return None if path.endswith(".jpeg") else get(self, path)

    assert evals.run_command("runs", url).ret == 0
    with monkeypatch.context() as patch:
        patch.setattr(Bucket, "get", gone)
        assert "is missing" in evals.run_command("view", url).stderr.str()
        assert evals.run_command("runs", url).ret == 0
    assert len(copies(cache)) == 1
    assert list(cache.rglob("*.jpeg")) == []
    before = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
    assert evals.run_command("view", url).ret == 0
    assert len(list(cache.rglob("*.jpeg"))) == len(objects(evals, "*.jpeg"))
    assert {path: path.read_bytes() for path in before} == before, "a gate may be reading it"


def test_messages_and_pictures_are_fetched_when_python_asks_for_them(evals: Evals, bucket: str) -> None:
    """Figures come from lines; ids are those of the run on the machine that made it."""
    folder = written(evals)
    local, run = open_run(folder), open_run(pushed(evals, folder, bucket))
    assert [(one.id, one.verdict, one.counts) for one in run.attempts] == [
        (one.id, one.verdict, one.counts) for one in local.attempts
    ]
    assert not any((run.folder / "tasks").iterdir())
    for here, there in zip(local.attempts, run.attempts, strict=True):
        assert there.messages == here.messages != ()
        assert there.grades == here.grades
        assert [one.name for one in there.pictures.values()] == [one.name for one in here.pictures.values()]
    assert run.files != run.folder
