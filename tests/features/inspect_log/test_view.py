"""The logs in Inspect's own viewer, as a static site in a real browser."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.async_api import Error as PlaywrightError

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from tests.exported import mixed_run
from tests.features.inspect_log.test_inspect import export
from tests.support import PATIENCE_S, Run, serving, visiting

__all__ = ["mixed_run"]

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]

HAS_TEXTS = "texts => texts.every(text => document.body.innerText.includes(text))"
SHOWN = "document.body.innerText"


@pytest.fixture
def url(mixed_run: Path, tmp_path: Path) -> Iterator[str]:
    """Serve what `inspect view bundle` makes of a run's logs; yields the address."""
    from inspect_ai.log import bundle_log_dir

    export(mixed_run, tmp_path / "logs")
    bundle_log_dir(str(tmp_path / "logs"), str(tmp_path / "site"))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its base's name
            pass

    with serving(functools.partial(Quiet, directory=str(tmp_path / "site"))) as url:  # type: ignore[arg-type]
        yield url


def test_the_viewer_opens_the_logs(run: Run, browser: PlaywrightBrowser, url: str, tmp_path: Path) -> None:
    """The list, the samples of a log, and an attempt with its calls and its sub-agent; no error on a page."""
    from inspect_ai.log import read_eval_log

    errors: list[str] = []
    names = {
        log.eval.metadata["variant"]: file.name
        for file in (tmp_path / "logs").glob("*.eval")
        if (log := read_eval_log(str(file), header_only=True)).eval.metadata
    }
    places = {
        "": ["shop", "openai-compatible/lead", "none/scripted"],
        f"#/logs/{names['pair']}": ["6 Samples", "shop/mug", "3,540", "[withheld]"],
        f"#/logs/{names['pair']}/samples/sample/wrong/1/": ["executor-1", "Look at the tabs.", "One tab."],
        f"#/logs/{names['broken']}": ["6 of 6 samples (100%) had errors and were not scored."],
    }
    with visiting(run, browser, tmp_path, url) as visit:
        page = visit.window.page
        page.on("pageerror", lambda error: errors.append(str(error)))
        for place, texts in places.items():
            run(page.goto("about:blank"))  # each place is opened as by a link, not in the viewer that is open
            run(page.goto(f"{url}/{place}"))
            try:
                run(page.wait_for_function(HAS_TEXTS, arg=texts, timeout=6 * PATIENCE_S * 1000, polling=200))
            except PlaywrightError:
                pytest.fail(f"{page.url} does not show {texts}, but: {run(page.evaluate(SHOWN))}\n{errors}")
    assert errors == []
