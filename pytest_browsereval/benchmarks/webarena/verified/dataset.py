"""WebArena-Verified: WebArena's tasks, audited, scored by a structured answer and by what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pytest_browsereval.benchmarks.base import Dropped, RowProblem
from pytest_browsereval.benchmarks.webarena.family import WebArenaRows
from pytest_browsereval.features.shared.prompts import read_prompts

FORM = read_prompts(__file__)["form"]
"""What stands below every instruction: the benchmark's evaluators read answers of this form only."""


class WebArenaVerifiedConfig(WebArenaRows):
    """Reads WebArena-Verified's rows, by default those of the installed package ``webarena-verified``."""

    type: Literal["webarena-verified"] = "webarena-verified"
    title = "WebArena-Verified"
    package = ("webarena-verified", "webarena_verified", "assets/dataset/webarena-verified.json")
    kept = ("intent_template", "intent_template_id", "instantiation_dict")

    asks_for_form: bool = True
    """Whether the form of the answer follows each instruction; false if the agent knows it."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it is about a site that is left out, or cannot be scored.
        """
        given = original if isinstance(original, Mapping) else {}
        pages, evals = given.get("start_urls"), given.get("eval")
        if not isinstance(pages, list) or not pages or not all(isinstance(page, str) for page in pages):
            raise RowProblem("start_urls: expected a list of addresses.")
        if not isinstance(evals, list) or not evals or not all(isinstance(one, Mapping) for one in evals):
            raise RowProblem("eval: expected a list of evaluators.")
        row = self.row(original, " |AND| ".join(pages))
        if any(_is_unreadable(one) for one in evals):
            raise Dropped("they expect a list of one value without its type, which cannot be compared")
        if self.asks_for_form:
            row["query"] += f"\n\n{FORM}"
        return {
            **row,
            "revision": original.get("revision"),
            "graders": ["webarena_verified"],
            "evals": [self.fill_addresses(one) for one in evals],
        }


def _is_unreadable(evaluator: Mapping[str, Any]) -> bool:
    """Return whether what was to be sent holds a list of one value: a list stands for several choices."""
    expected = evaluator.get("expected")
    sent = expected.get("post_data") if isinstance(expected, Mapping) else None
    schema = evaluator.get("post_data_schema")
    typed = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    pairs = sent.items() if isinstance(sent, Mapping) else ()
    return any(isinstance(value, list) and len(value) == 1 and key not in typed for key, value in pairs)
