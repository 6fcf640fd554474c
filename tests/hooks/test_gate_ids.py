"""A gate that names a row which no dataset has: refused before a row is run and paid for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

DAY = "2999-01-01"


@pytest.mark.parametrize("gate", [{"must_pass": ["mug-prise"]}, {"quarantine": {"mug-prise": DAY}}])
@pytest.mark.parametrize("args", [(), ("-k", "sold-out"), ("--eval-shard=1/2",), ("--eval-limit=1",)])
def test_an_id_that_no_row_has_is_refused(evals: Evals, gate: dict[str, Any], args: tuple[str, ...]) -> None:
    """With the file of the config and the nearest id of all rows, whatever is selected."""
    more = (row(f"r{number}") for number in range(6))  # each shard has some
    result = evals.play([row("sold-out"), row("mug-price"), *more], *args, gate=gate)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (key,) = gate
    told = result.stderr.str()
    assert "shop.eval.yaml:" in told
    assert f"gate.{key}" in told
    assert "no row has the id 'mug-prise'. Did you mean 'mug-price'?" in told
    assert not (evals.path / "results").exists()


def test_a_row_that_the_config_leaves_out_is_noted(evals: Evals) -> None:
    """`select` is the config's own choice: no error, and the reader knows what will come."""
    evals.write_rows(row("sold-out"), row("mug-price"))
    dataset = [{"path": "rows.jsonl", "select": {"ids": ["sold-out"]}}]
    evals.write_config(dataset=dataset, gate={"must_pass": ["mug-price", "sold-out"]})
    result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["*note: `select` of the dataset leaves out rows of gate.must_pass (mug-price)*"]
    )
