"""The line of progress: what is done, what it costs, how long it takes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_browsereval.hooks import terminal
from pytest_browsereval.testing import ScriptedModel, done
from tests.hooks.small_evals import Evals, row, single_agent

PRICES = {"prices": {"input_per_mtok": 1, "output_per_mtok": 1}}
LINE = re.compile(
    r"  eval: (\d) of 4 done, \d running, 0 failed, 0 errored, (.*), "
    r"\d+:\d\d elapsed(?:, about \d+:\d\d left)?(?: +\[100%\])?"
)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print the line after each row."""
    monkeypatch.setattr(terminal, "EVERY_S", 0.0)


@pytest.mark.parametrize("args", [(), ("-q",), ("-v",), ("-n1",), ("-q", "-n1")], ids=" ".join)
@pytest.mark.slow
def test_each_line_stands_alone(evals: Evals, args: tuple[str, ...]) -> None:
    """Also with ``-q``, where pytest prints one letter for each row; the last has nothing left to do."""
    output = evals.play([row(f"r{number}") for number in range(4)], *args).outlines
    lines = [line for line in output if "eval: " in line and "of 4" in line]
    assert [found[1] for line in lines if (found := LINE.fullmatch(line))] == ["1", "2", "3", "4"], lines
    assert ["left" in line for line in lines] == [True, True, True, False]


@pytest.mark.parametrize(("prices", "told"), [({}, "cost unknown"), (PRICES, "$0.00 spent")])
def test_what_is_not_known_is_not_called_nothing(evals: Evals, prices: dict[str, Any], told: str) -> None:
    """A model without a price has spent nobody knows what."""
    evals.write_rows(*(row(f"r{number}") for number in range(4)))
    with ScriptedModel(lambda _: done("right")) as server:
        evals.write_config(agent=single_agent(server.base_url, **prices))
        output = evals.run("shop.eval.yaml").outlines
    assert {found[2] for line in output if (found := LINE.fullmatch(line))} == {told}
