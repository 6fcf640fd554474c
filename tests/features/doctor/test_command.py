from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.testing import ScriptedModel
from tests.hooks.small_evals import row

pytestmark = pytest.mark.usefixtures("in_tmp_path")


def config(*rows: dict[str, Any], **keys: Any) -> str:
    Path("rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    Path("shop.json").write_text(json.dumps({"agent": "scripted", "dataset": "rows.jsonl", **keys}))
    return "shop.json"


@pytest.mark.slow
def test_errors_are_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """Findings are listed by rule, five of each unless all are asked for; an error makes the code 1."""
    wrong = [row(f"r{n}", start_url="data:text/html,x", graders=["answr"]) for n in range(7)]
    assert main(["doctor", config(*wrong)]) == 1
    out = capsys.readouterr().out
    assert "error unusable-row: 7\n" in out
    assert "rows.jsonl:5: row 'r4': unknown grader 'answr'. Did you mean 'answer'?" in out
    assert "r5" not in out
    assert "and 2 more; --all lists them" in out
    assert out.startswith("7 errors\n")
    assert main(["doctor", config(*wrong), "--all"]) == 1
    assert "rows.jsonl:7: row 'r6'" in capsys.readouterr().out


@pytest.mark.slow
def test_overrides_and_earlier_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Keys of the config can be overridden; a run that is not there is told before anything is tried."""
    limited = "dataset=[{type: jsonl, path: rows.jsonl, select: {limit: 1}}]"
    given = config(row("a", start_url="data:text/html,x"), row("b", graders=["none"]))
    assert main(["doctor", given, "--eval-set", limited]) == 0
    assert "1 of type jsonl" in capsys.readouterr().out
    assert main(["doctor", given, "--run", "latest"]) == 4
    assert "there is no run 'latest'" in capsys.readouterr().err


CONFTEST = """
import helper
from typing import Literal
from pytest_browsereval import GraderConfig, GraderResult
from pytest_browsereval.model.grades import Verdict

class Lenient(GraderConfig):
    type: Literal["lenient"] = "lenient"

    async def grade(self, recorded):
        return GraderResult(grader=self.label, verdict=Verdict.PASSED, score=1.0)

def pytest_browsereval_register(registry):
    registry.register(Lenient)
"""


@pytest.mark.slow
def test_members_of_a_conftest(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a conftest beside the config brings is known; one without members is not even run."""
    monkeypatch.setattr("sys.path", list(sys.path))
    given = config(row("a", start_url="data:text/html,x", graders=["lenient"]))
    Path("conftest.py").write_text("raise SystemExit('never run')\n")
    assert main(["doctor", given]) == 1
    assert "unknown grader 'lenient'" in capsys.readouterr().out
    Path("helper.py").write_text("")
    Path("conftest.py").write_text(CONFTEST)
    assert main(["doctor", given]) == 0
    assert ["skipped", "grader", "lenient"] in [s.split()[:3] for s in capsys.readouterr().out.splitlines()]
    Path("conftest.py").write_text(CONFTEST.replace("import helper", "import no_such_helper"))
    assert main(["doctor", given]) == 4
    assert "conftest.py cannot be loaded: ModuleNotFoundError" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--validate"], ["--run", "latest"], ["--ask-judge"]])
def test_options_are_about_a_config(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without a config they would do nothing: they are refused."""
    assert main(["doctor", *option]) == 4
    assert f"{option[0]} is about a config" in capsys.readouterr().err


def test_the_first_example(capsys: pytest.CaptureFixture[str]) -> None:
    """The quickstart has nothing but notes: its sites show a date of their own."""
    example = Path(__file__).parents[3] / "examples/quickstart/eval.yaml"
    assert main(["doctor", str(example)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("No errors. Ready to run.\n")
    assert not any(line.startswith(("error", "warning")) for line in out.splitlines())
    assert [line.split()[2] for line in out.splitlines() if line.split()[1:2] == ["site"]] == [
        "shop",
        "targets",
        "office",
    ]


@pytest.mark.slow
def test_a_model_that_does_not_answer_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A server of this machine is always asked, and nothing is paid for that."""
    agent = {"type": "single", "provider": "openai-compatible", "model": "m"}
    one = row("a", start_url="data:text/html,x")
    with ScriptedModel([]) as server:
        given = {**agent, "base_url": server.base_url}
        assert main(["doctor", config(one, agent=given)]) == 0
        out = capsys.readouterr().out
        assert f"ok model m {server.base_url} answers" in " ".join(out.split())
    assert main(["doctor", config(one, agent=given)]) == 1
    out = capsys.readouterr().out
    assert f"{given['base_url']} does not answer: " in out
    assert out.startswith("1 error\n")


@pytest.mark.slow
def test_models_elsewhere_are_asked_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    """Without ``--online`` nothing leaves this machine."""
    agent = {"type": "single", "provider": "openai-compatible", "model": "m", "api_key": "none"}
    given = config(row("a", start_url="data:text/html,x"), agent={**agent, "base_url": "http://x.invalid/v1"})
    assert main(["doctor", given]) == 0
    assert "http://x.invalid/v1 was not tried; --online tries it" in capsys.readouterr().out
    assert main(["doctor", given, "--online"]) == 1
    assert "http://x.invalid/v1 does not answer: " in capsys.readouterr().out
