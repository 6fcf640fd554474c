"""A run without the feature that records and replays."""

from __future__ import annotations

import json

import pytest

from tests.hooks.small_evals import Evals, row


@pytest.mark.parametrize("har", ["replay", "record", "auto"])
def test_a_recording_is_refused_without_the_feature(evals: Evals, har: str) -> None:
    """A config that wants pages from a recording is an error of usage, before a page is asked for."""
    result = evals.play([row("a")], "-p", "no:browsereval.replay", browser="playwright", capture={"har": har})
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"'{har}' needs the feature `replay`, which is left out here" in result.stderr.str()


def test_calls_are_live_without_the_feature(evals: Evals) -> None:
    """Without it a run goes on as with ``--eval-llm=live``, and says so in its manifest."""
    result = evals.play([row("a")], "-p", "no:browsereval.replay")
    assert result.ret == pytest.ExitCode.OK
    manifest = json.loads((result.folder / "manifest.json").read_text())
    assert manifest["model_calls"] == "live"
