"""A bucket as a static web site: the page of a run works there."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.remote.bucket import _find_kind
from pytest_browsereval.local_server import LocalServer
from tests.features.remote.test_push_and_pull import bucket, cache
from tests.hooks.small_evals import Evals, row
from tests.report.viewer.conftest import Look, Reader, look

__all__ = ["bucket", "cache", "look"]


@pytest.mark.slow
@pytest.mark.parametrize("args", [(), ("--eval-shard=1/1",)], ids=["whole", "shard"])
def test_the_page_of_a_run_works_in_a_bucket(
    evals: Evals, bucket: str, site: str, look: Look, args: tuple[str, ...]
) -> None:
    """From one address that is known before the run, to an attempt with its picture and its files."""
    solution = [{"tool": "click", "target": "h1"}, {"tool": "done", "answer": "right"}]
    evals.write_rows(*(row(name, start_url="{shop}/", solution=solution) for name in ("first", "second")))
    (evals.path / "site").mkdir()
    (evals.path / "site" / "index.html").write_text("<h1>Shop</h1>")
    evals.write_config(
        browser="playwright", sites={"shop": {"static": "site"}}, capture={"screenshots": "both"}
    )
    sent = evals.run("shop.eval.yaml", f"--eval-output={bucket}", "--eval-run-name=nightly", *args)
    assert sent.ret == 0
    links: list[str] = []

    async def work(reader: Reader) -> None:
        page = reader.page
        await page.goto(f"{site}/shop/nightly/index.html")
        await page.wait_for_url("**/try-*/index.html*")
        await page.locator("a[href*='second']").first.click()
        picture = page.locator("#attempt img").first
        await picture.wait_for()
        await page.wait_for_function(
            "picture => picture.complete && picture.naturalWidth > 0", arg=await picture.element_handle()
        )
        links.extend(await page.eval_on_selector_all("#attempt .files a", "all => all.map(one => one.href)"))

    look(Path("unused"), work)
    assert len(links) >= 4
    for link in links:
        with urllib.request.urlopen(link) as answer:  # noqa: S310 this test's own server
            assert answer.status == 200


@pytest.fixture
def site(evals: Evals) -> Iterator[str]:
    """Serve the folder of the bucket."""
    folder = evals.path.with_name(f"{evals.path.name}-bucket")
    folder.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(folder))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's name
            """Print nothing."""

    with LocalServer(Handler) as server:
        yield server.url


def test_what_attempts_have_left_is_no_page(subtests: pytest.Subtests) -> None:
    """A script of a site that was visited would run with the rights of the bucket's own pages."""
    cases: list[tuple[str, str]] = [
        ("parts/1-of-1/try-1/index.html", "text/html; charset=utf-8"),
        ("parts/1-of-1/try-1/index.files/0001.js", "text/javascript; charset=utf-8"),
        ("parts/1-of-1/try-1/tasks/a/default/1/attempt-1/screenshots/001.jpeg", "image/jpeg"),
        ("parts/1-of-1/try-1/tasks/a/default/1/attempt-1/dom/001.html", "application/octet-stream"),
        ("parts/1-of-1/try-1/tasks/a/default/1/attempt-1/agent/x.svg", "application/octet-stream"),
        ("parts/1-of-1/done", "application/octet-stream"),
    ]
    for path, kind in cases:
        with subtests.test(path=path, kind=kind):
            assert _find_kind(path) == kind
