"""Calls that return before their picture is drawn: the log and the files are as if they had waited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.base import PictureFormat
from pytest_browsereval.capture import context as context_module
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.model.messages import Message
from tests.capture.conftest import Contexts
from tests.support import StillWindow, until


class SlowWindow(StillWindow):
    """Draws a picture when a test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.may_draw = asyncio.Event()

    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        self.begun += 1
        await self.may_draw.wait()
        return await super().screenshot(picture, quality)


@pytest.fixture
def window() -> SlowWindow:
    return SlowWindow()


async def step(capture: CaptureContext, result: Any = "ok", *, picture: bool = True) -> int | None:
    call = await capture.before_tool_call("click", {})
    return await capture.after_tool_call(call, result, is_error=False, picture=picture)


def play(course: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(60):
            await course()

    asyncio.run(whole())


def told(capture: CaptureContext) -> list[tuple[str, int | None]]:
    return [(m.type, getattr(m, "screenshot", None)) for m in capture.messages.messages]


def test_a_call_returns_first_and_later_lines_wait(context: Contexts, window: SlowWindow) -> None:
    """The picture is begun at once; the log is written in the order of events when it is there."""
    heard: list[Message] = []
    capture = context(on_message=heard.append)

    async def course() -> None:
        async with capture.going_ahead():
            assert await step(capture) is None
            await asyncio.sleep(0)
            assert (window.begun, capture.screenshot.count) == (1, 0)
            capture.log_assistant("thinking")
            assert told(capture) == [("tool_call", None)]
            window.may_draw.set()
            await capture.settle()
            assert told(capture) == [("tool_call", None), ("tool_result", 1), ("assistant", None)]
        assert tuple(heard) == capture.messages.messages

    play(course)
    times = [message.timestamp for message in capture.messages.messages]
    assert times == sorted(times)


def test_the_next_call_waits(context: Contexts, window: SlowWindow) -> None:
    """No tool touches the page before its picture is drawn, whatever kind of tool it is."""
    capture = context()

    async def course() -> None:
        async with capture.going_ahead():
            await step(capture)
            following = asyncio.ensure_future(step(capture, picture=False))
            for _ in range(5):
                await asyncio.sleep(0)
            assert not following.done()
            assert capture.findings.calls == 1
            window.may_draw.set()
            assert await following is None
            await step(capture)

    play(course)
    names = ["tool_call", "tool_result"] * 3
    assert told(capture) == list(zip(names, [None, 1, None, None, None, 2], strict=True))


def test_at_the_end_of_the_block_all_is_recorded(
    context: Contexts, window: SlowWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if what ran in it was cancelled; afterwards calls wait again."""
    monkeypatch.setattr(context_module, "CUT_S", 30.0)
    capture = context()

    async def thinks() -> None:
        async with capture.going_ahead():
            await step(capture)
            await asyncio.sleep(60)

    async def course() -> None:
        thinking = asyncio.ensure_future(thinks())
        await until(lambda: window.begun)
        thinking.cancel()
        asyncio.get_running_loop().call_later(0.01, window.may_draw.set)
        await asyncio.wait([thinking])
        assert thinking.cancelled()
        assert told(capture)[-1] == ("tool_result", 1)
        assert await step(capture) == 2
        await capture.final_picture()

    play(course)
    assert capture.screenshot.count == 2


@pytest.mark.parametrize("is_ahead", [False, True], ids=["waiting", "ahead"])
def test_what_was_done_is_told_if_its_picture_is_cut_off(
    context: Contexts, window: SlowWindow, *, is_ahead: bool
) -> None:
    """A call that is cancelled while it waits for a picture has its result in the log."""
    capture = context()

    async def course() -> None:
        async with capture.going_ahead() if is_ahead else nullcontext():
            calls = [await capture.before_tool_call("click", {}) for _ in range(1 + is_ahead)]
            ending = [asyncio.ensure_future(capture.after_tool_call(c, 1, is_error=False)) for c in calls]
            await until(lambda: window.begun)
            ending[-1].cancel()
            await asyncio.wait(ending[-1:])
            window.may_draw.set()

    play(course)
    assert [line for line, _ in told(capture)].count("tool_result") == 1 + is_ahead


def test_closing_gives_up_the_picture_and_keeps_the_lines(context: Contexts, tmp_path: Path) -> None:
    """An attempt that ends at once loses no message, and nothing is written later."""
    capture = context()

    async def course() -> None:
        block = capture.going_ahead()
        await block.__aenter__()
        await step(capture)
        capture.log_assistant("thinking")
        capture.close()
        await until(lambda: len(asyncio.all_tasks()) == 1)

    play(course)
    assert told(capture) == [("tool_call", None), ("tool_result", None), ("assistant", None)]
    assert not (tmp_path / "screenshots").exists()
    assert capture.warnings == ()


def test_what_a_listener_raises_reaches_the_next_call(context: Contexts, window: SlowWindow) -> None:
    """A plug-in that breaks breaks the attempt, as it does without going ahead."""

    def listen(message: Message) -> None:
        if message.type == "tool_result":
            raise RuntimeError("plug-in broke")

    capture = context(on_message=listen)
    window.may_draw.set()

    async def course() -> None:
        async with capture.going_ahead():
            await step(capture)
            capture.log_assistant("paid for")
            with pytest.raises(RuntimeError, match="plug-in broke"):
                await step(capture)
            await capture.settle()

    play(course)
    assert told(capture)[-1] == ("assistant", None)
