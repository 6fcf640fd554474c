"""The table of tasks and variants: cells, order, and tables that fit."""

from __future__ import annotations

import pytest

from pytest_browsereval.model.display import width_of
from pytest_browsereval.report.table import MOST_ROWS
from pytest_browsereval.report.variants import draw_variants, has_variants
from tests.recorded import ERRORED, FAILED, PASSED, attempt, summary

pytestmark = pytest.mark.quick


def test_cells_have_verdicts_or_shares() -> None:
    """A cell has its trial's verdict, or how many judged trials passed; what was not run says so."""
    run = summary(
        attempt("good", variant="a"), attempt("good", variant="b"),
        attempt("bad", variant="b", verdict=FAILED),
        *(attempt("many", (PASSED, FAILED, PASSED)[n], variant="a", trial=n) for n in range(3)),
        *(attempt("many", (ERRORED, FAILED, PASSED)[n], variant="b", trial=n) for n in range(3)),
        *(attempt("none", ERRORED, variant=v, trial=n) for v in "ab" for n in range(2)),
    )  # fmt: skip
    assert has_variants(run)
    assert not has_variants(summary(attempt("a"), attempt("b")))
    lines = list(draw_variants(run, ["b", "a", "c"]))
    cells = {line.text[2:12].strip(): line.text[14:].split("  ") for line in lines}
    shown = {name: [cell.strip() for cell in own if cell] for name, own in cells.items()}
    assert shown == {
        "task": ["b", "a"],
        "many": ["1/2, 1 errored", "2/3"],
        "none": ["2 errored", "2 errored"],
        "bad": ["failed", "not run"],
        "good": ["passed", "passed"],
        "passed": ["2/4, 3 errored", "3/4, 2 errored"],
        "mean steps": ["3.0", "3.0"],
        "mean time": ["2.0 s", "2.0 s"],
    }
    assert [(line.text[0], line.verdict) for line in lines[1:5]] == [
        ("!", ERRORED),
        ("!", ERRORED),
        ("✗", FAILED),
        ("✓", PASSED),
    ]


def test_costs_are_shown_where_a_variant_has_one() -> None:
    """A cost that is unknown is not taken for none."""
    costs = {"a": 0.25, "b": None, "c": 0.0}
    run = summary(*(attempt("x", variant=name, cost_usd=cost) for name, cost in costs.items()))
    assert [line.text.split() for line in draw_variants(run)][-1] == ["cost", "$0.2500", "unknown", "$0.0000"]


def test_every_variant_is_shown_in_lines_that_fit() -> None:
    """Variants that do not fit next to each other go into tables below; long ids and names are cut."""
    for names in ([f"variant-{n}" for n in range(9)], ["x" * 200, "カート" * 40, "\x1b[31mred"]):
        ids = ("カート" * 30, "an-id-that-fits-into-no-column" * 5, "\x1b[2Jcleared")
        run = summary(*(attempt(id_, variant=name, trial=t) for id_ in ids for name in names for t in (1, 2)))
        for width in (80, 120):
            for ascii_only in (False, True):
                texts = [line.text for line in draw_variants(run, width=width, ascii_only=ascii_only)]
                assert max(map(width_of, texts)) <= width
                assert "".join(texts).isprintable()
                assert not ascii_only or "".join(texts).isascii()
                heads = [text for text in texts if text.startswith("  task ")]
                assert len(heads) > 1
                assert ascii_only or sum(len(head.split()) - 1 for head in heads) >= len(names)


def test_many_tasks_are_folded() -> None:
    """Beyond sixty tasks those that passed are counted, and bad ones beyond sixty too."""
    good = [attempt(f"good{n}", variant=v) for n in range(MOST_ROWS) for v in "ab"]
    bad = [attempt(f"bad{n}", FAILED, variant="a") for n in range(MOST_ROWS + 7)]
    texts = [line.text.strip() for line in draw_variants(summary(*good, bad[0]))]
    assert [text.split()[:2] for text in texts[1:3]] == [["✗", "bad0"], ["…", "60"]]
    texts = [line.text.strip() for line in draw_variants(summary(*good, *bad))]
    assert texts[MOST_ROWS + 1] == f"… {MOST_ROWS} tasks passed, 7 more with a failed or errored trial"
