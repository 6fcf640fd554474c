"""Secrets that stand in a config, found by the names that they stand under, are in no file of a run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.features.mcp_browser import odd
from tests.hooks.launched import files_with
from tests.hooks.small_evals import Evals, row

VARIABLES = {
    "SECRET_KEY": "variable-one-literal",
    "OPENAI_KEY": "variable-two-literal",
    "AWS_ACCESS_KEY": "AKIAVARIABLETHREE",
    "JWT": "eyJ.variable.four",
    "DB_PASS": "variable-five-literal",
}
PLAIN = {"STAGE": "plain-stage", "KEY_FILE": "plain-path"}
SERVER = ["{python}", "-m", "http.server", "{port}", "--bind", "127.0.0.1"]


@pytest.mark.parametrize("place", ["browser", "site", "agent"])
def test_variables_of_a_config_are_in_no_file(evals: Evals, place: str) -> None:
    """Each program's ``env`` is judged by one rule, the rule for variables; other variables stay readable."""
    env = {**VARIABLES, **PLAIN}
    browser = {"type": "mcp", "command": [*odd.PROGRAM, "stdio"], "tools": odd.USES, "env": env}
    agent = {"type": "command", "command": ["echo", "right"], "mcp": "off", "answer": "last_line", "env": env}
    blocks: dict[str, dict[str, Any]] = {
        "browser": {"browser": browser},
        "site": {"sites": {"shop": {"command": SERVER, "env": env}}},
        "agent": {"agent": agent},
    }
    evals.write_rows(row("a", query="Say it."))
    config = evals.write_config(**blocks[place])
    ran = evals.run("--junit-xml=junit.xml", "-rA", "-vv")
    ran.assert_outcomes(passed=1)
    assert files_with(evals.path, *VARIABLES.values()) == [config.name]
    assert not any(secret in ran.stdout.str() for secret in VARIABLES.values())
    manifest = (ran.folder / "manifest.json").read_text()
    assert all(value in manifest for value in PLAIN.values())
    block = json.loads(manifest)["config"]
    sites, variants = block["sites"], block["variants"]
    ours = {"browser": block["browser"], "site": sites.get("shop"), "agent": variants.get("default")}
    assert {name: ours[place]["env"][name] for name in VARIABLES} == dict.fromkeys(VARIABLES, "***")


LITERALS = ("literal-of-a-key", "literal-of-an-option", "literal-behind-one", "literal-of-a-header")


def test_texts_of_a_config_are_in_no_file(evals: Evals) -> None:
    """What stands in the file itself under the name of a secret, or behind such an option of a command."""
    (evals.path / "own.py").write_text("def solve(context):\n    return f'{context.config.options} right'\n")
    words = ["{python}", "-c", "import sys; print(*sys.argv, 'right')"]
    variants = {
        "function": {
            "type": "function",
            "function": "own:solve",
            "options": {"of": {"apiKey": LITERALS[0], "token": "ollama"}},
        },
        "set": {"type": "function", "function": "own:solve"},
        "program": {
            "type": "command",
            "command": [
                *words,
                f"--api-key={LITERALS[1]}",
                "--token",
                LITERALS[2],
                f"X-Auth: {LITERALS[3]}",
                "--no-token",
                "--plain-model",
            ],
            "mcp": "off",
            "answer": "last_line",
        },
    }
    evals.write_rows(row("a", query="Say it.", graders=[{"type": "answer", "match": "includes"}]))
    config = evals.write_config(variants=variants)
    given = "variants.set.options.client_secret=literal-of-a-line"
    ran = evals.run("--junit-xml=junit.xml", "-rA", "-vv", f"--eval-set={given}")
    ran.assert_outcomes(passed=3)
    assert files_with(evals.path, *LITERALS, "literal-of-a-line") == [config.name]
    assert "literal-" not in ran.stdout.str()
    assert "plain-model" in (ran.folder / "manifest.json").read_text()
    assert {each.final_answer for each in ran.attempts} == {
        "{'of': {'apiKey': '[redacted]', 'token': 'ollama'}} right",
        "{'client_secret': '[redacted]'} right",
        "-c --api-key=[redacted] --token [redacted] X-Auth: [redacted] --no-token --plain-model right",
    }
