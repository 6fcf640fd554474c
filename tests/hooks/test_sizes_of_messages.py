"""What models and tools send without end: cut where the limit is, or refused."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.sizes import MAX_MESSAGE_BYTES
from pytest_browsereval.llm.bounded import MAX_REPLY_BYTES
from pytest_browsereval.testing import ScriptedModel, done, says
from tests.hooks.launched import verdicts
from tests.hooks.small_evals import Evals, row

END = "the-end-of-it"
LONG = "right " + "x" * (MAX_MESSAGE_BYTES + 1_000_000) + END


def model(url: str) -> dict[str, Any]:
    return {"type": "single", "provider": "openai-compatible", "model": "m", "base_url": url, "max_tries": 3}


def holders(folder: Path, text: str) -> list[str]:
    """Return the files below a folder that hold a text."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [str(path.relative_to(folder)) for path in files if text.encode() in path.read_bytes()]


def attempt_of(evals: Evals, name: str = "a") -> Path:
    (folder,) = evals.run_folder().glob(f"tasks/{name}/*/*/attempt-1")
    return folder


def test_an_answer_that_is_too_long_is_cut(evals: Evals) -> None:
    """Log and metadata have its beginning, and how much was cut."""
    evals.write_rows(row("a", graders=[{"type": "answer", "match": "includes"}], answer="right"))
    with ScriptedModel([says(LONG)]) as server:
        evals.write_config(agent=model(server.base_url))
        result = evals.run("shop.eval.yaml")
    assert result.ret == 0, result.stdout.str()
    folder = attempt_of(evals)
    assert holders(folder, END) == []
    metadata = json.loads((folder / "metadata.json").read_text())
    assert len(metadata["final_answer"].encode()) <= MAX_MESSAGE_BYTES
    assert metadata["final_answer"].endswith(f"of {len(LONG)} bytes]")
    (warning,) = (one["message"] for one in metadata["warnings"] if "cut at" in one["message"])
    assert f"limits.max_message_bytes is {MAX_MESSAGE_BYTES}" in warning


def test_arguments_that_are_too_long_are_refused(evals: Evals) -> None:
    """A call with them is refused, and the model goes on."""
    evals.write_rows(row("a"))
    with ScriptedModel([done(LONG), done("right")]) as server:
        evals.write_config(agent=model(server.base_url))
        result = evals.run("shop.eval.yaml")
    assert result.ret == 0, result.stdout.str()
    assert holders(attempt_of(evals), END) == []


TOOLS = """
from typing import Literal
from pytest_browsereval import Toolkit, ToolkitConfig, tool

@tool
async def flood(window, text: str = "") -> str:
    \"\"\"Print much.

    Args:
        text: what comes first.
    \"\"\"
    return text + "y" * 30_000_000

class FloodConfig(ToolkitConfig):
    type: Literal["acme/flood"] = "acme/flood"

    def build(self):
        return Toolkit("acme/flood", "Flood", (flood,), needs_page=False)

def pytest_browsereval_register(registry):
    registry.register(FloodConfig)
"""
AGENT = """
async def solve(context):
    result = await context.tools.call("flood")
    (context.base_dir / "handed.txt").write_text(str(len(result.output)))
    refused = await context.tools.call("flood", {"text": "z" * 5_000})
    assert not refused.ok, refused.output
    return "right"
"""


def test_outputs_and_arguments_of_tools_are_limited(evals: Evals) -> None:
    """The agent gets what is recorded; arguments beyond the limit are refused."""
    evals.pytester.makeconftest(TOOLS)
    (evals.path / "my_agent.py").write_text(AGENT)
    result = evals.play(
        [row("a")],
        agent={"type": "function", "function": "my_agent:solve"},
        toolkits=[{"type": "acme/flood"}],
        limits={"max_message_bytes": 4096},
    )
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    folder = attempt_of(evals)
    assert 3000 < int((evals.path / "handed.txt").read_text()) <= 4096
    assert (folder / "messages.jsonl").stat().st_size < 16_000
    assert "The arguments are too large" in (folder / "messages.jsonl").read_text()


class Bomb(BaseHTTPRequestHandler):
    """Answers every request with 64 MB in 64 KB."""

    protocol_version = "HTTP/1.1"
    packed = b""
    asked = 0

    def do_POST(self) -> None:
        type(self).asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(self.packed)))
        self.end_headers()
        try:
            self.wfile.write(self.packed)
        except OSError:  # whoever asked has had enough
            self.close_connection = True

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def bomb() -> Iterator[str]:
    """Return the address of a model whose replies are small and unpack to much."""
    text = b'{"choices": [{"message": {"content": "' + b"x" * (4 * MAX_REPLY_BYTES) + b'"}}]}'
    Bomb.packed, Bomb.asked = gzip.compress(text, 1), 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bomb)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_reply_that_unpacks_to_too_much_errs_its_row(evals: Evals, bomb: str) -> None:
    """It is given up while it is read, errored by the provider, and not asked for again."""
    result = evals.play([row("a")], agent=model(bomb))
    assert verdicts(evals.summary()) == {"a": "errored (provider)"}
    result.stdout.fnmatch_lines([f"*the reply is longer than {MAX_REPLY_BYTES} bytes*"])
    assert Bomb.asked == 1
    assert sum(path.stat().st_size for path in evals.run_folder().rglob("*") if path.is_file()) < 2_000_000
