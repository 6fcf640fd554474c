"""Tasks by variant on a run's page: the cells follow what is chosen, and lead to trials."""

from __future__ import annotations

from pathlib import Path

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from tests.features.shared.viewer.conftest import CANARY, Look, Reader
from tests.labelled import grade, graded, write_run
from tests.recorded import FAILED, PASSED

LINES = "(lines) => lines.map((line) => [...line.cells].map((cell) => cell.innerText.trim()))"


async def lines_of(reader: Reader) -> list[list[str]]:
    lines: list[list[str]] = await reader.page.locator("#by-variant-table tr").evaluate_all(LINES)
    return lines


def test_a_line_for_each_task(tmp_path: Path, look: Look) -> None:
    """Cells have verdicts or shares of judged trials, in the config's order; a cell opens the worst trial."""
    store = write_run(
        tmp_path / "run",
        graded("good", grade("state"), variant="a"),
        graded("good", grade("state"), variant="b", cost_usd=0.5),
        graded(CANARY, grade("state"), variant="a"),
        *(graded("many", grade("state", v), variant="b", trial=n) for n, v in enumerate((PASSED, FAILED), 1)),
        graded("many", variant="b", trial=3, error_source=ErrorSource.SITE),
    )
    variants = {name: {"type": "scripted"} for name in "ba"}
    store.write_manifest({"name": "shop", "config": {"variants": variants}})

    async def work(reader: Reader) -> None:
        await reader.page.set_viewport_size({"width": 1280, "height": 900})
        await reader.open()
        found = await lines_of(reader)
        box = await reader.page.locator("#by-variant-table tbody tr").first.bounding_box()
        assert box is not None
        assert box["y"] < 400  # of 1280 by 900; many menus wait below *More filters*
        assert await reader.page.locator("#facets select").count() > 3
        assert await reader.page.locator("#facets").is_hidden()
        assert found[:2] == [["Task", "b", "a"], ["many", "! 1/2, 1 errored", "not run"]]
        good, other = sorted(found[2:4], key=lambda line: line[0] != "good")
        assert good == ["good", "✓ passed", "✓ passed"]
        assert other[1:] == ["not run", "✓ passed"]
        assert found[4:] == [
            ["Passed", "2/3, 1 errored", "2/2"],
            ["Mean steps", "3.0", "3.0"],
            ["Mean time", "2.0 s", "2.0 s"],
            ["Cost", "$0.500", "$0"],
        ]
        await reader.page.locator("#by-variant-table a", has_text="1/2").click()
        await reader.sees("#attempt-name", "many (b, trial 3)")
        await reader.open("#?verdict=failed")  # the other verdicts of a task are of it too
        assert (await lines_of(reader))[1] == found[1]
        await reader.open("#?q=good")
        assert [line[0] for line in await lines_of(reader)][:2] == ["Task", "good"]
        await reader.open("#?variant=a")
        assert await reader.page.locator("#by-variant").is_hidden()

    look(write_viewer(open_door(), store.root).file, work)


def test_many_tasks_and_variants(tmp_path: Path, look: Look) -> None:
    """Tasks beyond ten are shown when asked for; on a phone the table scrolls and the page does not."""
    names = [f"variant-{n}-with-a-long-name" for n in range(8)]
    trials = (graded(f"task-{n}-{'x' * 60}", grade("state"), variant=v) for n in range(12) for v in names)
    store = write_run(tmp_path / "run", *trials)

    async def work(reader: Reader) -> None:
        await reader.page.set_viewport_size({"width": 400, "height": 800})
        await reader.open()
        assert await reader.page.locator("#by-variant-table tbody tr").count() == 10
        await reader.page.get_by_text("Show 2 more tasks").click()
        assert await reader.page.locator("#by-variant-table tbody tr").count() == 12
        assert await reader.page.get_by_text("more task").is_hidden()
        assert await reader.page.evaluate("document.documentElement.scrollWidth") == 400

    look(write_viewer(open_door(), store.root).file, work)
