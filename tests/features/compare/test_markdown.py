"""Two runs side by side as Markdown."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_browsereval.features.compare.markdown import LONGEST, markdown
from tests.features.compare.test_compare import two
from tests.recorded import ERRORED, FAILED, PASSED, attempt

HOSTILE = "<img src=x> | [a](http://x) `b` @team www.x.y\x1b[31m\n# no"


def test_markdown_is_fit_for_a_comment(tmp_path: Path) -> None:
    """What matters most first; text of rows and pages is text: no HTML, link, mention or further column."""
    a = [attempt(f"{n:03} {HOSTILE}", PASSED if n < 45 else FAILED) for n in range(50)]
    b = [attempt(f"{n:03} {HOSTILE}", FAILED if n < 45 else PASSED, reason=HOSTILE * 3) for n in range(50)]
    shown = markdown(two(tmp_path, a, b))
    assert shown.startswith("### Compared: B is worse: -80.0 points")
    assert shown.index("**Lost (45)**") < shown.index("<details><summary>Gained (5)</summary>")
    assert "and 15 more; the JSON report has them all" in shown
    (row,) = [line for line in shown.splitlines() if line.startswith("| 007 ")]
    assert row.count(" | ") == 3
    assert "&lt;img src=x&gt; \\| \\[a\\](http\\://x) \\`b\\` @<!-- -->team www\\.x.y" in row
    assert "\x1b" not in shown
    assert "<img" not in shown


def test_markdown_is_never_too_long(tmp_path: Path) -> None:
    """Sections that no longer fit are counted, whatever there is to tell."""
    name, why = "x" * 50 + "é" * 50, "|<>" * 60
    kinds = [(PASSED, FAILED), (FAILED, PASSED), (PASSED, ERRORED), (ERRORED, PASSED), (ERRORED, ERRORED)]
    a, b = (
        [
            attempt(f"{kind}{n}{name}", verdicts[side], reason=why, variant=f"v{v}")
            for kind, verdicts in enumerate(kinds)
            for n in range(10)
            for v in range(4)
        ]
        for side in (0, 1)
    )
    shown = markdown(two(tmp_path, a, b))
    assert len(shown) < LONGEST + 200
    assert re.search(r"\d more sections are left out; the JSON report has all\.\n$", shown)
