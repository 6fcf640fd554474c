"""Toolkits of plug-ins in whole runs: what the model gets, what is recorded, what stops the run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.testing import ScriptedModel, call, calls, done
from tests.hooks.small_evals import Evals, row, single_agent

KIT = """
from typing import Literal
from pydantic import SecretStr
from pytest_browsereval import Directive, Policy, Toolkit, ToolContext, ToolkitConfig, tool

SECRETS = []

@tool(takes_picture=False)
async def look_up(window, word: str) -> str:
    '''Look a word up.'''
    return f"{word} means {window.url}, says {SECRETS[0]}"

@tool(takes_picture=False)
async def guess(window) -> str:
    '''Guess.'''
    return "maybe"

@tool(takes_picture=False)
async def read_row(window, about: ToolContext, *, more: str = "") -> str:
    '''Read the row.'''
    assert about.folder.is_dir() and window.url
    hint = (about.base_dir / "hint.txt").read_text()
    return " ".join((about.task.query_id, hint, *sorted(about.site_urls), about.variables["WORD"], more))

class Rows(ToolkitConfig):
    type: Literal["rows"] = "rows"

    def build(self):
        return Toolkit("rows", "Rows", (read_row,), needs_page=False)

class Words(ToolkitConfig):
    type: Literal["words"] = "words"
    key: SecretStr = SecretStr("")

    def secrets(self):
        return (self.key.get_secret_value(),)

    def build(self):
        SECRETS[:] = self.secrets()
        return Toolkit(
            key="words",
            label="Words",
            tools=(look_up, guess),
            policy=(Policy("Look unknown words up.", ("look_up",)),),
            directive=lambda turn: Directive(("look_up",), "required") if turn.number == 1 else None,
            needs_page=False,
            vetoes={"guess": "nobody may guess"},
        )

class Clashing(ToolkitConfig):
    type: Literal["clashing"] = "clashing"

    def build(self):
        import dataclasses
        return Toolkit("clashing", "Clashing", (dataclasses.replace(guess, name="click"),))

def pytest_browsereval_register(registry):
    registry.register(Words)
    registry.register(Rows)
    registry.register(Clashing)
"""
SECRET = "tok-0123456789-words"


@pytest.fixture
def kits(evals: Evals) -> Evals:
    """Evals with a conftest that brings toolkits, and one row."""
    evals.pytester.makeconftest(KIT)
    evals.write_rows(row("a", solution=[]))
    return evals


@pytest.mark.slow
def test_a_model_works_with_a_plugged_toolkit(kits: Evals) -> None:
    """It is told the policy and offered the tools; call, note, manifest and redaction are as for ours."""
    with ScriptedModel([calls(call("look_up", word="mug")), done("right")]) as model:
        kits.write_config(
            agent=single_agent(model.base_url),
            browser="playwright",
            toolkits={"type": "words", "key": SECRET},
            tools={"input": False},
        )
        result = kits.run("shop.eval.yaml")
    result.assert_outcomes(passed=1)
    first, second = model.requests
    assert "Words:\n- Look unknown words up." in first.text
    assert "- You cannot run JavaScript in the page." in first.text
    assert "- You cannot act on elements by ref or selector." in first.text
    assert (first.tool_names, first.body["tool_choice"]) == (["done", "look_up"], "required")
    assert "tool_choice" not in second.body
    assert {"navigate", "done", "look_up"} <= set(second.tool_names)
    assert not {"guess", "click", "click_at", "screenshot"} & set(second.tool_names)
    result.stdout.fnmatch_lines(
        [
            "eval shop: note: not offered: guess (nobody may guess)",
            "eval shop: note: agent default: not offered: screenshot, pointer (the model is shown *)",
        ]
    )
    folder = kits.run_folder()
    manifest = json.loads((folder / "manifest.json").read_text())
    owned = {kit["key"]: (kit["owner"], kit["tools"]) for kit in manifest["toolkits"]}
    assert owned["words"] == ("conftest.py", ["look_up"])
    assert owned["input"] == ("pytest-browsereval", [])
    assert owned["finish"] == ("pytest-browsereval", ["done"])
    (log,) = folder.glob("tasks/*/*/1/attempt-1/messages.jsonl")
    assert "mug means about:blank, says [redacted]" in log.read_text()
    assert not [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a clash with a tool of ours": (
        {"toolkits": "clashing", "tools": {"input": False}},
        "*tools: Two tools or toolkits are named 'click': *'input' (*), *'clashing' (from conftest.py).*",
    ),
    "an unknown toolkit": (
        {"toolkits": ["wrods"]},
        "*toolkits.0*: unknown toolkit 'wrods'. Did you mean 'words'? Known: *words (from conftest.py)*",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_stops_the_run(kits: Evals, case: str) -> None:
    """Exit code 4 before anything is spent; the message names both sides and what to write."""
    keys, told = REFUSED[case]
    result = kits.play([row("a")], browser="playwright", **keys)
    assert result.ret == 4, result.stdout.str() + result.stderr.str()
    result.stderr.fnmatch_lines([told])
    assert not (kits.path / "results").exists()


def test_a_tool_may_ask_for_its_row(kits: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row, the folders, sites and variables come as one object, which no model sees or gives."""
    monkeypatch.setenv("WORD", "swordfish")
    (kits.path / "hint.txt").write_text("look left")
    (kits.path / "site").mkdir()
    (kits.path / "site/index.html").write_text("hello")
    steps = [{"tool": "read_row", "more": "please"}, {"tool": "done", "answer": "right"}]
    ran = kits.play(
        [row("a", start_url="{shop}/", solution=steps)],
        toolkits=["rows"],
        sites={"shop": {"static": "site"}},
        variables=["WORD"],
        dataset={"path": "rows.jsonl", "trusted": True},
        browser="playwright",
    )
    assert ran.ret == 0, ran.stdout.str()
    log = next(ran.folder.glob("tasks/a/*/*/*/messages.jsonl")).read_text()
    call, said = (json.loads(line) for line in log.splitlines() if "read_row" in line or "look left" in line)
    assert call["params"] == {"more": "please"}
    assert said["result"]["output"].startswith("a look left shop [")  # the variable is a secret
    assert "swordfish" not in log
