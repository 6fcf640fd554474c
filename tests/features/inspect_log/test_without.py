"""Without Inspect, or with an old one, the command says what to install."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.features.inspect_log import package
from tests.exported import mixed_run

__all__ = ["mixed_run"]


@pytest.mark.parametrize(
    "case", [(None, "need an extra"), ("0.3.100", "is too old: 0.3.285 is")], ids=["missing", "old"]
)
def test_what_is_missing_is_said(
    case: tuple[str | None, str],
    mixed_run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Before anything is written."""
    version, told = case

    def find(_: str) -> str:
        if version is None:
            raise PackageNotFoundError
        return version

    monkeypatch.setattr(package, "version", find)
    assert main(["export", str(mixed_run), "--to=inspect", "-o", str(tmp_path / "logs")]) == 4
    error = capsys.readouterr().err
    assert told in error
    assert "Run `pip install 'pytest-browsereval[inspect]'`" in error
    assert not list(tmp_path.iterdir())
