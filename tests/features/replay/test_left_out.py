"""A run without the feature that records and replays."""

from __future__ import annotations

import json

import pytest

from tests.hooks.small_evals import Evals, row


def test_a_run_without_the_feature(evals: Evals) -> None:
    """Its calls are live, and a config that wants pages from a recording is an error of usage."""
    result = evals.play([row("a")], "-p", "no:browsereval.replay")
    assert result.ret == pytest.ExitCode.OK
    assert json.loads((result.folder / "manifest.json").read_text())["model_calls"] == "live"
    for har in ("replay", "record", "auto"):
        keys = {"browser": "playwright", "capture": {"har": har}}
        result = evals.play([row("a")], "-p", "no:browsereval.replay", **keys)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert f"'{har}' needs the feature `replay`, which is left out here" in result.stderr.str()
