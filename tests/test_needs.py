"""Needs of graders are merged, compared with what a run offers, and told in words."""

from __future__ import annotations

from dataclasses import replace

from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.traffic import Traffic
from pytest_browsereval.needs import TIMEOUT_S, Asker, ModelNeed, Needs, Offers, find_misfits, merge_needs

JUDGE = JudgeConfig.model_validate({"provider": "openai", "model": "m", "api_key": "none", "timeout_s": 40})

ASKER = Asker("the grader 'g'")


def test_needs_add_up() -> None:
    """Together graders need all that one of them needs, each thing once, and as long as the slowest."""
    one = Needs(page=False, traffic=Traffic(cookies=frozenset({"a"})), trust=("runs x",), seconds=5)
    two = Needs(
        page=True,
        traffic=Traffic(replies=True, cookies=frozenset({"b"})),
        models=(ModelNeed("two"),),
        trust=("runs x", "runs y"),
        addresses=("{shop}/",),
        seconds=7,
    )
    traffic = Traffic(replies=True, cookies=frozenset({"a", "b"}))
    assert merge_needs([one, two]) == replace(two, traffic=traffic)
    assert merge_needs([]).seconds == TIMEOUT_S


def test_who_says_nothing_of_the_page_keeps_it_open() -> None:
    """Only where all say that they need no page do they need none together."""
    needed, open_, unneeded = Needs(page=True), Needs(), Needs(page=False)
    assert merge_needs([needed, open_, unneeded]).page is True
    assert merge_needs([open_, unneeded]).page is None
    assert merge_needs([unneeded, unneeded]).page is False


def test_what_does_not_fit_is_told_in_words() -> None:
    """A sentence for each thing, with the name of the grader and what to write."""
    needs = Needs(page=True, pictures=True, traffic=Traffic(), models=(ModelNeed("g"),))
    offers = Offers(page=False, pictures=False, traffic=False, browser="mcp")
    page, traffic, pictures, model = find_misfits(ASKER, needs, offers)
    assert page == (
        "the grader 'g' reads the live page, and `browser: {type: mcp}` has no Playwright page. Use a "
        "grader that needs no page (answer, command, state_diff with a `url`), or use a browser of type "
        "playwright or cdp."
    )
    assert "looks at the network traffic, which `browser: {type: mcp}` does not let be recorded" in traffic
    assert "looks at pictures, and capture.screenshots is off" in pictures
    assert "asks a model, but the config names none" in model
    assert list(find_misfits(ASKER, needs, Offers(judge=JUDGE))) == []
    assert list(find_misfits(ASKER, Needs(), offers)) == []


def test_what_an_agent_lacks_is_told_in_words() -> None:
    """The ways to the browser and to models are compared like all else."""
    needs = merge_needs([Needs(cdp=True), Needs(tools=True), Needs(unrecorded="it asks by itself")])
    offers = Offers(no_cdp="Nothing attaches.", no_tools="no tool of the run reaches a page", llm="record")
    cdp, tools, unrecorded = find_misfits(Asker("the agent 'a'"), needs, offers)
    assert cdp == "Nothing attaches."
    assert tools.startswith(
        "the agent 'a' could do nothing: no tool of the run reaches a page. Use a browser"
    )
    assert unrecorded.startswith("--eval-llm=record is not possible with the agent 'a': it asks by itself.")
    assert list(find_misfits(Asker("the agent 'a'"), needs, Offers())) == []
