"""The files for CI systems: their commands are commands of ours, and their parts make the whole."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_browsereval import open_run
from pytest_browsereval.__main__ import main
from tests.hooks.small_evals import Evals, row

CI = Path(__file__).parents[2] / "examples" / "ci"
WORKFLOW: dict[str, Any] = yaml.safe_load((CI / "github-actions.yml").read_text())
JOB: dict[str, Any] = yaml.safe_load((CI / "kubernetes.yaml").read_text())


def steps(job: str) -> list[dict[str, Any]]:
    return list(WORKFLOW["jobs"][job]["steps"])


def commands() -> Iterator[str]:
    """Yield every shell line of the files."""
    for job in WORKFLOW["jobs"]:
        yield from (step["run"] for step in steps(job) if "run" in step)
    yield from JOB["spec"]["template"]["spec"]["containers"][0]["args"]


@pytest.mark.slow
def test_options_are_ours(pytester: pytest.Pytester) -> None:
    """Each is one that pytest knows with this plug-in."""
    used = {option for line in commands() for option in re.findall(r"--eval-[a-z-]+", line)}
    assert {"--eval-config", "--eval-shard", "--eval-llm", "--eval-output"} <= used
    told = pytester.runpytest_subprocess("-p", "no:asyncio", "--help").stdout.str()
    assert used <= set(re.findall(r"^  (--eval-[a-z-]+)", told, re.MULTILINE))


def test_subcommands_are_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """Each tells its help."""
    used = {shlex.split(line)[1] for line in commands() if line.startswith("browsereval ")}
    assert used == {"install-browser", "merge", "gate"}
    for name in used:
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        assert ended.value.code == 0
    assert "usage: browsereval" in capsys.readouterr().out


def test_pull_requests_get_no_key() -> None:
    """They replay; whoever opens one may change what runs."""
    replay = WORKFLOW["jobs"]["replay"]
    assert "secrets." not in str(replay)
    assert any("--eval-llm=replay" in step.get("run", "") for step in replay["steps"])
    assert "schedule" in WORKFLOW["jobs"]["part"]["if"]
    assert WORKFLOW["jobs"]["whole"]["needs"] == "part"


SHOP = """
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
import sys

class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        button = "Basket" if Path("renamed").exists() else "Add"
        page = f"<h1>Mugs</h1><button onclick='document.body.append(`1 in cart`)'>{button}</button>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    do_POST = do_GET

HTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
"""


@pytest.mark.slow
def test_a_night_tells_the_app_from_the_agent(evals: Evals) -> None:
    """By its shell lines: each part proves its rows; a button that is renamed later is the site's fault."""
    (evals.path / "shop.py").write_text(SHOP)
    done = {"tool": "done", "answer": "done"}
    add = {"tool": "click", "target": "role=button[name='Add']"}
    for_page: dict[str, Any] = {"start_url": "{shop}/", "graders": ["page_state"], "answer": None}
    evals.write_rows(
        row("add", **for_page, checks=[{"text": "1 in cart"}], solution=[add, done]),
        row("look", **for_page, checks=[{"text": "Mugs"}], solution=[done]),
    )
    evals.write_config(
        "shop.yaml",
        agent={"type": "noop"},
        browser="playwright",
        sites={"shop": {"command": ["{python}", "shop.py", "{port}"], "reset": "POST /reset"}},
        gate={"min_pass_rate": 1, "max_error_rate": 0.5},
    )
    programs = Path(sys.executable).parent
    environment = {"CONFIG": "shop.yaml", "EVAL_JOB_TOTAL": "2", "PATH": f"{programs}:{os.environ['PATH']}"}

    def play(line: str, **more: str) -> int:
        given = {**os.environ, **environment, **more}
        return subprocess.run(["bash", "-ec", line], cwd=evals.path, env=given, check=False).returncode

    prove, live = (step["run"] for step in steps("part") if "--eval-shard" in step.get("run", ""))
    merge, gate = (step["run"] for step in steps("whole") if step.get("run", "").startswith("browsereval "))
    renamed = evals.path / "renamed"
    for index in "01":  # each on a machine of its own
        assert play(prove, EVAL_JOB_INDEX=index) == 0
        renamed.touch()
        assert play(live, EVAL_JOB_INDEX=index) == 0
        renamed.unlink()
        shutil.rmtree(evals.path / "proof")
    assert (play(merge), play(gate)) == (0, 0)
    verdicts = {
        one.query_id: (one.verdict, one.error_source) for one in open_run(evals.path / "whole").attempts
    }
    assert verdicts == {"add": ("errored", "site"), "look": ("passed", None)}
