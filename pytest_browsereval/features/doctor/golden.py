"""Runs a grader on its own golden attempts, to see that it still tells right from wrong."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.graders.base import Golden, GraderConfig, Recorded
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.registry import Registry


@dataclass(frozen=True)
class Tried:
    """What came of one golden attempt."""

    golden: Golden
    is_right: bool
    """True if the grade is the one that is known."""
    outcome: str
    """The grade, or why there is none."""


async def try_golden(member: type[GraderConfig], registry: Registry | None = None) -> AsyncIterator[Tried]:
    """Yield what comes of each golden attempt of a grader. No model, no network, no page.

    Args:
        member: the grader.
        registry: where the parts of one that combines several are looked up.
    """
    for golden in member.golden():
        with tempfile.TemporaryDirectory(prefix="browsereval-golden-") as folder:
            try:
                grade = await _grade_golden(member, golden, Path(folder), registry)
            except Exception as error:  # noqa: BLE001 the caller reports what a grader raises
                yield Tried(golden, is_right=False, outcome=f"{type(error).__name__}: {error}")
            else:
                is_right = grade.verdict is golden.verdict
                yield Tried(golden, is_right, f"{grade.verdict}: {grade.reasoning}")


async def _grade_golden(
    member: type[GraderConfig], golden: Golden, folder: Path, registry: Registry | None
) -> GraderResult:
    # Read like a config's block, so that a golden attempt also shows that its options are valid.
    block = {"type": member.type_name(), **golden.options}
    grader = member.model_validate(block, context={"registry": registry})
    for name, text in golden.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    # A grader that refuses its own example is as broken as one that grades it wrong.
    grader.check(golden.task, folder)
    recorded = Recorded(
        task=golden.task,
        final_answer=golden.final_answer,
        termination_reason=TerminationReason.COMPLETED,
        final_url=golden.final_url,
        folder=folder,
        evidence=golden.evidence,
        base_dir=folder,
    )
    return await grader.grade(recorded)
