"""``effects``: what an attempt has changed is what its row says, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pytest_browsereval.capture.trajectory import EFFECTS_FILE
from pytest_browsereval.features.effects.diff import Difference, describe_difference, read_difference
from pytest_browsereval.features.effects.observation import UNSAVED, hash_settings
from pytest_browsereval.features.effects.reading import read_known
from pytest_browsereval.features.effects.row_effects import (
    find_unseen,
    judge_others,
    list_unwritten,
    match_effects,
    read_effects,
)
from pytest_browsereval.graders.base import Golden, GraderConfig, GraderFault, Recorded
from pytest_browsereval.graders.criteria import compute_share, list_failed
from pytest_browsereval.model.display import format_count, join_first
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import ChecksRead, Needs
from pytest_browsereval.redaction.marks import WITHHELD
from pytest_browsereval.sites import SiteConfig

MOST_LISTED = 3
"""Side effects that the reason of a grade names."""


class EffectsGrader(GraderConfig):
    """Compares what an attempt has changed in the state of its sites with the row's ``effects``."""

    type: Literal["effects"] = "effects"
    reads: ClassVar[ChecksRead] = ChecksRead(effects=True)

    others: Literal["fail", "warn"] = "fail"
    """What changes that the row does not name do: ``fail``, or ``warn``, which only names and counts them."""

    values: bool = False
    """Whether criteria name values of the state, which reports, JUnit files and pushed runs then have."""

    @classmethod
    def golden(cls) -> tuple[Golden, ...]:
        """Return an attempt that has changed nothing, where nothing was to change and where something was."""
        order = ({"added": "orders"},)
        files = {EFFECTS_FILE: json.dumps({"sites": {}})}
        return (
            Golden("read", Verdict.PASSED, Task(query_id="a", query="Look.", effects="nothing"), files=files),
            Golden("idle", Verdict.FAILED, Task(query_id="b", query="Order.", effects=order), files=files),
        )

    def needs(self, task: Task) -> Needs:
        """Nothing of the page: the state is read before the agent begins and after it has ended."""
        return Needs(page=False, observes=None)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row has effects, each well formed.

        Raises:
            ValueError: with what to write.
        """
        if not task.effects:
            raise ValueError(
                f'the grader {self.label!r} has nothing to compare. Write "effects": "nothing" into a row '
                'that changes nothing, or what it changes: "effects": [{"added": "orders"}].'
            )
        read_effects(task.effects)

    def check_sites(self, task: Task, sites: Mapping[str, SiteConfig], base_dir: Path) -> None:
        """Check that a site of the row has a state, and that each effect can be seen in it.

        Raises:
            ValueError: with what to write.
        """
        watched = {name: site for name, site in sites.items() if site.state is not None}
        if not watched:
            names = ", ".join(sites) or "none"
            raise ValueError(
                f"the grader {self.label!r} compares the state of sites, but no site of this row has one "
                f"(its sites: {names}). Write `sites: {{shop: {{state: {{storage: local:shop}}}}}}`, or "
                "`sqlite`, `url`, `files` or `command`, and name the site in start_url or `sites`."
            )
        for effect in read_effects(task.effects):
            if effect.site and effect.site not in watched:
                raise ValueError(
                    f"an effect is of the site {effect.site!r}. With a state: {', '.join(watched)}."
                )
            own = [site for name, site in watched.items() if effect.site in ("", name)]
            for name in (one for site in own for one in list_unwritten(effect, site.hide)):
                raise ValueError(
                    f"an effect compares {name}, whose values are never stored: it is in "
                    "`hide`, or its name is that of a secret. Compare another column."
                )
            if why := find_unseen(effect, [(site.volatile, read_known(site, base_dir)) for site in own]):
                raise ValueError(why)

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Match the differences that were stored with the row's effects.

        Raises:
            Fault: they were not stored, or by other settings.
        """
        differences = await asyncio.to_thread(self._read, recorded)
        effects = read_effects(recorded.task.effects)
        own, side_effects = match_effects(effects, differences, with_values=self.values)
        others = judge_others(side_effects, with_values=self.values)
        if self.others == "warn":
            others = others.model_copy(update={"verdict": Verdict.PASSED})
        criteria = (*own, others)
        found = [_to_detail(one, is_withheld=recorded.task.protected) for one in side_effects]
        if recorded.task.protected:
            criteria = tuple(map(_withhold, criteria))
        failed = list_failed(own)
        details: dict[str, Any] = {"side_effects": len(found), "found": found}
        if found and not failed:  # what `browsereval causes` says
            words = "" if recorded.task.protected else found[0]["words"]
            details["cause"] = {"name": "side_effect", "detail": words}
        return GraderResult(
            grader=self.label,
            verdict=Verdict.FAILED if list_failed(criteria) else Verdict.PASSED,
            score=compute_share(criteria),
            reasoning=_sum_up(len(effects), len(failed), [one["words"] for one in found]),
            criteria=criteria,
            evidence=(EFFECTS_FILE,),
            details=details,
            fingerprint=self.fingerprint(1, recorded.site_urls),
        )

    def _read(self, recorded: Recorded) -> list[Difference]:
        stored = UNSAVED.get(recorded.folder) or _load(recorded.folder / EFFECTS_FILE)
        if stored.get("withheld"):
            raise GraderFault("the row is protected, so what changed was not kept. Run the task again")
        for name in recorded.site_urls:
            site, one = recorded.sites.get(name), stored["sites"].get(name)
            if (site is None or site.state is None) and one is None:
                continue
            if site is None or one is None or one["settings"] != hash_settings(site):
                raise GraderFault(
                    f"the `state` or `volatile` of the site {name!r} is not what it was when the state was "
                    "read. Run the task again"
                )
        return [read_difference(one) for site in stored["sites"].values() for one in site["differences"]]


def _sum_up(count: int, failed: int, others: Sequence[str]) -> str:
    """Return the reason of the grade, without values of the state: exports and JUnit files have it."""
    parts = [f"{count - failed} of {format_count(count, 'effect')} came about"] if count else []
    named = f"{format_count(len(others), 'side effect')}: {join_first(others, MOST_LISTED, '; ')}"
    return "; ".join([*parts, named if others else "nothing else changed"])


def _load(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except FileNotFoundError:
        why = "the state of its sites was not read, or the run was pushed without it"
        raise GraderFault(f"{why}. Run the task again") from None
    except (OSError, ValueError) as error:
        raise GraderFault(f"{EFFECTS_FILE} cannot be read: {error}") from None


def _to_detail(one: Difference, *, is_withheld: bool) -> dict[str, Any]:
    words = WITHHELD if is_withheld else describe_difference(one, with_values=False)
    return {
        "kind": one.kind,
        "site": one.site,
        "table": WITHHELD if is_withheld else one.table,
        "words": words,
    }


def _withhold(one: Criterion) -> Criterion:
    """Return a criterion that says nothing of what was to change, or has."""
    hidden = {"name": WITHHELD, "expected": None, "actual": None, "reason": WITHHELD if one.reason else ""}
    return one.model_copy(update=hidden)
