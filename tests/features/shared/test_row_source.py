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


def test_errors_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors while a file is read name the file, and the line if there is one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=r"^a.csv:3: broken$"), refuse_unreadable(tmp_path / "a.csv"):
        raise DocumentError("broken", 3)
    with pytest.raises(DatasetError, match=r"^a.csv: no such file\.$"), refuse_unreadable(tmp_path / "a.csv"):
        state_of(tmp_path / "a.csv")
