"""News of a run over a real connection: none lost when a page was cut off."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.dashboard.server import DashboardServer
from pytest_browsereval.model.messages import AssistantMessage, UserMessage, now
from pytest_browsereval.model.usage import Usage
from tests.features.dashboard.asking import Asker, News, until
from tests.features.dashboard.conftest import Session
from tests.features.shared.viewer.conftest import call, result
from tests.labelled import grade, graded
from tests.recorded import FAILED, PASSED


def said(data: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the latest message of each attempt in flight, and how many it has."""
    flights = data["live"]["states"]["lanes"]["flights"]
    return [(one["last"].get("content", ""), one["lines"]) for one in flights]


def says(text: str) -> UserMessage:
    return UserMessage(content=text)


def verdicts(news: list[News]) -> list[list[tuple[str, str]]]:
    """Return the keys and verdicts of rows that have changed, of each answer that had some."""
    return [[(row["key"], row["verdict"]) for row in one.data] for one in news if one.kind == "rows"]


BUY = "buy/default/1/attempt-1"


def test_a_page_misses_nothing(asker: Asker, session: Session) -> None:
    """It says how many changes it has seen, and gets the rows that have changed since, each once."""
    session.begin("buy", "find")
    flying = session.fly("buy")
    flying.say(says("1"), says("2"))
    data = asker.data()
    assert said(data) == [("2", 2)]
    flying.say(says("3"))
    assert said(asker.data()) == [("3", 3)]
    flying.end(graded("buy", grade("state", PASSED), cost_usd=0.5))
    news = asker.listen(data["live"]["last"])
    rest = until(news, lambda one: one.kind == "run" and one.data["totals"]["passed"])
    assert verdicts(rest) == [[(BUY, "passed")]]
    (row,) = rest[0].data
    assert row["cost"] == 0.5
    session.queue.end(0)
    assert verdicts(list(asker.listen(rest[-1].last))) == []
    for seen in ("", "nonsense", "-1", "0", "9" * 30):  # what is no number has seen nothing
        assert verdicts(list(asker.listen(seen))) == [[(BUY, "passed")]]


def test_lanes_steps_and_spend(asker: Asker, session: Session) -> None:
    """Each attempt in flight is in a lane of its worker, with its picture, steps and spend."""
    session.begin("a", "b", "c", processes=2, lanes=2)
    first, second, third = session.fly("a", "gw0"), session.fly("b", "gw0"), session.fly("c", "gw1")
    usage = Usage(input_tokens=1, output_tokens=1, requests=1, cost_usd=0.25)
    first.say(*(AssistantMessage(content=text, usage=usage) for text in ("I look.", "Again.")))
    first.picture(1)
    first.say(call(1, "click", {"target": "e1"}), result(1, screenshot=1))
    unpriced = Usage(input_tokens=1, output_tokens=1, requests=1)
    second.say(AssistantMessage(content="I look.", usage=unpriced))
    lanes = asker.data()["live"]["states"]["lanes"]
    assert (lanes["workers"], lanes["lanes"]) == (["gw0", "gw1"], 2)
    told = {one["key"].partition("/")[0]: one for one in lanes["flights"]}
    places = [("gw0", 0), ("gw0", 1), ("gw1", 0)]
    assert [(told[name]["worker"], told[name]["place"]) for name in "abc"] == places
    assert [told[name]["cost"] for name in "abc"] == [0.5, None, 0.0]
    assert (told["a"]["steps"], told["a"]["picture"]) == (1, "001.png")
    first.end(None)
    session.fly("a", "gw0")
    flights = asker.data()["live"]["states"]["lanes"]["flights"]
    assert sorted((one["worker"], one["place"]) for one in flights) == places
    third.end(None)


def test_what_a_slow_trial_holds_back_is_over_all_the_same(asker: Asker, session: Session) -> None:
    """Reports come in order; what is made again is in flight, what an older session made waits."""
    session.begin("slow", "quick", "early", "broken", "old", "next")
    session.fly("early").end(graded("early", grade("state", PASSED), completed_at=now()))
    session.fly("old").end(graded("old", grade("state", PASSED)))
    session.fly("slow")
    quick, broken = session.fly("quick"), session.fly("broken")
    queue = asker.data()["live"]["states"]["queue"]
    assert (queue["over"], [one["id"] for one in queue["next"]]) == (1, ["old", "next"])
    quick.end(graded("quick", grade("state", PASSED), completed_at=now()))
    broken.end(graded("broken", error_source=ErrorSource.SITE, completed_at=now()))
    queue = asker.data()["live"]["states"]["queue"]
    assert (queue["over"], [one["id"] for one in queue["next"]]) == (3, ["old", "next"])
    session.fly("broken")
    assert asker.data()["live"]["states"]["queue"]["over"] == 2
    for name in ("slow", "quick", "early"):
        session.queue.end_trial(name)
    assert asker.data()["live"]["states"]["queue"]["over"] == 3


def test_an_attempt_that_is_graded_again_has_one_row(asker: Asker, session: Session) -> None:
    """Its row is that of its latest grades."""
    session.begin("buy")
    flying = session.fly("buy")
    flying.end(graded("buy", grade("state", FAILED), cost_usd=1.0))
    assert asker.data()["totals"]["failed"] == 1
    again = session.store.reopen(flying.folder, 1, "buy")
    asker.data()
    session.store.save_record(graded("buy", grade("state", PASSED), cost_usd=1.5))
    again.finish()
    data = asker.data()
    assert len(data["rows"]) == 1
    assert (data["totals"]["passed"], data["totals"]["failed"], data["totals"]["cost"]) == (1, 0, 1.5)


def test_what_is_damaged_stops_nothing(asker: Asker, session: Session) -> None:
    """A log with lines that are no messages, a marker that is none."""
    session.begin("buy")
    flying = session.fly("buy")
    nested = "[" * 50_000
    with (flying.folder / "messages.jsonl").open("ab") as log:
        log.write(b'[1]\n{"type": "user", "content": "\xff"}\n' + nested.encode() + b"\n")
        log.write(json.dumps({"type": "user", "content": "x" * 100_000}).encode() + b"\n")
        log.write(b'{"type": "user", "content": NaN}\n{"type": "cut')
    in_flight = session.store.root / "in-flight"
    (in_flight / "gw0-1.json").write_text('{"folder": "../../..", "node_id": "x"}')
    (in_flight / "gw0-2.json").write_text("{")
    data = asker.data()
    assert [one["key"] for one in data["live"]["states"]["lanes"]["flights"]] == ["buy/default/1/attempt-1"]
    assert said(data) == [("nan", 5)]
    flying.end(None)


def test_when_the_run_has_ended_pages_are_told(
    asker: Asker, server: DashboardServer, session: Session
) -> None:
    """With the exit code, and what else they had not seen; then the server is gone."""
    session.begin("buy")
    flying = session.fly("buy")
    news = asker.listen(asker.data()["live"]["last"])
    until(news, lambda one: one.kind == "end")
    flying.end(graded("buy", grade("state", PASSED)))
    session.queue.end_trial("buy")
    session.queue.end(0)
    closing = threading.Thread(target=server.close)  # it waits until this page has asked
    closing.start()
    rest = list(news)
    closing.join()
    assert verdicts(rest)[-1] == [(BUY, "passed")]
    assert [one.data["exit_code"] for one in rest if one.kind == "end"] == [0]
    with pytest.raises(ConnectionRefusedError):
        asker.ask("0/")
