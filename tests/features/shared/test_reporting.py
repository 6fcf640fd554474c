"""One report for the terminal and Markdown: what rows, pages and models wrote is text, and lists are cut."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.shared import markdown, report_text
from pytest_browsereval.model.display import width_of
from pytest_browsereval.report.report import Report, Row, Table

pytestmark = pytest.mark.quick

HOSTILE = "<img src=x> | [a](http://x) `b` @team www.x.y\x1b[2J\u202e\n# no " + "wide 漢字 " * 12


def make_report(word: str = HOSTILE, count: int = 25) -> Report:
    """Return a report with all that one may have."""
    rows = [Row((word, str(n), word), details=(word, word)) for n in range(count)]
    sentences = [Row((word, word), f"{n}: {word}") for n in range(count)]
    return Report(
        title=f"title {word}",
        facts=["one", ("name", word)],
        tables=[
            Table(("task", "count", "why"), rows, "columns", aligns="lrl", details="more"),
            Table(("task", "why"), sentences, f"sentences {word}", is_folded=True),
            Table(("",), [Row((word,))]),
        ],
        notes=[word],
    )


def test_a_terminal_is_not_steered() -> None:
    """Whatever rows and models wrote, lines are printable and as wide as the terminal at most."""
    for width in (80, 100, 200):
        lines = list(report_text.draw_report(make_report(), width))
        assert all(line.isprintable() and width_of(line) <= width for line in lines)
        assert lines.count("and 5 more; --json FILE has them all") == 2


def test_markdown_holds_text_only() -> None:
    """No HTML, link, picture, mention or further column comes out of a text."""
    shown = markdown.draw_report(make_report())
    assert "<img" not in shown
    assert "\x1b" not in shown
    assert "://" not in shown.replace("\\://", "")
    assert shown.startswith("### title &lt;img")
    assert shown.count("\n<details><summary>sentences &lt;img") == 1
    rows = [line.replace("\\|", "") for line in shown.splitlines() if line.startswith("| &lt;")]
    assert {row.count(" | ") for row in rows} == {3, 1}
    assert shown.count("and 5 more; --json FILE has them all") == 2


def test_what_stands_in_a_report() -> None:
    """A title, facts, tables with their details, and notes, in this order."""
    assert list(report_text.draw_report(make_report("word", 2))) == [
        "title word",
        "one",
        "name  word",
        "",
        "columns",
        *("task  count  why", "word      0  word", "    word", "    word"),
        *("word      1  word", "    word", "    word"),
        "",
        "sentences word",
        *("0: word", "1: word"),
        "",
        "word",
        "",
        "word",
    ]


def test_a_comment_is_never_too_long() -> None:
    """Sections that no longer fit are counted."""
    shown = markdown.draw_report(make_report(), 6_000)
    assert len(shown) < 6_000 + 100
    assert shown.endswith("4 more sections are left out; the JSON report has all.\n")
