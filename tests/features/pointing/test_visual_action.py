from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, StopRun, TerminationReason
from pytest_browsereval.features.pointing.visual_action import VisualActionAgent, VisualActionConfig, as_text
from pytest_browsereval.llm.retries import RetryPolicy
from pytest_browsereval.model.messages import ToolCallMessage
from pytest_browsereval.model.results import AgentResult
from tests.agents.desk import MakeDesk
from tests.features.pointing.seeing import PaperDesk, decoded, no_wait, paper_tools, play, range_of
from tests.features.pointing.service import Json, Said, Script, Service, says
from tests.support import PageServer, Run, until

Serve = Callable[[Script], Service]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a starter of services."""
    running: list[Service] = []

    def start(script: Script) -> Service:
        running.append(Service(script))
        return running[-1]

    yield start
    for each in running:
        each.close()


class Paper(PaperDesk):
    """A desk on paper for the agent."""

    def solve(self, url: str, **fields: Any) -> AgentResult:
        """Run an attempt, retries without waiting."""
        config = VisualActionConfig.model_validate({"url": url, **fields})
        policy = RetryPolicy(max_tries=config.max_tries, deadline_s=config.retry_deadline_s, sleep=no_wait)
        return self.play(config, lambda context: VisualActionAgent(context, config, policy))


@pytest.fixture
def paper(make_desk: MakeDesk) -> Paper:
    return Paper(make_desk)


CLICK = {"action": "click", "x": 500, "y": 500}
END = {"action": "end"}


# -- the course of an attempt


def test_the_service_is_posted_what_it_needs(paper: Paper, serve: Serve) -> None:
    """The task, a new picture each time, and what was done before, as it was given."""
    service = serve(
        [CLICK, {"action": {"action": "type", "text": "Ada"}}, {"action": "press_key", "key": "ctrl+a"}, END]
    )
    result = paper.solve(service.url)
    assert result == AgentResult(None, note="The task was ended after: click, type, press.")
    assert [name for name, _ in paper.log] == ["click_at", "type_keys", "press_key"]
    assert paper.desk.called == ["click_at", "type_keys", "press_key", "done"]
    first, *_, last = service.requests
    assert set(first) == {"instruction", "image_base64", "history"}
    assert (first["instruction"], first["history"]) == ("Buy it.", [])
    typed, pressed = {"action": "type", "text": "Ada"}, {"action": "press", "key": "Control+a"}
    assert last["history"] == [CLICK, typed, pressed]
    reds = [decoded(request["image_base64"]).getpixel((4, 4)) for request in service.requests]
    assert len(set(reds)) == 4
    assert service.keys == [None] * 4


def test_history_can_be_a_line(paper: Paper, serve: Serve) -> None:
    """In BrowserOS's form, with the words of its vocabulary; what failed is not in it."""
    service = serve([CLICK, {"action": "type", "text": "it's"}, {"action": "wait", "time": 0}, END])
    paper.solve(service.url, history="text")
    assert service.requests[0]["history"] == "None"
    assert service.requests[3]["history"] == "click(500, 500) -> type('it\\'s') -> wait(1s)"
    drag = {"action": "drag", "x": 1.4, "y": 2, "end_x": 3, "end_y": 4}
    more: list[Json] = [
        drag,
        {"action": "scroll", "direction": "down"},
        {"action": "press", "key": "Enter"},
        {"action": "go_back"},
    ]
    assert as_text(more) == "drag(1,2 -> 3,4) -> scroll(down) -> press_key('Enter') -> go_back()"


def test_an_action_that_fails_is_in_the_history(make_desk: MakeDesk, serve: Serve) -> None:
    """With its error, and the attempt goes on; the words of an ending are the answer."""
    paper = Paper(make_desk, tools=())
    service = serve([{"action": "wait", "seconds": 99}, {"action": "done", "text": "12.50"}])
    paper.desk.tools = paper_tools(paper.log)
    assert paper.solve(service.url).final_answer == "12.50"
    (failed,) = service.requests[1]["history"]
    assert failed["action"] == "wait"
    assert "less than or equal to 30" in failed["error"]


def test_predictions_run_out(paper: Paper, serve: Serve) -> None:
    """One too few ends the attempt as one that used its steps."""
    service = serve(lambda _: CLICK)
    note = "max_predictions is 15; all were used"
    assert paper.solve(service.url) == AgentResult(None, TerminationReason.MAX_STEPS, note=note)
    assert len(service.requests) == len(paper.log) == 15


# -- what is no action


INVALID = [
    {"action": "fly", "x": 1, "y": 1},
    {"action": "click", "x": 1000, "y": 1},
    {"detail": "no action found"},
]


def test_three_invalid_replies_in_a_row_end_it(
    make_desk: MakeDesk, serve: Serve, subtests: pytest.Subtests
) -> None:
    """Two do not; nothing is done, and each is a recorded step with what was wrong."""
    for wrong in INVALID:
        with subtests.test(wrong=wrong):
            paper, service = Paper(make_desk), serve([wrong, wrong, CLICK, wrong, wrong, wrong])
            assert paper.solve(service.url) == AgentResult(None)
            assert len(service.requests) == 6
            assert [name for name, _ in paper.log] == ["click_at"]
            assert "3 replies in a row without a valid action" in paper.desk.warned
            asked = next(m for m in paper.desk.capture.messages.messages if isinstance(m, ToolCallMessage))
            assert asked.tool == "prediction"
            assert json.loads(asked.params["malformed"]) == wrong


