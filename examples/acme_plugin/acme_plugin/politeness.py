"""A grader that likes polite answers."""

from __future__ import annotations

from typing import Literal

from pytest_browsereval import Golden, GraderConfig, GraderResult, Recorded, Task, Verdict


class PolitenessConfig(GraderConfig):
    """``graders: [{type: acme/politeness, word: please}]``."""

    type: Literal["acme/politeness"] = "acme/politeness"
    word: str = "thank you"
    """What a polite answer holds."""

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Look for the word in the final answer."""
        is_polite = self.word in (recorded.final_answer or "").lower()
        return GraderResult(
            grader=self.label,
            verdict=Verdict.PASSED if is_polite else Verdict.FAILED,
            score=float(is_polite),
            reasoning=f"the answer {'says' if is_polite else 'does not say'} {self.word!r}",
        )

    @classmethod
    def golden(cls) -> tuple[Golden, ...]:
        """Return a polite attempt and a rude one, which ``browsereval doctor`` lets the grader judge."""
        task = Task(query_id="golden", query="Press the button.")
        return (
            Golden("polite", Verdict.PASSED, task, final_answer="Thank you for pressing."),
            Golden("rude", Verdict.FAILED, task, final_answer="Pressed."),
        )
