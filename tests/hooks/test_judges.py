"""Evals whose rows a model judges: real attempts, a judge on a real socket, its failures told apart."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, says
from tests.hooks.launched import files_with, go, metadata, verdicts
from tests.hooks.small_evals import Evals, row

KEY = "sk-of-the-judge-only"
GOLD = "Plastic Man"


def judge_at(server: ScriptedModel, **keys: Any) -> dict[str, Any]:
    return {"model": "scripted", "base_url": server.base_url, "api_key": "JUDGE_KEY", **keys}


def looks(request: ModelRequest) -> Reply:
    """Judge by the answer; a success needs a picture beside it."""
    content = request.messages[-1]["content"]
    has_picture = not isinstance(content, str) and any(part["type"] == "image_url" for part in content)
    is_right = has_picture and re.search(r"\[final answer of the agent \w+\]\nright\n", request.text)
    verdict = "success" if is_right else "not_success"
    return says(json.dumps({"reasoning": f"looked at {has_picture}", "verdict": verdict}))


def site(evals: Evals) -> dict[str, Any]:
    (evals.path / "site").mkdir()
    (evals.path / "site/index.html").write_text("<!doctype html><title>shop</title><h1>Mugs</h1>")
    return {"site": {"static": "site"}}


@pytest.mark.slow
def test_a_judge_sees_the_pictures_of_a_real_attempt(evals: Evals) -> None:
    """BrowserOS's name of the grader; passed, failed and unanswered rows, at the price of two questions."""
    evals.write_rows(
        row("good", graders=["webvoyager_grader"], start_url="{site}/index.html"),
        row("bad", graders=["webvoyager_grader"], says="wrong"),
        row("silent", graders=["webvoyager_grader"], says=None, solution=[{"tool": "wait", "seconds": 0}]),
    )
    with ScriptedModel(looks, api_key=KEY) as server:
        evals.write_config(judge=judge_at(server), sites=site(evals), lanes=3, browser="playwright")
        code, output = go(evals, "-rA", env={"JUDGE_KEY": KEY})
    assert code == 1, output
    assert verdicts(evals.summary()) == {"good": "passed", "bad": "failed", "silent": "failed"}
    assert len(server.requests) == 2
    good = metadata(evals.run_folder(), "good").grader_results["webvoyager"]
    assert good.evidence
    folder = evals.run_folder() / "tasks/good/default/1/attempt-1"
    assert all((folder / name).is_file() for name in good.evidence)
    (record,) = (folder / "judge").iterdir()
    assert json.loads(record.read_text())["reply"]["verdict"] == "success"
    assert (good.usage.requests, good.usage.input_tokens) == (1, 100)
    asked = next(request for request in server.requests if "answer of good" in request.text)
    assert re.search(r"Start page: http://127\.0\.0\.1:\d+/index\.html", asked.text)
    assert "[redacted]" not in output
    assert files_with(evals.path, KEY) == []


@pytest.mark.slow
def test_what_a_judge_lacks_is_told_before_anything_is_spent(evals: Evals) -> None:
    """No judge, no key, no pictures, no reference: each with file and line, and no attempt is begun."""
    evals.write_rows(
        row("a", graders=["answer"]),
        row("b", graders=["webvoyager"]),
        row("c", graders=["browsecomp"], answer=None),
    )
    evals.write_config()
    code, output = go(evals)
    assert code == 4, output
    assert re.search(
        r"rows\.jsonl:2: row 'b': the grader 'webvoyager' asks a model, but the config names", output
    )
    assert re.search(r"rows\.jsonl:3: row 'c': browsecomp: the row has no answer to compare with", output)
    with ScriptedModel([]) as server:
        evals.write_config(judge=judge_at(server), capture={"screenshots": "off"})
        code, output = go(evals, env={"JUDGE_KEY": KEY})
        assert code == 4, output
        assert "rows.jsonl:2: row 'b': the grader 'webvoyager' looks at pictures" in output
        evals.write_config(judge=judge_at(server, api_key="NO_SUCH_KEY"))
        code, output = go(evals)
        assert code == 4, output
        told = (
            "judge: api_key is 'NO_SUCH_KEY' in capitals, the name of an environment variable that is not set"
        )
        assert len(re.findall(rf"shop\.eval\.yaml:\d+: {told}", output)) == 1
        assert "rows.jsonl:2" not in output
    assert server.requests == []
    assert not list(evals.path.glob("results/shop/*/tasks/*"))


@pytest.mark.slow
def test_a_protected_answer_is_in_no_file_and_no_line(evals: Evals) -> None:
    """Whatever a judge quotes; reports of a failure show the agent's side only."""
    evals.write_rows(
        row("p", answer=GOLD, protected=True, graders=["browsecomp", "answer"], says="Elastic Girl")
    )
    reply = {"reasoning": f"{GOLD} is not it", "stated_answer": "Elastic Girl", "is_same": False}
    with ScriptedModel(lambda _: says(json.dumps(reply))) as server:
        evals.write_config(judge=judge_at(server))
        reports = ("--junit-xml=junit.xml", "--html=report.html", "-rA", "-vv")
        code, output = go(evals, *reports, env={"JUDGE_KEY": KEY})
    assert code == 1, output
    assert "[withheld]" in output
    assert GOLD in server.requests[0].text
    assert GOLD not in output
    assert set(files_with(evals.path, GOLD)) == {"rows.jsonl"}
