"""Two runs side by side, as they are told."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_browsereval.features.compare.compare import RunComparison, compare
from pytest_browsereval.features.compare.report import make_report
from pytest_browsereval.features.shared import markdown
from pytest_browsereval.features.shared.report_text import draw_report
from pytest_browsereval.runs.run import StoredRun
from tests.features.compare.test_compare import run, two
from tests.recorded import ERRORED, FAILED, PASSED, attempt


def draw(found: RunComparison) -> list[str]:
    """Return the lines of a terminal."""
    return list(draw_report(make_report(found)))


def test_the_verdict_comes_first(tmp_path: Path) -> None:
    """Which is better and how sure, what that rests on, the figures, and then task by task."""
    a = [attempt(f"t{n}", FAILED if n < 8 else PASSED, cost_usd=0.01) for n in range(12)]
    b = [attempt(f"t{n}", FAILED if n == 11 else PASSED, cost_usd=0.02) for n in range(12)]
    lines = draw(two(tmp_path, [*a, attempt("e")], [*b, attempt("e", ERRORED)]))
    assert lines[0].startswith("B is better: +58.3 points (95 % ")
    assert lines[1].endswith("/a (baseline)")
    told = " ".join(" ".join(lines).split())
    assert (
        "paired over 12 tasks judged in both: 8 gained, 1 lost, 3 alike; p 0.039 (McNemar's exact test)"
        in told
    )
    assert "interval of Bonett and Price" in told
    assert "of judged 5/13 11/12" in told
    assert "errored 0 of 13 1 of 13 +1, excluded from the pass rate" in told
    assert "cost per trial $0.0100 $0.0200 +$0.0100" in told
    assert "tasks: 1 lost, 1 newly errored, 8 gained, 3 unchanged" in told
    assert told.index("lost (1) - t11: passed -> failed. t11 failed") < told.index("gained (8)")


def test_words_of_all_verdicts(tmp_path: Path) -> None:
    """Worse, not worse by more than the margin, inconclusive with what is needed, and nothing judged."""
    passed, failed = ([attempt(f"t{n}", v) for n in range(40)] for v in (PASSED, FAILED))
    errored = [attempt(f"t{n}", ERRORED) for n in range(40)]
    a, b = run(tmp_path / "a", *passed), run(tmp_path / "b", *failed)
    few, none = run(tmp_path / "c", *failed[:1], *passed[1:]), run(tmp_path / "d", *errored)

    def first(run_a: StoredRun, run_b: StoredRun, margin: float = 0.05) -> str:
        return make_report(compare(run_a, run_b, margin=margin)).title

    assert first(a, b).startswith("B is worse: -100.0 points (95 % ")
    assert first(a, few, 0.2).startswith("B is not worse than A by more than 20.0 points: -2.5 points (95 % ")
    assert re.match(r"inconclusive: -2\.5 points .*; about \d+ more tasks needed$", first(a, few, 0.05))
    assert first(a, none) == "inconclusive: no task was judged in both runs"


def test_bad_news_is_not_folded(tmp_path: Path) -> None:
    """Twenty tasks of a kind are listed; in a comment the lost ones are open, the gained ones folded."""
    kinds = [(f"{n:03}", PASSED if n < 45 else FAILED, FAILED if n < 45 else PASSED) for n in range(50)]
    found = two(tmp_path, [attempt(n, a) for n, a, _ in kinds], [attempt(n, b) for n, _, b in kinds])
    lines = draw(found)
    assert "lost (45)" in lines
    assert sum(line.startswith("- 0") for line in lines) == 20
    assert "and 25 more; --json FILE has them all" in lines
    shown = markdown.draw_report(make_report(found))
    assert shown.startswith("### B is worse: -80.0 points")
    assert shown.index("**lost (45)**") < shown.index("<details><summary>gained (5)</summary>")
    assert "| 007 | passed | failed | 007 failed |" in shown
