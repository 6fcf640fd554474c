"""``browsereval runs`` as it is typed, after runs of pytest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.__main__ import main
from pytest_browsereval.model.display import width_of
from tests.features.runs.conftest import config_with, leave_run, name_of, tried
from tests.hooks.small_evals import Evals, errored_row, row
from tests.recorded import ERRORED, FAILED, PASSED


def test_runs_of_sessions_are_listed(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its gate; the list says what has changed, and pytest's exit code is what it was."""
    evals.write_rows(row("a"), row("b", says="wrong"), errored_row("c"))
    evals.write_config(gate={"min_pass_rate": 0.9, "max_error_rate": 1})
    assert evals.run().ret == 1
    evals.write_config(gate={"min_pass_rate": 0.5, "max_error_rate": 1}, limits={"max_steps": 7})
    assert evals.run().ret == 0
    capsys.readouterr()
    assert main(["runs", str(evals.path / "results")]) == 0
    out, err = capsys.readouterr()
    title, _, head, last, why, first, missed, empty, place = out.splitlines()
    assert title == "eval shop"
    assert " ".join(head.split()) == "started (UTC) agent pass rate (95 %) errored gate"
    assert last.endswith("  scripted   50.0% (9 to 91)        1  met")
    assert why == "    not comparable with the run before: agent changed"
    assert first.endswith("  scripted   50.0% (9 to 91)        1  not met")
    assert missed == "    gate not met: min_pass_rate"
    assert (empty, place.startswith("page: "), err) == ("", True, "")


def test_a_run_of_named_rows_is_partial(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """Where another has all of the variant: that is not compared with it, but with others of all rows."""
    evals.play([row("mug"), row("cup")], "-k", "mug")
    evals.run("-k", "mug")
    assert main(["runs", str(evals.path / "results")]) == 0
    assert "partial" not in capsys.readouterr().out
    evals.run()
    evals.run("-k", "mug")
    evals.run()
    assert main(["runs", str(evals.path / "results")]) == 0
    out = capsys.readouterr().out
    assert out.count("    partial: 1 trial of the config not selected") == 3
    assert "not comparable" not in out


def test_a_resumed_run_has_one_line_that_counts(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """What the first session has said of it is of no more interest."""
    evals.play([row("a", says="wrong"), row("b")], "-x")
    assert evals.run("--eval-resume=latest").ret == 1
    assert main(["runs", str(evals.path / "results"), "--json", "-"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert (found["state"], found["whole"]["passed"], found["whole"]["failed"]) == ("complete", 1, 1)


# -- what is typed


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a results folder in the current folder: four runs of two evals."""
    monkeypatch.chdir(tmp_path)
    variants = {"large": {"type": "single", "model": "x" * 90}, "s\x1b[31m": {"type": "noop"}}
    large, small = variants
    both = tried("a", PASSED, variant=large), tried("a", FAILED, variant=small)
    home = Path("results/shop")
    leave_run(home, 1, tried("a", PASSED), gate=True)
    leave_run(home, 2, tried("a", PASSED), tried("b", ERRORED, cost_usd=None), selected=5)
    leave_run(home, 4, *both, config=config_with(variants=variants), gate=False)
    leave_run(Path("results/mail"), 3, tried("a", FAILED), merged_from=["x", "y"])
    return Path("results")


def test_the_list(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Newest first, a line for each variant, what is not whole marked, in 100 columns; JSON has all."""
    assert main(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(width_of, lines)) <= 100
    assert "\x1b" not in "".join(lines)
    started = [line[:22] for line in lines if line.startswith("2026")]
    assert started == [
        "2026-01-04 00:00  shop",
        "2026-01-04 00:00  shop",
        "2026-01-03 00:00  mail",
        "2026-01-02 00:00  shop",
        "2026-01-01 00:00  shop",
    ]
    assert lines[2] == "    gate not met: min_pass_rate"
    assert "    merged: merged from 2 runs" in lines
    assert "    partial: 3 of 5 trials have no result" in lines
    assert "100.0% (21 to 100)        1  unknown  -" in "".join(lines)
    assert lines[-3].endswith("$0.2500  met      01aaaab")
    assert lines[-1] == "page: results/runs.html"
    assert main(["runs", "--json", "all.json", "--markdown", "-"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("| started (UTC) | eval |")
    assert "<" not in out
    newest = json.loads(Path("all.json").read_text())["runs"][0]
    assert newest["gate"] is False
    assert [one["name"] for one in newest["variants"]] == ["large", "s [31m"]
    assert newest["whole"]["interval"] is not None


def test_limit_and_eval(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So many are listed, or those of one eval; an eval without runs names those that have some."""
    assert main(["runs", "--limit", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == "and 2 more runs; --json FILE has them all"
    assert main(["runs", "--eval", "mail", "--json", "-"]) == 0
    assert [run["run"] for run in json.loads(capsys.readouterr().out)["runs"]] == [f"mail/{name_of(3)}"]
    assert main(["runs", "--eval", "none"]) == 4
    assert "has no run of an eval 'none'. Name one of: mail, shop" in capsys.readouterr().err


def test_where_results_are_looked_for(
    results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the current folder, else further down where one folder has runs; of several one is to be named."""
    Path("project/evals").mkdir(parents=True)
    results.rename("project/evals/results")
    assert main(["runs"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 5
    leave_run(Path("project/other/results/shop"), 1, tried("a", PASSED))
    assert main(["runs"]) == 4
    err = capsys.readouterr().err
    assert "2 results folders have runs: project/evals/results, project/other/results. Name one" in err
    Path("empty").mkdir()
    monkeypatch.chdir("empty")
    assert main(["runs"]) == 4
    assert "results is not a folder" in capsys.readouterr().err


def test_a_run_has_rates_by_tag_and_its_false_claims(
    evals: Evals, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In text, in JSON and in the tables, from the rows to the command; why each failed is in the tables."""
    rows = [
        row("a", tags=["smoke"]),
        row("b", tags=["smoke", "cart"], says="wrong"),
        row("c", solution=[{"tool": "wait", "seconds": 0}]),
    ]
    assert evals.play(rows).ret == pytest.ExitCode.TESTS_FAILED
    folder = evals.run_folder()
    monkeypatch.chdir(evals.path)
    assert main(["runs", str(folder), "--json", "run.json"]) == 0
    out = capsys.readouterr().out
    assert "1 false, of 2 judged trials that ended with an answer" in out
    assert re.search(r"^smoke +1 +1 +0 +50\.0% \(", out, re.MULTILINE)
    (run,) = json.loads((evals.path / "run.json").read_text())["runs"]
    assert run["false_claims"] == {"count": 1, "of": 2}
    assert run["by_tag"]["cart"]["failed"] == 1
    table = open_run(folder).table("attempts")
    causes = dict(zip(table["query_id"].to_pylist(), table["cause"].to_pylist(), strict=True))
    assert causes["a"] is None
    assert causes["b"]
