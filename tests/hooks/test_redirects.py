"""Model servers that send requests on to another host: nothing goes there, and nothing counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.testing import Reply, ScriptedModel, done, says
from tests.hooks.launched import verdicts
from tests.hooks.small_evals import Evals, row

SAME = json.dumps({"reasoning": "same", "stated_answer": "right", "is_same": True})


@pytest.mark.parametrize("who", ["agent", "judge"])
def test_no_model_is_asked_elsewhere(evals: Evals, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """Not by an agent and not by a judge: the attempt is errored, with the host that was not asked."""
    monkeypatch.setenv("MODEL_KEY", "sk-of-the-model-only")
    reply: Any = done("right") if who == "agent" else says(SAME)
    with ScriptedModel([reply, reply]) as other:
        there = other.base_url.removesuffix("/v1")
        away = Reply(status=307, error="moved", headers={"Location": f"{there}/v1/chat/completions"})
        with ScriptedModel([away, away]) as server:
            model: dict[str, Any] = {"model": "scripted", "base_url": server.base_url, "api_key": "MODEL_KEY"}
            keys: dict[str, Any] = (
                {"agent": {"type": "single", **model}} if who == "agent" else {"judge": model}
            )
            ran = evals.play([row("a", graders=["answer" if who == "agent" else "browsecomp"])], **keys)
        assert other.requests == []
    assert ran.ret == 1
    source = "provider" if who == "agent" else "grader"
    assert verdicts(ran.summary) == {"a": f"errored ({source})"}
    assert f"it redirects to {there}, which is another host" in " ".join(ran.stdout.str().split())
