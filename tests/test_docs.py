"""The documentation: links lead somewhere, and commands that it names are there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
    if "_build" not in page.parts
]
LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading)).lower() for heading in found)
    return {word.strip().replace(" ", "-") for word in words}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Every link into the repository names a file that is there, and a heading of it."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    wrong = []
    for link in LINK.findall(text):
        if "://" in link:
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def noxfile() -> ModuleType:
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_contributors_find_every_command() -> None:
    """CONTRIBUTING.md names each command of the noxfile but the one that another one calls, and no other."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`nox -s (\w+)", text))
    source = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert named == set(re.findall(r"^@nox\.session\ndef (\w+)", source, re.MULTILINE)) - {"report"}
    assert set(noxfile().nox.options.sessions) <= named
