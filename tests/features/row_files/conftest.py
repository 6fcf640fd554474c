"""The files of datasets."""

from __future__ import annotations

from tests.datasets.conftest import write

__all__ = ["write"]
