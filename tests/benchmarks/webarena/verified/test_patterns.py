"""Patterns of WebArena-Verified's rows that never come to an end: each is a fault, and none hangs the run."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.benchmarks.webarena.verified.events import Event
from pytest_browsereval.benchmarks.webarena.verified.traffic import TrafficRules
from pytest_browsereval.errors import Fault
from pytest_browsereval.graders import patterns

BOMB = "(a+)+$"
NAME = "a" * 40 + "b"


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        ({}, {"ignored_query_params_patterns": [BOMB]}),
        ({}, {"ignored_post_data_params_patterns": [BOMB]}),
        ({"post_data": {f"^{BOMB}": "x"}}, {}),
    ],
)
def test_a_name_that_the_agent_chose_hangs_no_pattern(
    fields: dict[str, Any], rules: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = {"url": "http://shop.test/save", "http_method": "POST", "post_data": {"a": "1"}, **fields}
    checked = TrafficRules.model_validate({"expected": expected, **rules})
    checked.check()
    monkeypatch.setattr(patterns, "SEARCH_LIMIT_S", 0.3)  # not before: names of the row have to be read in it
    form = {"mimeType": "application/x-www-form-urlencoded", "text": f"a=1&{NAME}=2"}
    sent = {"method": "POST", "url": f"http://shop.test/save?{NAME}=1", "headers": [], "postData": form}

    with pytest.raises(Fault, match="took more than"):
        checked.criterion([Event.read({"request": sent, "response": {"status": 200}})], is_navigation=False)
