"""Which tools an attempt has: by variant, by the sites of its row, and by a guard that looks at each call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.testing import ScriptedModel, call, calls, done
from tests.hooks.small_evals import Evals, row

LOOKING = """
from typing import Literal
from pytest_browsereval import Toolkit, ToolkitConfig, tool

@tool(takes_picture=False)
async def look_up(window, word: str) -> str:
    '''Look a word up.'''
    return word

@tool(takes_picture=False)
async def recall(window) -> str:
    '''Tell the word that was looked up last.'''
    return ""

class Words(ToolkitConfig):
    type: Literal["words"] = "words"

    def build(self):
        tools = (look_up, recall)
        return Toolkit("words", "Words", tools, needs_page=False, absent="No words can be looked up.")

def pytest_browsereval_register(registry):
    registry.register(Words)
"""

FUNCTION = """
async def solve(context):
    names = sorted(tool.name for tool in context.tools.tools)
    return "right" if "look_up" in names and "recall" not in names else f"not right: {names}"

async def stubborn(context):
    try:
        result = await context.tools.call("look_up", {"word": "x"})
    except BaseException as error:
        return "right"
    return result.output
"""

CALL = {"tool": "look_up", "word": "x"}
DONE = {"tool": "done", "answer": "right"}


@pytest.fixture
def words(evals: Evals) -> Evals:
    """Evals with a toolkit of a conftest and agents that say which tools they have."""
    evals.pytester.makeconftest(LOOKING)
    evals.pytester.makepyfile(my_agent=FUNCTION)
    evals.write_rows(row("a", solution=[CALL, DONE]))
    return evals


def log(evals: Evals, query_id: str = "a", variant: str = "default") -> list[dict[str, Any]]:
    file = evals.run_folder() / "tasks" / query_id / variant / "1/attempt-1/messages.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


def results(messages: list[dict[str, Any]]) -> list[Any]:
    return [one["result"] for one in messages if one["type"] == "tool_result"]


# -- by variant


def test_variants_have_tools_of_their_own(words: Evals) -> None:
    """A variant narrows and widens the switches of the run; the manifest has the tools of all of them."""
    solver = {"type": "function", "function": "my_agent:solve"}
    variants = {
        "plain": solver,
        "wide": {**solver, "tools": {"words": True}},
        "narrow": {**solver, "tools": {"words": True, "recall": False}},
    }
    words.write_config(variants=variants, toolkits=["words"], tools={"words": False})
    ran = words.run("shop.eval.yaml")
    ran.assert_outcomes(passed=1, failed=2)
    answers = {one.variant: one.final_answer or "" for one in ran.attempts}
    assert ("look_up" in answers["plain"], "recall" in answers["plain"]) == (False, False)
    assert ("look_up" in answers["wide"], "recall" in answers["wide"]) == (True, True)
    assert answers["narrow"] == "right"
    manifest = json.loads((ran.folder / "manifest.json").read_text())
    assert {"look_up", "recall"} <= set(manifest["tools"])
    assert manifest["config"]["variants"]["narrow"]["tools"] == {"words": True, "recall": False}
    words.write_config(variants={"x": {**solver, "tools": {"evaluate": True}}})
    refused = words.run("shop.eval.yaml")
    assert (refused.ret, "variants.x.tools.evaluate: evaluate is on" in refused.stderr.str()) == (4, True)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a row that calls what a variant has not": (
        {"variants": {"x": {"type": "scripted", "tools": {"words": False}}}},
        "calls 'look_up', which is not a tool that is switched on",
    ),
    "switches of an executor": (
        {
            "agent": {
                "type": "orchestrator-executor",
                "orchestrator": {"model": "m", "base_url": "http://127.0.0.1:9/v1"},
                "executor": {"type": "scripted", "tools": {"words": False}},
            }
        },
        "executor.tools has no effect. Write `tools: {...}` next to `executor`.",
    ),
    "a row that calls what its sites do not bring": (
        {"agent": "scripted", "sites": {"shop": {"static": ".", "toolkits": ["words"]}}},
        "calls 'look_up', which is not a tool that is switched on",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(words: Evals, case: str) -> None:
    """Exit code 4 with file and line, before anything is spent."""
    keys, message = REFUSED[case]
    words.write_config(toolkits=["words"], **keys)
    ran = words.run("shop.eval.yaml")
    assert (ran.ret, message in ran.stderr.str()) == (4, True), ran.stderr.str()
    assert not (words.path / "results").exists()


# -- by site


def test_tools_of_a_site(words: Evals) -> None:
    """They are there in rows that use the site, by a placeholder or by name, and in no others."""
    (words.path / "index.html").write_text("<title>Shop</title>")
    words.write_rows(
        row("by-address", query="Look at {shop}/.", solution=[CALL, DONE]),
        row("by-name", sites=["shop"], solution=[CALL, DONE]),
        row("other"),
    )
    sites = {"shop": {"static": ".", "toolkits": ["words"]}}
    solver = {"type": "function", "function": "my_agent:solve"}
    words.write_config(agent=solver, toolkits=["words"], sites=sites, tools={"recall": False})
    ran = words.run("shop.eval.yaml")
    ran.assert_outcomes(passed=2, failed=1)
    assert ran.attempt("other").verdict == "failed"
    words.write_config(agent="scripted", toolkits=["words"], sites=sites)
    words.run("shop.eval.yaml").assert_outcomes(passed=3)


# -- by a guard

GUARD = """
def pytest_browsereval_tool_call(name, arguments, task, window, node_id):
    if name == "look_up" and arguments["word"] == "secret":
        return f"{task.query_id} may not look up {arguments['word']!r} at {window.url} ({node_id})"
