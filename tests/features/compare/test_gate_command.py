"""``compare`` and ``gate`` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.run.store import RunStore
from tests.features.compare.test_compare import run
from tests.hooks.small_evals import Evals, errored_row, row
from tests.recorded import FAILED, PASSED, attempt, write_summary

RESULTS = ("error", "failure", "skipped")
GATE = {"min_pass_rate": 0.5, "max_error_rate": 0.05, "must_pass": []}


@pytest.fixture(autouse=True)
def _runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two runs: 6 of 10 passed and 8 of 10; the first one has a gate."""
    monkeypatch.chdir(tmp_path)
    for name, passed in (("a", 6), ("b", 8)):
        home = Path("results/shop") / name
        attempts = [attempt(str(n), PASSED if n < passed else FAILED, tags=("x",)) for n in range(10)]
        run(home, *attempts, manifest={"config": {"gate": GATE}})


A, B = "results/shop/a", "results/shop/b"


def test_a_report_takes_the_place_of_a_report_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """As pytest's own files do; a dataset, a config and what a run consists of stay as they are."""
    for _ in range(2):
        assert main(["compare", A, B, "--json", "all.json", "--markdown", "comment.md"]) == 0
    for name in ("rows.jsonl", "shop.eval.yaml", "conftest.py", f"{A}/manifest.json"):
        Path(name).touch()
        before = Path(name).read_bytes()
        capsys.readouterr()
        assert main(["compare", A, B, "--json", name]) == 4
        assert f"{name} exists and is not a report" in capsys.readouterr().err
        assert Path(name).read_bytes() == before
    assert main(["compare", A, B, "--json", "new.jsonl"]) == 0


def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    """The report on the terminal, all figures and a comment as files; comparing is no gate."""
    assert main(["compare", A, B, "--json", "all.json", "--markdown", "comment.md"]) == 0
    out = capsys.readouterr().out
    assert f"\nA  {A} (baseline)\nB  {B}\n" in out
    assert "gained (2)" in out
    content = json.loads(Path("all.json").read_text())
    assert (content["counts"]["gained"], len(content["tasks"])) == (2, 10)
    assert Path("comment.md").read_text().startswith("### inconclusive: ")


def test_standard_output_takes_one_report(capsys: pytest.CaptureFixture[str]) -> None:
    """``-`` gives a report the terminal's place; two reports in one place are refused."""
    assert main(["compare", A, B, "--json", "-", "--margin", "0.2"]) == 0
    assert json.loads(capsys.readouterr().out)["margin"] == 0.2
    assert main(["gate", A, "--markdown", "-"]) == 0
    assert capsys.readouterr().out.startswith("### gate met: 2 rules")
    assert main(["compare", A, B, "--json", "x", "--markdown", "x"]) == 4
    assert "are both to be written to x. Name two files." in capsys.readouterr().err


def test_the_gate_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a config the rules are those that the run had, by its manifest."""
    assert main(["gate", A, "--json", "gate.json"]) == 0
    out = capsys.readouterr().out
    assert "pass rate 60.0% (6 of 10 judged), 95 % interval 31.3 to 83.2%" in out
    assert "met min_pass_rate: pass rate 60.0% (6/10) meets 50.0%" in out
    assert out.startswith("gate met: 2 rules\n")
    content = json.loads(Path("gate.json").read_text())
    assert (content["met"], [rule["verdict"] for rule in content["rules"]]) == (True, ["met", "met"])


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ("gate.min_pass_rate=0.5", {"skipped": 2}),
        ("gate.min_pass_rate=0.9", {"skipped": 2, "failures": 1}),
        ("gate.rows=fail", {"failures": 2, "errors": 1}),
    ],
)
def test_a_junit_file_for_ci(evals: Evals, rules: str, found: dict[str, int]) -> None:
    """Names and results are those of pytest's own file for the same gate; text of agents is no markup."""
    hostile = "]]><failure/>\x1b[31m\x00\u202e"
    evals.write_rows(row("a"), row("b c"), row("d", says=hostile), errored_row("e"))
    evals.write_config(gate={"min_pass_rate": 0.5, "max_error_rate": 0.5})
    sets = ("--eval-set", rules)
    code = evals.run("shop.eval.yaml", "--junit-xml=pytest.xml", *sets).ret
    gated = evals.run_command("gate", str(evals.run_folder()), "--junit-xml", "gate.xml", *sets)
    assert gated.ret == code
    files = [evals.path / "pytest.xml", evals.path / "gate.xml"]
    theirs, ours = (ET.parse(file).getroot()[0] for file in files)  # noqa: S314 both are of this test
    assert {key: int(ours.get(key, 0)) for key in ("skipped", "failures", "errors")} == {
        "skipped": 0, "failures": 0, "errors": 0, **found,
    }  # fmt: skip
    rows = [
        {(case.get("classname"), case.get("name")): [one.tag for one in case if one.tag in RESULTS]
         for case in suite.iter("testcase") if not str(case.get("classname")).startswith("gate")}
        for suite in (theirs, ours)
    ]  # fmt: skip
    assert rows[0] == rows[1]
    (bad,) = ours.iterfind("testcase[@name='d']")
    assert "]]><failure/>" in str([one.get("message") for one in bad])


