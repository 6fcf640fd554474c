"""``browsereval prune`` as it is typed, on runs that pytest has made."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.run.locks import RunLocks
from pytest_browsereval.runs.run import StoredRun
from tests.hooks.small_evals import Evals, row


def play(evals: Evals) -> dict[str, Path]:
    """Run a row that passes and one that fails; return their folders, each with a picture and a trace."""
    evals.play([row("tea"), row("mug", says="wrong")])
    folders = {one.query_id: one.folder for one in StoredRun(evals.run_folder()).attempts}
    for folder in folders.values():
        (folder / "screenshots").mkdir(exist_ok=True)
        (folder / "screenshots/001.png").write_bytes(b"x" * 500_000)
        (folder / "trace.zip").write_bytes(b"x" * 500_000)
    return folders


def test_only_pictures_and_recordings_go(evals: Evals) -> None:
    """What failed stays whole; of the rest records, logs and grades stay. A second time removes nothing."""
    folders = play(evals)
    lines = [one.read_bytes() for one in evals.run_folder().glob("attempts/*")]
    result = evals.run_command("prune", "latest", "--keep", "failed")
    assert result.ret == 0
    assert "removed 1.0 MB of pictures and recordings from 1 attempt; 1 kept whole." in str(result.outlines)
    assert not any((folders["tea"] / name).exists() for name in ("screenshots", "trace.zip"))
    assert all((folders["tea"] / name).is_file() for name in ("messages.jsonl", "grades.json", "task.json"))
    assert (folders["mug"] / "screenshots/001.png").is_file()
    assert [one.read_bytes() for one in evals.run_folder().glob("attempts/*")] == lines
    assert "removed 0.0 MB" in str(evals.run_command("prune", "latest", "--keep", "failed").outlines)
    assert evals.run("shop.eval.yaml", "--eval-regrade=latest").ret == pytest.ExitCode.TESTS_FAILED
    assert evals.summary()["pass_rate"] == 0.5


def test_links_are_not_followed(evals: Evals, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A program may leave links in its attempt's folder, or in the place of it: what is elsewhere stays."""
    folders, other = play(evals), tmp_path_factory.mktemp("other")
    for name in ("a", "screenshots/a"):
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_text("mine")
    (folders["mug"] / "screenshots").rename(folders["mug"] / "old")
    (folders["mug"] / "screenshots").symlink_to(other)
    folders["tea"].rename(folders["tea"].with_name("old"))
    folders["tea"].symlink_to(other)
    assert evals.run_command("prune", "latest", "--keep", "none").ret == 0
    assert sorted(one.name for one in other.rglob("*")) == ["a", "a", "screenshots"]
    assert not (folders["mug"] / "screenshots").is_symlink()


def test_what_is_written_or_elsewhere_is_refused(evals: Evals) -> None:
    """A run at work, one at a URL, and no word on what is kept."""
    folders = play(evals)
    with RunLocks(evals.run_folder(), "gw0").hold():
        assert "is still writing this run" in str(
            evals.run_command("prune", "latest", "--keep", "none").errlines
        )
    assert "cannot be changed" in str(evals.run_command("prune", "s3://b/run", "--keep", "none").errlines)
    assert evals.run_command("prune", "latest").ret != 0
    assert all((one / "trace.zip").is_file() for one in folders.values())
