"""``browsereval causes --explain``: a judge names the groups, over a real socket; it decides nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.testing import ModelRequest, ScriptedModel
from tests.features.causes.test_command import write_shop
from tests.hooks.small_evals import Evals, row

BLANK = """
from pytest_browsereval.testing.blank import BlankBrowserConfig

def pytest_browsereval_register(registry):
    registry.register(BlankBrowserConfig)
"""
EXPLAIN = ("causes", "latest", "--config", "shop.eval.yaml", "--explain")


def say(name: str) -> str:
    """Return a reply of a judge."""
    return json.dumps({"reasoning": "They answer at once.", "name": name})


def run_shop(evals: Evals, model: ScriptedModel | None, **judge: object) -> None:
    """Run the rows that do not pass."""
    write_shop(evals)
    keys: dict[str, Any] = {}
    if model is not None:
        keys["judge"] = {"model": "judge", "base_url": model.base_url, **judge}
    evals.write_config(**keys)
    evals.run("shop.eval.yaml")
    evals.pytester.makeconftest(BLANK)


def test_a_judge_names_the_groups(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of two and more are asked about, once; hostile texts stand between marks and decide nothing."""
    monkeypatch.setenv("JUDGE_KEY", "key-of-the-judge")
    with ScriptedModel([say("says a wrong price\x1b[31m, key-of-the-judge")]) as model:
        run_shop(evals, model, api_key="${JUDGE_KEY}")
        result = evals.run_command(*EXPLAIN, "--json", "a.json", "--markdown", "a.md")
        again = evals.run_command(*EXPLAIN)  # the reply is kept
    assert result.ret == again.ret == 0
    assert "    the judge: says a wrong price [31m, [redacted]" in result.outlines
    assert result.outlines[-1] == (
        "The judge is openai-compatible judge: 1 request, cost unknown. What it says is advice."
    )
    assert again.outlines[-1].startswith("The judge is openai-compatible judge: 0 requests, $0.0000.")
    found = json.loads((evals.path / "a.json").read_text())
    assert [one["name_by_judge"] is None for one in found["groups"]] == [False, True, True]
    assert found["judge"] == {"model": "openai-compatible judge", "requests": 1, "cost_usd": None}
    assert "the judge: says a wrong price" in (evals.path / "a.md").read_text()
    (asked,) = model.requests
    text = json.dumps(asked.messages)
    assert "mug: at step 1: answered 'wrong'" in text
    summary = evals.summary()
    assert (summary["failed"], summary["errored"], summary["cost_usd"]) == (3, 1, 0.0)


def test_texts_of_protected_rows_are_not_sent(evals: Evals) -> None:
    """Their number is."""

    def reply(request: ModelRequest) -> str:
        assert "ultramarine" not in json.dumps(request.messages)
        assert "2 attempts" in json.dumps(request.messages)
        return say("answers wrongly")

    with ScriptedModel(reply) as model:
        evals.write_rows(*(row(f"ultramarine-{n}", says="ultramarine", protected=True) for n in (1, 2)))
        evals.write_config(judge={"model": "judge", "base_url": model.base_url})
        evals.run("shop.eval.yaml")
        evals.pytester.makeconftest(BLANK)
        result = evals.run_command(*EXPLAIN)
    assert "    the judge: answers wrongly" in result.outlines


def test_a_judge_that_fails_names_nothing(evals: Evals) -> None:
    """The groups are there all the same, with why they have no name."""
    with ScriptedModel(["no JSON", "none either"]) as model:
        run_shop(evals, model)
        result = evals.run_command(*EXPLAIN)
    assert result.ret == 0
    assert "likely wrong row       2    67%" in result.outlines
    assert any(line.startswith("    the judge: not named: the judge") for line in result.outlines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--explain",), "--explain asks the judge of a config. Name it by --config FILE."),
        (("--judge-set", "model=m"), "--judge-set is about the judge that --explain asks. Add --explain."),
        (EXPLAIN[2:], "shop.eval.yaml has no judge that could name groups. Write one: judge: {model: ...}"),
    ],
)
def test_no_judge(evals: Evals, words: tuple[str, ...], message: str) -> None:
    """It is refused in one sentence."""
    run_shop(evals, None)
    result = evals.run_command("causes", "latest", *words)
    assert result.ret == 4
    assert message in result.stderr.str()
