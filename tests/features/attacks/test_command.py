"""``browsereval attacks`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.model.display import width_of
from tests.features.attacks.attacked import MIXED, Ending, attacked, write_attacked
from tests.recorded import FAILED, attempt

pytestmark = pytest.mark.usefixtures("in_tmp_path")


def run(name: str, variants: dict[str, list[Ending]], revision: str = "1") -> Path:
    """Write a run: each variant under one attack on rows r0, r1, …; plain ones pass, but for the first."""
    attempts = [
        made
        for variant, endings in variants.items()
        for n, ending in enumerate(endings)
        for made in (
            attempt(f"r{n}", *([FAILED] if not n else []), variant=variant),
            attacked(f"r{n}", "review", ending, variant=variant, revision=revision),
        )
    ]
    return write_attacked(Path(name), *attempts).root


def _repeat(ending: Ending, times: int) -> list[Ending]:
    return [ending] * times


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines, attacks, channels, goals, in 100 columns."""
    write_attacked(Path("run"), *MIXED)
    assert main(["attacks", "run"]) == 0
    out = capsys.readouterr().out
    assert max(map(width_of, out.splitlines())) <= 100
    assert "review  text, order         2 of 4  50.0% (0.6 to 99.4%)    25.0%" in out
    assert "popup         0 of 1   0.0% (0.0 to 79.3%)   100.0%" in out
    assert "secret       0 of 1   0.0% (0.0 to 79.3%)   100.0%" in out


def test_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has all figures, Markdown the tables."""
    write_attacked(Path("run"), *MIXED)
    assert main(["attacks", "run", "--json", "a.json", "--markdown", "a.md"]) == 0
    assert capsys.readouterr().out
    found = json.loads(Path("a.json").read_text())
    assert found["by_attack"]["review"] | {"attack_success": 0, "utility_under_attack": 0} == {
        "channel": "text",
        "goal": "order",
        "attempts": 5,
        "delivered": 4,
        "compromised": 2,
        "passed": 1,
        "harmless_failures": 1,
        "not_delivered": 0,
        "errored": 1,
        "attack_success": 0,
        "utility_under_attack": 0,
    }
    assert Path("a.md").read_text().startswith("### Under attack\n")


def test_a_run_without_attacks_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to report."""
    write_attacked(Path("run"), attempt("a"))
    assert main(["attacks", "run"]) == 4
    assert "run has no attempt under attack. Run with `attacks` in the config; " in capsys.readouterr().err


def test_two_variants(capsys: pytest.CaptureFixture[str]) -> None:
    """Paired by row: where one obeys eight times and the other never, that is no chance."""
    obeys: list[Ending] = [*_repeat("compromised", 8), *_repeat("passed", 2)]
    run("run", {"bare": obeys, "guarded": [*_repeat("passed", 9), "harmless"]})
    assert main(["attacks", "run", "--variants", "bare", "guarded", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["compared"]
    success = found["differences"]["attack_success"]
    assert (success["first"], success["second"], success["pairs"], success["rows"]) == (0.8, 0.0, 10, 10)
    assert success["difference"] == -0.8
    assert success["p_value"] == pytest.approx(2 / 2**8)  # McNemar's: eight of eight went one way
    assert success["interval"][0] < -0.8 < success["interval"][1] < 0
    assert found["differences"]["utility_under_attack"]["difference"] == pytest.approx(0.7)
    assert found["differences"]["utility"]["difference"] == 0
    assert (found["first"]["name"], found["second"]["name"]) == ("bare of run", "guarded of run")
    assert main(["attacks", "run", "--variants", "bare", "guarded"]) == 0
    assert "attack success        80.0%   0.0%  -80.0 points" in capsys.readouterr().out
    assert main(["attacks", "run", "--variants", "bare", "guard"]) == 4
    why = "run has no variant 'guard'. Did you mean 'guarded'? It has: bare, guarded."
    assert why in capsys.readouterr().err


def test_two_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The run that is named, less the other one; attempts that count on one side only are noted."""
    run("before", {"default": ["compromised", "compromised", "passed", "errored"]})
    run("after", {"default": ["compromised", "passed", "not delivered", "passed"]})
    assert main(["attacks", "after", "--against", "before"]) == 0
    out = capsys.readouterr().out
    assert "A = before\nB = after\n" in out
    assert "attack success        100.0%  50.0%  -50.0 points" in out
    assert "attack success, on one side only and in no pair: 2 attempts" in out


def test_edited_rows_and_attacks_are_in_no_pair(capsys: pytest.CaptureFixture[str]) -> None:
    """Results of another row, or under another payload or goal, say nothing of the agents."""
    for name in ("before", "after"):
        edited = attacked("r1", "review", "passed").model_copy(update={"row_hash": name})
        other = attacked("r0", "notice", "passed", revision=name)
        made = (attempt("r0"), attempt("r1"), attacked("r0", "review", "compromised"), edited, other)
        write_attacked(Path(name), *made)
    assert main(["attacks", "after", "--against", "before", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["compared"]["differences"]["attack_success"]
    assert (found["pairs"], found["unpaired"]) == (1, 4)
    run("other", {"default": ["compromised"]}, revision="2")
    assert main(["attacks", "after", "--against", "other"]) == 4
    why = "other and after have no pair of attempts at the same row in which the same attack was delivered."
    assert why in capsys.readouterr().err


def test_repeated_trials_stay_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight trials of one row under two attacks are one row, which is never beyond chance."""
    endings: dict[str, Ending] = {"a": "compromised", "b": "passed"}
    attempts = [
        attacked("r", attack, ending, trial=trial, variant=variant)
        for variant, ending in endings.items()
        for attack in ("review", "notice")
        for trial in range(1, 9)
    ]
    write_attacked(Path("run"), *attempts)
    assert main(["attacks", "run", "--variants", "a", "b", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["compared"]["differences"]["attack_success"]
    assert (found["difference"], found["pairs"], found["rows"], found["p_value"]) == (-1.0, 16, 1, 1.0)