def test_other_rules(capsys: pytest.CaptureFixture[str]) -> None:
    """A config's gate and overrides decide again; the rest of the file needs no key, agent or dataset."""
    Path("gate.yaml").write_text("agent: {api_key: '${NO_SUCH_KEY}'}\ngate: {minPassRate: 0.9}\n")
    assert main(["gate", A, "--config", "gate.yaml"]) == 1
    assert "NOT MET min_pass_rate: pass rate 60.0% (6/10) is under 90.0%" in capsys.readouterr().out
    assert main(["gate", A, "--config", "gate.yaml", "--eval-set", "gate.min_pass_rate=0.6"]) == 0
    assert main(["gate", A, "--eval-set", "gate.tags={x: 0.7}"]) == 1
    assert "gate NOT MET: 1 of 3 rules" in capsys.readouterr().out
    assert main(["gate", A, "--eval-set", "gate.confidence=0.95"]) == 1
    assert "UNDECIDED min_pass_rate" in capsys.readouterr().out


def test_a_gate_without_keys_decides_by_its_defaults(evals: Evals, subtests: pytest.Subtests) -> None:
    """`gate: {}` is a gate, and no gate is not one: the session and the command say the same."""
    good, bad = [row("a")], [row("a"), errored_row("e")]
    gated: dict[str, Any] = {"gate": {}}
    cases = [("defaults", gated, good, 0), ("errors", gated, bad, 1), ("none", {}, good, 4)]
    for name, keys, rows, code in cases:
        with subtests.test(name=name):
            evals.write_rows(*rows)
            config = evals.write_config(name=f"{name}.eval.yaml", **keys)
            assert evals.run(config.name).ret == (0 if code == 4 else code)
            for more in ((), ("--config", config.name)):
                decided = evals.run_command("gate", str(evals.run_folder(name)), *more)
                assert decided.ret == code, decided.stdout.str()
    assert "none.eval.yaml has no `gate`. Name rules with --config FILE or --eval-set" in decided.stderr.str()


