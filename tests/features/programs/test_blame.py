"""Programs that are the agent, in whole evals: what they reach, and whose fault it is if they do nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.features.programs.presets import preset
from pytest_browsereval.model.spans import derive_ids
from tests.hooks.small_evals import Evals, row

OUTSIDE = Path(__file__).parent

SNOOP = """
import json, os, sys
from pathlib import Path
said = [*sys.argv, *os.environ.values(), os.getcwd()]
paths = {Path(part) for text in said for part in text.split(os.pathsep) if part.startswith("/")}
near = {folder for path in paths for folder in (path, *path.parents)}
found = [folder / "rows.jsonl" for folder in near if (folder / "rows.jsonl").is_file()]
found += [path for top in (os.getcwd(), os.environ["HOME"], "..") for path in Path(top).rglob("task.json")]
answer = "right" if any("right" in path.read_text() for path in found) else "nothing"
print(json.dumps({"type": "answer", "content": answer}))
"""
"""Looks for the rows wherever its arguments, its variables and its folders lead."""

PROGRAM = f"""
import json, os, sys, time
sys.path.insert(0, {str(OUTSIDE)!r})
from outside import Spoken
mode = os.environ["MODE"]
def say(**line):
    print(json.dumps(line), flush=True)
def connect():
    url, token = (os.environ[f"BROWSEREVAL_MCP_{{name}}"] for name in ("URL", "TOKEN"))
    server = Spoken(url, {{"Authorization": f"Bearer {{token}}"}})
    server.ask("tools/list", {{}})
    return server
if mode == "shell":
    assert "features.shell_tool=false" in sys.argv and "features.unified_exec=false" in sys.argv
    connect()
    item = {{"type": "command_execution", "command": "cat rows.jsonl", "aggregated_output": "rows"}}
    say(type="item.completed", item=item)
    say(type="item.completed", item={{"type": "agent_message", "text": "right"}})
if mode == "recovers":
    say(type="error", message="Reconnecting... 1/5 (unexpected status 503)")
    connect().ask("tools/call", {{"name": "list_tabs", "arguments": {{}}}})
    time.sleep(300)
if mode == "refused":
    say(type="error", message="Reconnecting... 1/5 (unexpected status 401 Unauthorized: no such key)")
    time.sleep(300)
if mode == "retries":
    say(type="system", subtype="api_retry", attempt=1, error_status=529, error="overloaded")
    time.sleep(300)
if mode == "waits":
    print("Attempt 1 failed with status 503. Retrying with backoff...", file=sys.stderr, flush=True)
    time.sleep(300)
if mode == "login":
    content = [{{"type": "text", "text": "Not logged in \\u00b7 Please run /login"}}]
    say(type="assistant", message={{"content": content}}, error="authentication_failed")
    say(type="result", is_error=True, result="Not logged in \\u00b7 Please run /login")
    sys.exit(1)
if mode.startswith("error"):
    connect()
    say(type="result", subtype=mode, is_error=True, errors=["no reason"])
if mode == "gemini":
    print('{{"error": {{"message": "invalid key", "code": 401}}}}', file=sys.stderr)
    sys.exit(145)
if mode == "never":
    say(type="item.completed", item={{"type": "agent_message", "text": "right"}})
"""
"""Prints what the real programs print, as they were seen to do."""


@pytest.fixture
def evals(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Evals:
    """An eval, and a program elsewhere that stands in for those of the presets."""
    monkeypatch.setenv("CODEX_API_KEY", "sk-0123456789abcdef")
    return Evals(pytester.path)


@pytest.fixture
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a program, which is not among the files of the eval."""
    path = tmp_path_factory.mktemp("elsewhere") / "program"
    path.write_text(f"#!{sys.executable}\n{PROGRAM}")
    path.chmod(0o755)
    return str(path)


def play(evals: Evals, blocks: dict[str, dict[str, Any]], rows: int = 1, **keys: Any) -> Any:
    evals.write_rows(*(row(f"row{number}", says=None) for number in range(rows)))
    evals.write_config(
        variants={name: {"type": "command", **block} for name, block in blocks.items()}, **keys
    )
    return evals.run()


def test_a_program_is_not_shown_where_the_rows_are(evals: Evals) -> None:
    """Not by an argument, a variable, its folder or its home; nor where other attempts are kept."""
    block = {"command": ["{python}", "-c", SNOOP, "{output_dir}", "{task}"], "mcp": "off"}
    ran = play(evals, {"snoop": block}, trials=2)
    assert [one.final_answer for one in ran.attempts] == ["nothing", "nothing"]
    assert {one.warnings[0].message for one in ran.attempts} == {
        "the program answered without a step in the browser"
    }


