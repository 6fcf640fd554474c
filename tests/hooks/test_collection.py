"""Where evals are found, what their items are called, and what is refused before anything is spent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row
from tests.support import LEFT_OUT


def test_eval_config_alone_is_all_that_runs(evals: Evals) -> None:
    """``--eval-config`` with no other argument runs that eval and no test; beside others it is added."""
    evals.write_rows(row("a"))
    evals.write_config("plain.yaml")
    evals.pytester.makepyfile(test_other="def test_other(): pass")
    evals.run("--eval-config=plain.yaml").assert_outcomes(passed=1)
    evals.run("test_other.py", "--eval-config=plain.yaml").assert_outcomes(passed=2)
    evals.run("--eval-config=plain.yaml", "plain.yaml::a").assert_outcomes(passed=1)


@pytest.mark.slow
def test_eval_files_are_collected_where_pytest_looks(evals: Evals) -> None:
    """A bare ``pytest`` runs ``*.eval.yaml``, json and toml files beside ordinary tests."""
    evals.write_rows(row("a"), name="evals/rows.jsonl")
    evals.write_config("evals/one.eval.yaml")
    (evals.path / "evals/two.eval.json").write_text(
        json.dumps({"agent": "scripted", "dataset": "rows.jsonl"})
    )
    (evals.path / "evals/three.eval.toml").write_text('agent = "scripted"\ndataset = "rows.jsonl"\n')
    evals.pytester.makepyfile(test_other="def test_other(): pass")
    result = evals.run("-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["evals/two.eval.json::a PASSED*"])


def test_a_config_of_another_name_is_recognized(evals: Evals) -> None:
    """No plug-in collects it, so the error says what to type; of other files it says what it said."""
    evals.write([row("a")])
    (evals.path / "shop.eval.yaml").rename(evals.path / "shop.yaml")
    hint = "Configs of evals are called *.eval.yaml. For another name: `pytest --eval-config="
    for argument in ("shop.yaml", "./shop.yaml", "shop.yaml::a", str(evals.path / "shop.yaml")):
        run = evals.run(argument)
        assert run.ret == pytest.ExitCode.USAGE_ERROR
        assert f"{hint}{argument.partition('::')[0]}`" in run.stderr.str()
    for argument in ("rows.jsonl", "nothing.yaml"):
        run = evals.run(argument)
        assert run.ret == pytest.ExitCode.USAGE_ERROR
        assert hint not in run.stderr.str()
    assert "write `dataset: rows.jsonl` in a file *.eval.yaml." in evals.run("rows.jsonl").stderr.str()


ODD_IDS = [
    *("a/b", "..", "../../etc/passwd", "two words", "x" * 300, "🛒 cart"),
    *("we[ir]d", "a::b", "a@b", "A", "a"),
]


def test_odd_ids_run_and_stay_in_the_run_folder(evals: Evals) -> None:
    """Ids with slashes, dots, blanks, 300 characters or emoji are items and name no path outside the run."""
    evals.play([row(query_id) for query_id in ODD_IDS], lanes=4).assert_outcomes(passed=len(ODD_IDS))
    tasks = evals.run_folder() / "tasks"
    assert len(list(tasks.iterdir())) == len(ODD_IDS)
    assert sorted(r["query_id"] for r in evals.summary()["results"]) == sorted(ODD_IDS)
    listed = [line for line in evals.run("shop.eval.yaml", "--co", "-q").stdout.lines if "::" in line]
    again = evals.run(*listed[::-1], "--co", "-q")
    assert [line for line in again.stdout.lines if "::" in line] == listed[::-1]


BAD = {
    "missing file": (None, "no such file"),
    "unknown key": ({"lanez": 2}, "Did you mean 'lanes'"),
    "unknown agent": ({"agent": "scriptd"}, "Did you mean 'scripted'"),
    "missing dataset": ({"dataset": "none.jsonl"}, "none.jsonl"),
    "missing site": ({"sites": {"shop": {"static": "no-such-folder"}}}, "no-such-folder"),
}
"""One of each stage; ``tests/config`` has the others."""


WAYS = [
    *((case, "--eval-config") for case in BAD),
    ("unknown agent", "argument"),
    ("missing dataset", "argument"),
    ("unknown key", "-n2"),
    pytest.param("missing dataset", "-n2", marks=pytest.mark.slow),
]
"""Each mistake the usual way; the other ways with one that reading finds and one that collecting finds."""


@pytest.mark.parametrize(("case", "way"), WAYS)
def test_a_bad_config_is_a_usage_error(evals: Evals, case: str, way: str) -> None:
    """A config that cannot be used ends with exit code 4 and says what is wrong; nothing is run."""
    keys, message = BAD[case]
    evals.write_rows(row("a"))
    name = "shop.eval.yaml" if keys is None else evals.write_config(**keys).name
    args = {"--eval-config": [f"--eval-config={name}"], "argument": [name], "-n2": [name, "-n2"]}[way]
    result = evals.run(*args)
    assert result.ret == 4
    assert message in result.stdout.str() + result.stderr.str()
    assert not (evals.path / "results").exists()


BAD_ROWS = {
    "empty": ("", "has no rows"),
    "duplicate": (json.dumps(row("a")) + "\n" + json.dumps(row("a")) + "\n", "rows.jsonl:2"),
    "no grader": (json.dumps(row("a", graders=[])) + "\n", "has no grader"),
    "unknown key": (json.dumps(row("a", querry="x")) + "\n", "rows.jsonl:1"),
    "unknown row grader": (json.dumps(row("a", graders=["answr"])) + "\n", "Did you mean 'answer'"),
    "no json": ("{query_id: a\n", "rows.jsonl:1"),
}


def test_a_bad_row_stops_the_run_before_it_starts(evals: Evals, subtests: pytest.Subtests) -> None:
    """One bad row ends the run with exit code 4, file and line, though other rows are good."""
    evals.write_config()
    for case, (text, message) in BAD_ROWS.items():
        with subtests.test(case):
            (evals.path / "rows.jsonl").write_text(text and text + json.dumps(row("good")) + "\n")
            result = evals.run("shop.eval.yaml")
            assert result.ret == 4
            assert message in result.stderr.str()
            assert not (evals.path / "results").exists()


def test_only_selected_rows_are_checked(evals: Evals) -> None:
    """A bad row that is not selected does not stop the others."""
    evals.write([row("good"), row("bad", querry=1)])
    evals.run("shop.eval.yaml::good").assert_outcomes(passed=1)


def test_nothing_selected_is_not_green(evals: Evals) -> None:
    """A selection that matches nothing keeps pytest's exit code 5."""
    assert evals.play([row("a")], "-k", "nothing", gate={"min_pass_rate": 0.5}).ret == 5


