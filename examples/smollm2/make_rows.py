"""Writes ``rows.jsonl``: five pages, five seeds each, with what the page asks as the row's query.

The line that asks and the panel with the score are taken off the page: a small model mixes them up.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PAGES = ("click-test", "click-button", "click-link", "click-dialog-2", "click-test-2")
SEEDS = 5
LONGEST_MS = 1_000_000
ASKS = "core.getUtterance()"
TIDY = (
    "document.querySelectorAll('#query, #reward-display label').forEach((each) => each.remove()); "
    "document.querySelector('#reward-display').hidden = true"
)


def start(seed: int) -> str:
    """Return the script that starts an episode, with a limit that no slow machine reaches."""
    return f"Math.seedrandom({seed}); core.EPISODE_MAX_TIME = {LONGEST_MS}; core.startEpisodeReal()"


def row(page: Page, folder: Path, name: str, seed: int) -> dict[str, object]:
    """Return a row; the page is opened to be asked."""
    page.goto((folder / f"{name}.html").as_uri())
    page.evaluate(start(seed))
    return {
        "query_id": f"{name}-{seed}",
        "dataset": "miniwob",
        "query": page.evaluate(ASKS),
        "start_url": f"{{miniwob}}/miniwob/{name}.html",
        "setup_script": f"{start(seed)}; {TIDY}",
        "tags": [name],
    }


def main() -> None:
    """Open every page with every seed."""
    spec = find_spec("miniwob")
    assert spec
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "html" / "miniwob"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("BROWSEREVAL_BROWSER"))
        page = browser.new_page(locale="en-US", timezone_id="UTC")
        rows = [row(page, folder, name, seed) for seed in range(1, SEEDS + 1) for name in PAGES]
        browser.close()
    text = "".join(json.dumps(each) + "\n" for each in rows)
    Path(__file__).with_name("rows.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
