"""Command-line agents of other makers as they are: from npm, pinned, with a model that plays a solution."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_browsereval.features.programs.presets import preset
from pytest_browsereval.features.programs.server import App, Receive, Scope, Send, ToolServer
from pytest_browsereval.testing.evals import EvalRun
from tests.features.mcp_browser.peers import has_npm
from tests.features.programs.model_server import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, ModelServer
from tests.features.programs.test_runs import ORDERED, PAGE
from tests.hooks.small_evals import Evals, row
from tests.support import PATIENCE_S

pytestmark = pytest.mark.programs

KEY = "sk-ant-0123456789abcdef"
SECRET = "mug-4711"
"""The answer of the row, which a program finds by the page or by cheating."""
STEPS = (
    {"tool": "fill", "target": "label=Name", "text": "Ada"},
    {"tool": "click", "target": 'role=button[name="Order"]'},
    {"tool": "screenshot"},
    {"tool": "done", "answer": SECRET},
)


@dataclass(frozen=True)
class Real:
    """A program of a preset, as it comes from npm."""

    package: str
    bin: str
    env: dict[str, str]
    """Its variables; ``{url}`` is the model's address."""
    key: str
    """The name of the variable with the key."""
    prefix: str = "mcp__browser__"
    """What stands before the names of our tools."""
    more: dict[str, Any] = field(default_factory=dict)
    """Keys of its block, besides the preset."""
    others: frozenset[str] = frozenset()
    """Tools that are not ours and reach neither files nor the web."""
    cheats: Sequence[dict[str, Any]] = ()
    """Calls of tools of its own that read the rows, at ``{rows}``."""
    cost: bool = False
    logged_out: str = ""
    """What it says where there is no key."""


PROGRAMS = {
    "claude-code": Real(
        "@anthropic-ai/claude-code",
        "claude",
        {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "{url}"},
        "ANTHROPIC_API_KEY",
        cheats=({"tool": "Bash", "command": "cat {rows}"}, {"tool": "Read", "file_path": "{rows}"}),
        cost=True,
        logged_out="log in|/login",
    ),
    "codex": Real(
        "@openai/codex",
        "codex",
        {"CODEX_API_KEY": KEY},
        "CODEX_API_KEY",
        more={"extra_args": ["-c", 'openai_base_url="{url}/v1"']},
        # The first runs JavaScript that calls the others; it has no files and no network.
        others=frozenset(
            {
                "functions.exec",
                "functions.wait",
                "functions.send_message_to_user_async",
                "apply_patch",  # refused: there is no place to patch files in
                "clock__curr_time",
                "list_mcp_resources",
                "list_mcp_resource_templates",
                "read_mcp_resource",
            }
        ),
        cheats=(
            {"tool": "exec_command", "cmd": "cat {rows}"},
            {"tool": "shell", "command": ["cat", "{rows}"]},
            {
                "tool": "functions.exec",
                "code": "text(await tools.apply_patch('*** Begin Patch\\n*** Update File: {rows}\\n@@\\n"
                "-{\\n+[\\n*** End Patch'))",
            },
        ),
        logged_out="CODEX_API_KEY has to be set",
    ),
    "gemini": Real(
        "@google/gemini-cli",
        "gemini",
        {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": "{url}"},
        "GEMINI_API_KEY",
        prefix="mcp_browser_",
        more={"model": "gemini-2.5-flash"},  # without one it first asks which one to ask
        cheats=(
            {"tool": "run_shell_command", "command": "cat {rows}"},
            {"tool": "read_file", "file_path": "{rows}"},
        ),
        logged_out="GEMINI_API_KEY",
    ),
    "opencode": Real(
        "opencode-ai",
        "opencode",
        {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "{url}/v1"},
        "ANTHROPIC_API_KEY",
        prefix="browser_",
        more={"model": "anthropic/claude-sonnet-4-5"},
        cheats=({"tool": "bash", "command": "cat {rows}"}, {"tool": "read", "filePath": "{rows}"}),
        cost=True,
        logged_out="Model not found: anthropic/claude-sonnet-4-5",
    ),
    "qwen-code": Real(
        "@qwen-code/qwen-code",
        "qwen",
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "{url}/v1"},
        "OPENAI_API_KEY",
        more={"model": "qwen3-coder"},
        cheats=(
            {"tool": "run_shell_command", "command": "cat {rows}"},
            {"tool": "read_file", "file_path": "{rows}"},
        ),
        logged_out="OPENAI_API_KEY has to be set",
    ),
}


@pytest.fixture(scope="session")
def folder(pytestconfig: pytest.Config) -> Path:
    """Return the folder in which the programs are installed, which is kept."""
    assert has_npm(), "there is no npm, or no node"
    assert pytestconfig.cache
    return pytestconfig.cache.mkdir("programs")


def install(folder: Path, name: str) -> str:
    """Install a program with the version that its preset was tried with; return its path."""
    package = f"{PROGRAMS[name].package}@{preset(name).tried}"
    place = folder / name
    mark = place / f"{package.rpartition('/')[2]} is installed"
    if not mark.exists():
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        commands = [["npm", "install", "--prefix", str(place), *options, package]]
        if (setup := SETUP.get(name)) is not None:
            commands.append(["node", str(place / "node_modules" / setup)])
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            assert done.returncode == 0, done.stderr
        mark.touch()
    return str(place / "node_modules/.bin" / PROGRAMS[name].bin)


SETUP = {"claude-code": "@anthropic-ai/claude-code/install.cjs", "opencode": "opencode-ai/postinstall.mjs"}
"""Scripts without which a package has no program."""


