"""What an evaluation takes out of every text: the secrets of its config and those of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import SecretStr

from pytest_browsereval.builtins import builtin_registry
from pytest_browsereval.config import load_config
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.run.evaluation import Evaluation


class Locked(GraderConfig):
    """A grader with a key of its own."""

    type: Literal["acme/locked"] = "acme/locked"
    key: SecretStr

    def secrets(self) -> tuple[str, ...]:
        return (self.key.get_secret_value(),)

    async def grade(self, recorded: Recorded) -> GraderResult:
        raise NotImplementedError


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    (tmp_path / "shop.eval.yaml").write_text("agent: noop\ndataset: rows.jsonl\n")
    registry = builtin_registry()
    return Evaluation(load_config(tmp_path / "shop.eval.yaml", registry=registry), registry, run_id="run")


def test_each_row_adds_its_secrets(evaluation: Evaluation) -> None:
    """Those of a later row do not take the place of an earlier row's, whatever their order."""
    for key in ("key-of-the-first", "key-of-the-second", "key-of-the-first"):
        evaluation.hide([Locked(key=SecretStr(key))])
        assert key not in evaluation.redact(f"it is {key}")
    text = evaluation.redact("key-of-the-first and key-of-the-second")
    assert "key-of" not in text
    assert evaluation.redact("no key") == "no key"
