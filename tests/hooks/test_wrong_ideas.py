"""What newcomers write who think of another tool: each message says what was meant, and what to write."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.hooks.launched import FUNCTION, metadata, write_agent
from tests.hooks.small_evals import Evals, row

CHECK = {"graders": ["page_state"], "checks": [{"selector": "#cart", "text": "1"}]}
STATIC = {"graders": ["page_state"], "checks": [{"xpath": "//a", "url": "/"}]}

ROWS: list[tuple[dict[str, Any], str]] = [
    (
        CHECK,
        """has a 'selector', and checks go by what a person sees. Write {"role": "button", "name": "Buy"}""",
    ),
    (STATIC, "has a 'xpath', and checks go by what a person sees."),
    ({"start_url": "localhost:3000"}, "has no scheme. Write http://localhost:3000\n"),
    ({"start_url": "shop.example.com/cart"}, "has no scheme. Write https://shop.example.com/cart\n"),
    ({"start_url": "127.0.0.1"}, "has no scheme. Write http://127.0.0.1\n"),
    ({"context": {"clock": "2026-03-01"}}, "clock is a key of the row itself. Write it next to `context`"),
    (
        {"context": {"locale": "german"}},
        "context.locale: 'german' is not a locale. Write one such as 'de-DE'.",
    ),
    ({"ready": "in stock"}, 'ready: it is a text. Write `{text: "in stock"}`'),
    ({"prompt": "Buy a mug."}, "rows.jsonl:1: prompt: unknown key. Did you mean 'query'?"),
    ({"expected": "a mug"}, "rows.jsonl:1: expected: unknown key. Did you mean 'answer'?"),
    ({"url": "http://shop.test"}, "rows.jsonl:1: url: unknown key. Did you mean 'start_url'?"),
    ({"assertions": []}, "rows.jsonl:1: assertions: unknown key. Did you mean 'checks'?"),
]

CONFIGS: list[tuple[dict[str, Any], str]] = [
    (
        {"sites": {"shop": "http://localhost:3000"}},
        "already needs no site: write `start_url: http://localhost:3000`",
    ),
    ({"sites": {"shop": {"url": "http://localhost:3000"}}}, "already needs no site: write `start_url: "),
    ({"sites": {"shop": {"command": "npm start"}}}, 'no shell reads it. Write the list `["npm", "start"]`.'),
    ({"workers": 4}, "workers: unknown key. Did you mean 'lanes'?"),
    (
        {"agent": {"type": "single", "model": "m", "credentials": "X"}},
        "agent.credentials: unknown key. Did you mean 'api_key'?",
    ),
    ({"graders": ["llm"]}, "the grader llm has no prompt. Write one, such as `{type: llm, prompt: "),
]


def test_a_wrong_idea_of_a_row_is_answered(evals: Evals, subtests: pytest.Subtests) -> None:
    """Before anything is spent."""
    evals.write_config(browser="playwright")
    for keys, message in ROWS:
        with subtests.test(keys=keys):
            evals.write_rows(row("a", **keys))
            run = evals.run("shop.eval.yaml")
            assert run.ret == pytest.ExitCode.USAGE_ERROR
            assert message in f"{run.stderr.str()}\n"


def test_a_wrong_idea_of_a_config_is_answered(evals: Evals, subtests: pytest.Subtests) -> None:
    """With file and line; also an id that has another name, and a run that is misspelt."""
    for keys, message in CONFIGS:
        with subtests.test(keys=keys):
            run = evals.play([row("a")], **keys)
            assert run.ret == pytest.ExitCode.USAGE_ERROR
            assert message in run.stderr.str()
    (evals.path / "rows.jsonl").write_text('{"id": "a", "question": "q"}\n')
    evals.write_config()
    assert "the row has no 'query_id'. Did you mean 'id'?" in evals.run("shop.eval.yaml").stderr.str()
    evals.write_rows(row("a"))
    run = evals.run("shop.eval.yaml", "--eval-regrade=lastest")
    assert "there is no run 'lastest'. Did you mean 'latest'?" in run.stderr.str()


NEVER = "the agent called list_tabs and never awaited it. Write `await context.tools.call('list_tabs', ...)`."
AGENTS = {
    "await context.tools.call('list_tabs', selector='#a')": 'Write call(\'list_tabs\', {"selector": "#a"})',
    "context.tools.call('list_tabs')": NEVER,
    "await context.tools.call('list_tabs'); context.tools.call('list_tabs')": NEVER,
}


@pytest.mark.filterwarnings("ignore:coroutine 'Toolbox._call' was never awaited")
def test_a_call_that_does_nothing_is_a_fault_of_the_agent(evals: Evals, subtests: pytest.Subtests) -> None:
    """Its answer would be graded as if it had acted; what is awaited later counts as ever."""
    evals.write([row("a")], agent=FUNCTION)
    for code, message in AGENTS.items():
        with subtests.test(code=code):
            write_agent(evals, f"async def solve(context):\n    {code}\n    return 'right'\n")
            assert evals.run("shop.eval.yaml").ret == pytest.ExitCode.TESTS_FAILED
            record = metadata(evals.run_folder(), "a")
            assert (record.verdict, record.error_source) == ("errored", "agent")
            assert message in record.reason
    later = "call = context.tools.call('list_tabs')\n    await call\n    return 'right'"
    write_agent(evals, f"async def solve(context):\n    {later}\n")
    assert evals.run("shop.eval.yaml").ret == pytest.ExitCode.OK


def test_an_app_that_is_not_running_is_named(evals: Evals) -> None:
    """On this machine it has to be started by hand, or by the run."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    evals.write([row("a", start_url=f"http://127.0.0.1:{port}/")], browser="playwright")
    assert evals.run("shop.eval.yaml").ret == pytest.ExitCode.TESTS_FAILED
    assert "Nothing listens there. Start the app first" in metadata(evals.run_folder(), "a").reason
