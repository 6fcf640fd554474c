"""Replies of a provider that break the reading of them: the provider's fault, whoever asked."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, done, sends
from tests.hooks.launched import metadata
from tests.hooks.small_evals import Evals, row, single_agent


def body(**more: Any) -> str:
    choice = {"index": 0, "message": {"role": "assistant", "content": "right"}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 5}} | more)


PRICES = {"prices": {"input_per_mtok": 1.0, "output_per_mtok": 1.0}}
BROKEN = {
    "deep": ("[" * 200_000, "the reply is nested too deeply: '[[[["),
    "tokens": (
        body(usage={"prompt_tokens": 1, "completion_tokens": "N"}).replace('"N"', "9" * 400),
        "the reply reports more than 1,000,000,000,000 tokens",
    ),
    "digits": (body(n="N").replace('"N"', "9" * 5_000), "the reply is not JSON"),
}


def test_a_reply_that_cannot_be_read_is_the_providers_fault(evals: Evals) -> None:
    """It is asked again, then the attempt is errored with source *provider*; the rows beside it pass."""
    asked: Counter[str] = Counter()

    def play(request: ModelRequest) -> Reply:
        name = request.text.partition("answer of ")[2].partition(".")[0]
        asked[name] += 1
        return sends(BROKEN[name][0]) if name in BROKEN else done("right")

    evals.write_rows(*map(row, (*BROKEN, "fine")))
    with ScriptedModel(play) as server:
        evals.write_config(agent=single_agent(server.base_url, max_tries=2, **PRICES), lanes=5)
        run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    for name, (_, told) in BROKEN.items():
        found = metadata(evals.run_folder(), name)
        assert (found.verdict, found.error_source) == ("errored", "provider"), found.reason
        assert f"gave no usable reply after 2 tries: {told}" in found.reason
        assert asked[name] == 2
    assert metadata(evals.run_folder(), "fine").verdict == "passed"