"""


def guarded(evals: Evals, guard: str) -> None:
    evals.pytester.makeconftest(LOOKING + guard)


def test_a_guard_refuses_a_call(words: Evals) -> None:
    """The agent reads the reason and goes on; the call is recorded, counted, and not made."""
    guarded(words, GUARD)
    model = [calls(call("look_up", word="secret")), calls(call("look_up", word="mug")), done("right")]
    with ScriptedModel(model) as served:
        agent = {"type": "single", "model": "m", "base_url": served.base_url}
        words.write_config(agent=agent, toolkits=["words"])
        ran = words.run("shop.eval.yaml")
    ran.assert_outcomes(passed=1)
    reason = "a may not look up 'secret' at about:blank (shop.eval.yaml::a)"
    assert results(log(words))[:2] == [{"ok": False, "output": reason}, {"ok": True, "output": "mug"}]
    assert reason in served.requests[1].text
    assert ran.attempt("a").total_steps == 2


BROKEN = {
    "it raises": ("raise KeyError('boom')", ") raised KeyError: 'boom'"),  # behind the hook's place
    "it fails the test": ("import pytest; pytest.fail('no')", "called pytest.fail(): no"),
    "it returns a verdict": ("return False", "pytest_browsereval_tool_call returned False"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_guard_is_never_a_pass(words: Evals, case: str) -> None:
    """The attempt is errored, whatever the agent makes of it: one that catches everything, too."""
    code, message = BROKEN[case]
    guarded(words, f"\ndef pytest_browsereval_tool_call(name):\n    if name == 'look_up':\n        {code}\n")
    variants = {"stubborn": {"type": "function", "function": "my_agent:stubborn"}, "scripted": "scripted"}
    words.write_config(variants=variants, toolkits=["words"])
    ran = words.run("shop.eval.yaml")
    ran.assert_outcomes(errors=2)
    assert {one.error_source for one in ran.attempts} == {"harness"}
    assert [one.reason for one in ran.attempts if message not in one.reason] == []


def test_a_guard_of_executors(words: Evals) -> None:
    """Tools that an executor calls are guarded as well."""
    guarded(
        words,
        """
def pytest_browsereval_tool_call(name):
    return None if name == "done" else f"{name} is not allowed"
""",
    )
    agent = {"type": "function", "function": "my_agent:stubborn"}
    with ScriptedModel([calls(call("delegate", instruction="Look.")), done("right")]) as served:
        orchestrator = {"model": "m", "base_url": served.base_url}
        pair = {"type": "orchestrator-executor", "orchestrator": orchestrator, "executor": agent}
        words.write_config(agent=pair, toolkits=["words"])
        words.run("shop.eval.yaml").assert_outcomes(passed=1)
    assert {"ok": False, "output": "look_up is not allowed"} in results(log(words))
