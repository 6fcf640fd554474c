"""``browsereval reindex``: from the user's files to the exit code."""

from __future__ import annotations

from tests.hooks.small_evals import Evals, row


def test_reindex_makes_the_index_again(evals: Evals) -> None:
    """One file, and the command says how many attempts are in it."""
    evals.write_rows(row("right"), row("wrong", says="x"))
    evals.write_config()
    run = evals.run("shop.eval.yaml").folder
    for file in (run / "index").iterdir():
        file.rename(file.with_name("old.jsonl"))
    done = evals.run_command("reindex", str(run))
    assert done.ret == 0
    assert done.stdout.str() == f"{run}: 2 attempts indexed"
    (file,) = (run / "index").iterdir()
    assert file.name != "old.jsonl"
    assert len(file.read_bytes().splitlines()) == 2
    (run / "tasks/wrong/default/1/attempt-1" / "metadata.json").write_text("{")
    damaged = evals.run_command("reindex", str(run))
    assert damaged.ret == 4
    assert "metadata.json is damaged" in damaged.stderr.str()