def play(
    evals: Evals, folder: Path, name: str, model: ModelServer, *, is_logged_in: bool = True, **keys: Any
) -> EvalRun:
    """Run a row with a program; assert that nothing of it is left."""
    real = PROGRAMS[name]
    program = install(folder, name)
    (evals.path / "site").mkdir(exist_ok=True)
    (evals.path / "site/index.html").write_text(PAGE)
    order = row("mug", says=None, start_url="{shop}/", query="Order a mug for Ada.", answer=SECRET)
    evals.write_rows({**order, "graders": ["page_state", "answer"], "checks": [ORDERED]})
    env = {key: value.replace("{url}", model.url) for key, value in real.env.items()}
    if not is_logged_in:
        del env[real.key]
    more = json.loads(json.dumps(real.more).replace("{url}", model.url))
    agent = {"type": "command", "preset": name, "program": program, "env": env, **more}
    browser = {"action_timeout_ms": PATIENCE_S * 1000}
    evals.write_config(agent=agent, sites={"shop": {"static": "site"}}, browser=browser, **keys)
    homes = _list_homes()
    ran = evals.run()
    assert _list_homes() == homes
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(folder) in str(one.info["cmdline"])]
    return ran


def _list_homes() -> set[str]:
    """Return what programs keep in the user's home, and the temporary folders of attempts."""
    homes = (Path.home(), pwd.getpwuid(os.getuid()).pw_dir)
    kept = {path for home in homes for path in Path(home).glob(".*") if path.name != ".pytest_cache"}
    return {*map(str, kept), *map(str, Path(tempfile.gettempdir()).glob("browsereval-*"))}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_a_row(evals: Evals, folder: Path, name: str) -> None:
    """With our tools and no others; its calls have pictures, and its tokens are those that were sent."""
    real = PROGRAMS[name]
    with ModelServer(STEPS) as model:
        ran = play(evals, folder, name, model)
    assert ran.ret == 0, str(ran.stdout)
    assert "was tried with" not in str(ran.stdout)
    (made,) = ran.attempts
    assert (made.total_steps, made.screenshot_count, made.warnings) == (3, 3, ())
    asked = len(STEPS) + 1
    assert len([one for one in model.asked if one.tools]) == asked
    used = made.usage
    counted = (used.input_tokens, used.output_tokens, used.cache_read_tokens)
    assert counted == (asked * INPUT_TOKENS, asked * OUTPUT_TOKENS, asked * CACHED_TOKENS)
    assert used.requests == (1 if name == "codex" else asked)
    assert (used.cost_usd is not None) == real.cost
    offered = {name for one in model.asked for name in (*one.tools, *one.nested)}
    ours = {each for each in offered if each.startswith(real.prefix)}
    assert f"{real.prefix}done" in ours
    assert offered - ours <= real.others
    (log,) = ran.folder.glob("tasks/mug/*/*/*/agent/stdout.log")
    assert log.stat().st_size
    assert KEY not in log.read_text()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_waits_for_its_tools(
    evals: Evals, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where their server answers only after 3 s."""
    build_app = ToolServer.build_app

    def build_slow_app(server: ToolServer) -> App:
        app, held = build_app(server), list[Scope]()

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and not held:
                held.append(scope)
                await asyncio.sleep(3)
            await app(scope, receive, send)

        return answer

    monkeypatch.setattr(ToolServer, "build_app", build_slow_app)
    with ModelServer(STEPS) as model:
        assert play(evals, folder, name, model).ret == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_refused_key_stops_the_run(evals: Evals, folder: Path, name: str) -> None:
    """Errored, with the status or the provider's words; never failed by its time limit."""
    with ModelServer(STEPS, status=401) as model:
        ran = play(evals, folder, name, model)
    (made,) = ran.attempts
    assert (made.verdict, made.error_source, made.stops_run) == ("errored", "provider", True)
    assert re.search(r"\b401\b|invalid x-api-key", made.reason)  # which of its lines is read first is open
    assert model.asked


@pytest.mark.parametrize("name", PROGRAMS)
def test_nobody_is_logged_in(evals: Evals, folder: Path, name: str) -> None:
    """Which the program says, or the check before the run."""
    with ModelServer(STEPS) as model:
        ran = play(evals, folder, name, model, is_logged_in=False)
    told = str(ran.stderr)
    if ran.folders:
        (made,) = ran.attempts
        told = made.reason
        assert (made.verdict, made.error_source, made.stops_run) == ("errored", "provider", True)
    assert re.search(PROGRAMS[name].logged_out, told)
    assert not model.asked


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_cannot_read_the_rows(evals: Evals, folder: Path, name: str) -> None:
    """Although it knows where they are: tools of the program's own are refused."""
    cheats = json.dumps(PROGRAMS[name].cheats).replace("{rows}", str(evals.path / "rows.jsonl"))
    with ModelServer([*json.loads(cheats), {"tool": "done", "answer": "unknown"}]) as model:
        ran = play(evals, folder, name, model)
    (made,) = ran.attempts
    assert (made.verdict, made.final_answer, made.total_steps) == ("failed", "unknown", 0)
    assert not [one for one in model.asked if SECRET in json.dumps(one.body)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_model_that_is_down(evals: Evals, folder: Path, name: str) -> None:
    """Errored, although the program asks it again until the time is over."""
    limit_ms = 60_000 if name == "qwen-code" else 12_000  # it tries seven times before it says so
    with ModelServer(STEPS, status=503) as model:
        ran = play(evals, folder, name, model, limits={"timeout_ms": limit_ms})
    (made,) = ran.attempts
    assert (made.verdict, made.error_source, made.stops_run) == ("errored", "provider", False), made.reason
    assert re.search("503|(?i:overloaded)", made.reason)
