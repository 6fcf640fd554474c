"""Whole runs: an excerpt of a reply never shows a part of a key."""

from __future__ import annotations

import pytest

from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, done, sends
from tests.hooks.small_evals import Evals, row, single_agent

KEY = "AzCANARYAPIKEYq7w9"
PARTS = [KEY[place : place + 4] for place in range(len(KEY) - 3)]
PADS = range(80, 102)


def leaks(evals: Evals, shown: str) -> list[str]:
    """Return where a part of the key is: the terminal, or files."""
    texts = {"terminal": shown} | {
        path.name: path.read_text(errors="replace") for path in evals.path.rglob("*") if path.is_file()
    }
    return [name for name, text in texts.items() if any(part in text for part in PARTS)]


@pytest.mark.parametrize("quote", ["", "[]"])
def test_a_reply_that_is_told_in_part_shows_no_part_of_the_key(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, quote: str
) -> None:
    """Wherever the key stands in a reply that is no JSON, or nothing that was asked for."""

    def play(request: ModelRequest) -> Reply:
        name = request.text.partition("answer of ")[2].partition(".")[0]
        if not name.startswith("pad-"):
            return done("right")
        text = "p" * int(name.removeprefix("pad-")) + KEY
        return sends(f'["{text}"]' if quote else text)

    monkeypatch.setenv("SHOP_KEY", KEY)
    with ScriptedModel(play) as server:
        agent = single_agent(server.base_url, api_key="SHOP_KEY")
        evals.write((row(f"pad-{pad}") for pad in PADS), agent=agent, lanes=8)
        run = evals.run("shop.eval.yaml", "--eval-keep-going", "--junit-xml=junit.xml")
    run.assert_outcomes(errors=len(PADS))
    assert "ppppp" in run.stdout.str()
    assert leaks(evals, run.stdout.str()) == []


PROGRAM = """
import os

text = os.environ["SHOP_KEY"] * 70_000
print(text)
open("answer.txt", "w").write(text)
"""


def test_lines_and_answers_that_are_too_long_show_no_part_of_the_key(
    evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a program's line is read as several, and its answer cut, stands a key."""
    monkeypatch.setenv("SHOP_KEY", KEY)
    (evals.path / "program.py").write_text(PROGRAM)
    evals.write_rows(row("a", says=None))
    agent = {"type": "command", "command": ["{python}", "{config_dir}/program.py"], "mcp": "off"}
    evals.write_config(agent={**agent, "pass_env": ["SHOP_KEY"], "answer": {"file": "answer.txt"}})
    run = evals.run("shop.eval.yaml")
    run.assert_outcomes(failed=1)
    (evals.path / "program.py").unlink()
    assert leaks(evals, run.stdout.str()) == []
    (log,) = evals.run_folder().glob("tasks/**/agent/stdout.log")
    assert log.read_text().count("[redacted]") == 70_000
