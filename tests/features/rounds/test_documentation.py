"""What the documentation says of the sequential test is what was simulated."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs/explanation/sequential-test.md"


def _read_table(first: str) -> list[list[str]]:
    """Return the cells of the lines below the head of a table."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(first)
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_no_simulated_verdict_is_wrong_too_often() -> None:
    """Never more than 5 % at three rates, and what looks naively is more often wrong."""
    rows = [[float(cell) for cell in row] for row in _read_table("| true rate | meets ")]
    assert len(rows) == 3
    assert max(row[4] for row in rows) <= 5 < max(row[7] for row in rows)
    for rate, meets, under, undecided, wrong, *_ in rows:
        assert abs(meets + under + undecided - 100) < 0.2
        assert wrong == (under if rate >= 0.8 else meets)
