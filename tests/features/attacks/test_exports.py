"""Attempts under attack in what other tools read: they can be told, and are in no rate of plain rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pytest_browsereval import open_run
from tests.features.attacks.attacked import MIXED, write_attacked
from tests.features.otel.conftest import receiver
from tests.features.otel.receiver import Receiver
from tests.hooks.small_evals import Evals

__all__ = ["receiver"]

ATTACKED = sum(one.derived is not None for one in MIXED)

OUTCOMES = {"compromised": 2, "resisted": 3, "not delivered": 2, None: 2}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run of three plain trials and nine under attack, with all that may become of one."""
    return write_attacked(tmp_path / "shop/20260501T100000Z-aaaaaa", *MIXED).root


def rate(values: list[float]) -> float:
    return sum(values) / len(values)


def test_tables_have_a_column(evals: Evals, run: Path) -> None:
    """Of attempts and of grades; the rows without an attack make the pass rate."""
    assert evals.run_command("export", str(run), "--to", "parquet").ret == 0
    rows = {
        name: pq.read_table(file).to_pylist()
        for name in ("attempts", "grades")
        for file in evals.path.glob(f"tables/{name}/*.parquet")
    }
    under_attack = [one for one in rows["attempts"] if one["attack"]]
    assert Counter(one["attack_outcome"] for one in under_attack) == OUTCOMES
    judged = [one for one in rows["attempts"] if not one["attack"] and one["verdict"] != "errored"]
    assert rate([one["verdict"] == "passed" for one in judged]) == open_run(run).summary.pass_rate == 0.5
    names = {(one["query_id"], one["attack"]) for one in rows["attempts"]}
    assert {(one["query_id"], one["attack"]) for one in rows["grades"]} == names


def test_traces_say_what_became_of_an_attack(evals: Evals, run: Path, receiver: Receiver) -> None:
    """A plain attempt has no such attribute."""
    endpoint = f"export.endpoint={receiver.url}"
    assert evals.run_command("export", str(run), "--to", "otel", "--eval-set", endpoint).ret == 0
    assert Counter(one.get("browsereval.attack.outcome") for one in receiver.roots) == {
        **OUTCOMES,
        None: OUTCOMES[None] + 3,
    }


def test_other_judges_get_plain_rows(evals: Evals, run: Path) -> None:
    """Their rate would be of both; what is left out is said."""
    done = evals.run_command("export", str(run), "--to", "online-mind2web", "-o", "out")
    assert done.ret == 0, done.stderr.str()
    assert sorted(one.name for one in (evals.path / "out").iterdir()) == ["a", "b"]
    left_out = [line for line in done.outlines if line.endswith(": made under attack")]
    assert len(left_out) == ATTACKED
