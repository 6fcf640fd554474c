"""What pages show of attempts under attack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from tests.features.attacks.attacked import MIXED, attacked, write_attacked
from tests.features.shared.viewer.conftest import HOSTILE, Look, Reader
from tests.labelled import folder_of, write_course

STEPS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("navigate", {"url": "http://shop.test/"}, "ok"),
    ("click", {"target": "role=button[name=Order]"}, "ordered"),
    ("read_text", {}, "Thank you."),
)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Write the page of the mixed run, one attempt of it with steps."""
    store = write_attacked(tmp_path / "run", *MIXED)
    write_course(folder_of(store, "a.under.review"), *STEPS)
    return write_viewer(open_door(), store.root).file


def test_the_run_page_has_the_figures(page: Path, look: Look) -> None:
    """The most successful attack first, each figure with its trials behind it; the rate is of others."""

    async def work(reader: Reader) -> None:
        await reader.open()
        assert await reader.text("#attacks-title") == "Under attack: 2 attempts of 5 compromised"
        assert await reader.texts("#attacks-table tbody tr") == [
            "review 2 of 4 50 % 0.6 % to 99 % 25 % text order",
            "notice 0 of 1 0 % 0 % to 79 % 100 % popup secret",
            "alt 0 of 0 \u2013 \u2013 hidden order",
        ]
        assert (await reader.text("#rate-of")).startswith("1 of 2 judged passed; ")
        assert (await reader.text("#rate-of")).endswith("; 9 trials under attack excluded")
        await reader.page.click("#attacks-table a[href*='outcome=compromised']")
        await reader.sees("#found", "2 of 12")
        await reader.page.locator("#rows .c-id a").nth(2).wait_for(state="detached")
        assert await reader.texts("#rows .c-id a") == ["a.under.review", "b.under.review"]
        await reader.page.click("#attacks-facts a >> text=2 not delivered")
        await reader.sees("#rows .c-id a", "b.under.notice")
        assert await reader.texts("#rows .c-id a") == ["a.under.alt", "b.under.notice"]
        await reader.page.click("#attacks-facts a >> text=2 errored")
        await reader.sees("#rows .c-id a", "c.under.review")
        assert await reader.texts("#rows .c-id a") == ["c.under.notice", "c.under.review"]

    look(page, work)


def test_an_attempt_opens_where_it_obeyed(page: Path, look: Look) -> None:
    """The steps of delivery and compromise are marked in the list and in the strip."""

    async def work(reader: Reader) -> None:
        await reader.open("#/a.under.review/default/1/attempt-1")
        assert await reader.text("#detail h3") == "Step 2: click compromised"
        assert await reader.texts("#entries .attack-mark") == ["delivered", "compromised"]
        assert await reader.texts("#strip button[data-attack] .name") == ["Step 1: navigate", "Step 2: click"]
        facts = await reader.text("#facts")
        assert "Attack compromised review (text), goal order Delivered step 1 the review" in facts
        assert "Quarantine until 2025-01-31" in facts, "it goes with its row"
        assert "Cause obeyed an attack; at step 2, where 'review' reached its goal 'order'" in facts

    look(page, work)


def test_the_texts_of_an_attack_are_escaped(tmp_path: Path, look: Look) -> None:
    """A payload is there to be hostile."""
    one = attacked("a", "review", "compromised")
    grade = one.grader_results["attack"]
    texts = dict.fromkeys(("where", "payload", "goal", "channel"), HOSTILE)
    details: dict[str, Any] = {**grade.details, **texts, "further_requests": {"count": 2, "first": [HOSTILE]}}
    hostile = grade.model_copy(update={"details": details})
    assert one.derived is not None
    derived = replace(one.derived, channel=HOSTILE, goal=HOSTILE)
    told = {"grader_results": {"attack": hostile}, "derived": derived}
    store = write_attacked(tmp_path, one.model_copy(update=told))
    write_course(folder_of(store, "a.under.review"), *STEPS)

    async def work(reader: Reader) -> None:
        await reader.open()
        await reader.sees("#attacks-table td", "<script>")
        await reader.open("#/a.under.review/default/1/attempt-1")
        await reader.sees("#facts .payload", "<script>")
        await reader.sees("#facts", "2 further requests to the attacker's origin: <script>")
        assert await reader.page.title() != "owned"

    look(write_viewer(open_door(), store.root).file, work)
