"""What importing costs and needs."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_browsereval
from tests.test_layers import ROWS

MODULES = [
    module.name
    for module in pkgutil.walk_packages(pytest_browsereval.__path__, "pytest_browsereval.")
    if not module.name.endswith("__main__")
]

HEAVY = ("pydantic", "playwright", "openai", "yaml", "asyncio", "httpx", "PIL", "jmespath")

EACH_ALONE = """
import gc, os, sys
gc.disable()  # it would copy most of the memory into each fork
# What pytest needs is loaded once; each module is then imported in a fork of its own.
import asyncio, dateutil.parser, html, http.server, httpx, jmespath, pydantic, pytest, xdist.scheduler, yaml
failed = []
for row in sys.argv[1:]:
    names = row.split()
    for name in names:
        child = os.fork()
        if not child:
            try:
                __import__(name)
            except BaseException as error:
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            failed.append(name)
    for name in names:
        if not failed:
            __import__(name)
sys.exit(1 if failed else 0)
"""


def by_row() -> list[str]:
    """Return the modules of each row of the layers, lowest first.

    A row knows nothing of those above it: once each of its modules was imported alone, it may stay loaded.
    """
    rows: list[list[str]] = [[] for _ in ROWS]
    for name in MODULES:
        part = name.split(".")[1]
        rows[next(number for number, row in enumerate(ROWS) if part in row)].append(name)
    return [" ".join(row) for row in rows]


def python(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=cwd,
    )


@pytest.mark.slow
def test_each_module_imports_alone() -> None:
    """Every module can be the first one that is imported, with warnings as errors."""
    result = python("-c", EACH_ALONE, *by_row())
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_entry_point_is_light() -> None:
    """Loading the plugin loads neither pydantic nor a browser, a model client, YAML or asyncio."""
    code = f"import pytest_browsereval.plugin, sys; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    before = python("-c", f"import pytest, sys; print(*[m for m in {HEAVY!r} if m in sys.modules])")
    result = python("-c", code)
    assert result.returncode == 0, result.stderr
    assert set(result.stdout.split()) <= set(before.stdout.split())
    assert "pydantic" not in result.stdout.split()


def test_the_config_needs_no_browser_library() -> None:
    """Reading a config loads neither Playwright nor a model client."""
    code = "import pytest_browsereval.config, pytest_browsereval.door as m, sys; m.builtin_registry();"
    result = python("-c", code + "print(*[n for n in ('playwright', 'openai') if n in sys.modules])")
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == []


NAMED = """
import pytest, sys
pytest.main(["--co", "-q", "-p", "no:cacheprovider", "--eval-config=eval.json"])
ours = [name for name in sys.modules if name.startswith("pytest_browsereval.")]
unnamed = ("judging", ".datasets.web", "programs.agent", "computer_use", "yaml_text", "sites.static")
print([name for name in ours if any(part in name for part in unnamed)], len(ours) > 50)
"""


@pytest.mark.slow
def test_members_are_imported_when_they_are_named(tmp_path: Path) -> None:
    """A run of one grader does not pay for thirty, nor one of one agent for eight; JSON needs no YAML."""
    row = {"query_id": "a", "query": "b", "graders": ["answer"], "answer": "c"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    (tmp_path / "eval.json").write_text('{"agent": "noop", "dataset": "rows.jsonl"}')
    told = python("-W", "default", "-c", NAMED, cwd=tmp_path).stdout.splitlines()
    assert told[-1] == "[] True"
