"""Programs of others in whole evals: real Chromium, real processes, graded by what the page has become."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.model.messages import ToolResultMessage, message_adapter
from pytest_browsereval.model.results import TaskMetadata
from tests.hooks.launched import Launched, files_with, wait_for
from tests.hooks.small_evals import Evals, row
from tests.support import PATIENCE_S

OUTSIDE = Path(__file__).with_name("outside.py")

PAGE = """<!doctype html><title>Shop</title>
<label>Name <input id="name"></label>
<button onclick="order()">Order</button>
<p id="told" role="status"></p>
<script>
  function order() {
    const name = document.getElementById("name").value;
    document.getElementById("told").textContent = "Order A-" + name.length + " for " + name;
  }
</script>"""

ORDERED = {"js": "document.querySelector('#told').textContent", "equals": "Order A-3 for Ada"}


@pytest.fixture
def evals(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Evals:
    """An eval of a shop, and a program on the path that stands in for Codex."""
    evals = Evals(pytester.path)
    (evals.path / "site").mkdir()
    (evals.path / "site/index.html").write_text(PAGE)
    (evals.path / "bin").mkdir()
    program = evals.path / "bin/codex"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {OUTSIDE} codex "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{evals.path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CODEX_API_KEY", "sk-0123456789abcdef")
    return evals


def shop(evals: Evals, variants: dict[str, Any], **keys: Any) -> None:
    order = row("mug", says=None, start_url="{shop}/", query="Order a mug for Ada.", answer="A-3")
    evals.write_rows({**order, "graders": ["page_state", "answer"], "checks": [ORDERED]})
    blocks = {name: {"type": "command", **block} for name, block in variants.items()}
    browser = {"action_timeout_ms": PATIENCE_S * 1000}
    evals.write_config(variants=blocks, sites={"shop": {"static": "site"}}, browser=browser, **keys)


def attempts(evals: Evals, *names: str) -> dict[str, TaskMetadata]:
    """Return the attempts of the newest runs of evals by variant."""
    folders = [evals.run_folder(name) for name in names or ("shop",)]
    found = [path for folder in folders for path in folder.glob("tasks/*/*/*/*/metadata.json")]
    all_of_them = [TaskMetadata.model_validate_json(path.read_bytes()) for path in found]
    return {each.variant: each for each in all_of_them}


@pytest.mark.slow
def test_programs_of_others_play_whole_attempts(evals: Evals) -> None:
    """By MCP and by CDP, each in its own form of config; the page they leave is what counts."""
    variants = {
        "codex": {"preset": "codex", "env": {"TOKEN_FILE": str(evals.path / "tokens.txt")}},
        "cdp": {"command": ["{python}", str(OUTSIDE), "cdp", "{cdp_url}"], "cdp": True, "mcp": "off"},
    }
    shop(evals, variants, lanes=2)
    evals.run("shop.eval.yaml").assert_outcomes(passed=len(variants))
    made = attempts(evals)
    found = {name: (each.final_answer, each.total_steps) for name, each in made.items()}
    assert found == {"codex": ("A-3", 6), "cdp": ("A-3", 2)}
    used = {
        name: (u.input_tokens, u.output_tokens, u.cache_read_tokens, u.requests, u.cost_usd)
        for name, u in ((name, each.usage) for name, each in made.items())
    }
    assert used == {"codex": (90, 9, 60, 1, None), "cdp": (10, 1, 0, 1, 0.5)}
    warned = {name: each.warnings[0].source for name, each in made.items() if each.warnings}
    assert warned == {"codex": "tool"}, "it calls a tool that is not there"
    assert_recorded(evals.run_folder(), made)
    shown = (evals.path / "tokens.txt").read_text().split()
    assert len(shown) == 1  # it is written nowhere else
    assert files_with(evals.run_folder(), *shown) == []


def assert_recorded(folder: Path, made: dict[str, TaskMetadata]) -> None:
    """Every step has its picture, texts are there, and no secret is in any file."""
    for name, said in (("codex", "A-3"), ("cdp", "I see Shop.")):
        (path,) = folder.glob(f"tasks/mug/{name}/*/*/messages.jsonl")
        messages = [message_adapter.validate_json(line) for line in path.read_bytes().splitlines()]
        assert said in [m.content for m in messages if m.type == "assistant"]
        pictures = [m.screenshot for m in messages if isinstance(m, ToolResultMessage) and m.screenshot]
        assert len(pictures) == made[name].screenshot_count > 1
        assert (path.parent / "agent/stdout.log").stat().st_size
    assert files_with(folder, "sk-0123456789abcdef") == []
    (config,) = folder.rglob("agent/.codex/config.toml")
    assert "BROWSEREVAL_MCP_TOKEN" in config.read_text()


WILD = """
import os, pathlib, shutil, signal, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for leaves in (False, True):
        if not os.fork():
            if leaves:
                os.setsid()
            break
    open(f"{sys.argv[-1]}/{os.getpid()}.begun", "w").close()
    time.sleep(300)
