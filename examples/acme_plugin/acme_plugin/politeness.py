"""A grader that likes polite answers."""

from __future__ import annotations

from typing import Literal

from pytest_browsereval import GraderConfig, GraderResult, Recorded, Verdict


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
