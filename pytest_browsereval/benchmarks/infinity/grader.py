"""``infinity``: the verifier of a WebArena-Infinity task says whether the app's state is as it should be."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import Field, JsonValue

from pytest_browsereval.benchmarks.infinity import driver
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import origin_of
from pytest_browsereval.config_text import file_inside
from pytest_browsereval.features.shared.verifiers import run_verifier
from pytest_browsereval.graders.base import GraderConfig, GraderFault, Recorded, hash_bytes
from pytest_browsereval.graders.observing import fetch_state
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.graders.values import show
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import Needs
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.temporary import private_folder

STATE = "/api/state"
PYTHON = "{python}"
_DRIVER = Path(driver.__file__)


class InfinityGrader(GraderConfig):
    """Runs the ``verify(server_url)`` of a task against the state that its app had when the agent stopped.

    The state is read once from the app's ``/api/state``. The verifier is given an address that answers with
    it, so that the same attempt can be graded again when the app has gone.
    """

    type: Literal["infinity"] = "infinity"

    root: Path | None = None
    """The folder of the apps, relative to the config: a row's ``metadata.additional.verifier_path`` is
    relative to it or to the folder in it that is named like the row's ``app_name``."""
    python: str = PYTHON
    """The Python that runs verifiers, most of which import ``requests``; ``{python}`` is the one that runs
    the tests."""
    timeout_s: float = Field(default=30.0, gt=0, le=290)
    """After this the program and its child processes are killed, and the grade is errored."""

    # -- before anything is spent

    def needs(self, task: Task) -> Needs:
        """Trust, as it runs the verifiers of a folder by some Python. It always observes the whole state."""
        trust = [f"runs verifiers of the folder {str(self.root)!r} (`root`)"] if self.root else []
        trust += [] if self.python == PYTHON else [f"starts the program {self.python!r} (`python`)"]
        return Needs(trust=tuple(trust), observes=None)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row names an app and a verifier that is there, and whose Python has what it imports.

        Raises:
            ValueError: with what to write.
        """
        if self.root is None:
            how = "Write `graders: [{type: infinity, root: FOLDER}]` in the config"
            raise ValueError(f"the grader {self.label!r} needs the folder of the apps. {how}.")
        _relative(task)
        if not task.start_url:
            why = f"{STATE} is read from the app that the row starts at"
            raise ValueError(f'the row has no start_url, and {why}. Write "start_url": "{{NAME_OF_SITE}}/".')
        source = self._verifier(task, base_dir).read_text(encoding="utf-8", errors="replace")
        # Before the first attempt: without the package every grade would be errored.
        if "import requests" in source and self.python == PYTHON and find_spec("requests") is None:
            how = "Run `pip install requests` or write `python: PATH` of a Python that has it"
            raise ValueError(f"verifiers import requests, and {sys.executable} has no such package. {how}.")

    def _verifier(self, task: Task, base_dir: Path) -> Path:
        root = (base_dir / (self.root or "")).resolve()
        app, path = str(task.metadata.additional.get("app_name") or ""), _relative(task)
        is_plain = app not in ("", "..") and app == PurePosixPath(app).name
        for place in (path, PurePosixPath(app) / path) if is_plain else (path,):
            if (file := file_inside(root, str(place))) is not None:
                return file
        inside = f" nor in its folder {app!r}" if app else ""
        how = f"Correct `root` of the grader {self.label!r}: it is the folder of the apps"
        raise ValueError(f"the verifier {str(path)!r} of the row is not in {str(root)!r}{inside}. {how}.")

    def _python(self) -> str:
        return self.python.replace(PYTHON, sys.executable)

    # -- the state

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read the app's state.

        Raises:
            Fault: the app does not answer with one.
        """
        url = f"{origin_of(task.start_url or '')}{STATE}"
        try:
            return {"state": await fetch_state(window, url)}
        except NoValue as error:
            raise GraderFault(f"the app gives no state: {error}") from None

    # -- the grade

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Run the verifier on the state that was read.

        Raises:
            Fault: no state was read, or the verifier raised, took too long or is not there.
        """
        state = recorded.get_evidence(self.label, "state", "the app's state")
        try:
            verifier = self._verifier(recorded.task, recorded.base_dir)
        except ValueError as error:
            raise GraderFault(str(error)) from None
        passed, message = await self._run(verifier, state)
        files = [await asyncio.to_thread(file.read_bytes) for file in (verifier, _DRIVER)]
        # Without what differs from machine to machine and changes no grade.
        rules = self.model_copy(update={"root": None, "python": PYTHON})
        verdict = Verdict.PASSED if passed else Verdict.FAILED
        criterion = Criterion(
            name=f"verifier {verifier.name}", verdict=verdict, expected=True, actual=passed, reason=message
        )
        return GraderResult(
            grader=self.label,
            verdict=verdict,
            score=float(passed),
            reasoning=message or "the verifier gave no message",
            criteria=(criterion,),
            evidence=("evidence.json",),
            fingerprint=f"{rules.fingerprint(1)}/{hash_bytes(*files)}",
        )

    async def _run(self, verifier: Path, state: JsonValue) -> tuple[bool, str]:
        name = f"the verifier {verifier.name}"
        async with private_folder("grade-") as home:
            await asyncio.to_thread((home / "state.json").write_text, json.dumps(state), encoding="utf-8")
            # Not -S: `requests` lies in the site-packages of that Python.
            arguments = [self._python(), "-I", "-X", "utf8", str(_DRIVER), str(verifier), "state.json"]
            ran = await run_verifier(arguments, home, home, timeout_s=self.timeout_s, name=name)
            file = home / driver.VERDICT
            text = file.read_text(encoding="utf-8") if file.is_file() else ""
        try:
            said = json.loads(text)
            passed, why = said["passed"], str(said["message"])
        except (ValueError, KeyError, TypeError):
            how = f"ended with code {ran.code}: {ran.complaint or 'no message'}"
            raise GraderFault(f"{name} gave no verdict and {how}") from None
        if not isinstance(passed, bool):
            raise GraderFault(f"{name} returned {beginning(why, 200)}, not (True or False, message)")
        return passed, beginning(why, 1_000)


def _relative(task: Task) -> PurePosixPath:
    given = task.metadata.additional.get("verifier_path")
    path = PurePosixPath(given) if isinstance(given, str) else PurePosixPath()
    is_inside = not path.is_absolute() and ".." not in path.parts and "\\" not in str(path)
    if not isinstance(given, str) or not is_inside or path.suffix != ".py" or "\0" in given:
        how = 'write the path of a Python file inside the folder of the apps, "gmail/real-tasks/task_e1.py"'
        raise ValueError(f"metadata.additional.verifier_path is {show(given)}; {how}.")
    return path
