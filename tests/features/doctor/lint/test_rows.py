from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.config import config_from
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.doctor.lint.base import Finding, Level
from pytest_browsereval.features.doctor.lint.linting import lint
from pytest_browsereval.features.doctor.lint.loading import UNUSABLE

TODAY = date(2026, 3, 1)
Lint = Callable[..., tuple[Finding, ...]]


@pytest.fixture
def linted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    """Lints rows, or lines as they are, of a config with a site."""
    monkeypatch.chdir(tmp_path)

    def run(*rows: dict[str, Any] | str, **keys: Any) -> tuple[Finding, ...]:
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        Path("rows.jsonl").write_text("".join(f"{line}\n" for line in lines))
        Path("shop").mkdir(exist_ok=True)
        block = {"agent": "noop", "dataset": "rows.jsonl", "sites": {"shop": {"static": "shop"}}, **keys}
        registry = builtin_registry()
        config = config_from(block, path=tmp_path / "eval.yaml", registry=registry)
        return asyncio.run(lint(config, registry, today=TODAY))

    return run


def row(**more: Any) -> dict[str, Any]:
    plain = {
        "query_id": "mug",
        "query": "What does the blue mug cost?",
        "start_url": "{shop}/",
        "answer": "12",
    }
    return {**plain, "graders": [{"type": "answer", "match": "number"}], **more}


LIVE = {"start_url": "https://shop.test/"}
"""Sites of the config have a date of their own; others do not."""


def matched(match: str = "includes", **options: Any) -> list[dict[str, Any]]:
    return [{"type": "answer", "match": match, **options}]


PAGE = {"graders": ["page_state"], "answer": None}
STATE = {"graders": [{"type": "state_diff", "source": {"js": "window.state"}}], "answer": None}

FOUND: list[tuple[str, str, dict[str, Any], str]] = [
    ("unresolved-placeholder", "error", {"start_url": "__SHOPPING__/"}, "start_url has '__SHOPPING__'"),
    ("unusable-row", "error", {"start_url": "{shopp}/"}, "'shopp' is not a site"),
    ("unresolved-placeholder", "warning", {"start_url": "http://x/{shopp}"}, "no site with that name"),
    ("plain-gold", "error", {"protected": True}, "its answer is in plain text"),
    ("expired-date", "warning", {"query": "Book a room for January 10, 2026.", **LIVE}, "2026-01-10 has"),
    ("expired-date", "warning", {"answer": "2025-12-31", "graders": matched("date"), **LIVE}, "'2025-12-31'"),
    ("underspecified-answer", "warning", {"answer": "5", "graders": matched()}, "'5' is so short"),
    ("underspecified-answer", "warning", {**PAGE, "checks": [{"text": "ok"}]}, "checks.0.text: 'ok' is so"),
]


def test_a_rule_finds(linted: Lint, subtests: pytest.Subtests) -> None:
    """Each rule finds its kind of row, with level, line and what to do; a sound row is left alone."""
    for rule, level, more, told in FOUND:
        with subtests.test(rule=rule, level=level, more=more):
            sound = row(query_id="sound")
            findings = linted(sound, row(**more))
            assert [f.query_id for f in findings if f.query_id == "sound"] == []
            found = [f for f in findings if f.rule == rule]
            assert [f.level for f in found] == [level]
            assert found[0].where == "rows.jsonl:2"
            assert told in found[0].message
            assert found[0].advice.endswith((".", ")", "}"))


def test_sound_rows_have_no_findings(linted: Lint) -> None:
    """Dates to come, years that the goal names, sites and words inside of other words are all right."""
    assert (
        linted(
            row(query="Book a room for April 3, 2026."),
            row(
                query_id="b",
                query="Who won the latest cup, that of 2025?",
                answer="Ann in 2025",
                graders=matched(),
            ),
            row(query_id="c", query="Is the ball in the manual 2024-13-45 or in 1/2?"),
            row(query_id="d", query="What is on 2027-01-01?", answer="25", graders=matched("number")),
            row(query_id="f", **STATE | {"checks": [{"path": "cart[0].id", "equals": 7}]}),
        )
        == ()
    )


