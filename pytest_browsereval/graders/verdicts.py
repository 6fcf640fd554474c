"""How the grades of an attempt become its verdict.

A fault is never scored as a failure: where an errored grade could still turn the verdict, the attempt is
*errored*; where the other grades decide alone, their verdict stands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

from pytest_browsereval.errors import ErrorSource, nearest
from pytest_browsereval.model.grades import GraderResult, Verdict


class Primary(BaseModel):
    """One grader decides; the others are reported next to it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    primary: str
    """The name of the grader."""


def _read_primary(value: Any) -> Any:
    """Read ``primary: NAME`` in one text, as it comes from a command line."""
    if isinstance(value, str) and value.startswith("primary:"):
        return {"primary": value.removeprefix("primary:").strip()}
    return value


_Rule = Literal["all", "any", "majority"] | Primary
_InOneText = Annotated[str, StringConstraints(pattern="^primary:")]

PassWhen = Annotated[_Rule, BeforeValidator(_read_primary, json_schema_input_type=_Rule | _InOneText)]
"""``all`` (every grade passes), ``any``, ``majority`` (more than half) or ``{primary: NAME}``."""


def check_pass_when(pass_when: PassWhen, labels: Collection[str]) -> None:
    """Check before anything is spent that some grader decides, and that the primary one is among them.

    Args:
        pass_when: the rule.
        labels: names of the row's graders, without the advisory ones.

    Raises:
        ValueError: it is not so; the message has the row's graders.
    """
    if not labels:
        raise ValueError(
            "all graders of the row are advisory, so none decides. Remove `advisory: true` from one, or add "
            "a grader that decides."
        )
    if isinstance(pass_when, Primary) and pass_when.primary not in labels:
        raise ValueError(
            f"pass_when names the grader {pass_when.primary!r}, which the row does not have."
            f"{nearest(pass_when.primary, labels)} Its graders: {', '.join(labels) or 'none'}."
        )


def combine(
    grades: Mapping[str, GraderResult], pass_when: PassWhen
) -> tuple[Verdict, ErrorSource | None, str]:
    """Return the verdict, what broke if it is *errored*, and why in one line.

    Args:
        grades: every grade of the attempt, by the grader's name; advisory ones are passed over.
        pass_when: the rule.
    """
    deciding = {name: grade for name, grade in grades.items() if not grade.advisory}
    found = _combine({n: grade for n, grade in deciding.items() if not grade.vetoes}, pass_when)
    vetoing = {name: grade for name, grade in deciding.items() if grade.vetoes}
    verdicts = [grade.verdict for grade in vetoing.values()]
    if Verdict.FAILED in verdicts:
        verdict, source, reason = _explain(Verdict.FAILED, vetoing)
        # It comes first: what it has found must not hide behind a wrong answer.
        return verdict, source, reason + (f"; {found[2]}" if found[0] is Verdict.FAILED else "")
    if Verdict.ERRORED in verdicts:
        # Whether the attempt failed by itself or for someone else is not known: it says nothing of either.
        return _explain(Verdict.ERRORED, vetoing)
    return found


def _combine(
    grades: Mapping[str, GraderResult], pass_when: PassWhen
) -> tuple[Verdict, ErrorSource | None, str]:
    if isinstance(pass_when, Primary):
        if pass_when.primary not in grades:
            why = f"the primary grader {pass_when.primary!r} gave no grade"
            return Verdict.ERRORED, ErrorSource.HARNESS, why
        verdict = grades[pass_when.primary].verdict
        return _explain(verdict, {pass_when.primary: grades[pass_when.primary]})
    if not grades:
        return Verdict.ERRORED, ErrorSource.HARNESS, "no grader gave a grade"
    return _explain(decide([grade.verdict for grade in grades.values()], pass_when), grades)


def decide(verdicts: Sequence[Verdict], rule: Literal["all", "any", "majority"]) -> Verdict:
    """Return the verdict of some grades; *errored* where an errored one could still turn it."""
    count = len(verdicts)
    passed, errored = verdicts.count(Verdict.PASSED), verdicts.count(Verdict.ERRORED)
    # A tie is not a majority.
    needed = {"all": count, "any": 1, "majority": count // 2 + 1}[rule]
    # Errored grades are counted on either side in turn: the verdict stands only if it holds both ways.
    if passed >= needed:
        return Verdict.PASSED
    return Verdict.ERRORED if passed + errored >= needed else Verdict.FAILED


def _explain(verdict: Verdict, grades: Mapping[str, GraderResult]) -> tuple[Verdict, ErrorSource | None, str]:
    source = ErrorSource.GRADER if verdict is Verdict.ERRORED else None
    agreeing = {name: grade for name, grade in grades.items() if grade.verdict is verdict}
    if verdict is Verdict.PASSED:
        return verdict, source, f"{len(agreeing)} of {len(grades)} graders passed: {', '.join(agreeing)}"
    name, grade = next(iter(agreeing.items()))
    first_line = next(iter(grade.reasoning.strip().splitlines()), "no reason given")
    more = f" (and {len(agreeing) - 1} more)" if len(agreeing) > 1 else ""
    return verdict, source, f"{name}: {first_line}{more}"
