"""Proves a recorded row: its solution has to pass, and doing nothing has to fail."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.door import Door
from pytest_browsereval.features.record.effects import add_effects, propose_effects
from pytest_browsereval.features.record.files import FOLDER, copy_files
from pytest_browsereval.features.record.row import format_row
from pytest_browsereval.features.shared.process import run_pytest
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.sites import names_in

SCRIPTED, NOOP = "scripted", "noop"
AGENTS = json.dumps({name: {"type": name} for name in (SCRIPTED, NOOP)})
ROWS = "rows.jsonl"
OWN = {"type": "jsonl", "path": ROWS, "trusted": True}
"""The dataset of the row, which the person at the window has made."""
START_S = 120.0
"""For pytest, browser and sites to start and end, besides the attempts."""
ATTEMPT_S = 300.0
"""For each attempt with its grading."""


class Proof(NamedTuple):
    """What a trial of a row has shown."""

    problems: list[str]
    """Why the row does not hold; nothing if its solution passes and doing nothing fails."""
    notes: list[str] = []  # noqa: RUF012 a tuple's default
    """Checks of a row that holds, which prove nothing by themselves, and why it has no effects."""
    effects: JsonValue = None
    """What its steps change in the state of its sites; None if that is not known."""


def prove_row(
    door: Door,
    row: Mapping[str, JsonValue],
    values: Mapping[str, str],
    config: EvalConfig | None,
    *,
    sets: Sequence[str] = (),
    files: Mapping[str, Path] | None = None,
) -> Proof:
    """Run a row by the agents ``scripted`` and ``noop`` in a pytest of its own, as any eval is run.

    Args:
        door: of the command.
        row: to try.
        values: of the variables that it types; they are in the environment of pytest.
        config: what the row is to run under; without one, nothing of the current folder counts.
        sets: overrides that the config was loaded with.
        files: those that the row has, by name.
    """
    with tempfile.TemporaryDirectory(prefix="browsereval-record-") as name:
        folder, text = Path(name), format_row(row)
        sites = config.sites if config else {}
        is_watched = "effects" not in row and any(sites[one].state for one in names_in(text) & {*sites})
        if is_watched:  # it keeps what is changed, and decides nothing
            text = format_row(add_effects(row, "nothing", {"type": "effects", "advisory": True}))
        (folder / ROWS).write_text(text + "\n", encoding="utf-8")
        copy_files(files or {}, folder / FOLDER)
        if config is None:
            arguments = _write_config(folder, tuple(values))
        else:
            arguments = _override_config(folder, config, tuple(values), sets, trials=1 + is_watched)
            values = {**values, **{f"{name}_SECRET": secret for name, secret in _list_codes(config).items()}}
        command = (
            "-q",
            "-p",
            "no:cacheprovider",
            "--disable-warnings",
            f"--eval-output={folder / 'results'}",
            *arguments,
        )
        output = run_pytest(
            command,
            START_S + 2 * (1 + is_watched) * ATTEMPT_S,
            env={**os.environ, **values},
            cwd=folder if config is None else None,
        )
        runs = [path for path in (folder / "results").glob("*/*") if (path / "tasks").is_dir()]
        attempts = [one for run in runs for one in StoredRun(run, door).attempts if one.counts]
        # Of two trials the one that shows a problem is judged.
        found = {one.variant: one.metadata for one in sorted(attempts, key=_is_as_wanted, reverse=True)}
        if problems := list(_judge(found, output)):
            return Proof(problems)
        notes, effects = list(_find_idle_checks(found[NOOP])), None
        if is_watched:
            folders = {agent: [one.folder for one in attempts if one.variant == agent] for agent in found}
            effects = propose_effects(folders[SCRIPTED], folders[NOOP])
            notes += [] if effects else [_NO_EFFECTS]
        return Proof([], notes, effects)


_NO_EFFECTS = (
    "The row has no `effects`: the state of its sites changes by itself, or differently each time. "
    "`browsereval doctor CONFIG --learn-volatile` proposes what to leave out."
)


def _is_as_wanted(attempt: StoredAttempt) -> bool:
    return attempt.verdict is (Verdict.PASSED if attempt.variant == SCRIPTED else Verdict.FAILED)


def _write_config(folder: Path, variables: tuple[str, ...]) -> list[str]:
    keys = {"name": "record", "variants": json.loads(AGENTS), "dataset": [OWN], "variables": variables}
    file = folder / "record.eval.json"
    file.write_text(json.dumps(keys), encoding="utf-8")
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\n", encoding="utf-8")
    return ["-c", str(settings), f"--rootdir={folder}", str(file)]


def _override_config(
    folder: Path, config: EvalConfig, variables: tuple[str, ...], sets: Sequence[str], *, trials: int
) -> list[str]:
    codes = _list_codes(config)
    keys: dict[str, Any] = {
        "variants": json.loads(AGENTS),
        "dataset": [{**OWN, "path": str(folder / ROWS)}],
        "variables": [
            *(name for name in dict.fromkeys((*config.variables, *variables)) if name not in codes),
            *({name: {"totp": f"${{{name}_SECRET}}"}} for name in codes),
        ],
        "graders": [],  # those of the row, which ask no model
        "gate": {},
        "trials": trials,
    }
    if isinstance(config.browser, PlaywrightBrowserConfig):
        keys["browser.headless"] = True
    more = [f"{key}={json.dumps(value)}" for key, value in keys.items() if key != "gate" or config.is_gated]
    return [f"--eval-config={config.path}", *(f"--eval-set={text}" for text in (*sets, *more))]


def _list_codes(config: EvalConfig) -> dict[str, str]:
    return {name: one.totp.get_secret_value() for name, one in config.variables.items() if one}


def _judge(found: Mapping[str, TaskMetadata], output: str) -> Iterator[str]:
    for agent in (SCRIPTED, NOOP):
        if agent not in found:
            errors = re.findall(r"^ERROR.*(?:\n(?![=-]{3}|ERROR).+)*", output, re.MULTILINE)
            said = "\n".join(errors) or output
            yield f"the agent `{agent}` made no attempt:\n{said}"
            return
    solved, idle = found[SCRIPTED], found[NOOP]
    if solved.verdict is not Verdict.PASSED or solved.errors:
        why = dict.fromkeys((*(error.message for error in solved.errors), solved.reason))
        what = "does not pass with" if solved.verdict is not Verdict.PASSED else "passes without all of"
        yield f"the agent `scripted` {what} the recorded steps: {'; '.join(filter(None, why))}"
    if idle.verdict is Verdict.PASSED:
        yield (
            "the agent `noop` passes: all checks hold on the start page, before anything is done. Check "
            "something that only the task brings about."
        )
    elif idle.verdict is Verdict.ERRORED:
        yield f"the attempt of the agent `noop` broke: {idle.reason}"


def _find_idle_checks(idle: TaskMetadata) -> Iterator[str]:
    """Name what held without a step; what must not happen always does."""
    for grade in (one for one in idle.grader_results.values() if not one.advisory):
        for one in grade.criteria:
            if one.verdict is Verdict.PASSED and not one.name.startswith("not "):
                yield (
                    f"The check `{one.name}` holds on the start page, before a step: alone it proves "
                    "nothing. The row has others that do."
                )
