from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.config_text import DocumentError
from pytest_browsereval.datasets.rows import refuse_unreadable
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.features.shared.row_source import read_table, state_of


def test_rows_of_a_table_have_their_lines() -> None:
    """A cell may hold line ends, and blank rows count as lines but not as rows."""
    text = '\nid,text\na,"two\nlines"\n\n,\nb,one\n'
    assert read_table(text, ",") == (
        ["id", "text"],
        [(3, {"id": "a", "text": "two\nlines"}), (7, {"id": "b", "text": "one"})],
    )
    assert read_table("", ",") == ([], [])


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a,b\n1,2\n\n1,2,3\n", "the row has 3 cells, the header 2. Quote cells that hold ','.", 4),
        ("a,a\n", "two columns are named 'a'. Rename one.", 1),
        ('a\n"b\n', "not CSV: unexpected end of data.", 2),
    ],
)
def test_a_broken_table_is_refused(text: str, message: str, line: int) -> None:
    """The message says what is wrong, and in which line."""
    with pytest.raises(DocumentError) as caught:
        read_table(text, ",")
    assert (str(caught.value), caught.value.line) == (message, line)


def test_errors_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors while a file is read name the file, and the line if there is one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=r"^a.csv:3: broken$"), refuse_unreadable(tmp_path / "a.csv"):
        raise DocumentError("broken", 3)
    with pytest.raises(DatasetError, match=r"^a.csv: no such file\.$"), refuse_unreadable(tmp_path / "a.csv"):
        state_of(tmp_path / "a.csv")
