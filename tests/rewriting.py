"""Has each module's asserts rewritten by one worker of the whole suite, not by all of them at once.

In a fresh clone nothing is compiled, and the workers import the same files in the same order.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

ROOT = Path(__file__).parents[1]


def rewrite_part(config: pytest.Config, part: int, parts: int) -> None:
    """Write the bytecode of every ``parts``-th module, from number ``part`` on, unless it is there."""
    state = config.stash.get(rewrite.assertstate_key, None)
    if sys.dont_write_bytecode or state is None:
        return
    tests = [file for file in (ROOT / "tests").rglob("*.py") if file.name.startswith(("test_", "conftest"))]
    files = sorted([*tests, *(ROOT / "pytest_browsereval").rglob("*.py")])
    for file in files[part::parts]:
        folder = rewrite.get_cache_dir(file)
        target = folder / f"{file.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(file, target) is None and rewrite.try_makedirs(folder):
            source, code = rewrite._rewrite_test(file, config)
            rewrite._write_pyc(state, code, source, target)
