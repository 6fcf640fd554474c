"""Editors accept every config and every row of the examples and of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from pytest_browsereval.config_text import DocumentError, parse
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.browseros.reader import BrowserOSReader
from pytest_browsereval.features.shared.config_schema import config_schema
from pytest_browsereval.features.shared.row_schema import row_schema
from pytest_browsereval.registry import Registry

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *EXAMPLES.glob("**/*.md")]
FENCE = re.compile(r"^ *```(yaml|json|toml)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def registry() -> Registry:
    """The built-in members and those of the example of a plug-in."""
    registry = builtin_registry()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES / "acme_plugin")
        import acme_plugin  # type: ignore[import-not-found, unused-ignore]

        acme_plugin.pytest_browsereval_register(registry)
    return registry


def names_others(block: str, registry: Registry) -> bool:
    """Return True if a block of a page names a member of a package that is not here."""
    known = {name for _, name in registry.names()}
    return any(name not in known for name in re.findall(r"\btype\W+([a-z]\w*/\w+)", block))


def read_blocks(registry: Registry) -> Iterator[tuple[str, Any]]:
    """Yield each block of keys of examples and pages, with its place."""
    others = {"results", "cluster"}  # of whoever has tried them; what Kubernetes reads
    files = (path for path in EXAMPLES.rglob("*") if not others & set(path.relative_to(EXAMPLES).parts))
    for file in sorted(files):
        if file.suffix in (".yaml", ".json", ".toml"):
            yield str(file.relative_to(ROOT)), parse(file.read_text(encoding="utf-8"), file.suffix).value
        elif file.suffix == ".jsonl":
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                yield f"{file.relative_to(ROOT)}:{number}", parse(line, ".json").value
    for page in PAGES:
        for number, (kind, text) in enumerate(FENCE.findall(page.read_text(encoding="utf-8")), 1):
            for block in text.splitlines() if kind == "json" else [text]:
                if names_others(block, registry):
                    continue
                try:
                    value = parse(block, f".{kind}").value
                except DocumentError:
                    continue  # a part of a file
                yield f"{page.relative_to(ROOT)}, block {number}", value


def list_problems(registry: Registry, schema: dict[str, Any], *keys: set[str]) -> tuple[int, list[str]]:
    """Return how many blocks have one of these sets of keys, and what is wrong with them."""
    check = Draft202012Validator(schema)
    blocks = [
        (place, value)
        for place, value in read_blocks(registry)
        if isinstance(value, dict)
        and any(some <= value.keys() for some in keys)
        and not BrowserOSReader().recognises(value)
    ]
    found = ((place, best_match(check.iter_errors(value))) for place, value in blocks)
    return len(blocks), [f"{place}: {error.json_path}: {error.message}" for place, error in found if error]


def test_configs_are_accepted(registry: Registry) -> None:
    """Those of plug-ins too, but for files of BrowserOS, which only the loader knows."""
    count, wrong = list_problems(
        registry, config_schema(registry), {"agent", "dataset"}, {"variants", "dataset"}
    )
    assert wrong == []
    assert count > 11


def test_rows_are_accepted(registry: Registry) -> None:
    """All rows of the examples and of the pages."""
    count, wrong = list_problems(registry, row_schema(registry), {"query_id", "query"})
    assert wrong == []
    assert count > 100
