"""Documents of ATIF as the models of others read them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.exported import example_run, mixed_run
from tests.features.atif.hostile import hostile_run
from tests.features.atif.test_export import export

__all__ = ["example_run", "hostile_run", "mixed_run"]

pytestmark = pytest.mark.interop

MODELS = ("nat.atif", "harbor.models.trajectories")


def check(documents: list[Path]) -> None:
    assert documents
    for name in MODELS:
        model: Any = importlib.import_module(name).Trajectory
        for file in documents:
            found = model.model_validate_json(file.read_bytes())
            # What the laxer of the two takes without.
            assert found.steps
            for step in file.read_text().split('"step_id"')[1:]:
                assert '"message"' in step


@pytest.mark.parametrize("name", ["mixed_run", "hostile_run"])
def test_documents_are_valid(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """By the models of NVIDIA's toolkit and of Harbor, whatever a page or a model has said."""
    check(export(request.getfixturevalue(name), tmp_path))


def test_documents_of_examples_are_valid(example_run: Path, tmp_path: Path) -> None:
    """With the pictures of a real browser; Harbor's validator looks for the files."""
    documents = export(example_run, tmp_path)
    check(documents)
    validator = importlib.import_module("harbor.utils.trajectory_validator").TrajectoryValidator
    for file in documents:
        one = validator()
        assert one.validate(file), one.errors
