"""What guards come to in a run: which agents cannot be guarded, and how many calls were refused."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.features.guards.asking import list_refusing
from pytest_browsereval.model.display import format_count
from pytest_browsereval.runs.run import StoredRun


def check_agents(config: EvalConfig) -> None:
    """Refuse an agent that drives the browser past the tools.

    Raises:
        ConfigError: it names the variant.
    """
    for name, agent in config.variants.items() if config.guards else ():
        if agent.needs().cdp:
            why = (
                "drives the browser itself (`cdp: true`), past the tools, so that no guard is asked. "
                "Write `cdp: false`, for tools by MCP, or leave `guards` out."
            )
            raise config.wrong(("variants", name), why)


@lru_cache(maxsize=1)
def sum_up_refusals(run: StoredRun) -> tuple[dict[str, Any], list[str]]:
    """Return how many calls guards have refused, by guard, and the line that says it; nothing without any."""
    # The run's own guards, not those of a config that only grades it again.
    config = run.read_manifest().get("config")
    if not isinstance(config, dict) or not config.get("guards"):
        return {}, []
    counts: Counter[str] = Counter()
    trials = 0
    for trial in run.summary.trials:
        refusing = list_refusing(trial.last.local_folder)
        trials += bool(refusing)
        counts.update(refusing)
    by_guard = dict(sorted(counts.items()))
    figures = {"refused_calls": counts.total(), "trials": trials, "by_guard": by_guard}
    if not counts:
        return {"guards": figures}, ["guards: refused no call"]
    each = ", ".join(f"{guard} {count}" for guard, count in by_guard.items())
    of_all = f"in {trials} of {format_count(len(run.summary.trials), 'trial')}"
    line = f"guards: refused {format_count(counts.total(), 'call')} {of_all} ({each})"
    return {"guards": figures}, [line]
