"""What an evaluation takes out of every text: the secrets of its config and those of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import SecretStr

from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.new_trials import NewTrials
from pytest_browsereval.run.store import RunStore


class Locked(GraderConfig):
    """A grader with a key of its own."""

    type: Literal["acme/locked"] = "acme/locked"
    key: SecretStr

    def secrets(self) -> tuple[str, ...]:
        return (self.key.get_secret_value(),)

    async def grade(self, recorded: Recorded) -> GraderResult:
        raise NotImplementedError


@pytest.fixture
def active_run(tmp_path: Path) -> ActiveRun:
    (tmp_path / "shop.eval.yaml").write_text("agent: noop\ndataset: rows.jsonl\n")
    registry = builtin_registry()
    config = load_config(tmp_path / "shop.eval.yaml", registry=registry)
    return ActiveRun(config=config, registry=registry, store=RunStore(tmp_path / "run"), source=NewTrials)


def test_each_row_adds_its_secrets(active_run: ActiveRun) -> None:
    """Those of a later row do not take the place of an earlier row's, whatever their order."""
    for key in ("key-of-the-first", "key-of-the-second", "key-of-the-first"):
        active_run.hide([Locked(key=SecretStr(key))])
        assert key not in active_run.redact(f"it is {key}")
    text = active_run.redact("key-of-the-first and key-of-the-second")
    assert "key-of" not in text
    assert active_run.redact("no key") == "no key"
