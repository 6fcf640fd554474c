"""The quickstart's sites, without a browser: what makes each run of them alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"


def site_files(suffix: str) -> list[Path]:
    return sorted((QUICKSTART / "sites").rglob(f"*{suffix}"))


@pytest.mark.parametrize("shared", ["frozen.js", "markup.js"])
def test_shared_scripts_are_copies(shared: str) -> None:
    """Sites are served apart, so each has its copy of a shared script, and the copies are the same."""
    copies = [path for path in site_files(".js") if path.name == shared]
    assert len(copies) >= 2
    assert len({path.read_bytes() for path in copies}) == 1


def test_pages_freeze_the_clock_first(subtests: pytest.Subtests) -> None:
    """A page's first script is ``frozen.js``, and every file that it names lies beside it."""
    for page in site_files(".html"):
        with subtests.test(page=page):
            text = page.read_text(encoding="utf-8")
            assert re.findall(r'<script src="([^"]+)"', text)[0] == "frozen.js"
            named = re.findall(r'(?:src|href)="([^"]+)"', text)
            assert [name for name in named if not (page.parent / name).is_file()] == []


def test_sites_need_no_network() -> None:
    """No file of a site names an address, but for the name of the SVG vocabulary."""
    for path in (*site_files(".html"), *site_files(".js"), *site_files(".css"), *site_files(".svg")):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|//cdn", text), path
