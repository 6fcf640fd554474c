"""The page of a failed attempt opens at its first wrong step; causes are a filter of the run's page."""

from __future__ import annotations

from pathlib import Path

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from tests.features.causes.played import click, done, fill, write_attempt, write_manifest
from tests.features.shared.viewer.conftest import CANARY, Look, Reader
from tests.recorded import FAILED, attempt

WAY = (fill("Name", "Ada"), click("Red mug", "link"), click("Buy"), done())


def test_it_opens_at_the_first_wrong_step(tmp_path: Path, look: Look) -> None:
    """Unless the address asks for another one; what pages and agents said is text there too."""
    run = tmp_path / "shop" / "20260101T000000Z-aaaaaa"
    write_manifest(run)
    wrong = (WAY[0], fill("Street", CANARY), *WAY[1:])
    write_attempt(run, (WAY[0], click(CANARY, "link"), WAY[2], done()), solution=WAY)
    write_attempt(run, wrong, attempt("sell", FAILED), solution=WAY)
    write_attempt(run, WAY, attempt("see"), solution=WAY)
    file = write_viewer(open_door(), run).file

    async def work(reader: Reader) -> None:
        await reader.open("#/buy/default/1/attempt-1")
        assert (await reader.text("#entries button[aria-current]")).startswith("2 click")
        facts = await reader.text("#facts")
        assert 'Cause likely wrong target; at step 2: clicks "<script>' in facts
        assert await reader.page.locator("#facts a", has_text="step 2").count() == 1
        await reader.open("#/buy/default/1/attempt-1/step-3")
        assert (await reader.text("#entries button[aria-current]")).startswith("3 click")
        await reader.open("#/see/default/1/attempt-1")
        assert (await reader.text("#entries button[aria-current]")).startswith("4 done")
        await reader.open("#?cause=likely+wrong+target")
        await reader.sees("#found", "1 of 3")

    look(file, work)
