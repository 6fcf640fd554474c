from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.datasets.jsonl import JsonLinesConfig


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes, str], Path]:
    """Writes a file into the test's folder and makes messages relative to it."""

    def write(content: str | bytes, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def jsonl(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Writes rows, or lines as they are, and returns the dataset."""
    monkeypatch.chdir(tmp_path)

    def make(*rows: dict[str, Any] | str, **options: Any) -> JsonLinesConfig:
        lines = [line if isinstance(line, str) else json.dumps(line) for line in rows]
        write("".join(f"{line}\n" for line in lines))
        return JsonLinesConfig.model_validate({"path": "rows.jsonl", **options})

    return make
