"""``effects``: what an attempt has changed is what its row says, and nothing else.

The state is read before the agent begins and when it has ended, and what differs is kept for the grade.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pytest_browsereval.capture.trajectory import EFFECTS_FILE
from pytest_browsereval.errors import Fault
from pytest_browsereval.features.effects.diff import Difference, State, describe_difference, read_difference
from pytest_browsereval.features.effects.reading import Source, read_known, read_schema
from pytest_browsereval.features.effects.row_effects import (
    find_blind,
    judge_others,
    match_effects,
    read_effects,
)
from pytest_browsereval.graders.base import Golden, GraderConfig, GraderFault, Recorded, hash_json
from pytest_browsereval.graders.criteria import compute_share, list_failed
from pytest_browsereval.model.display import format_count, join_first
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import ChecksRead, Needs
from pytest_browsereval.redaction.marks import WITHHELD
from pytest_browsereval.run_files import write_json
from pytest_browsereval.sites import SiteConfig

MOST_LISTED = 3
"""Side effects that the reason of a grade names."""
UNSAVED: dict[Path, dict[str, Any]] = {}
"""What differs after attempts at protected rows, which is not written: for their grade only."""


class EffectsGrader(GraderConfig):
    """Compares what an attempt has changed in the state of its sites with the row's ``effects``."""

    type: Literal["effects"] = "effects"
    reads: ClassVar[ChecksRead] = ChecksRead(effects=True)

    others: Literal["fail", "warn"] = "fail"
    """How to treat changes that the row does not name: ``fail``, or ``warn``, which only names and counts
    them."""

    values: bool = False
    """Whether criteria name values of the state, which reports, JUnit files and pushed runs then contain."""

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
            raise ValueError(
                f"the grader {self.label!r} compares the state of sites, but no site of this row has one. "
                "Write `sites: {shop: {state: {storage: local:shop}}}`, or `sqlite`, `url`, `files` or "
                "`command`, and name the site in start_url or `sites`."
            )
        for effect in read_effects(task.effects):
            if effect.site and effect.site not in watched:
                raise ValueError(f"an effect names {effect.site!r}. Sites with state: {', '.join(watched)}.")
            own = [site for name, site in watched.items() if effect.site in ("", name)]
            if why := find_blind(effect, [(site, read_known(site, base_dir)) for site in own]):
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
        is_hidden = recorded.task.protected
        found: list[dict[str, str]] = [
            {
                "kind": one.kind,
                "site": one.site,
                "table": WITHHELD if is_hidden else one.table,
                "words": WITHHELD if is_hidden else describe_difference(one, with_values=False),
            }
            for one in side_effects
        ]
        criteria = tuple(map(_withhold, criteria)) if is_hidden else criteria
        details: dict[str, Any] = {"side_effects": len(found), "found": found}
        failed = list_failed(own)
        if found and not failed:  # what `browsereval causes` says
            details["cause"] = {"name": "side_effect", "detail": "" if is_hidden else found[0]["words"]}
        # Without values of the state: exports and JUnit files have it.
        parts = [f"{len(own) - len(failed)} of {format_count(len(own), 'effect')} came about"] if own else []
        words = join_first([one["words"] for one in found], MOST_LISTED, "; ")
        named = f"{format_count(len(found), 'side effect')}: {words}"
        return GraderResult(
            grader=self.label,
            verdict=Verdict.FAILED if list_failed(criteria) else Verdict.PASSED,
            score=compute_share(criteria),
            reasoning="; ".join([*parts, named if found else "nothing else changed"]),
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
                    f"the `state` or `volatile` of the site {name!r} was changed after the state was read. "
                    "Run the task again"
                )
        return [read_difference(one) for site in stored["sites"].values() for one in site["differences"]]


def _load(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError):
        why = "the state of its sites was not read, or the run was pushed without it"
        raise GraderFault(f"{EFFECTS_FILE} is missing or damaged: {why}. Run the task again") from None


def _withhold(one: Criterion) -> Criterion:
    """Return a criterion that says nothing of what was to change, or has."""
    hidden = {"name": WITHHELD, "expected": None, "actual": None, "reason": WITHHELD if one.reason else ""}
    return one.model_copy(update=hidden)


# -- watching


def hash_settings(site: SiteConfig) -> str:
    """Return what identifies the settings by which a state was read and compared."""
    state = site.state.model_dump(mode="json", exclude={"max_bytes"}) if site.state else None
    return hash_json([state, sorted(site.volatile)])


@contextlib.asynccontextmanager
async def keep_differences(
    task: Task, sources: Sequence[Source], folder: Path, redact: Callable[[str], str]
) -> AsyncIterator[None]:
    """Keep what an attempt changes between the two ends of a block.

    Args:
        task: what it is at; of a protected row nothing is written.
        sources: the states of its sites.
        folder: of the attempt.
        redact: takes secrets out of a text.

    Raises:
        Fault: source *site*: a state cannot be read, does not come to rest, or was not there to compare;
            source *grader*: an effect names what its database does not have.
    """
    before = await asyncio.gather(*(one.read() for one in sources))
    await asyncio.to_thread(_check_effects, task, sources, before)
    unopened = [one for one, state in zip(sources, before, strict=True) if not state and not one.is_open]

    def write(after: Sequence[State | bytes]) -> None:
        found: dict[str, Any] = {}
        for one, old, new in zip(sources, before, after, strict=True):
            clean = (each.redact(one.site.hide, redact) for each in one.compare(old, new))
            differences = [asdict(replace(each, site=one.name)) for each in clean]
            found[one.name] = {"settings": hash_settings(one.site), "differences": differences}
        if task.protected:
            UNSAVED[folder] = {"sites": found}
        write_json(folder / EFFECTS_FILE, {"withheld": True} if task.protected else {"sites": found})

    async def save() -> Sequence[State | bytes]:
        after = await asyncio.gather(*(one.read_settled() for one in sources))
        await asyncio.to_thread(write, after)
        return after

    try:
        yield
    except Fault:  # it counts nowhere, and a reader may want to know
        with contextlib.suppress(Fault):
            await save()
            UNSAVED.pop(folder, None)
        raise
    for one, old, new in zip(sources, before, await save(), strict=True):
        if one in unopened and new:
            raise one.fault(
                "was written when the agent first opened it, so it is not known what the agent changed. "
                "Write its address as the `start_url` of the row"
            )
        await one.check_compared(old, new)


def _check_effects(task: Task, sources: Sequence[Source], before: Sequence[State | bytes]) -> None:
    """Refuse effects that databases cannot have, which were not there when the run began."""
    schemas = [read_schema(state) if isinstance(state, bytes) else None for state in before]
    for effect in read_effects(task.effects):
        own = [
            (one.site, each)
            for one, each in zip(sources, schemas, strict=True)
            if effect.site in ("", one.name)
        ]
        if why := find_blind(effect, own):
            raise GraderFault(f"the row's `effects` cannot be judged: {why}")
