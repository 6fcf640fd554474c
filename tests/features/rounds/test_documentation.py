"""What the documentation says of the sequential test is what was simulated."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs/explanation/sequential-test.md"


def _read_table(first: str) -> list[list[str]]:
    """Return the cells of the lines below the head of a table."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(first)
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _share(text: str) -> float:
    return float(text.removesuffix(" %")) / 100


def test_no_simulated_verdict_is_wrong_too_often() -> None:
    """Three kinds of rows at three rates: never more than 5 %, and what looks naively is more often wrong."""
    rows = _read_table("| rows | true rate | meets ")
    assert len(rows) == 9
    wrong, naive = ([_share(row[place]) for row in rows] for place in (5, 8))
    assert max(wrong) <= 0.05 < max(naive)
    for row in rows:
        assert abs(sum(map(_share, row[2:5])) - 1) < 0.002
        assert row[5] == (row[3] if float(row[1]) >= 0.8 else row[2])
