"""The gate: rules that a run must meet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

from pydantic import Field, field_validator, model_validator

from pytest_browsereval.config.block import Block
from pytest_browsereval.model.derived import Attempted, find_score
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.registry import Component, MemberOf
from pytest_browsereval.runs.attempt import StoredAttempt

OF_ALL = ("min_pass_rate", "min_task_rate", "max_regressions", "max_drop")
"""The rules that limit how many of all rows may fail; others limit those of a tag, say."""

OF_ATTACKS = ("max_attack_success", "min_utility_under_attack", "min_attacks_delivered")
"""The rules that are about trials under attack."""

Rate = Annotated[float, Field(ge=0, le=1)]


class GatedRow(Attempted, Protocol):
    """What says of a trial which rules it falls under: its record, or its line of the index."""

    @property
    def variant(self) -> str:
        """Who has done it."""

    @property
    def tags(self) -> Sequence[str]:
        """Of the row."""

    @property
    def website(self) -> str | None:
        """Of the row."""


class GateRule(Component):
    """Base of the rules of plug-ins: ``gate: {rules: [{type: acme/max_clicks, most: 3}]}``.

    The fields of a rule are its options; ``check`` decides if a run meets it.
    """

    family: ClassVar[str] = "rule"
    limits_failures: ClassVar[bool] = False
    """True if the rule limits how many rows may fail. Rows that did not pass are then shown as ``xfail``."""

    def check(self, trials: Sequence[StoredAttempt]) -> RuleResult:
        """Return the result of the rule for a run.

        A rule that raises is not met. The gate replaces the result's ``name`` by the rule's type, and decides
        about an undecided rule by its own key ``undecided``.

        Args:
            trials: the last attempt of each trial, without those in quarantine and those of derived rows.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no `check`")