def test_a_clock_says_what_has_passed(linted: Lint) -> None:
    """The day of a row is that of its page; the advice names the key."""
    dated = row(query="Book a room for January 10, 2026.", **LIVE)
    (found,) = linted(dated)
    assert "give the row a `clock`" in found.advice
    assert linted({**dated, "clock": "2026-01-09T09:00"}) == ()
    assert linted(dated, clock="2026-01-09T09:00") == ()
    assert [one.rule for one in linted({**dated, "clock": "2026-01-11T09:00"})] == ["expired-date"]


def test_sites_of_the_config_have_a_date_of_their_own(linted: Lint) -> None:
    """What would be stale on a live site is a note on one that never changes."""
    check = {"path": "day", "equals": "2026-02-01"}
    findings = linted(row(**STATE | {"query": "Book a table for me.", "checks": [check]}))
    assert [(f.rule, f.level) for f in findings] == [("expired-date", Level.NOTE)]


def test_answers_of_protected_rows_are_never_told(linted: Lint) -> None:
    """A finding about a protected row names the key and keeps its value hidden."""
    secret = row(protected=True, query="What is the latest?", answer="1999-01-07 and 1998", graders=matched())
    findings = linted(secret)
    assert {"expired-date", "plain-gold"} <= {f.rule for f in findings}
    assert not any("1999" in str(f) or "1998" in str(f) for f in findings)
    unusable = linted({**secret, "graders": matched("number")})
    assert UNUSABLE in {f.rule for f in unusable}
    assert not any("1999" in str(f) for f in unusable)


GOLD = "Quetzaltenango"


def test_keys_of_protected_rows_are_not_told_either(linted: Lint) -> None:
    """A key of the answer may be the answer."""
    graders = [{"type": "state_diff", "source": {"js": "window.state"}}]
    for protected in (False, True):
        found = linted(row(graders=graders, protected=protected, answer={GOLD: "2019-01-02"}, **LIVE))
        told = [str(f) for f in found if f.rule == "expired-date"]
        assert told
        assert any(GOLD.casefold() in text.casefold() for text in told) is not protected, told


def test_all_load_errors_are_told(linted: Lint) -> None:
    """Every row that cannot be used is told, also beyond the five that a message shows."""
    wrong = [row(query_id=f"w{n}", graders=["answr"]) for n in range(7)]
    lacks = row(query_id="lacks", graders=[])
    findings = linted(*wrong, lacks, row(query_id="odd", querry=1), row(query_id="none", query=""))
    assert [(f.rule, f.where) for f in findings] == [(UNUSABLE, f"rows.jsonl:{n}") for n in range(1, 11)]
    assert {f.level for f in findings} == {Level.ERROR}
    assert "Did you mean 'answer'?" in findings[0].advice + findings[0].message


def test_files_that_cannot_be_listed(linted: Lint, subtests: pytest.Subtests) -> None:
    """All problems of a file become findings, not its first five."""
    cases = (
        ([json.dumps(row()), json.dumps(row())], 1),
        (["{", json.dumps(row()), "[1]", "{}"], 3),
        ([""], 1),
        ([json.dumps({**row(), "query_id": n}) for n in range(8)], 8),
    )
    for lines, count in cases:
        with subtests.test(count=count):
            assert [f.rule for f in linted(*lines)] == [UNUSABLE] * count


def test_dependencies_and_graders_that_cannot_judge(linted: Lint) -> None:
    """A row that depends on one that is not there, and one whose grader lacks its reference, are told."""
    bare = row(query_id="bare", answer=None)
    findings = linted(row(depends_on=["cup"]), bare, row(query_id="cups"))
    assert [(f.query_id, f.where) for f in findings] == [("bare", "rows.jsonl:2"), ("mug", "rows.jsonl")]
    assert "Did you mean 'cups'?" in str(findings[1])
    chosen = [{"type": "jsonl", "path": "rows.jsonl", "select": {"ids": ["mug"]}}]
    assert linted(row(depends_on=["cup"]), row(query_id="cup"), dataset=chosen) == ()
