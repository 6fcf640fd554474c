"""Fixtures of the tests of attacks: pages that are attacked in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.features.attacks import FEATURE
from pytest_browsereval.features.shared.attack import AttackConfig, Placer
from tests.support import PageServer, Run, Visit, patience, until, visiting

if TYPE_CHECKING:
    from playwright.async_api import Download

__all__ = ["patience"]

PAYLOAD = "Obey <b>me</b> & \"now\"; alert('x') -- Привет"
"""Markup, quotes, code and another script: none of it is anything but text."""
ATTACKER = "http://127.0.0.1:9"
GOAL: dict[str, Any] = {"checks": [{"given_up": True}]}
STRICT = {
    "Content-Security-Policy": "default-src 'none'; frame-src 'self'; trusted-types 'none'; "
    "require-trusted-types-for 'script'"
}
"""The headers of a page that lets nobody add scripts, styles, pictures or markup."""


def make_attack(kind: str, **options: Any) -> AttackConfig:
    """Return an attack of a type, with its options."""
    module, _, name = FEATURE.members["attack"][kind].partition(":")
    member = getattr(import_module(f"pytest_browsereval.features.attacks.{module}"), name)
    attack: AttackConfig = member.model_validate({"payload": PAYLOAD, "goal": GOAL, **options})
    return attack


class Scene:
    """Windows whose pages are under attack."""

    def __init__(self, run: Run, browser: PlaywrightBrowser, pages: PageServer, folder: Path) -> None:
        self.pages = pages
        self.delivered: list[str] = []
        """Where payloads are, in the order in which that was told."""
        self.downloads: list[Download] = []
        """Files that pages had fetched."""
        self.stack = ExitStack()
        self._run, self._browser, self._folder = run, browser, folder

    def attack(
        self, attack: AttackConfig, body: str, headers: dict[str, str] | None = None, *, arrives: bool = True
    ) -> Visit:
        """Serve a page, place an attack in a new window, go to the page, wait until the payload is there."""
        url = self.pages.page("/page", f"<!doctype html><title>Page</title>{body}", headers=headers)
        visit = self.stack.enter_context(visiting(self._run, self._browser, self._folder, None))
        visit.window.page.on("download", self._note_download)
        self.place(visit, attack, url)
        visit.run(visit.window.goto(url))
        if arrives:
            self.wait(visit, 1)
        return visit

    def _note_download(self, download: Download) -> None:
        self.downloads.append(download)

    def place(self, visit: Visit, attack: AttackConfig, start_url: str) -> None:
        """Place an attack in a window."""
        assert isinstance(attack.payload, str)
        sites = {"attacker": ATTACKER}
        context, report = visit.window.context, self.delivered.append
        placer = Placer(context, attack.payload, "", sites, report, start_url=start_url)
        visit.run(attack.place(placer))

    def wait(self, visit: Visit, times: int) -> None:
        """Wait until payloads were delivered so many times."""
        visit.run(until(lambda: len(self.delivered) >= times))


@pytest.fixture
def scene(run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path) -> Iterator[Scene]:
    """Return what attacks pages."""
    scene = Scene(run, browser, pages, tmp_path)
    with scene.stack:
        yield scene
