from __future__ import annotations

from pytest_browsereval.features.shared.row_source import read_table


def test_rows_of_a_table_have_their_lines() -> None:
    """A cell may hold line ends, and blank rows count as lines but not as rows."""
    text = '\nid,text\na,"two\nlines"\n\n,\nb,one\n'
    assert read_table(text, ",") == (
        ["id", "text"],
        [(3, {"id": "a", "text": "two\nlines"}), (7, {"id": "b", "text": "one"})],
    )
    assert read_table("", ",") == ([], [])
