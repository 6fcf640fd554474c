"""Which of the earlier runs somebody means."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_browsereval.errors import ConfigError
from pytest_browsereval.run.lookup import Runs, age, earlier

OLD, NEW, NEWEST = "20260101T000000Z-zzzzzz", "20260102T000000Z-aaaaaa", "20260103T000000Z-aaaaaa"
"""Run ids, which sort by time."""

WRITTEN = 1_767_312_000
"""2026-01-02, 00:00 UTC, in seconds since 1970."""


def made(home: Path, name: str, *, config: str = "shop.yaml", written: int | None = None) -> Path:
    """Make a run's folder, whose manifest was written at some time, in seconds since 1970."""
    folder = home / name
    (folder / "tasks").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"config_file": config}))
    if written is not None:
        os.utime(folder / "manifest.json", (written, written))
    return folder


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a results folder in the current one: two runs of a shop, one of a mail, and what is none."""
    monkeypatch.chdir(tmp_path)
    for home, name in (("shop", OLD), ("shop", NEWEST), ("mail", NEW)):
        made(Path("results") / home, name)
    (tmp_path / "results/shop/notes").mkdir()
    (tmp_path / "results/notes.txt").write_text("no folder of an eval")
    return Path("results")


def test_latest_is_before_another_run(results: Path) -> None:
    """Neither that one nor what began after it; a merged run is as old as its manifest."""
    shop = Runs.of(results, "shop")
    home = results / "shop"
    assert shop.find("latest", Path(), before=home / NEWEST) == home / OLD
    whole = made(home, "whole", written=WRITTEN)
    assert age(whole)[0] == "20260102T000000Z"
    assert shop.find("latest", Path()) == home / NEWEST
    assert shop.find("latest", Path(), before=home / NEWEST) == whole
    assert shop.find("latest", Path(), before=whole) == home / OLD


def test_two_runs_of_one_second(results: Path) -> None:
    """The one whose manifest was written later is the newest, whatever its letters."""
    home = results / "pair"
    made(home, "20260102T000000Z-zzzzzz", written=WRITTEN)
    late = made(home, "20260102T000000Z-aaaaaa", written=WRITTEN + 1)
    assert Runs.of(results, "pair").find("latest", Path()) == late


def test_many_runs_are_cut_and_none_are_told(results: Path) -> None:
    """Five are listed, the rest is counted; a folder that has none, or is not there, is named."""
    for day in range(10, 20):
        made(results / "mail", f"202602{day}T000000Z-aaaaaa")
    with pytest.raises(ConfigError, match=r"mail/20260219T0.*, mail/20260215T000000Z-aaaaaa and 8 more\."):
        Runs.below(results).find("x", Path())
    with pytest.raises(ConfigError, match=r"there is no run 'latest'.* elsewhere has no run\. Run the eval"):
        Runs.below(Path("elsewhere")).find("latest", Path())


def test_an_id_of_several_runs_is_refused(results: Path) -> None:
    """With the folders, one of which has to be given."""
    for home in ("shop", "mail"):
        made(results / home, "whole")
    with pytest.raises(ConfigError, match=r"the id of 2 runs: results/mail/whole, results/shop/whole\."):
        Runs.below(results).find("whole", Path())
    assert Runs.of(results, "mail").find("whole", Path()) == results / "mail/whole"


def test_a_run_without_an_attempt_counts_where_it_may(results: Path) -> None:
    """One that was ended before its first attempt has a manifest and nothing else."""
    (results / "shop" / NEWEST / "tasks").rmdir()
    runs = Runs.below(results)
    assert runs.find("latest", Path()).name == NEW
    assert runs.find("latest", Path(), is_empty_allowed=True).name == NEWEST
    assert runs.find(f"results/shop/{NEWEST}", Path(), is_empty_allowed=True).name == NEWEST


def test_earlier_runs_are_of_the_same_config(results: Path) -> None:
    """The newest first; another config's that share the folder are left out, and later ones."""
    home = results / "shop"
    made(home, NEW)
    made(home, "20260102T120000Z-aaaaaa", config="other.yaml")
    assert [run.name for run in earlier(home / NEWEST)] == [NEW, OLD]
    assert [run.name for run in earlier(home / NEW)] == [OLD]
    (home / NEW / "manifest.json").unlink()
    assert list(earlier(home / NEW)) == []