if "binary" in sys.argv:
    os.write(1, bytes(range(256)) * 100)
if "halves" in sys.argv:
    print('{"type": "assistant", "content": "\\\\ud800"}')
    print('{"type": "answer", "content": "A-\\\\ud800"}')
if "counts" in sys.argv:
    print('{"type": "answer", "content": 0}')
if "hangs" in sys.argv:
    def add(*_):
        print('{"type": "answer", "content": "too late"}', flush=True)
        sys.exit()
    signal.signal(signal.SIGTERM, add)
    print('{"type": "answer", "content": "A-3"}', flush=True)
    time.sleep(300)
if "wrecks" in sys.argv:
    for path in pathlib.Path(sys.argv[-1]).glob("results/shop/*/tasks/*/wrecks/*/attempt-*"):
        shutil.rmtree(path)
"""


def wild(evals: Evals, *names: str, **keys: Any) -> None:
    (evals.path / "wild.py").write_text(WILD)
    block: dict[str, Any] = {"mcp": "off", "grace_s": 0.5}
    words = ["{python}", str(evals.path / "wild.py")]
    shop(evals, {name: {"command": [*words, name, "{config_dir}"], **block} for name in names}, **keys)


@pytest.mark.slow
def test_programs_that_misbehave_end_in_the_right_verdict(evals: Evals) -> None:
    """Inside the limit, with a true source, and with nothing of them left."""
    wild(evals, "binary", "halves", "wrecks", "silent", "counts", lanes=4)
    # An eval of its own: only this one is to meet its limit, however slowly the others begin.
    wild(evals, "stubborn", "hangs", lanes=2, name="late.eval.yaml", limits={"timeout_ms": 3000})
    run = Launched(evals, "shop.eval.yaml", "late.eval.yaml")
    assert run.wait() == 1
    run.assert_nothing_left()
    made = attempts(evals, "shop", "late")
    told = {
        name: (str(each.verdict), each.error_source, str(each.termination_reason))
        for name, each in made.items()
    }
    assert told == {
        "stubborn": ("failed", None, "timeout"),
        "hangs": ("failed", None, "timeout"),
        "counts": ("failed", None, "completed"),
        "binary": ("failed", None, "completed"),
        "halves": ("failed", None, "completed"),
        "wrecks": ("errored", "agent", "error"),
        "silent": ("failed", None, "completed"),
    }
    assert made["halves"].final_answer == "A-\ufffd"
    assert made["hangs"].final_answer == "A-3"
    assert made["counts"].final_answer == "0"
    assert "the attempt's folder was removed during the attempt" in made["wrecks"].reason
    idle = "the program ended without an answer and without a step in the browser"
    assert [warning.message for warning in made["silent"].warnings] == [idle]
    assert [error.message for error in made["stubborn"].errors] == ["stopped: limits.timeout_ms is 3000"]


@pytest.mark.slow
def test_nothing_is_left_of_a_program_when_pytest_is_killed(evals: Evals) -> None:
    """Not even of one that ignores SIGTERM and has left its process group."""
    wild(evals, "stubborn")
    run = Launched(evals, "shop.eval.yaml")
    try:
        begun = "the program and its children are there"
        wait_for(lambda: len(list(evals.path.glob("*.begun"))) == 3 or run.process.poll() is not None, begun)
        assert run.process.poll() is None, run.output
        run.send(signal.SIGKILL)
    finally:
        run.kill()
        run.wait()
    run.assert_nothing_left()