def test_what_a_program_does_past_the_browser_is_recorded(evals: Evals, program: str) -> None:
    """A command of its own is in the log, no step, and a warning; so is a pass without a step."""
    ran = play(evals, {"codex": {"preset": "codex", "program": program, "env": {"MODE": "shell"}}})
    assert ran.ret == 0
    (made,) = ran.attempts
    assert made.total_steps == 0
    assert [one.message for one in made.warnings] == [
        "the program used a tool of its own: command_execution",
        "the program answered without a step in the browser",
    ]
    (log,) = ran.folder.glob("tasks/*/*/*/*/messages.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["params"] for line in lines if line["type"] == "tool_call"] == [
        {"command": "cat rows.jsonl"}
    ]
    assert [line["type"] for line in lines].count("user") == 1


REFUSED = {
    "refused": ("codex", "unexpected status 401 Unauthorized: no such key"),
    "login": ("claude-code", "Not logged in · Please run /login"),
    "gemini": ("gemini", '"code": 401'),
}


def test_a_key_that_is_refused_stops_the_run(evals: Evals, program: str, subtests: pytest.Subtests) -> None:
    """At once, with the program's words: no attempt can be made with it."""
    for mode, (name, words) in REFUSED.items():
        with subtests.test(mode=mode):
            ran = play(evals, {"it": {"preset": name, "program": program, "env": {"MODE": mode}}}, rows=3)
            assert ran.ret == 1
            (made,) = ran.attempts
            assert (made.verdict, made.error_source, made.stops_run) == ("errored", "provider", True)
            assert words in made.reason


@pytest.mark.slow
def test_a_program_that_does_nothing_is_errored(evals: Evals, program: str) -> None:
    """One that asks its model again until its time is over, and one that has never asked for the tools."""
    blocks = {
        "retries": {"preset": "claude-code", "program": program, "env": {"MODE": "retries"}},
        "waits": {"preset": "gemini", "program": program, "env": {"MODE": "waits"}},
        "recovers": {"preset": "codex", "program": program, "env": {"MODE": "recovers"}},
        "never": {"preset": "codex", "program": program, "env": {"MODE": "never"}},
    }
    ran = play(evals, blocks, lanes=4, limits={"timeout_ms": 6000}, gate={"max_error_rate": 0.5})
    found = {one.variant: (str(one.verdict), one.error_source, one.reason) for one in ran.attempts}
    assert found["retries"][:2] == ("errored", "provider")
    assert "529 overloaded" in found["retries"][2]
    assert found["waits"][:2] == ("errored", "provider")
    assert "Attempt 1 failed with status 503" in found["waits"][2]
    assert found["never"][:2] == ("errored", "agent")
    assert "never asked for the tools" in found["never"][2]
    assert found["recovers"][0] == "failed"
    assert "timeout_ms is 6000" in found["recovers"][2]
    ran.stdout.fnmatch_lines(["gate max_error_rate: *(3/4)*"])


def test_a_result_without_words_that_is_an_error_is_one(evals: Evals, program: str) -> None:
    """A session that broke is not the agent's failure; turns that ran out are."""
    made = {
        "claude": ("claude-code", "error_during_execution"),
        "qwen": ("qwen-code", "error_during_execution"),
        "turns": ("claude-code", "error_max_turns"),
        "sessions": ("qwen-code", "error_max_turns"),
    }
    blocks = {
        key: {"preset": name, "program": program, "env": {"MODE": mode, "OPENAI_API_KEY": "x"}}
        for key, (name, mode) in made.items()
    }
    ran = play(evals, blocks, retries=0)
    found = {one.variant: (one.verdict, one.error_source) for one in ran.attempts}
    errored, failed = ("errored", "provider"), ("failed", None)
    assert found == {"claude": errored, "qwen": errored, "turns": failed, "sessions": failed}


def test_another_version_than_the_one_that_was_tried_is_told(evals: Evals, program: str) -> None:
    """Once in the run, and so is one that tells none: its preset may leave it tools of its own."""
    tried = preset("codex").tried
    for version, told in (
        (tried, ""),
        ("0.9.9", f"Codex is version 0.9.9; the preset was tried with {tried}"),
        ("", f"Codex does not report its version; the preset was tried with {tried}"),
    ):
        Path(program).write_text(f"#!{sys.executable}\nprint('codex-cli {version}')\n")
        ran = play(evals, {"it": {"preset": "codex", "program": program, "mcp": "off", "mcp_config": {}}})
        shown = " ".join(str(ran.stdout).split())
        assert shown.count("was tried with") == (1 if told else 0), shown
        assert told in shown


def test_a_program_learns_which_span_is_its_parent(evals: Evals) -> None:
    """By what readers of the run know: file, run, task, variant, trial, attempt."""
    code = "import os; print(os.environ.get('TRACEPARENT', 'none'))"
    block = {"command": ["{python}", "-c", code], "mcp": "off", "answer": "stdout"}
    run = open_run(str(play(evals, {"it": block}, rows=2, trials=2).folder))
    said = {one.id: one.metadata.final_answer for one in run.attempts}
    assert said == {one.id: derive_ids(f"shop.eval.yaml::{one.id}").traceparent for one in run.attempts}
    assert len(set(said.values())) == 4
    assert {one.metadata.run_id for one in run.attempts} == {run.id}