# -- what breaks


@pytest.mark.parametrize("status", [500, 503])
def test_a_busy_service_is_asked_again(paper: Paper, serve: Serve, status: int) -> None:
    """Up to ``max_tries``; the report tells that it happened."""
    busy = says({"error": "try later"}, status)
    service = serve([busy, busy, END])
    assert paper.solve(service.url).termination_reason is TerminationReason.COMPLETED
    assert "answered only on try 3" in paper.desk.warned
    with pytest.raises(Fault, match=rf"/act answered {status} after 2 tries: try later") as caught:
        paper.solve(serve(lambda _: busy).url, max_tries=2)
    assert caught.value.source is ErrorSource.PROVIDER
    assert not isinstance(caught.value, StopRun)


@pytest.mark.parametrize(
    ("said", "tries", "told"),
    [
        (says({"detail": "bad picture"}, 422), 1, "answered 422"),
        (says(b"<html><body>Not found</body></html>", 404), 1, "answered 404: <html>"),
        (says(b"<html>Welcome</html>"), 2, "the reply is not a JSON object: '<html>"),
        (says({"error": "overloaded"}), 2, "gave no usable reply after 2 tries: overloaded"),
        (says({"action": "done", "text": "7", "error": {"code": 503, "message": "died"}}), 2, "answered 503"),
        (says(b"\xff\xfe\x00"), 2, "not a JSON object"),
        (says(b"", 302, Location="http://evil.test/"), 1, "redirects to 'http://evil.test/'"),
        (Said(b"{", headers={"Content-Length": "99"}), 2, "the connection failed"),
    ],
)
def test_a_useless_reply_is_a_fault(paper: Paper, serve: Serve, said: Said, tries: int, told: str) -> None:
    """Errored, never failed; what may pass is tried again, the rest is not."""
    service = serve(lambda _: said)
    with pytest.raises(Fault) as caught:
        paper.solve(service.url, max_tries=2)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 500
    assert len(service.requests) == tries


def test_a_service_that_is_not_there_is_named(paper: Paper) -> None:
    """With its address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/act"
        told = f"{url} gave no usable reply after 3 tries: the connection failed"
        with pytest.raises(Fault, match=told):
            paper.solve(url)


def test_a_cancelled_attempt_hangs_up(paper: Paper, serve: Serve) -> None:
    """The time limit of the attempt ends a request that is under way."""
    service = serve(lambda _: Said(b"{}", delay_s=30))
    config = VisualActionConfig(url=service.url)

    async def course() -> None:
        agent = VisualActionAgent(paper.desk.context(config), config, RetryPolicy())
        work = asyncio.create_task(agent.execute())
        await until(lambda: service.requests)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(course())


# -- keys


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_stops_the_run(
    paper: Paper, serve: Serve, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """No further attempt can succeed; the key is in no message, even if the service repeats it."""
    monkeypatch.setenv("ACTION_KEY", "s3cret-value")
    service = serve(lambda _: says({"error": "bad key s3cret-value"}, status))
    with pytest.raises(StopRun) as caught:
        paper.solve(service.url, api_key="ACTION_KEY")
    assert service.keys == ["Bearer s3cret-value"]
    assert "s3cret-value" not in str(caught.value)
    assert "bad key [redacted]" in str(caught.value)


def test_keys_are_named_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A variable that is not set is refused before anything is spent; values are secrets."""
    config = VisualActionConfig.model_validate({"url": "http://h.test/a", "apiKey": "ACTION_KEY"})
    with pytest.raises(ConfigError, match="export ACTION_KEY"):
        config.preflight(tmp_path)
    assert config.secrets() == ()
    monkeypatch.setenv("ACTION_KEY", "s3cret-value")
    config.preflight(tmp_path)
    assert config.secrets() == ("s3cret-value",)
    assert "s3cret" not in config.model_dump_json()
    assert config.label() == "visual-action http://h.test/a"
    for keyless in ("", "none"):
        assert VisualActionConfig.model_validate({"url": "http://h.test", "api_key": keyless}).key() is None


def test_an_address_that_cannot_be_posted_to_is_refused(subtests: pytest.Subtests) -> None:
    """With what to write; what may be a secret is not repeated."""
    for url in ("ftp://h.test", "h.test/act", "http://me:pw@h.test/act", "http://", "http://h.test/?key=pw"):
        with subtests.test(url=url), pytest.raises(ValueError, match="Write ") as caught:
            VisualActionConfig(url=url)
        assert "pw" not in str(caught.value)


# -- in a real page


def test_a_dialog_does_not_end_it(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path, serve: Serve
) -> None:
    """The service cannot be shown one, so it is dismissed, recorded and told of."""
    service = serve([{"action": "click", "x": 102, "y": 278}, END])
    with range_of(run, browser, pages, tmp_path, 1) as opened:
        opened.js("void (onmousedown = () => { answer = confirm('Sure?') })")
        play(opened, VisualActionConfig(url=service.url), tmp_path)
        assert opened.js("answer") is False
        told = [warning.message for warning in opened.capture.warnings]
        called = [m.tool for m in opened.logged(ToolCallMessage)]
    assert called == ["click_at", "handle_dialog", "done"]
    assert any("a dialog was dismissed" in each for each in told)
