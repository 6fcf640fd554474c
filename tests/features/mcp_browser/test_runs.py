"""Whole runs in browsers behind MCP servers: a program for each attempt, and a server that is shared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.testing import EvalRun, ScriptedModel, call, calls, done
from tests.features.mcp_browser import odd
from tests.features.mcp_browser.odd_server import MORE_TOOLS
from tests.hooks import desk as desk_program
from tests.hooks.small_evals import Evals, row

STATE = {"type": "state_diff", "source": {"url": "{desk}/api/state"}, "wait_s": 0}
PROGRAM = {"type": "mcp", "command": [*odd.PROGRAM, "stdio"], "tools": odd.USES}


@pytest.fixture
def desk(evals: Evals) -> dict[str, Any]:
    """Return a site that keeps its state on the server."""
    shutil.copy(desk_program.__file__, evals.path / "desk.py")
    return {"desk": {"command": ["{python}", "desk.py"], "reset": "POST /reset"}}


def order(query_id: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    solution = [*steps, {"tool": "done", "answer": "ordered"}]
    checks = [{"path": "orders", "equals": ["two pens"]}]
    return row(
        query_id, start_url="{desk}/", graders=[STATE], checks=checks, solution=solution, answer=None, **more
    )


def told(result: EvalRun) -> str:
    """Return what was printed, with its lines joined."""
    return " ".join(f"{result.stdout.str()} {result.stderr.str()}".split())


def attempt(evals: Evals, query_id: str) -> Path:
    return next((evals.run_folder() / "tasks" / query_id).rglob("attempt-1"))


@pytest.mark.slow
def test_a_program_for_each_attempt(evals: Evals, desk: dict[str, Any]) -> None:
    """Graded by the state on the server; a wrong order fails, and a server that dies is an error."""
    buy = {"tool": "send", "path": "/orders", "body": "two pens"}
    wrong = {"tool": "send", "path": "/orders", "body": "a pencil"}
    evals.write_rows(
        order("buys", buy), order("errs", wrong), order("dies", {"tool": "misbehave", "how": "die"})
    )
    evals.write_config(browser=PROGRAM, sites=desk)
    result = evals.run("--eval-config=shop.eval.yaml")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    folder = attempt(evals, "buys")
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata["final_url"].startswith("http://127.0.0.1:")
    assert metadata["screenshot_count"] == 1
    assert (folder / "screenshots" / "001.jpeg").read_bytes().startswith(b"\xff\xd8\xff")
    assert json.loads((attempt(evals, "dies") / "metadata.json").read_text())["error_source"] == "browser"
    manifest = json.loads((evals.run_folder() / "manifest.json").read_text())
    assert manifest["browser"].startswith("odd 1.2 (MCP:")
    assert set(manifest["tool_hashes"]) == {"go", "look", "draw", "leave", "send", "misbehave", "done"}


@pytest.mark.slow
def test_a_model_is_shown_the_snapshot_and_its_arguments_are_checked(
    evals: Evals, desk: dict[str, Any], tmp_path: Path
) -> None:
    """A shared server takes one attempt at a time, which is said; a wrong call is told in a sentence."""
    script = [
        calls(call("send", where="/orders")),
        calls(call("send", path="/orders", body="two pens")),
        done("ordered"),
    ]
    with odd.served(tmp_path) as url, ScriptedModel(script) as model:
        evals.write_rows(order("buys"))
        agent = {"type": "single", "model": "scripted", "base_url": model.base_url}
        browser = {"type": "mcp", "url": url, "tools": odd.USES}
        evals.write_config(browser=browser, sites=desk, agent=agent, tools={"misbehave": False}, lanes=2)
        result = evals.run("--eval-config=shop.eval.yaml")
    result.assert_outcomes(passed=1)
    assert "note: attempts run one at a time" in told(result)
    first, second, _ = model.requests
    assert "The desk sells pens." in first.last_text
    assert first.tool_names == ["go", "look", "draw", "leave", "send", "done"]
    assert "'path' is a required property" in second.last_text
    assert "'where' was unexpected" in second.last_text


def test_what_cannot_work_is_refused_before_the_first_task(evals: Evals) -> None:
    """A grader of the page, a script for the page, a wrong step."""
    evals.write_rows(
        row("page", graders=["page_state"], checks=[{"title": "Shop"}], answer=None),
        row("script", setup_script="1"),
        row("step", solution=[{"tool": "send", "body": 1}, {"tool": "done", "answer": "right"}]),
    )
    evals.write_config(browser=PROGRAM)
    result = evals.run("--eval-config=shop.eval.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = told(result)
    assert "the grader 'page_state' reads the live page" in text
    assert "the row has a setup_script" in text
    assert "wrong arguments for send: body: 1 is not of type 'string'; 'path' is a required property" in text
    assert not (evals.path / "results").exists()


def test_tests_by_hand_use_the_tools_of_the_server(evals: Evals) -> None:
    """The first one before the server was asked for its tools, the others after that."""
    evals.write_rows(row("one"), row("two"))
    evals.write_config(browser=PROGRAM)
    evals.pytester.makepyfile(
        """
        import pytest

        @pytest.mark.browsereval(config="shop.eval.yaml")
        def test_row(eval_task, run_eval):
            run_eval(eval_task).assert_passed()
        """
    )
    evals.run("test_tests_by_hand_use_the_tools_of_the_server.py").assert_outcomes(passed=2)


CHANGING = """
if [ -e seen ]; then echo {later} > more; fi
touch seen
exec "$0" "$1" stdio
"""


def test_tools_that_are_gone_after_the_check_stop_the_run(evals: Evals) -> None:
    """What rows were checked against is what they meet; tools that come later are left out."""
    evals.write_rows(row("one"))
    more = evals.path / "more"
    for later, left in (("leap land", None), ("land", "leap")):
        more.write_text("leap")
        (evals.path / "seen").unlink(missing_ok=True)
        command = ["sh", "-c", CHANGING.format(later=later), *odd.PROGRAM]
        evals.write_config(browser={**PROGRAM, "command": command, "env": {MORE_TOOLS: "more"}})
        result = evals.run("--eval-config=shop.eval.yaml")
        if left is None:
            result.assert_outcomes(passed=1)
            manifest = json.loads((evals.run_folder() / "manifest.json").read_text())
            assert {"leap", "land"} & set(manifest["tool_hashes"]) == {"leap"}
        else:
            assert result.ret == pytest.ExitCode.USAGE_ERROR
            assert "the browser has changed or left out the tools leap. Run again." in told(result)


def test_an_sdk_that_is_too_old_is_refused(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends with exit code 4, the version that is here, and what to type; no server is asked."""
    info = evals.path / "site" / "mcp-2.2.9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp\nVersion: 2.2.9\n")
    monkeypatch.syspath_prepend(info.parent)
    evals.write_rows(row("a"))
    evals.write_config(browser={"type": "mcp", "command": ["no-such-server"]})
    result = evals.run("shop.eval.yaml")
    assert result.ret == 4
    assert "needs the package mcp 2.3 or newer (here is 2.2.9)" in result.stderr.str()
    assert "pip install 'pytest-browsereval[mcp]'" in result.stderr.str()
