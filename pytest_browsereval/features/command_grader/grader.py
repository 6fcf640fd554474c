"""``command``: a program of the user judges the attempt from a file and prints its verdict as JSON."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.shared.verifiers import run_verifier
from pytest_browsereval.graders.base import GraderConfig, GraderFault, Recorded
from pytest_browsereval.graders.values import describe_invalid
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import ChecksRead, Needs
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.temporary import private_folder

PYTHON = "{python}"
"""Stands for the interpreter that runs the tests."""


class _Judged(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    passed: bool = Field(alias="pass")

    @property
    def verdict(self) -> Verdict:
        """The verdict that the program gives."""
        return Verdict.PASSED if self.passed else Verdict.FAILED


class JudgedCriterion(_Judged):
    """One thing that the program looked at."""

    name: str
    expected: JsonValue = None
    actual: JsonValue = None
    reason: str = ""
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class Judgement(_Judged):
    """The last line that the program prints."""

    score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    """1 or 0 by default, as it passes or not."""
    reasoning: str = ""
    criteria: tuple[JudgedCriterion, ...] = ()


class CommandGrader(GraderConfig):
    """Runs a verifier program in the config's folder, without our environment.

    Its last argument is the path of a JSON file: ``{task, final_answer, termination_reason, final_url,
    site_urls, folder, evidence, downloads, requests}``. The last line it prints is a JSON object:
    ``{"pass": true, "score": 1.0, "reasoning": "...", "criteria": [{"name": "...", "pass": true, ...}]}``,
    of which only ``pass`` is needed.
    """

    type: Literal["command"] = "command"
    reads: ClassVar[ChecksRead] = ChecksRead(lacking=())
    """All: the program gets the whole task."""

    command: tuple[str, ...] = Field(min_length=1)
    """Program and arguments, never a shell line; ``{python}`` is the interpreter that runs the tests."""
    timeout_s: float = Field(default=60.0, gt=0, le=290)
    """After this the program and its child processes are killed, and the grade is errored."""

    def needs(self, task: Task) -> Needs:
        """Trust, as it starts a program."""
        return Needs(trust=(f"starts the program {self.command[0]!r}",))

    def _arguments(self, base_dir: Path) -> list[str]:
        program, *rest = (part.replace(PYTHON, sys.executable) for part in self.command)
        # As a shell does it: only a program with a slash in its name is a path.
        return [str(base_dir / program) if os.sep in program else program, *rest]

    def preflight(self, base_dir: Path) -> None:
        """Check that the program and, for Python, its script are there.

        Raises:
            ConfigError: with what to write.
        """
        program = self._arguments(base_dir)[0]
        if shutil.which(program) is None:
            raise ConfigError(
                f"the grader {self.label!r} runs {self.command[0]!r}, which is not a program: {program} does "
                "not exist or is not executable. Write a path relative to the config, the name of an "
                f'installed program, or command: ["{PYTHON}", "verify.py"].'
            )
        script = self.command[1] if self.command[0] == PYTHON and len(self.command) > 1 else "-"
        if not script.startswith("-") and not (base_dir / script).is_file():
            raise ConfigError(
                f"the grader {self.label!r} runs the script {script!r}, which is not in {base_dir}. "
                "Write its path relative to the config."
            )

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Run the program and read its judgement.

        Raises:
            Fault: it cannot be started, takes too long, fails, or prints no judgement.
        """
        base_dir, name = recorded.base_dir.resolve(), f"the verifier {list(self.command)}"
        async with private_folder("grade-") as folder:
            file = await asyncio.to_thread(_write, recorded, folder)
            ran = await run_verifier(
                [*self._arguments(base_dir), str(file)], base_dir, folder, timeout_s=self.timeout_s, name=name
            )
        if ran.code:
            raise GraderFault(f"{name} ended with code {ran.code}: {ran.complaint}")
        last = ran.lines[-1] if ran.lines else ""
        try:
            judgement = Judgement.model_validate_json(last)
        except ValidationError as error:
            raise GraderFault(
                f"{name} printed {beginning(last, 200)!r} as its last line, which is not a judgement: "
                f'{describe_invalid(error)}. Print an object such as {{"pass": true}}'
            ) from None
        # A verifier that was edited may judge otherwise, although its options are the same.
        files = [path for part in self.command if PYTHON not in part and (path := base_dir / part).is_file()]
        contents = hashlib.sha256(b"".join([await asyncio.to_thread(path.read_bytes) for path in files]))
        return GraderResult(
            grader=self.label,
            verdict=judgement.verdict,
            score=float(judgement.passed) if judgement.score is None else judgement.score,
            reasoning=judgement.reasoning,
            criteria=tuple(
                Criterion(verdict=criterion.verdict, **criterion.model_dump(exclude={"passed"}))
                for criterion in judgement.criteria
            ),
            fingerprint=f"{self.fingerprint(1, recorded.site_urls)}/{contents.hexdigest()[:12]}",
        )


def _write(recorded: Recorded, folder: Path) -> Path:
    """Write what the program may know; text of pages and models is nowhere but in this file."""
    file = folder / "attempt.json"
    content = {
        "task": recorded.task.model_dump(mode="json"),
        "final_answer": recorded.final_answer,
        "termination_reason": recorded.termination_reason,
        "final_url": recorded.final_url,
        "site_urls": dict(recorded.site_urls),
        # Absolute, since the program runs in the folder of the config.
        "folder": str(recorded.folder.resolve()),
        "evidence": dict(recorded.evidence),
        "downloads": [one.model_dump(mode="json") for one in recorded.downloads],
        "requests": recorded.requests,
    }
    file.write_text(json.dumps(content), encoding="utf-8")
    return file
