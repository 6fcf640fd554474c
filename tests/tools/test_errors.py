from __future__ import annotations

from playwright.async_api import Error
from playwright.async_api import TimeoutError as PlaywrightTimeout

from pytest_browsereval.tools.errors import explain


def said(error: BaseException, arguments: dict[str, str]) -> str:
    return str(explain(error, arguments))


def test_a_tab_that_was_closed_meanwhile_is_told() -> None:
    """The agent can look at what is left."""
    error = Error("Locator.click: Target page, context or browser has been closed")
    assert said(error, {"target": "e1"}) == (
        "The tab was closed meanwhile. Call list_tabs to see which are open."
    )


def test_a_page_that_hangs_is_told_with_and_without_a_target() -> None:
    """What was being done is named where there is something to name."""
    found = (
        'X: Timeout 5ms exceeded.\nCall log:\n  - waiting for locator("#x")\n    - locator resolved to <b>'
    )
    assert said(PlaywrightTimeout(found), {"target": "#x"}) == (
        "The page did not react in time to what was done to #x."
    )
    assert said(PlaywrightTimeout("Page.screenshot: Timeout 5ms exceeded."), {}) == (
        "The page did not react in time."
    )
