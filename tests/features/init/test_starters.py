"""``browsereval init``: what it writes runs at once, is valid, and cannot be passed by doing nothing."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pytest_browsereval.__main__ import main
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.init.starter import CI_FILES, FILES, list_files
from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals

ROWS = ["buy-mugs", "cart-total", "mug-price", "sold-out", "use-voucher"]
GATE_ITEMS = 3


@pytest.fixture(params=FILES)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def made(agent: str, evals: Evals, monkeypatch: pytest.MonkeyPatch) -> Evals:
    """A folder with the starter for a type of agent."""
    monkeypatch.setenv("MODEL_URL", "")  # the stand-in for a model sets it; it is to be as before
    assert main(["init", str(evals.path), "--agent", agent]) == 0
    return evals


def verdicts(run: EvalRun) -> dict[str, str]:
    return {attempt.query_id: str(attempt.verdict) for attempt in run.attempts}


@pytest.mark.slow
def test_it_is_green_at_once(made: Evals, agent: str) -> None:
    """``pytest`` finds the eval; rows and rules of the gate pass, and nothing warns.

    One is run as CI runs it: the reports are where its file says that they are.
    """
    *_, file = list_files(builtin_registry(), made.path, "function", "github")
    lines = commands(yaml.safe_load(file.read())["jobs"]["evals"])
    (words,) = (shlex.split(line)[1:] for line in lines if line.startswith("pytest "))
    run = made.run(*words) if agent == "function" else made.run()
    run.assert_outcomes(passed=len(ROWS) + GATE_ITEMS)
    if agent == "function":
        assert (made.path / "junit.xml").read_text().count("<testcase") == len(ROWS) + GATE_ITEMS
        assert "mug-price" in (made.path / "report.html").read_text()
    assert "warning" not in run.stdout.str().lower()
    assert verdicts(run) == dict.fromkeys(ROWS, "passed")
    assert [attempt.warnings for attempt in run.attempts] == [()] * len(ROWS)
    assert {attempt.agent_config["type"] for attempt in run.attempts} == {agent}
    assert all(attempt.total_steps for attempt in run.attempts)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["function"], indirect=True)
def test_its_rows_are_proved(made: Evals) -> None:
    """Each row is passed by its own solution, and by nothing less."""
    solved = made.run("--eval-agent=scripted")
    assert verdicts(solved) == dict.fromkeys(ROWS, "passed")
    idle = made.run("--eval-agent=noop")
    assert idle.ret == pytest.ExitCode.TESTS_FAILED
    assert verdicts(idle) == dict.fromkeys(ROWS, "failed")


@pytest.mark.parametrize("agent", ["function"], indirect=True)
def test_the_agent_reads_the_page(made: Evals) -> None:
    """With another price on the page it says that price, and the row fails."""
    site = made.path / "site/index.html"
    site.write_text(site.read_text().replace("price: 12.5", "price: 13.25"))
    run = made.run("-k", "mug-price")
    assert run.attempt("mug-price").final_answer == "$13.25"
    assert verdicts(run) == {"mug-price": "failed"}


def test_the_schema_that_a_config_names_is_there_and_allows_it(made: Evals, agent: str) -> None:
    """Editors read the first line. Agents that are to be put in the place of the starter's are valid too."""
    (config,) = made.path.glob("*.eval.yaml")
    text = config.read_text()
    named = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", text.splitlines()[0])
    assert named is not None
    valid = jsonschema.Draft202012Validator(json.loads((made.path / named[1]).read_text()))
    own = yaml.safe_load(text)
    others = re.findall(r"^# +(agent: .+)$", text, re.MULTILINE)
    for changed in ({}, *map(yaml.safe_load, others)):
        valid.validate({**own, **changed})
    assert len(others) == {"function": 0, "single": 2, "command": 1}[agent]
    if agent == "function":  # so that it can be written again after an upgrade
        assert made.run_command("schema").outlines == (made.path / named[1]).read_text().splitlines()


def test_its_own_code_is_clean(made: Evals) -> None:
    """By the rules and the format that ruff has without settings."""
    for words in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, "--isolated", "--no-cache", str(made.path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


# -- what it prints


def test_it_prints_what_it_wrote_and_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every file that is there afterwards is listed; a folder with blanks and other letters is quoted."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "new/für mich"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("Next, type:") + 1] == "  cd 'new/für mich' && pytest"
    listed = {line.split("  ")[1] for line in lines[1 : lines.index("")]}
    assert listed == {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}


# -- CI


def commands(block: Any) -> Iterator[str]:
    """Yield the shell lines of a CI file."""
    for step in block.get("script") or block["steps"]:
        line = step if isinstance(step, str) else step.get("run")
        if line is not None:
            yield line


@pytest.mark.parametrize("ci", CI_FILES)
@pytest.mark.parametrize("folder", [".", "tests/my evals", "@mine", "- mine", "-mine"])
def test_the_ci_file_runs_the_eval(
    ci: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the root of the repository, its commands are ours, and it keeps what pytest writes."""
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    assert main(["init", "--ci", ci, "--", folder]) == 0
    text = Path(CI_FILES[ci]).read_text()
    assert "FOLDER" not in text
    block = yaml.safe_load(text)
    block = block["jobs"]["evals"] if ci == "github" else block["evals"]
    lines = [shlex.split(line) for line in commands(block)]
    place = next((line[2] for line in lines if line[:2] == ["cd", "--"]), None)
    place = place or block.get("defaults", {}).get("run", {}).get("working-directory", ".")
    assert place == folder
    assert [line[1] for line in lines if line[0] == "browsereval"] == ["install-browser"]
    kept = block["artifacts"]["paths"] if ci == "gitlab" else block["steps"][-1]["with"]["path"].split("\n")
    prefix = "" if folder == "." else f"{folder}/"
    files = [f"{prefix}{name}" for name in ("junit.xml", "report.html", "results/")]
    assert [path for path in kept if path] == files
