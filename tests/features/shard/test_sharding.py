"""``--eval-shard``: the parts of a run, by several sessions, which are one again in the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

ROWS = [*(row(f"r{n}") for n in range(6)), row("last", depends_on=["r0"])]


def collected(evals: Evals, *args: str) -> set[str]:
    """Return the names of the items that a session would run."""
    result = evals.run("shop.eval.yaml", "--co", "-q", *args)
    assert result.ret in (0, pytest.ExitCode.NO_TESTS_COLLECTED)
    return {line.partition("::")[2] for line in result.stdout.lines if "::" in line}


def test_every_row_is_in_one_shard(evals: Evals) -> None:
    """With all its trials, and with what it depends on."""
    evals.write(ROWS, trials=2)
    shards = [collected(evals, f"--eval-shard={n}/3") for n in (1, 2, 3)]
    assert sum(map(len, shards)) == len(set.union(*shards)) == 14
    for names in shards:
        assert {name.partition("[")[0] for name in names if name.endswith("[1]")} == {
            name.partition("[")[0] for name in names if name.endswith("[2]")
        }
        assert ("last[1]" in names) == ("r0[1]" in names)


def parts(run: Path) -> dict[str, Any]:
    """Return what the manifest of a run says of its part."""
    told: dict[str, Any] = json.loads((run / "manifest.json").read_text())["shards"]
    return told


def merge(evals: Evals, *args: str) -> pytest.RunResult:
    """Merge runs into results/shop/whole."""
    return evals.run_command("merge", *args, "-o", "results/shop/whole").result


@pytest.mark.slow
def test_shards_are_merged_into_the_run(evals: Evals) -> None:
    """Here the second one in a worker; the summary is that of a session that ran all."""
    evals.write([*ROWS, row("bad", says="wrong")])
    for shard, args in (("1/2", ()), ("2/2", ("-n", "1"))):
        assert evals.run("shop.eval.yaml", f"--eval-shard={shard}", *args).ret in (0, 1)
    runs = sorted((evals.path / "results/shop").iterdir())
    assert len(runs) == 2
    assert [sorted(parts(run)) for run in runs] == [["by", "have", "of", "trials"]] * 2
    assert {tuple(parts(run)["trials"]) for run in runs} == {(4, 4)}
    assert sorted(parts(run)["have"] for run in runs) == [[1], [2]]
    merged = merge(evals, *map(str, runs))
    assert merged.ret == 0, merged.stderr.str()
    merged.stdout.fnmatch_lines(["pass rate 87.5% (7 of 8 judged)*", "2 runs, 8 trials: results/shop/whole"])
    again = evals.run("shop.eval.yaml", "--eval-resume=whole")
    again.assert_outcomes(passed=7, failed=1)


def test_the_gate_of_a_shard_says_what_it_is_not_about(evals: Evals) -> None:
    """It is met by some of the rows; that of the run is decided once all are merged."""
    evals.write(ROWS)
    shard = evals.run("--eval-shard=1/2").folder
    count = parts(shard)["trials"][1]
    gated = evals.run_command(
        "gate", str(shard), "--eval-set=gate.min_pass_rate=0.1", "--markdown", "gate.md"
    )
    line = f"only a part of a run: other shards have at least {count} trials more"
    assert line in gated.stdout.str()
    assert line in (evals.path / "gate.md").read_text()


def test_a_shard_without_a_row_says_so(evals: Evals) -> None:
    """Exit code 5 alone would not tell why."""
    evals.write([row("r0")])
    empty = 2 if collected(evals, "--eval-shard=1/2") else 1
    run = evals.run("shop.eval.yaml", f"--eval-shard={empty}/2")
    assert run.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    run.stdout.fnmatch_lines([f"shard {empty}/2 has none of the selected rows (exit code 5).*"])
    assert "has no row" not in evals.run("shop.eval.yaml", f"--eval-shard={3 - empty}/2").stdout.str()


def test_a_shard_that_selects_nothing_is_not_missing(evals: Evals) -> None:
    """What ``-k`` and the like leave of each part is known to all of them."""
    evals.write_rows(*ROWS)
    evals.write_config()
    some = ("shop.eval.yaml", "-k", "r1 or r3")
    assert [evals.run(*some, f"--eval-shard={n}/4").ret for n in (1, 2, 4)] == [5, 0, 0]
    runs = sorted((evals.path / "results/shop").iterdir())
    assert [parts(run)["trials"] for run in runs] == [[0, 1, 0, 1]] * 2
    assert merge(evals, *map(str, runs)).ret == 0


@pytest.mark.slow
def test_a_shard_is_resumed_as_that_shard(evals: Evals) -> None:
    """Not as a whole run, and not with rows that are divided otherwise."""
    evals.write_rows(*ROWS)
    evals.write_config()
    begun = ("--eval-shard=2/2", "--eval-limit=5")
    evals.run("shop.eval.yaml", *begun)
    part = f"--eval-resume={evals.run_folder().name}"
    for args, told in (
        ((), "is part 2/2, and this session is not. Resume it with --eval-shard=2/2"),
        (("--eval-shard=1/2",), "is part 2/2, and this session is not"),
        (("--eval-shard=2/2",), "were divided differently. Write the --eval-limit that it was begun with"),
    ):
        result = evals.run("shop.eval.yaml", part, *args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert told in " ".join(result.stderr.str().split())
    assert evals.run("shop.eval.yaml", part, *begun).ret == 0


BY_HAND = """
import pytest

@pytest.mark.browsereval(dataset="rows.jsonl", agent="scripted", browser={"type": "blank"})
def test_rows(eval_task, run_eval):
    run_eval(eval_task).assert_passed()

@pytest.mark.browsereval(browser={"type": "blank"})
@pytest.mark.parametrize("n", range(6))
def test_window(browser_window, n):
    assert browser_window

def test_plain():
    pass
"""


@pytest.mark.parametrize("options", [[], pytest.param(["-n1"], marks=pytest.mark.slow)], ids=["one", "xdist"])
def test_what_tests_by_hand_do_not_obey_is_refused(evals: Evals, options: list[str]) -> None:
    """Before anything is run; in settings, and with ordinary tests only, the option is no mistake."""
    evals.pytester.makepyfile(BY_HAND)
    evals.write_rows(*ROWS[:6])
    floor = "--eval-min-pass-rate=0.5"
    result = evals.run(floor, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = "--eval-min-pass-rate is a gate for the rows of eval configs"
    assert told in result.stdout.str() + result.stderr.str()
    assert not (evals.path / "results").exists()
    evals.pytester.makepyfile("def test_plain(): pass")
    evals.pytester.makeini(f"[pytest]\naddopts = {floor}")
    assert evals.run().ret == 0
