"""``browsereval runs URL`` and ``latest`` at a URL: whole programs, with a folder as the bucket."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.remote.claims import BucketRuns
from tests.features.remote.conftest import bucket, cache
from tests.features.remote.test_push_and_pull import objects
from tests.features.runs.test_choice import GATE, ON_MAIN, commit, no_ci, project
from tests.hooks.small_evals import Evals, row

__all__ = ["bucket", "cache", "no_ci", "project"]

ROWS = [row("good"), row("bad", says="wrong"), row("r1"), row("r2")]


def listed(evals: Evals, url: str) -> list[dict[str, Any]]:
    """Return what the command says of the runs at a URL."""
    result = evals.run_command("runs", url, "--json", "all.json")
    assert result.ret == 0, result.stderr.str()
    runs: list[dict[str, Any]] = json.loads((evals.path / "all.json").read_text())["runs"]
    return runs


def send(evals: Evals, url: str, name: str, *args: str) -> None:
    """Run an eval, or a part of it, whose run goes to a URL."""
    run = evals.run("shop.eval.yaml", f"--eval-output={url}", f"--eval-run-name={name}", *args)
    assert run.ret in (0, 1), run.stderr.str()


def write(evals: Evals) -> None:
    """Write an eval of three right rows and a wrong one."""
    evals.write(ROWS, gate={"min_pass_rate": 0.5})


def test_runs_at_a_url_are_listed(evals: Evals, bucket: str) -> None:
    """Each with its gate, as those of a folder; the page lies next to them."""
    write(evals)
    send(evals, bucket, "one")
    evals.write_config(gate={"min_pass_rate": 0.9}, limits={"max_steps": 7})
    send(evals, bucket, "two")
    second, first = listed(evals, bucket)
    assert [(one["run"], one["state"], one["gate"]) for one in (first, second)] == [
        ("shop/one", "complete", True),
        ("shop/two", "complete", False),
    ]
    assert second["variants"][0]["not_comparable_with"] == "shop/one"
    shown = evals.run_command("runs", bucket)
    assert shown.outlines[-1] == f"page: {bucket}/runs.html"
    assert len(objects(evals, "runs.html")) == 1


def test_a_run_of_parts_is_one_line(evals: Evals, bucket: str) -> None:
    """It has no figures before it is merged."""
    write(evals)
    send(evals, bucket, "nightly", "--eval-shard=1/2", "--eval-set", "gate={}")
    (found,) = listed(evals, bucket)
    told = "1 of 2 parts are done; browsereval merge makes one run of them"
    assert (found["state"], found["note"], found["variants"]) == ("unfinished", told, [])


def test_runs_that_are_not_done(evals: Evals, bucket: str) -> None:
    """They are listed as such: nobody knows yet which try of them counts."""
    write(evals)
    evals.run("shop.eval.yaml", f"--eval-output={bucket}", "--eval-run-name=n", "-x", "--eval-set", "gate={}")
    (found,) = listed(evals, bucket)
    assert (found["state"], found["note"][:18]) == ("unfinished", "begun and not done")
    assert found["started_at"] > "2026"


def test_a_key_that_may_only_read(evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is there; what could not be written is said."""
    write(evals)
    send(evals, bucket, "one")

    def refuse(self: BucketRuns, path: str, content: bytes) -> None:
        raise UsageError("the key may not do this.")

    monkeypatch.setattr(BucketRuns, "write", refuse)
    result = evals.run_command("runs", bucket)
    assert result.ret == 0
    result.stderr.fnmatch_lines(["note: the page was not written: the key may not do this."])
    assert evals.run_command("runs", bucket, "-o", "here.html").ret == 0
    assert (evals.path / "here.html").is_file()


def test_a_folder_below_is_not_that_of_all_runs(evals: Evals, bucket: str) -> None:
    """Nor an empty one; that of a run describes the run. No page is written."""
    write(evals)
    (evals.path.with_name(f"{evals.path.name}-bucket")).mkdir(exist_ok=True)
    empty = evals.run_command("runs", bucket)
    assert empty.ret == 4
    empty.stderr.fnmatch_lines([f"*{bucket} has no run.*"])
    assert evals.run_command("runs", "ftp://bucket/evals").ret == 4
    send(evals, bucket, "one")
    wrong = evals.run_command("runs", f"{bucket}/shop")
    assert wrong.ret == 4
    wrong.stderr.fnmatch_lines([f"*{bucket}/shop has no run.*"])
    one = evals.run_command("runs", f"{bucket}/shop/one")
    assert one.ret == 0
    assert "4 selected, 3 passed, 1 failed" in one.stdout.str()
    assert objects(evals, "runs.html") == []


def test_a_baseline_from_the_record(project: Evals, bucket: str) -> None:
    """A machine without runs of its own compares with the newest whole run of main at the URL."""
    project.write_rows(row("mug"), row("cup"))
    commit(project)
    send(project, bucket, "first")
    send(project, bucket, "selected", "-k", "mug")
    (whole,) = (one for one in listed(project, bucket) if one["run"] == "shop/first")
    assert (whole["branch"], whole["left"]) == ("main", 0)
    shutil.rmtree(project.path / "results")
    project.write_config(gate=GATE)
    away = project.run("shop.eval.yaml", f"{ON_MAIN.replace('main', 'other')}", f"--eval-output={bucket}")
    assert away.ret == pytest.ExitCode.USAGE_ERROR
    assert "no run on 'other' is whole" in away.stdout.str() + away.stderr.str()
    project.write_rows(row("mug"), row("cup", solution=[{"tool": "done", "answer": "wrong"}]))
    found = project.run("shop.eval.yaml", ON_MAIN, f"--eval-output={bucket}")
    assert found.ret == 1
    found.stdout.fnmatch_lines(["*1 task regressed against first*"])
    same = project.run("shop.eval.yaml", f"--eval-baseline={bucket}/shop/latest-on-main")
    same.stdout.fnmatch_lines(["*1 task regressed against first*"])
    gated = project.run_command("gate", "latest", "--baseline", f"{bucket}/shop/latest-on-main")
    gated.stdout.fnmatch_lines(["*1 task regressed against first*"])
    assert project.run_command("runs", f"{bucket}/shop/latest").ret == 0


@pytest.mark.slow
def test_a_run_of_parts_is_a_baseline_once_it_is_merged(project: Evals, bucket: str) -> None:
    """Before, it cannot be compared with; merged and sent, it is as good as one that was not in parts."""
    project.write(ROWS, gate={})
    commit(project)
    for number in (1, 2):
        send(project, bucket, "parts", f"--eval-shard={number}/2")
    args = (f"--eval-baseline={bucket}/shop/latest-on-main", "--eval-set", "gate.max_regressions=0")
    refused = project.run("shop.eval.yaml", *args)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "is whole (complete" in refused.stdout.str() + refused.stderr.str()
    assert project.run_command("merge", f"{bucket}/shop/parts", "-o", "whole").ret == 0
    assert project.run_command("push", "whole", bucket).ret == 0
    states = {one["run"]: (one["state"], one["left"]) for one in listed(project, bucket)}
    assert states == {"shop/parts": ("unfinished", 0), "shop/whole": ("merged", 0)}
    found = project.run("shop.eval.yaml", *args)
    assert (found.ret, "whole" in found.stdout.str()) == (0, True)
