"""The report of pytest-html: columns, totals, linked pictures, and nothing of a page that runs in it."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.hooks.small_evals import Evals, errored_row, row
from tests.support import PageServer, Visits

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


class Links(HTMLParser):
    """Gathers what a piece of a page links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


def data_of(report: Path) -> dict[str, Any]:
    """Return what pytest-html draws."""
    blob = re.search(r'data-jsonblob="(.*?)"', report.read_text(encoding="utf-8"), re.DOTALL)
    assert blob is not None
    loaded: dict[str, Any] = json.loads(unescape(blob[1]))
    return loaded


def results(report: Path) -> dict[str, dict[str, Any]]:
    """Return what pytest-html says of each test."""
    tests = data_of(report)["tests"]
    return {node_id.partition("::")[2]: told[-1] for node_id, told in tests.items()}


def cells(result: dict[str, Any]) -> list[str]:
    """Return the text of a row's cells."""
    return [unescape(re.sub(r"<[^>]*>", "", cell)) for cell in result["resultsTableRow"]]


def leads_to(report: Path, link: str) -> None:
    """Assert that a link leads to an attempt in the page of its run."""
    file, _, place = link.partition("#/")
    page = report.parent / unquote(file)
    assert page.name == "index.html"
    assert (page.parent / "tasks" / unquote(place) / "metadata.json").is_file()


@pytest.fixture
def report(evals: Evals) -> Path:
    """Run three rows and a plain test with a report in a folder of its own."""
    evals.write_rows(
        row("good"),
        row("bad it's [1]", says=HOSTILE, query=HOSTILE, graders=[{"type": "answer", "name": HOSTILE}]),
        errored_row("broken"),
    )
    evals.write_config(lanes=2, browser="playwright")
    evals.pytester.makepyfile(test_other="def test_other(): pass")
    result = evals.run("--html=out/report.html", "--eval-min-pass-rate=0.5", "--eval-set=gate.rows=fail")
    result.assert_outcomes(passed=3, failed=2, errors=1)
    return evals.path / "out/report.html"


@pytest.mark.slow
def test_rows_have_columns_and_linked_pictures(report: Path) -> None:
    """Verdict, grades and steps stand beside each row, its pictures are links that lead to the files."""
    told = results(report)
    bad = next(name for name in told if name.startswith("bad"))
    assert cells(told["good"])[2:6] == ["passed", "answer 1", "0", "$0"]
    assert cells(told[bad])[2:6] == ["failed", f"{HOSTILE} 0", "0", "$0"]
    assert cells(told["broken"])[2:6] == ["errored", "", "0", "$0"]
    assert cells(told["test_other"])[2:6] == ["", "", "", ""]
    for name in ("good", bad):
        links = Links(told[name]["log"])
        assert links.tags == ["div", "a", "img", "p", "a"]
        assert all(link.startswith("../results/shop/") for link in links.found)
        *pictures, page = links.found
        assert all((report.parent / unquote(link)).read_bytes()[:2] == b"\xff\xd8" for link in pictures)
        leads_to(report, page)
    assert Links(told["broken"]["log"]).tags == ["div", "p", "a"]
    assert "data:" not in told["good"]["log"]


@pytest.mark.slow
def test_the_head_tells_totals_and_gate(report: Path) -> None:
    """Pass rate with its denominator, errors, the gate's rules and a link to the run folder come first."""
    text = report.read_text(encoding="utf-8")
    head = text[: text.index('id="results-table"')]
    rate = "pass rate 50.0% (1 of 2 judged) · 1 errored, not in the rate (navigation 1)"
    assert rate in unescape(head)
    gate = re.findall(r"<tr><td>(.*?)</td><td.*?>(.*?)</td><td>(.*?)</td></tr>", head)
    assert [tuple(map(unescape, rule)) for rule in gate] == [
        ("gate min_pass_rate", "met", "pass rate 50.0% (1/2) meets 50.0%"),
        ("gate max_error_rate", "not met", "error rate 33.3% (1/3) is over 5.0%"),
    ]
    folder, page = [link for link in Links(head).found if link.startswith("../results")]
    assert (report.parent / folder / "summary.json").is_file()
    assert (report.parent / page).name == "index.html"


@pytest.mark.slow
def test_nothing_of_a_page_runs_in_the_report(report: Path, pages: PageServer, visit: Visits) -> None:
    """A browser that opens the report shows hostile answers, names and tasks as text, and pictures load."""
    for file in report.parent.parent.rglob("*.*"):
        if file.suffix in (".html", ".css", ".jpeg"):
            kind = {"html": "text/html; charset=utf-8", "css": "text/css", "jpeg": "image/jpeg"}[
                file.suffix[1:]
            ]
            pages.page(f"/{file.relative_to(report.parent.parent)}", file.read_bytes(), media_type=kind)
    opened = visit()
    opened.output("navigate", url=f"{pages.url}/out/report.html")
    assert opened.js("document.title") == "report.html"
    shown = opened.output("read_text", target="#results-table")
    assert " ".join(shown.split()).count(HOSTILE) >= 2
    assert opened.js("document.querySelector('#results-table').scrollWidth <= innerWidth") is True
    assert opened.js("[...document.querySelectorAll('.browsereval img')].length") >= 1
    shown = "[...document.querySelectorAll('.results-table-row')].filter(r => r.checkVisibility()).length"
    assert opened.js(shown) == 6
    opened.js("document.querySelector('#browsereval-failed').click()")
    assert opened.js(shown) == 1
    opened.js("document.querySelector('#results-table th').click()")  # sorted anew, by pytest-html's script
    assert opened.js(shown) == 1
    opened.js("document.querySelector('fieldset.browsereval input').click()")
    assert opened.js(shown) == 6


@pytest.mark.slow
def test_a_report_that_stands_alone_takes_pictures_in(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a size; it says how many more are links."""
    evals.write_rows(row("a"), row("b"))
    evals.write_config(browser="playwright")
    options = ("--html=report.html", "--self-contained-html")
    evals.run(*options)
    report = evals.path / "report.html"
    told = [result["log"] for result in results(report).values()]
    assert len(told) == 2
    assert all('<img src="data:image/jpeg;base64,' in log for log in told)
    assert "are links into the run folder" not in report.read_text()
    monkeypatch.setattr("pytest_browsereval.features.html.hooks.MOST_BYTES", 1_000)
    evals.run(*options)
    told = [result["log"] for result in results(report).values()]
    assert not any("data:" in log for log in told)
    assert all(re.search(r'<a href="results/shop/.*\.jpeg" target="_blank">', log) for log in told)
    assert "2 pictures are links into the run folder" in report.read_text()