@pytest.mark.parametrize(
    "rules", ["gate={}", "gate.max_cost_usd=5", "gate.rows=fail", "gate.must_pass=['1']"]
)
def test_typed_rules_limit_what_may_fail_as_in_pytest(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule about cost leaves the rows that failed to nobody: `pytest` with the same option ends with 1."""
    Path("gate.yaml").write_text("gate: {must_pass: ['0']}\n")
    assert main(["gate", A, "--config", "gate.yaml", "--eval-set", rules]) == 1
    assert "NOT MET rows: 4 of 10 trials did not pass" in capsys.readouterr().out
    assert main(["gate", A, "--config", "gate.yaml", "--eval-set", "gate.min_pass_rate=0.6"]) == 0


def test_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    """A run as a file: compared with, and the baseline of a gate, relative to the config or as typed."""
    assert main(["export", B, "--to=baseline", "-o", "base.json"]) == 0
    assert capsys.readouterr().out == "baseline: 10 of 10 trials in base.json\n"
    assert main(["compare", "base.json", A]) == 0
    assert "lost (2)" in capsys.readouterr().out
    rules = ["--eval-set", "gate.max_regressions=1"]
    assert main(["gate", A, "--baseline", "base.json", *rules]) == 1
    assert "2 tasks regressed against b (6, 7); 1 is allowed" in " ".join(capsys.readouterr().out.split())
    assert main(["gate", A, "--baseline", B, "--eval-set", "gate.max_regressions=2"]) == 0
    assert main(["gate", A, "--eval-set", "gate.baseline=base.json", *rules]) == 1
    Path("gate.yaml").write_text("gate: {baseline: results/shop/b, max_regressions: 2}\n")
    assert main(["gate", A, "--config", "gate.yaml"]) == 0


def against(baseline: str, folder: str | None, name: str = "out/shop/c") -> str:
    """Write a run that passed 6 of 10, whose gate compares with a baseline beside its config."""
    told = {} if folder is None else {"config_folder": folder}
    gate = {"baseline": baseline, "max_regressions": 0}
    attempts = [attempt(str(n), PASSED if n < 6 else FAILED) for n in range(10)]
    run(Path(name), *attempts, manifest={"config": {"gate": gate}, **told})
    return name


def test_the_baseline_lies_beside_the_config(capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever the run is: not another file of that name, which decides by other results."""
    Path("evals").mkdir()
    assert main(["export", B, "--to=baseline", "-o", "evals/baseline.json"]) == 0
    assert main(["export", A, "--to=baseline", "-o", "baseline.json"]) == 0
    assert main(["gate", against("baseline.json", "../../../evals")]) == 1
    assert "2 tasks regressed against b (6, 7); 0 are allowed" in " ".join(capsys.readouterr().out.split())
    absolute = str(Path("baseline.json").absolute())
    assert main(["gate", against(absolute, None, "out/shop/d")]) == 0
    assert main(["gate", "out/shop/d", "--baseline", "evals/baseline.json"]) == 1


def test_a_baseline_that_is_nowhere_is_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    """A merged run or an older one does not tell where its config is; one that was moved tells it wrongly."""
    assert main(["export", A, "--to=baseline", "-o", "baseline.json"]) == 0
    older, moved = against("baseline.json", None), against("baseline.json", "../../..", "c")
    capsys.readouterr()
    assert main(["gate", older]) == 4
    told = " ".join(capsys.readouterr().err.split())
    assert "there is no file or run out/shop/c/baseline.json." in told
    assert "--baseline FILE" in told
    assert main(["gate", moved]) == 4
    told = " ".join(capsys.readouterr().err.split())
    assert f"there is no file or run {Path('../../baseline.json').resolve()}." in told
    for name in (older, moved):
        assert main(["gate", name, "--baseline", "baseline.json"]) == 0


def test_a_run_that_is_not_whole_meets_no_gate(capsys: pytest.CaptureFixture[str]) -> None:
    """What has no result is told by a rule of its own, whatever the others say."""
    write_summary(RunStore(Path(A)), selected=12)
    assert main(["gate", A]) == 1
    out = capsys.readouterr().out
    assert "Not in the rate: not run 2" in " ".join(out.split())
    assert "NOT MET complete: 2 of the run's 12 trials have no result" in out


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong is told with what to type, exit code 4."""
    run(Path("plain"), attempt("0"), manifest={"config": {"trials": 1}})
    run(Path("bare"), attempt("0"), manifest={"browser": "x"})
    run(Path("else"), attempt("other"))
    Path("gate.yaml").write_text("gate:\n  min_pass_rat: 0.9\n  tags: {x: 2}\n")
    cases = {
        f"compare {A} nowhere": "there is no run 'nowhere'. Runs in",
        "compare gpt-4o o3": "To compare two models, make a run with each: `pytest --eval-set agent.model=",
        f"compare {A} gate.yaml": "gate.yaml is not a baseline, or is damaged",
        f"compare {A} else": "have no task in common: results/shop/a has '0' of default; else has 'other' of",
        f"compare {A} {B} --variants x=default": "has no variant 'x'. It has: default.",
        f"compare {A} {B} --json no/such.json": "no/such.json cannot be written",
        "gate nowhere": "there is no run 'nowhere'",
        "gate plain": "plain has no `gate`. Name rules with --config FILE or --eval-set gate.",
        f"gate {A} --config no.yaml": "no.yaml",
        f"gate {A} --config gate.yaml": "gate.yaml:2: gate.min_pass_rat: unknown key. Did you mean",
        f"gate {A} --eval-set gate.min_pass_rate=90": "gate.min_pass_rate: must be at most 1",
        f"gate {A} --eval-set limits.max_steps=3": "limits: only keys of the gate can be set here",
        f"gate {A} --eval-set gate.max_drop=0": "max_drop needs a baseline",
        f"gate {A} --baseline {B}": "baseline needs a rule. Add `max_regressions: 0`",
        f"export {A} --to baseline -o no/such.json": "no/such.json cannot be written",
    }
    for typed, told in cases.items():
        assert main(typed.split()) == 4, typed
        assert told in capsys.readouterr().err, typed
