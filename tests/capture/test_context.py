from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_browsereval.capture.context import CUT_OFF, CaptureContext, ScreenshotMode
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, TerminationReason, Undrawn
from pytest_browsereval.model.messages import ErrorMessage, ToolCallMessage, ToolResultMessage
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.runs.folder import find_pictures
from tests.capture.conftest import Contexts
from tests.support import StillWindow


async def step(context: CaptureContext, *, picture: bool = True) -> int | None:
    call = await context.before_tool_call("click", {"target": "e1"})
    return await context.after_tool_call(call, {"ok": True}, is_error=False, picture=picture)


def full_disk(context: CaptureContext) -> None:
    """Let writing to the log fail, as on a disk that is full."""
    context.messages._file.close()
    context.messages._file = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115 -- closed with it


@pytest.mark.parametrize(
    ("mode", "names"), [("after", ["000", "001"]), ("both", ["000", "001"]), ("final", ["001"]), ("off", [])]
)
def test_an_attempt_without_a_step_has_its_start_and_its_end(
    context: Contexts, tmp_path: Path, mode: ScreenshotMode, names: list[str]
) -> None:
    """Where pictures of steps are wanted; the start is number 0, which graders do not count."""
    capture = context(screenshots=mode)
    asyncio.run(capture.first_picture())
    asyncio.run(capture.final_picture())
    assert sorted(path.stem for path in tmp_path.glob("screenshots/*")) == names
    assert capture.screenshot.count == len(find_pictures(tmp_path)) == names.count("001")


def test_no_picture_is_taken_of_an_empty_page(context: Contexts, window: StillWindow, tmp_path: Path) -> None:
    """Where the agent opens the first page itself; nor is one missed that cannot be drawn."""
    capture = context()
    window.pictures = [Fault(ErrorSource.SCREENSHOT, "a dialog is open")]
    asyncio.run(capture.first_picture())
    window._url = "about:blank"
    asyncio.run(capture.first_picture())
    assert len(window.taken) == 1
    assert list(tmp_path.glob("screenshots/*")) == []
    assert capture.warnings == ()


@pytest.mark.parametrize(
    ("mode", "numbers", "count"),
    [("after", [1, 2], 2), ("both", [2, 4], 4), ("final", [None, None], 1), ("off", [None, None], 0)],
)
def test_pictures_are_taken_when_the_mode_says(
    context: Contexts, mode: ScreenshotMode, numbers: list[int | None], count: int
) -> None:
    """After each call, around it, at the end only, or never."""
    capture = context(screenshots=mode)
    assert [asyncio.run(step(capture)) for _ in range(2)] == numbers
    asyncio.run(capture.final_picture())
    assert capture.screenshot.count == count
    results = [m.screenshot for m in capture.messages.messages if isinstance(m, ToolResultMessage)]
    assert results == numbers


def test_a_failed_picture_is_a_warning(context: Contexts, window: StillWindow) -> None:
    """The call goes on without, and the next one is the next number; a dialog that is open is no fault."""
    dialog = Undrawn(ErrorSource.SCREENSHOT, "a dialog is open")
    stuck = Fault(ErrorSource.SCREENSHOT, "the page was not drawn")
    window.pictures = [b"1", stuck, OSError("disk full"), dialog, b"2"]
    capture = context()
    assert [asyncio.run(step(capture)) for _ in range(5)] == [1, None, None, None, 2]
    assert [(warning.source, warning.message) for warning in capture.warnings] == [
        (ErrorSource.SCREENSHOT, "no picture: the page was not drawn"),
        (ErrorSource.SCREENSHOT, "no picture: disk full"),
    ]
    assert capture.errors == ()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_a_warning(context: Contexts) -> None:
    """The log cannot be written: the agent goes on, and every lost message is told."""
    capture = context(screenshots="off")
    full_disk(capture)
    capture.log_user("hello")
    capture.add_error(ErrorSource.TOOL, "broken")
    assert [warning.source for warning in capture.warnings] == [ErrorSource.MESSAGE_LOGGING] * 2
    assert all("No space left" in warning.message for warning in capture.warnings)
    assert [error.message for error in capture.errors] == ["broken"]
    assert capture.messages.messages == ()


