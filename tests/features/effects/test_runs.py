"""What runs of each kind keep of side effects: replayed, interrupted, made in rounds, exported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls, done
from pytest_browsereval.testing.evals import EvalRun
from tests.browsers.conftest import chromium
from tests.features.effects.plays import ORDER, list_side_effects, play, row, said_by
from tests.hooks.small_evals import Evals

__all__ = ["chromium"]

ROWS = [row("order", "Order", effects=ORDER), row("cancels", "Order", "Cancel", effects=ORDER)]
CANCELLED = ["orders 7: status was changed"]


def count_kept(run: EvalRun) -> dict[str, list[int]]:
    """Return how many differences attempts have kept, by row; one that was interrupted has no metadata."""
    found: dict[str, list[int]] = {}
    for metadata in sorted(run.folder.rglob("metadata.json")):
        file = metadata.with_name("effects.json")
        kept = json.loads(file.read_text())["sites"]["shop"]["differences"]
        found.setdefault(file.relative_to(run.folder / "tasks").parts[0], []).append(len(kept))
    return found


def plays(request: ModelRequest) -> Reply:
    """Click the buttons that the query names, one after another."""
    turn = sum(message["role"] == "assistant" for message in request.messages)
    names = ["Order", "Cancel"] if "Order and cancel" in request.text else ["Order"]
    if turn == len(names):
        return done("Done.")
    wait = call("wait_for_text", text=f"Done: {names[turn]}")
    return calls(call("click", target=f'role=button[name="{names[turn]}"]'), wait)


@pytest.mark.slow
def test_a_replay_reads_the_state_anew(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The site runs as in any run, so that a row which was corrected since is judged by what it does now."""
    monkeypatch.setenv("AGENT_KEY", "sk-agent-0123456789")
    rows = [ROWS[0], {**ROWS[1], "query": "Order and cancel."}]
    agent: dict[str, Any] = {"type": "single", "api_key": "AGENT_KEY", "model": "scripted"}
    with ScriptedModel(plays) as server:
        agent["base_url"] = server.base_url
        recorded = play(evals, *rows, agent=agent, args=("--eval-llm=record",))
        assert not server.problems
    monkeypatch.delenv("AGENT_KEY")
    replayed = play(evals, *rows, agent=agent, args=("--eval-llm=replay",))
    for run in (recorded, replayed):
        run.assert_outcomes(passed=1, failed=1)
        assert list_side_effects(run, "cancels") == CANCELLED
        assert count_kept(run) == {"order": [2], "cancels": [3]}
    assert replayed.attempt("order").replayed


@pytest.mark.slow
def test_workers_count_side_effects(evals: Evals) -> None:
    """The session that started them says the figures, its JUnit file each; resumes and regrades keep them."""
    run = play(evals, *ROWS, args=("-n2", "--junit-xml=junit.xml"))
    run.assert_outcomes(passed=1, failed=1)
    assert "side effects: in 1 of 2 judged trials (changed 1): cancels 1" in said_by(run)
    text = (evals.path / "junit.xml").read_text()
    assert text.count('name="side_effects" value="0"') == text.count('name="side_effects" value="1"') == 1
    for again in ("--eval-resume=latest", "--eval-regrade=latest"):
        play(evals, *ROWS, args=(again,)).assert_outcomes(passed=1, failed=1)


def test_parts_that_are_merged_are_counted_anew(evals: Evals) -> None:
    """The merged run says the figures of all its parts, and has what they stored."""
    for part in ("1/2", "2/2"):
        play(evals, *ROWS, args=(f"--eval-shard={part}", "--eval-output=parts"))
    merged = evals.run_command("merge", *map(str, (evals.path / "parts/shop").glob("*")), "-o", "merged")
    assert "side effects: in 1 of 2 judged trials (changed 1): cancels 1" in said_by(merged)
    (summary,) = (evals.path / "merged").rglob("summary.json")
    assert json.loads(summary.read_text())["side_effects"]["by_row"] == {"cancels": 1}
    stored = [json.loads(one.read_text()) for one in (evals.path / "merged").rglob("effects.json")]
    assert sorted(len(one["sites"]["shop"]["differences"]) for one in stored) == [2, 3]


def test_exports_have_no_values_of_the_state(evals: Evals, subtests: pytest.Subtests) -> None:
    """They say which columns were changed."""
    run = play(evals, row("cancels", "Cancel", effects="nothing"))
    for kind in ("csv", "parquet", "atif", "baseline"):
        with subtests.test(kind):
            target = evals.path / (f"{kind}.json" if kind == "baseline" else kind)
            said = evals.run_command("export", str(run.folder), "--to", kind, "-o", str(target))
            assert said.ret == 0, said_by(said)
            texts = [one.read_bytes() for one in (target, *target.rglob("*")) if one.is_file()]
            assert texts
            assert not any(b"cancelled" in text for text in texts)
