"""A screen of the test's own with a window manager, and a person's real mouse and keys on it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from pytest_browsereval.browsers.binary import candidates
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.tools.targets import locate
from tests.features.record.hands import Hands, find_button

PROGRAMS = {"Xvfb": "xvfb", "openbox": "openbox", "xdotool": "xdotool"}
Point = tuple[float, float]


@contextlib.contextmanager
def show_screen(width: int, height: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Show windows on a screen of a size; skip the test where that is not possible."""
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}: apt-get install -y {package}")
    try:
        candidates(headed=True)
    except ConfigError as error:
        pytest.skip(str(error))
    reader, writer = os.pipe()
    # It chooses a display that is free, and says which once it is ready.
    size = f"{width}x{height}x24"
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", size, "-nolisten", "tcp"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, pass_fds=(writer,), stderr=quiet) as server:
        os.close(writer)
        try:
            with os.fdopen(reader) as lines:
                monkeypatch.setenv("DISPLAY", f":{lines.readline().strip()}")
            monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
            with subprocess.Popen(["openbox", "--sm-disable"], stdout=quiet, stderr=quiet) as manager:
                try:
                    yield
                finally:
                    manager.terminate()
        finally:
            server.terminate()


class Person:
    """A person in front of the screen, who has a mouse and keys."""

    def __init__(self, hands: Hands, size: tuple[int, int]) -> None:
        self.hands = hands
        self._size = size
        self._corner: Point | None = None

    async def click(self, target: str) -> None:
        """Click an element of the page."""
        await self._press_at(*await self._find(target))

    async def point_at(self, target: str) -> None:
        """Move the pointer over an element, as a hand does: by way of other points."""
        await self._move(*await self._find(target))
        await locate(self.hands.page, target).evaluate(
            """one => new Promise((go) => {
              const look = () => one.matches(':hover') ? go() : requestAnimationFrame(look); look() })"""
        )
        await self.hands.wait_for_listeners()

    async def press(self, button: str) -> None:
        """Press a button of the bar."""
        await self.hands.settle()
        await self._press_at(*await find_button(self.hands.page, button))

    async def type(self, text: str) -> None:
        """Type a text."""
        await self._do("xdotool", "type", "--delay", "20", text)

    async def key(self, name: str) -> None:
        """Press a key, by X11's name of it."""
        await run("xdotool", "key", name)

    async def scroll(self, notches: int) -> None:
        """Turn the wheel down, where the pointer is."""
        await self._do("xdotool", "click", "--repeat", str(notches), "--delay", "40", "5")

    async def drag_scroll_bar(self) -> None:
        """Scroll down by the bar of the page, which is at its right edge."""
        x, y, height = await self.hands.page.evaluate("[innerWidth - 7, 60, innerHeight / 3]")
        await self._move(x, y)
        await run("xdotool", "mousedown", "1")
        for _ in range(4):
            await run("xdotool", "mousemove_relative", "--sync", "0", str(int(height / 4)))
        await self._do("xdotool", "mouseup", "1", "mousemove_relative", "--", "-200", "0")

    async def _find(self, target: str) -> Point:
        element = locate(self.hands.page, target)
        await element.wait_for()
        box = await element.bounding_box()
        assert box
        return box["x"] + box["width"] / 2, box["y"] + min(box["height"], 20) / 2

    async def _press_at(self, x: float, y: float) -> None:
        await self._move(x, y)
        await self._do("xdotool", "click", "1")

    async def _do(self, *command: str) -> None:
        """Run a program, and wait until what it does is recorded."""
        await self.hands.settle()
        self.hands.heard.clear()
        await run(*command)
        await asyncio.wait_for(self.hands.heard.wait(), 20)
        await self.hands.settle()

    async def _move(self, x: float, y: float) -> None:
        if self._corner is None:
            self._corner = await self._find_corner()
        at = [round(part + place) for part, place in zip(self._corner, (x, y), strict=True)]
        assert all(0 <= part < most for part, most in zip(at, self._size, strict=True)), "off the screen"
        for away in (9, 3, 0):
            await run("xdotool", "mousemove", "--sync", str(max(at[0] - away, 0)), str(at[1]))

    async def _find_corner(self) -> Point:
        """Return where on the screen the page's corner is: the page says where it sees a pointer."""
        page = self.hands.page
        await page.evaluate(
            """addEventListener('mousemove', ({screenX, screenY, clientX, clientY}) =>
            seen = [screenX - clientX, screenY - clientY])"""
        )
        middle = [str(part // 2) for part in self._size]
        for step in range(20):
            await run("xdotool", "mousemove", middle[0], str(int(middle[1]) + step))
            if found := await page.evaluate("globalThis.seen"):
                return float(found[0]), float(found[1])
        raise AssertionError("the pointer is over no page")


async def run(*command: str) -> None:
    """Run a program to its end."""
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() == 0
