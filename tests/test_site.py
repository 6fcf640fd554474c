"""The documentation site in a browser: built without a warning, it answers searches and fits a telephone."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from tests.support import PATIENCE_S, Run, run_program, serving, visiting

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
LISTED = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
QUESTIONS = {
    "How do I log in before each row?": "how-to/log-in.html",
    "Why is my row errored?": "how-to/debug-an-errored-row.html",
    "How do I compare two models?": "how-to/compare-two-models.html",
    "How do I add a grader?": "how-to/add-a-grader.html",
    "What does it cost?": "how-to/costs.html",
    "cost": "how-to/costs.html",
    "log in": "how-to/log-in.html",
    "exit codes": "reference/exit-codes.html",
    "limits.max_steps": "reference/config.html",
    "2fa": "how-to/log-in.html",
    "totp": "how-to/log-in.html",
    "cookies": "how-to/log-in.html",
    "basic auth": "how-to/log-in.html",
    "iphone": "how-to/choose-a-browser.html",
    "geolocation": "how-to/choose-a-browser.html",
    "page clock": "how-to/choose-a-browser.html",
    "self-signed certificate": "how-to/choose-a-browser.html",
    "dark mode": "how-to/choose-a-browser.html",
    "multi-select": "reference/tools.html",
    "drag and drop file": "how-to/upload-and-download.html",
    "upload": "how-to/upload-and-download.html",
    "anthropic": "how-to/use-a-model.html",
    "own judge": "how-to/judges-and-calibration.html",
    "check network requests": "how-to/check-network-requests.html",
    "requests": "how-to/check-network-requests.html",
    "dropdown": "reference/tools.html",
    "prompt": "how-to/grade-a-row.html",
    "flaky": "how-to/flaky-rows.html",
    "judge prompt": "how-to/judges-and-calibration.html",
    "compare two prompts": "how-to/compare-two-models.html",
}
"""What people ask, and the page that the search has to name first."""
FIRST = """() => {
  if (!/finished|did not match/.test(document.querySelector("p.search-summary")?.textContent)) return null;
  return document.querySelector("#search-results li a")?.getAttribute("href") ?? "nothing";
}"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def is_built() -> bool:
    """Whether `nox -s docs` has built the site without a warning, and no file of the repository is newer."""
    stamp = ROOT / "docs/_build/strict"
    listed = subprocess.run(LISTED, cwd=ROOT, capture_output=True, check=False).stdout
    files = [ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name]
    there = [file.stat().st_mtime for file in (stamp, *files) if file.exists()]
    return bool(files) and stamp.exists() and len(there) == 1 + len(files) and max(there) == there[0]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built as `nox -s docs` builds it, or by that."""
    if is_built():
        return ROOT / "docs/_build/html"
    folder = tmp_path_factory.mktemp("site")
    strict = ("--fail-on-warning", "--keep-going", "--nitpicky", "--quiet")
    command = (sys.executable, "-m", "sphinx", *strict, ROOT / "docs", folder)
    built = run_program(command, cwd=ROOT, env=dict(os.environ), limit_s=600)
    assert (built.returncode, built.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def url(site: Path) -> Iterator[str]:
    """Serve the site; yields its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its base's name
            pass

    with serving(functools.partial(Quiet, directory=str(site))) as url:  # type: ignore[arg-type]
        yield url


def test_search_answers_what_people_ask(
    run: Run, browser: PlaywrightBrowser, url: str, tmp_path: Path
) -> None:
    """The first page that the site's own search names answers the question."""
    found = {}
    with visiting(run, browser, tmp_path, url) as visit:
        page = visit.window.page
        for question in QUESTIONS:
            run(page.goto(f"{url}/search.html?q={quote(question)}"))
            first = run(page.wait_for_function(FIRST, timeout=PATIENCE_S * 1000))
            found[question] = str(run(first.json_value())).partition("?")[0].partition("#")[0]
    assert found == QUESTIONS


def test_pages_fit_a_telephone(
    run: Run, browser: PlaywrightBrowser, site: Path, url: str, tmp_path: Path
) -> None:
    """No page is wider than a window of 400 pixels: what is wider scrolls within itself."""
    names = [page.relative_to(site).as_posix() for page in sorted(site.rglob("*.html"))]
    wide: dict[str, int] = {}

    async def measure(name: str) -> None:
        await page.goto(f"{url}/{name}")
        wide[name] = await page.evaluate(WIDER)

    with visiting(run, browser, tmp_path, url) as visit:
        page = visit.window.page
        run(page.set_viewport_size({"width": 400, "height": 800}))
        for name in names:
            run(measure(name))
    assert len(names) > 50
    assert {name: width for name, width in wide.items() if width > 0} == {}


def test_agents_find_every_page(site: Path) -> None:
    """`llms.txt` lists each page with a sentence, and `llms-full.txt` has what is generated as well."""
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    for page in ("tutorials/first-eval.html", "reference/config.html", "reference/api/graders.html"):
        assert f"]({page}): " in listed
    assert "\nlimits.max_steps\n" in (site / "llms-full.txt").read_text(encoding="utf-8")
