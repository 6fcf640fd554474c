"""``agisdk``: the final state of a clone of REAL, scored by the checks that its tasks publish."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, PrivateAttr

from pytest_browsereval.benchmarks.agisdk import files
from pytest_browsereval.benchmarks.agisdk.checks import (
    Check,
    Strings,
    asks_model,
    compare_check,
    read_checks,
    read_verdict,
    reads_state,
)
from pytest_browsereval.benchmarks.second_tab import open_further_tab, open_page
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import origin_of
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.features.shared.judging.base import (
    GRACE_S,
    ModelGrader,
    Opinion,
    give_answer,
    give_task,
)
from pytest_browsereval.features.shared.judging.judge import Given, Judge
from pytest_browsereval.features.shared.judging.replies import JudgeReply
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.features.shared.verifiers import run_verifier
from pytest_browsereval.graders.base import GraderFault, Recorded, hash_bytes
from pytest_browsereval.graders.criteria import compute_share, list_failed, make_criterion, summarize
from pytest_browsereval.graders.observing import live_page, parse_state
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.graders.values import show
from pytest_browsereval.model.grades import Criterion, GraderResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import TIMEOUT_S, Needs
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.temporary import private_folder

RULES = read_prompts(__file__)["rules"]

MARGIN_S = 10.0

Judged = tuple[Check, tuple[Criterion, Criterion] | None]
"""A check and what is said of it, strict and lenient; None where a model is still to be asked."""


class RequirementReply(JudgeReply):
    """What the judge replies."""

    reasoning: str = Field(
        description="What the requirement asks for and what the answer says; written first."
    )
    is_met: bool = Field(description="Whether the answer meets the requirement.")


class AgisdkGrader(ModelGrader):
    """Scores a task of REAL: JMESPath queries and scripts over the clone's final state, questions to a judge.

    The state is what the clone's own ``/finish`` page shows when the agent has stopped. The score is the
    share of checks that hold; only all of them pass.
    """

    type: Literal["agisdk"] = "agisdk"
    prompts: ClassVar[tuple[str, ...]] = (RULES,)
    replies = (RequirementReply,)

    strings: Strings = "strict"
    """``strict`` compares as REAL publishes it; ``lenient`` lets an expected text be a part of the actual
    one, in whole words and any case, as BrowserOS does by letters. Both scores are reported."""
    package_dir: Path | None = None
    """The folder of the package ``agisdk``, relative to the config; the installed one by default. Scripts are
    taken from there, never from a row."""
    task_version: Literal["v1", "v2"] | None = None
    """Of rows without ``evals`` of their own (BrowserOS writes such), which are looked up in the package; by
    default the version whose start page the row has."""
    timeout_s: float = Field(default=30.0, gt=0, le=120)
    """After this the program and all that it has started are killed, and the grade is errored."""

    _base_dir: Path | None = PrivateAttr(default=None)

    # -- what a row needs

    def needs(self, task: Task) -> Needs:
        """Return what the row needs.

        That is the page for a check of the final state, which is always read whole, the judge for a check
        that only a model can say, and trust for the scripts of a folder that is not the installed package.
        """
        folder = self.package_dir
        own = () if folder is None else (f"runs scripts of the folder {str(folder)!r} (`package_dir`)",)
        try:
            # Without checks of its own nobody has said yet where the package is that has them.
            is_known = task.evals or self._base_dir is not None
            checks = self._checks(task, self._base_dir or Path()) if is_known else []
        except ValueError:  # `check` says what is wrong with them
            checks = []
        asks = not checks or asks_model(checks)
        return Needs(
            page=not task.evals or not checks or reads_state(checks),
            models=super().needs(task).models if asks else (),
            trust=own,
            observes=None,
            seconds=self.timeout_s + MARGIN_S + (GRACE_S if asks else TIMEOUT_S),
        )

    def _package(self, base_dir: Path) -> Path:
        package = files.package_folder(self.package_dir, base_dir)
        if package is None:
            where = "is not installed" if self.package_dir is None else f"is not in {self.package_dir}"
            how = f"Run `{files.INSTALL}` or write `package_dir: FOLDER`, the folder that holds REAL/"
            raise ValueError(f"the row needs files of the package agisdk, which {where}. {how}.")
        return package

    def _checks(self, task: Task, base_dir: Path) -> list[Check]:
        evals: Any = task.evals or self._read_published(task, base_dir).get("evals")
        return read_checks(evals if isinstance(evals, list | tuple) else ())

    def _read_published(self, task: Task, base_dir: Path) -> Mapping[str, Any]:
        """Return the package's own task of a row that has no checks.

        Raises:
            ValueError: the package has none, or several.
        """
        package = self._package(base_dir)
        name = str(task.metadata.additional.get("agisdk_task_id") or task.query_id.removeprefix("agisdk-"))
        start = (task.start_url or "").rstrip("/")
        known = []
        for version in (self.task_version,) if self.task_version else files.VERSIONS:
            published = files.read_task(package, version, name) or {}
            site = published.get("website")
            url = str(site.get("url", "")) if isinstance(site, Mapping) else ""
            # Both versions may have a task of that name.
            if published and (self.task_version or url.rstrip("/") == start):
                known.append(published)
        if len(known) != 1:
            has = f"the package agisdk has {len(known)} tasks {name!r} with its start page"
            raise ValueError(f'the row has no "evals", and {has}. Write `task_version: v1` or `v2`.')
        return known[0]

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row's ``evals`` are checks of REAL, and that their scripts are in the package.

        Raises:
            ValueError: with what to write.
        """
        checks = read_checks(task.evals) if task.evals else []
        if (not checks or reads_state(checks)) and not task.start_url:
            why = "the state is read from /finish of the site that the row starts at"
            raise ValueError(f'the row has no start_url, and {why}. Write "start_url": "https://...".')
        self._base_dir = base_dir
        for check in self._checks(task, base_dir):
            if check.kind == "script":
                self._script(check, task, base_dir)

    def _script(self, check: Check, task: Task, base_dir: Path) -> Path:
        file = files.script_file(self._package(base_dir), check.subject, str(task.revision or "v2"))
        if file is None or not file.read_bytes().strip():
            message = "is not there" if file is None else "is empty there, so the task can never be scored"
            raise ValueError(f"the script {check.subject!r} of agisdk {message}. Leave the row out.")
        return file

    # -- the state

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read the final state from the clone's ``/finish``, in a tab of its own.

        Raises:
            Fault: it shows none.
        """
        if not self.needs(task).page:
            return None
        return {"state": await read_finish(window, f"{origin_of(task.start_url or '')}/finish")}

    # -- the grade

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Compare the state with the row's checks; a judge is asked only where the row has such a check.

        Raises:
            Fault: the state was not read, a script gave no verdict, or its package is missing.
            StopRun: the judge's provider refused the key.
        """
        try:
            checks = self._checks(recorded.task, recorded.base_dir)
            prints = self._prints(checks, recorded)
        except ValueError as error:
            raise GraderFault(str(error)) from None
        if asks_model(checks):
            result = await super().grade(recorded)
        else:
            opinion = self._opinion(await self._programs(checks, recorded))
            result = self.grade_by_rules(opinion, recorded)
        return result.model_copy(update={"fingerprint": "/".join([result.fingerprint, *prints])})

    def rules(self) -> Self:
        """Return the grader without what differs from machine to machine and changes no grade."""
        return self.model_copy(update={"judge": None, "package_dir": None})

    def _prints(self, checks: list[Check], recorded: Recorded) -> list[str]:
        """Return what identifies the scripts, or the package's own task."""
        task, base_dir = recorded.task, recorded.base_dir
        texts = [self._script(c, task, base_dir).read_bytes() for c in checks if c.kind == "script"]
        if not task.evals:
            published = self._read_published(task, base_dir).get("evals")
            texts.append(json.dumps(published, sort_keys=True).encode())
        return [hash_bytes(*texts)] if texts else []

    async def prepare(self, recorded: Recorded, judge: Judge) -> list[Judged]:
        """Run the checks that need no model, once for all votes.

        Raises:
            Fault: one of them cannot be decided.
        """
        return await self._programs(self._checks(recorded.task, recorded.base_dir), recorded)

    async def _programs(self, checks: list[Check], recorded: Recorded) -> list[Judged]:
        """Return the checks with what programs say of them; those for a model are left open."""
        state = None
        if reads_state(checks):
            state = recorded.get_evidence(self.label, "state", "the final state")
            if not isinstance(state, dict):
                raise GraderFault("the final state was not read; run the task again")
        judged: list[Judged] = []
        for check in checks:
            both = compare_check(check, state) if check.kind == "jmespath" else None
            if check.kind == "script":
                both = (await self._run(check, state, recorded),) * 2
            judged.append((check, both))
        return judged

    async def _run(self, check: Check, state: JsonValue, recorded: Recorded) -> Criterion:
        script = self._script(check, recorded.task, recorded.base_dir)
        message = f"the script {check.subject}"
        async with private_folder("grade-") as folder:
            file = folder / "state.json"
            await asyncio.to_thread(file.write_text, json.dumps(state), encoding="utf-8")
            # Without site-packages: the scripts of REAL need the standard library only.
            arguments = [sys.executable, "-I", "-S", "-X", "utf8", str(script), str(file)]
            ran = await run_verifier(arguments, folder, folder, timeout_s=self.timeout_s, name=message)
        said = read_verdict(ran.lines)
        last = beginning(ran.lines[-1], 300) if ran.lines else ""
        # A script that crashed after it printed SUCCESS proves nothing.
        if said is None or (said and ran.code):
            why = f"{message} printed {show(last, 120)} and ended with code {ran.code}"
            raise GraderFault(f"{why}: {ran.complaint}" if ran.complaint else why)
        problem = "" if said else "the script says that the final state is wrong"
        return make_criterion(check.title, problem, expected="SUCCESS", actual=last)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
        """Ask about each requirement of the answer, and combine the replies with what the programs say.

        Raises:
            Fault: the judge gave no verdict.
        """
        judged: list[Judged] = [
            (check, both or (await self._ask(check, number, recorded, judge),) * 2)
            for number, (check, both) in enumerate(prepared, 1)
        ]
        return self._opinion(judged)

    async def _ask(self, check: Check, number: int, recorded: Recorded, judge: Judge) -> Criterion:
        if not (recorded.final_answer or "").strip():
            return make_criterion(check.title, "no answer: the judge was not asked", expected=True)
        parts = [give_task(recorded), Given("requirement", check.subject), give_answer(recorded)]
        reply = await judge.ask(RequirementReply, RULES, parts, call=f"verdict on check {number}")
        problem = "" if reply.is_met else reply.reasoning or "the judge gave no reason"
        return make_criterion(check.title, problem, expected=True, actual=reply.is_met)

    def _opinion(self, judged: list[Judged]) -> Opinion:
        pairs = [both for _, both in judged if both is not None]
        strict, lenient = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        criteria = strict if self.strings == "strict" else lenient
        return Opinion(
            "failed" if list_failed(criteria) else "passed",
            compute_share(criteria),
            summarize(criteria, f" ({self.strings} strings)"),
            criteria=tuple(criteria),
            evidence=("evidence.json",) if reads_state([check for check, _ in judged]) else (),
            details={
                "strings": self.strings,
                "strict_score": compute_share(strict),
                "lenient_score": compute_share(lenient),
                "softened": [b.name for a, b in pairs if a.verdict is not b.verdict],
            },
        )


# -- the page on which a clone shows its final state

TRIES = 20
POLL_S = 0.5

_SHOWN = "document.querySelector('pre')?.innerText"


async def read_finish(window: Window, url: str) -> JsonValue:
    """Return the JSON that a page shows in its first ``<pre>``, once there is some.

    Args:
        window: of the attempt; its current tab is the same one afterwards.
        url: of the page.

    Raises:
        Fault: source *grader*: the page cannot be opened, or shows no JSON.
    """
    async with live_page(window):
        pass  # says what is wrong with a window that cannot be read, and answers its dialogs
    assert isinstance(window, PlaywrightWindow)  # noqa: S101 live_page takes no other
    async with open_further_tab(window):
        await open_page(window, url)
        async with live_page(window) as page:
            problem = "it has no <pre> element"
            # The page writes its state by script, some time after it has loaded.
            for number in range(TRIES):
                if number:
                    await asyncio.sleep(POLL_S)
                try:
                    # In a world of its own: a page that the agent could change has no say in its score.
                    text = await page.isolated_value(_SHOWN)
                    if isinstance(text, str) and text.strip():
                        return parse_state(text)
                except NoValue as error:
                    problem = str(error)
    raise GraderFault(f"{url} shows no state: {show(problem, 200)}")