@pytest.mark.slow
@pytest.mark.usefixtures("unforked")
def test_without_an_eval_the_plugin_stays_out(evals: Evals) -> None:
    """Neither pydantic nor Playwright is imported by a run without an eval, and ``-p no:`` leaves all out."""
    evals.pytester.makepyfile(
        """
        import sys
        def test_light():
            assert not {"pydantic", "playwright", "openai", "yaml"} & set(sys.modules)
        """
    )
    evals.options = LEFT_OUT  # the blank browser is one of ours
    evals.run_process().assert_outcomes(passed=1)
    out = evals.run_process("-p", "no:browsereval", "--help").stdout.str()
    assert "--eval-config" not in out


REFUSED_AGENTS: dict[str, dict[str, Any]] = {
    "of a provider": {"agent": {"type": "single", "provider": "codex"}},
    "with an unset variable": {"agent": {"type": "single", "model": "${NOT_SET_ANYWHERE}"}},
    "of a suite, by variables": {"id": "shop", "agent": {"type": "tool-loop"}},
}


def test_another_agent_stands_in_for_a_refused_one(evals: Evals, subtests: pytest.Subtests) -> None:
    """`--eval-agent=noop` proves rows and graders of a config whose own agent cannot run here."""
    evals.write_rows(row("a"))
    for case, refused in REFUSED_AGENTS.items():
        with subtests.test(case):
            keys = {"dataset": "rows.jsonl", "browser": "blank", **refused}
            (evals.path / "shop.eval.yaml").write_text(json.dumps(keys))
            assert evals.run("shop.eval.yaml").ret == 4
            evals.run("shop.eval.yaml", "--eval-agent=noop").assert_outcomes(failed=1)
            assert evals.run("shop.eval.yaml", "--eval-agent=nothing").ret == 4


def test_the_chosen_variant_is_the_only_one_that_counts(evals: Evals) -> None:
    """What is wrong with the other variants does not matter; what is wrong elsewhere does."""
    evals.write([row("a")], variants={"good": "scripted", "bad": {"type": "single", "provider": "codex"}})
    evals.run("shop.eval.yaml", "--eval-agent=good").assert_outcomes(passed=1)
    assert evals.run("shop.eval.yaml", "--eval-agent=bad").ret == 4
    assert evals.run("shop.eval.yaml", "--eval-agent=good", "--eval-set=trials=0").ret == 4