class GateConfig(Block):
    """The rules that a run must meet; the job fails if one is not met."""

    min_pass_rate: Rate | None = None
    """The smallest share of passed trials among the judged ones, 0.9 for 90 %. Errored ones do not count."""
    tags: dict[str, Rate] = Field(default_factory=dict)
    """The same for rows with a tag: ``{smoke: 1.0}``."""
    websites: dict[str, Rate] = Field(default_factory=dict)
    """The same for rows of a website."""
    variants: dict[str, Rate] = Field(default_factory=dict)
    """The same for a variant."""
    min_task_rate: Rate | None = None
    """The smallest share of passed tasks among the decided ones; see ``passed_trials``."""
    passed_trials: int | None = Field(default=None, ge=1)
    """How many trials of a variant have to pass for a task to pass; all by default. If that depends on an
    errored trial, the task is undecided."""
    must_pass: tuple[str, ...] = ()
    """Ids of rows that have to pass: all trials of each, or ``passed_trials`` of them."""
    quarantine: dict[str, date] = Field(default_factory=dict)
    """Ids of rows that run and are shown, but do not count in rates and regressions of the gate, each with
    its last day: ``{checkout: 2027-01-31}``. After that day they count again. Attacks on a row are
    left out with it."""
    max_error_rate: Rate = 0.05
    """The largest share of errored trials. Checked separately for trials with and without an attack."""
    max_cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The largest cost of all attempts together; an unknown cost is too large."""
    max_mean_steps: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The largest mean of the steps of judged trials."""
    max_p95_steps: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The largest 95th percentile of the same, interpolated linearly between two trials."""
    max_mean_duration_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The largest mean of the seconds of judged trials, with grading; an unknown time is too large."""
    max_p95_duration_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The largest 95th percentile of the same."""
    max_attack_success: Rate | None = None
    """Of the trials in which the attack was delivered: the largest share that may be compromised."""
    min_utility_under_attack: Rate | None = None
    """Of the same: the smallest share in which the task has to be solved, and the agent not compromised."""
    min_attacks_delivered: Rate | None = None
    """Of the judged trials under attack: the smallest share in which the agent has to meet the attack."""
    baseline: Path | None = None
    """An earlier run to compare with: its folder, or a file from ``browsereval export RUN --to baseline``."""
    max_regressions: int | None = Field(default=None, ge=0)
    """The largest number of tasks that pass less often than in the baseline, or no longer have a result. If
    the numbers of judged trials differ: tasks that mostly passed there and mostly failed here."""
    max_drop: Rate | None = None
    """How much lower than in the baseline the pass rate may be, over the tasks that both have judged."""
    confidence: float | None = Field(default=None, gt=0.5, lt=1)
    """The confidence level of pass rates and ``max_drop``, 0.95 for 95 %: if the limit lies in the interval
    of a rate, the rule is undecided. Without it, rates are compared as they are."""
    undecided: Literal["fail", "pass"] = "fail"
    """What happens to a rule that is undecided."""
    rules: tuple[Annotated[GateRule, MemberOf("rule")], ...] = ()
    """Rules with a ``type``: ``min_progress``, ``max_side_effects``, and those of plug-ins, such as ``[{type:
    acme/max_clicks, most: 3}]``."""
    rows: Literal["xfail", "fail"] = "xfail"
    """How to show rows that did not pass. ``xfail`` leaves the verdict to the gate; ``fail`` shows them red.
    Rows are always red if no rule limits how many of them may fail: with ``must_pass`` alone, all others."""

    @field_validator("tags", "websites", "variants", "quarantine", "must_pass")
    @classmethod
    def _names_are_written(cls, value: Any) -> Any:
        # Each names a line of the gate, and a test of JUnit.
        if "" in value:
            raise ValueError("has an empty name. Write a name in place of '', or take it out.")
        return value

    @model_validator(mode="after")
    def _pinned_rows_count(self) -> Self:
        if both := [query_id for query_id in self.must_pass if query_id in self.quarantine]:
            raise ValueError(f"{both[0]!r} is in must_pass and in quarantine. Take it out of one of them.")
        if self.passed_trials is not None and self.min_task_rate is None and not self.must_pass:
            raise ValueError("passed_trials needs a rule. Add `min_task_rate: 0.9` or `must_pass`.")
        return self

    @property
    def decides_all(self) -> bool:
        """True if the gate decides about all rows that did not pass."""
        # Without such a rule, a gate about cost would turn every failed row green.
        own = any(rule.limits_failures for rule in self.rules)
        is_limited = own or any(getattr(self, name) is not None for name in OF_ALL)
        return self.rows == "xfail" and is_limited

    def decides(self, one: GatedRow) -> bool:
        """Return True if the gate decides about a trial that did not pass; otherwise it fails the run.

        Args:
            one: the trial.
        """
        if self.rows == "fail":
            return False
        if one.derived is not None:
            if one.verdict is Verdict.ERRORED:
                return bool(self.of_features)  # `max_error_rate` limits these
            is_reached = find_score(one) == 0
            return (self.max_attack_success if is_reached else self.min_utility_under_attack) is not None
        return (
            self.decides_all
            or one.query_id in self.must_pass
            or one.variant in self.variants
            or one.website in self.websites
            or not self.tags.keys().isdisjoint(one.tags)
        )

    @property
    def compares(self) -> tuple[str, ...]:
        """The rules that need a baseline; the command line may name it as well."""
        return tuple(name for name in ("max_regressions", "max_drop") if getattr(self, name) is not None)

    @property
    def of_features(self) -> tuple[str, ...]:
        """The rules about derived rows that are set; the features that derive them decide these."""
        return tuple(name for name in OF_ATTACKS if getattr(self, name) is not None)

    @model_validator(mode="after")
    def _baseline_is_used(self) -> Self:
        if self.baseline is not None and not self.compares:
            raise ValueError("baseline needs a rule. Add `max_regressions: 0` or `max_drop: 0.05`.")
        return self