def test_what_was_said_last_is_not_said_twice(context: Contexts) -> None:
    """The row's query is in the log before an agent repeats it; after a reply it is a message of its own."""
    capture = context(screenshots="off")
    capture.log_user("Buy a mug.")
    capture.log_user("Buy a mug.")
    assert capture.said == ""
    capture.log_assistant("Which one?")
    capture.log_user("Buy a mug.")
    said = [(message.type, getattr(message, "content", "")) for message in capture.messages.messages]
    assert said == [("user", "Buy a mug."), ("assistant", "Which one?"), ("user", "Buy a mug.")]
    assert capture.said == "Which one?"
    assert capture.nest("part").said == ""


def test_errors_are_in_the_log_and_warnings_are_not(context: Contexts) -> None:
    """Both are redacted and have their source."""
    capture = context(redact=lambda text: text.replace("hunter2", "***"))
    capture.add_error(ErrorSource.PROVIDER, "key hunter2 refused", {"status": 401})
    capture.add_warning(ErrorSource.TOOL, "hunter2 again")
    (error,), (warning,) = capture.errors, capture.warnings
    assert error.source is ErrorSource.PROVIDER
    assert (error.message, error.details) == ("key *** refused", {"status": 401})
    assert (warning.source, warning.message) == (ErrorSource.TOOL, "*** again")
    (logged,) = capture.messages.messages
    assert isinstance(logged, ErrorMessage)
    assert (logged.content, logged.error_code) == ("key *** refused", "provider")


def test_the_windows_warnings_are_taken_over(context: Contexts, window: StillWindow) -> None:
    """Once, however often the recording is closed."""
    capture = context(redact=lambda text: text.replace("hunter2", "***"))
    window.told = ("the page http://a.test/?key=hunter2 crashed",)
    for _ in range(2):
        capture.close()
    (warning,) = capture.warnings
    assert warning.source is ErrorSource.BROWSER
    assert warning.message == "the page http://a.test/?key=*** crashed"


@pytest.mark.parametrize("error", [asyncio.CancelledError(), LimitReached(TerminationReason.TIMEOUT, "late")])
def test_a_call_that_is_cut_off_is_told(context: Contexts, error: BaseException) -> None:
    """It may be paid, and nobody will be told how much; one that failed was refused, and costs nothing."""
    capture = context(max_cost_usd=1)
    capture.spend(Usage(requests=1, cost_usd=0.5))
    part = capture.nest("d1", role="executor")
    with pytest.raises(Fault), part.asking():
        raise Fault(ErrorSource.PROVIDER, "refused")
    assert not capture.warnings
    with pytest.raises(type(error)), part.asking():
        raise error
    assert (capture.usage.requests, capture.usage.cost_usd) == (1, 0.5)
    assert [warning.message for warning in capture.warnings] == [f"d1: {CUT_OFF}"]


def test_a_part_is_counted_twice_and_nested(context: Contexts) -> None:
    """Steps and usage are the part's and the attempt's; messages name its span; call ids are unique."""
    capture = context(screenshots="after")
    first, second = capture.nest("part-1", role="hand"), capture.nest("part-2", role="hand")
    top = capture.nest(None, role="lead")
    for part in (first, second, first, top, capture):
        asyncio.run(step(part))
    assert [each.steps for each in (first, second, top, capture)] == [2, 1, 1, 5]
    calls = [m for m in capture.messages.messages if isinstance(m, ToolCallMessage)]
    assert [m.parent_id for m in calls] == ["part-1", "part-2", "part-1", None, None]
    assert len({m.tool_call_id for m in calls}) == 5
    assert capture.screenshot.count == first.screenshot.count == 5
    for part, tokens in ((first, 1), (second, 20), (top, 300)):
        part.spend(Usage(input_tokens=tokens, requests=1))
    by_role = {role: usage.input_tokens for role, usage in capture.usage_by_role.items()}
    assert by_role == {"hand": 21, "lead": 300}
    assert [each.usage.input_tokens for each in (first, capture)] == [1, 321]
