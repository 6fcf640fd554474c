"""Two runs side by side, as they are told."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_browsereval.features.compare.compare import compare
from pytest_browsereval.features.compare.report import text
from pytest_browsereval.features.outcomes import RunOutcomes
from pytest_browsereval.model.display import width_of
from tests.features.compare.test_compare import run, two
from tests.recorded import ERRORED, FAILED, PASSED, attempt

HOSTILE = "<img src=x> | [a](http://x) `b` @team www.x.y\x1b[31m\n# no"


def test_the_verdict_comes_first(tmp_path: Path) -> None:
    """Which is better and how sure, what that rests on, the figures, and then task by task."""
    a = [attempt(f"t{n}", FAILED if n < 8 else PASSED, cost_usd=0.01) for n in range(12)]
    b = [attempt(f"t{n}", FAILED if n == 11 else PASSED, cost_usd=0.02) for n in range(12)]
    lines = list(text(two(tmp_path, [*a, attempt("e")], [*b, attempt("e", ERRORED)])))
    assert lines[0].endswith("/a  (baseline)")
    assert lines[3].startswith("B is better: +58.3 points (95 % ")
    told = " ".join(" ".join(lines).split())
    assert "paired over 12 tasks judged in both: 8 gained, 1 lost, 3 alike; McNemar's exact p 0.039" in told
    assert "bootstrap of tasks, 10,000 resamples, seed 0" in told
    assert "of judged 5/13 11/12" in told
    assert "errored 0 of 13 1 of 13 +1, in neither rate" in told
    assert "cost in all $0.1200 $0.2400 +$0.1200" in told
    assert "tasks: 1 lost, 1 newly errored, 8 gained, 3 unchanged" in told
    assert told.index("lost (1) - t11: passed -> failed. t11 failed") < told.index("gained (8)")


def test_costs_are_those_of_what_is_compared(tmp_path: Path) -> None:
    """Of two variants of a run, whatever a third one has cost; of which some is not known, what is known."""
    known = [attempt(n, variant=v, cost_usd=0.1) for n in "tu" for v in ("fn", "cdp")]
    both = run(tmp_path / "a", *known, *(attempt(n, variant="other", cost_usd=None) for n in "tu"))

    def tell_cost(a: RunOutcomes, b: RunOutcomes, variants: tuple[str, str] | None) -> str:
        lines = text(compare(a, b, variants=variants))
        return " ".join(next(line for line in lines if line.startswith("cost in all")).split())

    assert tell_cost(both, both, ("fn", "cdp")) == "cost in all $0.2000 $0.2000 +$0.0000"
    assert tell_cost(both, both, ("other", "fn")) == "cost in all unknown $0.2000"
    assert tell_cost(both, both, None) == "cost in all >= $0.4000 >= $0.4000"


def test_words_of_all_verdicts(tmp_path: Path) -> None:
    """Worse, not worse by more than the margin, cannot tell with what is needed, and nothing judged."""
    passed, failed = ([attempt(f"t{n}", v) for n in range(40)] for v in (PASSED, FAILED))
    errored = [attempt(f"t{n}", ERRORED) for n in range(40)]
    a, b = run(tmp_path / "a", *passed), run(tmp_path / "b", *failed)
    few, none = run(tmp_path / "c", *failed[:1], *passed[1:]), run(tmp_path / "d", *errored)

    def first(run_a: RunOutcomes, run_b: RunOutcomes, margin: float = 0.05) -> str:
        return list(text(compare(run_a, run_b, margin=margin)))[3]

    assert first(a, b).startswith("B is worse: -100.0 points (95 % ")
    assert first(a, few, 0.2).startswith("B is not worse than A by more than 20.0 points: -2.5 points (95 % ")
    assert re.match(r"cannot tell: -2\.5 points .*; about \d+ more tasks needed$", first(a, few, 0.05))
    assert first(a, none) == "cannot tell: no task was judged in both runs"


def test_long_lists_fit_the_terminal(tmp_path: Path) -> None:
    """Eighty columns whatever the names, ten tasks of a kind, and the rest counted; hostile text too."""
    names = [f"{n:03} {HOSTILE} {'wide 漢字 ' * 12}" for n in range(25)]
    a = [attempt(name, PASSED, variant=v, reason=HOSTILE) for name in names for v in ("x", "y")]
    b = [attempt(name, FAILED, variant=v, reason=HOSTILE) for name in names for v in ("x", "y")]
    lines = list(text(two(tmp_path, a, b)))
    assert max(width_of(line) for line in lines[2:]) <= 80
    assert "\x1b" not in "".join(lines)
    assert "lost (50)" in lines
    assert sum(line.startswith("- 0") for line in lines) == 10
    assert lines[-1] == "  and 40 more; --json FILE has them all"
