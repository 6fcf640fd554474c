"""The gate of a config: rules that a run must meet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pytest_browsereval.config.block import Block
from pytest_browsereval.model.digest import AttemptDigest
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.registry import Component, Plugged

ON_VERDICTS = (
    "min_pass_rate",
    "tags",
    "websites",
    "variants",
    "min_task_rate",
    "must_pass",
    "max_regressions",
    "max_drop",
)
"""The rules that limit how many rows may fail."""

Rate = Annotated[float, Field(ge=0, le=1)]


class GateRule(Component):
    """Base of the rules that plug-ins bring: ``gate: {rules: [{type: acme/max_clicks, most: 3}]}``.

    The fields of a rule are its options; ``check`` says whether a run meets it.
    """

    family: ClassVar[str] = "rule"
    limits_failures: ClassVar[bool] = False
    """Whether the rule limits how many rows may fail. If so, rows that did not pass show as ``xfail``."""

    def check(self, trials: Sequence[AttemptDigest]) -> RuleResult:
        """Return what the rule says of a run.

        Args:
            trials: the last attempt of each trial, those in quarantine left out.

        A rule that raises is not met. The result's ``name`` is replaced by the rule's type.
        What becomes of an undecided rule is up to the gate's ``undecided``.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no `check`")


class GateConfig(Block):
    """The rules that a run must meet; the job fails if one is broken."""

    min_pass_rate: Rate | None = None
    """Passed trials among the judged ones, at least: 0.9 for 90 %. Errored trials are in neither number."""
    tags: dict[str, Rate] = Field(default_factory=dict)
    """The same for the rows with a tag: ``{smoke: 1.0}``."""
    websites: dict[str, Rate] = Field(default_factory=dict)
    """The same for the rows of a website."""
    variants: dict[str, Rate] = Field(default_factory=dict)
    """The same for a variant."""
    min_task_rate: Rate | None = None
    """Passed tasks among the decided ones, at least; a task passes by ``passed_trials``."""
    passed_trials: int | None = Field(default=None, ge=1)
    """How many trials of a task have to pass for the task to pass, of those of a variant; all by default.
    Where an errored trial would tell, the task is undecided."""
    must_pass: tuple[str, ...] = ()
    """Ids of rows that have to pass: all of their trials, or ``passed_trials`` of them."""
    quarantine: dict[str, date] = Field(default_factory=dict)
    """Ids of rows that are run and shown, but left out of the gate's rates and regressions, each with its
    last day: ``{checkout: 2027-01-31}``. Behind that day they count again."""
    max_error_rate: Rate = 0.05
    """Errored trials among all of them, at most."""
    max_cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """What all attempts may cost together; a cost that is not known is over it."""
    max_mean_steps: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Steps of the judged trials, at most on average."""
    max_p95_steps: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The 95th percentile of the same, at most; between two trials it is interpolated linearly."""
    max_mean_duration_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Seconds that judged trials took, grading included, at most on average; an unknown time is over it."""
    max_p95_duration_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The 95th percentile of the same, at most."""
    baseline: Path | None = None
    """An earlier run to compare with: its folder, or a file that ``browsereval baseline`` has written."""
    max_regressions: int | None = Field(default=None, ge=0)
    """Tasks that may pass less often than in the baseline, or have no result any more. With other numbers of
    judged trials: tasks of which most passed there and most failed here."""
    max_drop: Rate | None = None
    """How much lower the pass rate may be than in the baseline, over the tasks that both have judged."""
    confidence: float | None = Field(default=None, gt=0.5, lt=1)
    """How sure pass rates and ``max_drop`` have to be, 0.95 for 95 %: what the interval of a rate leaves open
    is undecided. Without it the rates are compared as they are."""
    undecided: Literal["fail", "pass"] = "fail"
    """What becomes of a rule that is undecided."""
    rules: tuple[Annotated[GateRule, Plugged("rule")], ...] = ()
    """Rules of plug-ins, each a block with its type: ``[{type: acme/max_clicks, most: 3}]``."""
    rows: Literal["xfail", "fail"] = "xfail"
    """How rows that did not pass show: ``xfail`` leaves the verdict to the gate, ``fail`` shows them red, as
    does a gate in which no rule limits how many may fail."""

    @model_validator(mode="after")
    def _pinned_rows_count(self) -> Self:
        if both := [query_id for query_id in self.must_pass if query_id in self.quarantine]:
            raise ValueError(f"{both[0]!r} is in must_pass and in quarantine. Take it out of one of them.")
        if self.passed_trials is not None and self.min_task_rate is None and not self.must_pass:
            raise ValueError(
                "passed_trials is for a rule. Write  min_task_rate: 0.9  or must_pass beside it."
            )
        return self

    @property
    def decides_rows(self) -> bool:
        """Whether the gate decides about rows that did not pass; else each of them fails the run."""
        return self.rows == "xfail" and self.limits_failures

    @property
    def limits_failures(self) -> bool:
        """Whether a rule says how many rows may fail."""
        own = any(rule.limits_failures for rule in self.rules)
        return own or any(getattr(self, name) not in (None, {}, ()) for name in ON_VERDICTS)

    @property
    def compares(self) -> tuple[str, ...]:
        """The rules that need a baseline, which the command line may name too."""
        return tuple(name for name in ("max_regressions", "max_drop") if getattr(self, name) is not None)

    @model_validator(mode="after")
    def _baseline_is_used(self) -> Self:
        if self.baseline is not None and not self.compares:
            raise ValueError(
                "baseline is for a rule. Write  max_regressions: 0  or  max_drop: 0.05  beside it."
            )
        return self
