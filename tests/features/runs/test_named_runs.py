"""``browsereval runs RUN ...``: in what runs differ, and how their tasks came out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.model.display import width_of
from tests.features.runs.conftest import name_of
from tests.features.runs.test_flakes import ran
from tests.recorded import ERRORED, FAILED, PASSED, attempt, spoil_line

IDS = [name_of(day) for day in range(1, 5)]


@pytest.fixture(autouse=True)
def _runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make four runs, the first of another config; one task fails in the third, one errs in the last."""
    monkeypatch.chdir(tmp_path)
    home = Path("results/shop")
    for number in range(1, 5):
        ran(
            home,
            number,
            attempt("buy\x1b[31m", FAILED if number == 3 else PASSED),
            attempt("pay", ERRORED if number == 4 else PASSED),
            attempt("see"),
            attempt("hard", FAILED),
            config_file="other.yaml" if number == 1 else "shop.yaml",
            browser=f"Chromium {number}",
        )


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The runs, what differs, the classes, and all tasks that do not always pass, in 100 columns."""
    assert main(["runs", "latest", "--last", "5"]) == 0
    out = capsys.readouterr().out
    assert max(map(width_of, out.splitlines())) <= 100
    assert out.splitlines() == [
        f"results/shop/{IDS[1]}: 3 passed, 1 failed",
        f"results/shop/{IDS[2]}: 2 passed, 2 failed",
        f"results/shop/{IDS[3]}: 2 passed, 1 failed, 1 errored",
        "",
        "they differ in (older first):",
        f"{IDS[1]} -> {IDS[2]}: browser: Chromium 2 -> Chromium 3",
        f"{IDS[2]} -> {IDS[3]}: browser: Chromium 3 -> Chromium 4",
        "",
        "4 tasks with several trials: 1 flaky by agent, 1 flaky by environment, 1 stable fail, 1 stable pass",
        "task      class                 passed  failed  errored  runs",
        "buy [31m  flaky by agent             2       1        0  PFP",
        "pay       flaky by environment       2       0        1  PPE",
        "hard      stable fail                0       3        0  FFF",
        "",
        "runs, the oldest first: P passed, F failed, M both, E errored, . no result",
    ]


def test_so_many_earlier_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Those next before the run that is named, of its config; or the runs that are named."""
    assert main(["runs", IDS[3], "--last", "1", "--json", "-"]) == 0
    assert [run["run"] for run in json.loads(capsys.readouterr().out)["runs"]] == IDS[2:]
    assert main(["runs", IDS[3], IDS[0], "--json", "all.json", "--markdown", "all.md"]) == 0
    content = json.loads(Path("all.json").read_text())
    assert [run["run"] for run in content["runs"]] == [IDS[0], IDS[3]]
    assert [task["stability"] for task in content["tasks"]][:2] == ["flaky by environment", "stable fail"]
    text = Path("all.md").read_text()
    assert "4 tasks with several trials: 1 flaky by environment, " in text
    assert "| pay | flaky by environment | 1 | 0 | 1 | PE |" in text
    assert "see" not in text


def test_a_run_of_which_no_attempt_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, exit code 1; what the others say of the tasks is there."""
    spoil_line(Path("results/shop", IDS[3]), "pay")
    assert main(["runs", *IDS]) == 1
    out, err = capsys.readouterr()
    assert f"results/shop/{IDS[3]}: no result" in out
    assert "buy [31m  flaky by agent" in out
    assert "is damaged: verdict" in err


def test_one_trial_of_each_task(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether a task is flaky is unknown then."""
    for number in (8, 9):
        ran(Path("results/mail"), number, attempt(f"t{number}"), config_file="mail.yaml")
    assert main(["runs", "latest", "--last", "1"]) == 0
    assert "no task of these runs has more than one trial" in capsys.readouterr().out


def test_wrong_usage(capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests) -> None:
    """What is wrong is told with what to type, exit code 4."""
    wrong = {
        f"{IDS[0]} {IDS[1]} --last 2": "--last adds earlier runs to one run, and 2 are named.",
        f"{IDS[0]} --last 2": "has no earlier run of its config next to it. Leave --last out.",
        f"{IDS[0]} results/shop/{IDS[0]}": "a run is named twice. Name each once.",
        "nowhere": "there is no run 'nowhere'",
        f"{IDS[0]} --eval shop": "--eval and -o are for the list of all runs.",
    }
    for typed, told in wrong.items():
        with subtests.test(typed):
            assert main(["runs", *typed.split()]) == 4
            assert told in capsys.readouterr().err
