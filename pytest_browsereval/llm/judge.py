"""The ``judge`` block: which model graders ask, and how."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pytest_browsereval.llm.config import LLMConfig

Output = Literal["json_schema", "json", "tagged"]
"""How a judge is held to the form of its reply, from the strictest to the loosest."""


class JudgeConfig(LLMConfig):
    """The model that graders ask, and how many times."""

    votes: int = Field(default=1, ge=1, le=15)
    """How many times each question for a verdict is asked; more than half of the votes decide. If neither
    side has that many, the grade is *undecided*, which counts as errored. Votes of a model at temperature 0
    seldom differ."""
    output: Literal["auto", "json_schema", "json", "tagged"] = "auto"
    """How the form of replies is enforced: by the provider's JSON schema, by its JSON mode, or by markers in
    the text. ``auto`` is the strictest one that the provider is known to support."""
    concurrency: int = Field(default=8, ge=1, le=128)
    """Requests to this judge at once in one process."""
    timeout_s: float = Field(default=900.0, gt=0)
    """How long one grade may take, all its requests together."""

    @property
    def strictest(self) -> Output:
        """The form that requests ask for."""
        if self.output != "auto":
            return self.output
        return "json_schema" if self.traits.has_json_schema else "json"
