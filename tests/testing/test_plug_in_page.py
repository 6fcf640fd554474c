"""The first example of the page about tests of plug-ins, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/how-to/test-a-plug-in.md"


@pytest.mark.slow
def test_the_first_example_runs(pytester: pytest.Pytester) -> None:
    """Its three files, in a suite of their own."""
    (block,) = re.findall(
        r"^```python\n(# conftest\.py\n.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    files = re.split(r"^# (\w+)\.py.*\n", block, flags=re.MULTILINE)
    made = dict(zip(files[1::2], files[2::2], strict=True))
    assert list(made) == ["conftest", "acme_colour", "test_colour"]
    pytester.makepyfile(**made)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
    result.assert_outcomes(passed=1)
