"""Benchmarks that a program scores, as users run them: rows as published, real sites, one config."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.hooks.small_evals import Evals

AGENT = """
async def press(context):
    await context.tools.call("click", {"target": "#go"})
    return "17"
"""

SHOP = """<!doctype html><button id="go" onclick="localStorage.item = 'Blue mug'">Order</button>"""
FINISH = """<!doctype html><script>
document.write('<pre>' + JSON.stringify({orders: [localStorage.item ?? null]}) + '</pre>')</script>"""

APP = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STATE = {"starred": False}
# The click is not over before the server has answered.
STAR = b'const r = new XMLHttpRequest(); r.open(`POST`, `/api/star`, false); r.send()'
PAGE = b'<!doctype html><button id="go" onclick="' + STAR + b'">Star</button>'

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(json.dumps(STATE).encode() if self.path == "/api/state" else PAGE)
    def do_POST(self):
        STATE["starred"] = self.path == "/api/star"
        self.answer(b"{}")
    def answer(self, body):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

VERIFIER = """
import json, urllib.request

def verify(server_url):
    with urllib.request.urlopen(server_url + "/api/state") as reply:
        state = json.load(reply)
    return state == {"starred": WANTED}, f"the state is {state}"
"""


def task(number: int, item: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"shop-{number}",
        "goal": "Order it.",
        "website": {"id": "shop", "url": "https://shop.invalid"},
        "difficulty": "easy",
        "challengeType": "action",
        "possible": True,
        "evals": [{"type": "jmespath", "query": "orders[0]", "expected_value": item}],
        "points": 1,
        "config": {},
        "version": "v1",
        **more,
    }


@pytest.fixture
def benchmarks(evals: Evals) -> Evals:
    """REAL with a clone and WebArena-Infinity with an app of this machine."""
    files = {
        "agent.py": AGENT,
        "clone/index.html": SHOP,
        "clone/finish/index.html": FINISH,
        "real/shop-1.json": json.dumps(task(1, "Blue mug")),
        "real/shop-2.json": json.dumps(task(2, "Red mug")),
        "real/shop-3.json": json.dumps(task(3, "Red mug", possible=False)),
        "apps/notes/server.py": APP,
        "apps/notes/real-tasks.json": json.dumps(
            [
                {
                    "id": f"task_{name}",
                    "difficulty": "easy",
                    "instruction": "Star it.",
                    "verify": f"v/{name}.py",
                }
                for name in ("e1", "e2")
            ]
        ),
        "apps/notes/v/e1.py": VERIFIER.replace("WANTED", "True"),
        "apps/notes/v/e2.py": VERIFIER.replace("WANTED", "False"),
    }
    for name, text in files.items():
        path = evals.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    evals.write_config(
        browser="playwright",
        agent={"type": "function", "function": "agent:press"},
        dataset=[
            {"type": "agisdk", "path": "real", "urls": {"shop": "{shop}"}},
            {
                "type": "infinity",
                "path": "apps/notes/real-tasks.json",
                "graders": [{"type": "infinity", "root": "apps"}],
            },
        ],
        sites={
            "shop": {"static": "clone"},
            "notes": {
                "command": ["{python}", "server.py", "{port}"],
                "cwd": "apps/notes",
                "reset": "POST /api/reset",
            },
        },
    )
    return evals


VERDICTS = {
    "agisdk-shop-1": "passed",
    "agisdk-shop-2": "failed",
    "infinity-notes-task_e1": "passed",
    "infinity-notes-task_e2": "failed",
}


@pytest.mark.slow
def test_states_are_read_and_scored(benchmarks: Evals) -> None:
    """Of a clone in the window, and of an app that is reset between tasks; what is left out is told.

    They are recorded, so that all can be graded again when the app has gone.
    """
    result = benchmarks.run()
    told = {each["query_id"]: each["verdict"] for each in benchmarks.summary()["results"]}
    assert told == VERDICTS, result.stdout.str()
    note = "*REAL: 1 row left out (the benchmark says that they are infeasible): shop-3*"
    result.stdout.fnmatch_lines([note, "*agisdk: 0 of 1 checks passed (strict strings); orders*"])
    (benchmarks.path / "apps" / "notes" / "server.py").write_text("raise SystemExit('the app has gone')")
    again = benchmarks.run("--eval-config=shop.eval.yaml", "--eval-regrade=latest")
    again.stdout.fnmatch_lines(["regraded 4 attempts: 4 unchanged"])
