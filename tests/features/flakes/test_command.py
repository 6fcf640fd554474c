"""``browsereval flakes`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.model.display import width_of
from tests.features.flakes.test_flakes import ran
from tests.recorded import ERRORED, FAILED, PASSED, attempt

IDS = [f"202601{day:02}T000000Z-aaaaaa" for day in range(1, 5)]


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
    assert main(["flakes", "latest", "--last", "5"]) == 0
    out = capsys.readouterr().out
    assert max(map(width_of, out.splitlines())) <= 100
    assert out.splitlines() == [
        "4 tasks with several trials: 1 flaky by agent, 1 flaky by environment, 1 stable fail, 1 stable pass",
        f"results/shop/{IDS[1]}: 3 passed, 1 failed",
        f"results/shop/{IDS[2]}: 2 passed, 2 failed",
        f"results/shop/{IDS[3]}: 2 passed, 1 failed, 1 errored",
        "note: the runs differ as well in browser",
        "",
        "task      class                 passed  failed  errored  runs",
        "buy [31m  flaky by agent             2       1        0  PFP",
        "pay       flaky by environment       2       0        1  PPE",
        "hard      stable fail                0       3        0  FFF",
        "",
        "runs, the oldest first: P passed, F failed, M both, E errored, . no result",
    ]


def test_so_many_earlier_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Those next before the run that is named, of its config; or the runs that are named."""
    assert main(["flakes", IDS[3], "--last", "1", "--json", "-"]) == 0
    assert [run["run"] for run in json.loads(capsys.readouterr().out)["runs"]] == IDS[2:]
    assert main(["flakes", IDS[3], IDS[0], "--json", "all.json", "--markdown", "all.md"]) == 0
    content = json.loads(Path("all.json").read_text())
    assert [run["run"] for run in content["runs"]] == [IDS[0], IDS[3]]
    assert [task["stability"] for task in content["tasks"]][:2] == ["flaky by environment", "stable fail"]
    text = Path("all.md").read_text()
    assert text.startswith("### 4 tasks with several trials: 1 flaky by environment, ")
    assert "| pay | flaky by environment | 1 | 0 | 1 | PE |" in text
    assert "see" not in text


def test_many_tasks_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty are listed; the file has them all."""
    for number in (11, 12):
        tasks = (attempt(f"t{n}", FAILED) for n in range(33))
        ran(Path("results/mail"), number, *tasks, config_file="mail.yaml")
    assert main(["flakes", "latest", "--last", "1"]) == 0
    assert "and 13 more; --json FILE has them all" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (
            f"flakes {IDS[0]} {IDS[1]} --last 2",
            "--last adds earlier runs to one run, and 2 are named.",
        ),
        (f"flakes {IDS[0]} --last 2", "has no earlier run of its config beside it. Leave --last out."),
        (f"flakes {IDS[0]} results/shop/{IDS[0]}", "a run is named twice. Name each once."),
        (f"flakes {IDS[0]}", "Name more runs, or add earlier ones by --last 5."),
        ("flakes nowhere", "there is no run 'nowhere'"),
    ],
)
def test_wrong_usage(typed: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong is told with what to type, exit code 4."""
    assert main(typed.split()) == 4
    assert told in capsys.readouterr().err


def test_a_number_of_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """It is at least 1."""
    with pytest.raises(SystemExit):
        main(["flakes", "latest", "--last", "0"])
    assert "invalid positive_integer value: '0'" in capsys.readouterr().err
