"""Without Inspect the command says what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.features.inspect_log import package
from tests.exported import mixed_run

__all__ = ["mixed_run"]


def test_what_is_missing_is_said(
    mixed_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Before anything is written."""
    monkeypatch.setattr(package, "find_spec", lambda _: None)
    assert main(["export", str(mixed_run), "--to=inspect", "-o", str(tmp_path / "logs")]) == 4
    error = capsys.readouterr().err
    assert "need an extra" in error
    assert "Run `pip install 'pytest-browsereval[inspect]'`" in error
    assert not list(tmp_path.iterdir())
