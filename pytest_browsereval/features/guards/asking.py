"""Asks the guards of a config about a call, records what they refuse, and counts that."""

from __future__ import annotations

import inspect
import itertools
import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config.guard import GuardConfig, GuardedCall
from pytest_browsereval.errors import (
    PLUGIN_ERRORS,
    BrowserEvalError,
    ErrorSource,
    Fault,
    describe_error,
    is_given_up,
)
from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.messages import now
from pytest_browsereval.run_files import parse_lines, read_written
from pytest_browsereval.runs.run import StoredRun

REFUSALS_FILE = "refused.jsonl"
"""In the folder of an attempt: the calls that guards have refused, a line each; missing if there is none."""


async def ask_guards(call: GuardedCall) -> str | None:
    """Return why a call is refused, which the agent reads; None if all guards let it pass.

    Raises:
        Fault: a guard raised, or returned something else than a reason.
    """
    for guard in call.guards:
        reason = await _ask(guard, call)
        if reason is None:
            continue
        _record(guard, call, reason)
        return f"Refused by the guard {guard.type}: {reason}"
    return None


async def _ask(guard: GuardConfig, call: GuardedCall) -> str | None:
    name = f"the guard {guard.type!r}"
    call.asked.append(name)
    try:
        reason: object = guard.check(call)
        if inspect.isawaitable(reason):
            reason = await reason
    except BrowserEvalError:
        raise
    except PLUGIN_ERRORS as error:
        if is_given_up(error):
            raise
        message = f"{name} raised {describe_error(error)} about a call to {call.tool}"
        raise Fault(ErrorSource.HARNESS, message) from error
    if reason is None or (isinstance(reason, str) and reason.strip()):
        return reason
    why = f"{name} returned {reason!r:.80}. Return a reason as a string, or None"
    raise Fault(ErrorSource.HARNESS, why)


def _record(guard: GuardConfig, call: GuardedCall, reason: str) -> None:
    capture = call.capture
    line = {
        # The latest call in the log: the refused one, but for an answer without a call.
        "call_id": f"call-{capture.findings.calls}",
        "tool": call.tool,
        "guard": guard.type,
        "reason": capture.config.redact(reason),
        "timestamp": now(),
    }
    try:
        with (capture.config.folder / REFUSALS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:
        capture.add_warning(ErrorSource.MESSAGE_LOGGING, f"a refusal was not written: {error}")


def list_refusing(folder: Path) -> list[str]:
    """Return the guard of each call that was refused in an attempt; a line that a crash has cut is left out.

    Args:
        folder: of the attempt.
    """
    try:
        written = read_written(folder / REFUSALS_FILE)
    except OSError:
        return []
    return list(parse_lines(written, lambda line: str(line["guard"])))


def check_agents(config: EvalConfig) -> None:
    """Refuse an agent that drives the browser past the tools.

    Raises:
        ConfigError: it names the variant.
    """
    for name, agent in config.variants.items() if config.guards else ():
        if agent.needs().cdp:
            why = (
                "drives the browser itself (`cdp: true`), without the tools, so no guard is asked. "
                "Write `cdp: false`, for tools over MCP, or leave `guards` out."
            )
            raise config.wrong(("variants", name), why)


@lru_cache(maxsize=1)
def sum_up_refusals(run: StoredRun) -> tuple[dict[str, Any], list[str]]:
    """Return how many calls guards have refused, by guard, and the line that says it; nothing without any."""
    # The run's own guards, not those of a config that only grades it again.
    config = run.read_manifest().get("config")
    if not isinstance(config, dict) or not config.get("guards"):
        return {}, []
    refusing = [list_refusing(trial.last.local_folder) for trial in run.summary.trials]
    counts, trials = Counter(itertools.chain(*refusing)), sum(map(bool, refusing))
    by_guard = dict(sorted(counts.items()))
    figures = {"refused_calls": counts.total(), "trials": trials, "by_guard": by_guard}
    each = ", ".join(f"{guard} {count}" for guard, count in by_guard.items())
    of_all = f"in {trials} of {format_count(len(refusing), 'trial')}"
    line = f"guards: refused {format_count(counts.total(), 'call')} {of_all} ({each})"
    return {"guards": figures}, [line if counts else "guards: refused no call"]
