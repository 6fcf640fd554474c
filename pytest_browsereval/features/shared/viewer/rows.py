"""The run page's data: a short row for each attempt, words that many rows share kept once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_browsereval.features.shared.manifest_lines import agents_of
from pytest_browsereval.features.shared.viewer.attempts import ShownAttempt
from pytest_browsereval.model.derived import find_outcome
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.runs.keys import KEYS
from pytest_browsereval.runs.summary import RunSummary

# In the place of a verdict. No rate counts such an attempt.
UNFINISHED, DAMAGED = "unfinished", "damaged"

# Characters of a task and of a reason. With 20,000 rows more would make the page slow to open; the details
# have all.
LONGEST = 160

# Rows are lists: names of keys in each of 20,000 rows would be most of the page.
COLUMNS = (
    "key", "chunk", "verdict", "id", "query", "reason", "dataset", "site", "tags", "variant", "trial",
    "attempt", "tries", "source", "end", "steps", "ms", "cost", "started", "progress", "cause",
    "derived", "channel", "outcome",
)  # fmt: skip

_OF_DERIVED = ("derived", "channel", "outcome")
_SHARED = ("verdict", "dataset", "site", "variant", "source", "end", "cause", *_OF_DERIVED)


class Table:
    """Collects the rows of a run. It keeps no attempt's metadata: 20,000 of them fill the memory."""

    def __init__(self) -> None:
        self._words: dict[str, dict[str, int]] = {name: {} for name in (*_SHARED, "tags")}
        self._last: dict[TrialKey, list[Any]] = {}
        self._earlier: list[list[Any]] = []
        self._without: list[list[Any]] = []
        self._keys: set[str] = set()

    def add(
        self, attempt: ShownAttempt, chunk: int = 0, *, query_id: str = "", query: str = ""
    ) -> list[list[Any]]:
        """Add an attempt, or replace what was known of it.

        Args:
            attempt: what is stored of it.
            chunk: which script has its details.
            query_id: the row's id, if there is no metadata yet.
            query: the task, if there is no metadata yet.

        Returns:
            The rows that changed: its own, and that of an earlier attempt of its trial.
        """
        data = attempt.metadata
        if data is None:
            row = self._bare(attempt, chunk, query_id, query)
            self._without.append(row)
            return [row]
        is_again = attempt.key in self._keys
        self._keys.add(attempt.key)
        row, trial = self._row(attempt, data, chunk), data.key
        before = self._last.get(trial)
        if before is None or is_again:
            row[_PLACE["tries"]] = before[_PLACE["tries"]] if before else 1
            self._last[trial] = row
            return [row]
        tries = before[_PLACE["tries"]] + 1
        later, sooner = (row, before) if row[_PLACE["attempt"]] > before[_PLACE["attempt"]] else (before, row)
        later[_PLACE["tries"]], sooner[_PLACE["tries"]] = tries, 0
        self._last[trial] = later
        self._earlier.append(sooner)
        return [later, sooner]

    def drop_unfinished(self, key: str) -> None:
        """Forget an attempt that had no metadata: it is added again, with what it has come to."""
        self._without = [row for row in self._without if row[_PLACE["key"]] != key]

    def plain(self, row: list[Any]) -> dict[str, Any]:
        """Return a row by the names of its columns, with words in full."""
        named = dict(zip(COLUMNS, row, strict=True))
        for name, words in self._words.items():
            all_of = list(words)
            given = named[name]
            named[name] = [all_of[one] for one in given] if name == "tags" else all_of[given]
        return named

    def _row(self, attempt: ShownAttempt, data: TaskMetadata, chunk: int) -> list[Any]:
        share = self._word
        return [
            attempt.key,
            chunk,
            share("verdict", str(data.verdict)),
            data.query_id,
            one_line(data.query, LONGEST),
            one_line(data.reason, LONGEST),
            share("dataset", data.dataset),
            share("site", data.website or ""),
            [share("tags", tag) for tag in dict.fromkeys(data.tags)],
            share("variant", data.variant),
            data.trial,
            data.attempt,
            1,
            share("source", str(data.error_source or "")),
            share("end", str(data.termination_reason)),
            data.total_steps,
            _finite(data.total_duration_ms, 0),
            _finite(data.cost_usd, 6),
            data.started_at,
            _tell_progress(data),
            share("cause", attempt.cause.label if attempt.cause else ""),
            *map(share, _OF_DERIVED, _describe_derived(data)),
        ]

    def _bare(self, attempt: ShownAttempt, chunk: int, query_id: str, query: str) -> list[Any]:
        """Return the row of an attempt without metadata."""
        task, variant, trial, _ = attempt.key.split("/")
        share, verdict = self._word, DAMAGED if attempt.problem else UNFINISHED
        message = attempt.problem or "It has no line in attempts/*.jsonl: it is running, or was killed."
        known = {
            "key": attempt.key,
            "chunk": chunk,
            "verdict": share("verdict", verdict),
            "id": query_id or task,
            "query": one_line(query, LONGEST),
            "reason": one_line(message, LONGEST),
            "tags": [],
            "variant": share("variant", variant),
            "trial": int(trial) if trial.isascii() and trial.isdecimal() and len(trial) < 10 else 0,
            "attempt": attempt.number,
            "tries": 1,
            "started": "",
            **{name: share(name, "") for name in _SHARED if name not in ("verdict", "variant")},
        }
        return [known.get(name) for name in COLUMNS]

    def _word(self, name: str, text: str) -> int:
        words = self._words[name]
        return words.setdefault(text, len(words))

    def count_damaged(self) -> int:
        """Return how many attempts cannot be read."""
        return self._count_without(DAMAGED)

    def _count_without(self, word: str) -> int:
        place = self._words["verdict"].get(word)
        return sum(row[_PLACE["verdict"]] == place for row in self._without)

    @property
    def attempts(self) -> int:
        """How many there are."""
        return len(self._last) + len(self._earlier) + len(self._without)

    def as_json(self) -> dict[str, Any]:
        """Return the rows of a page: trials as they were begun, then attempts without a verdict."""
        started = _PLACE["started"]
        rows = sorted(self._last.values(), key=lambda row: row[started])
        return {
            "words": {name: list(words) for name, words in self._words.items()},
            "columns": COLUMNS,
            "keys": [[key.label, key.name] for key in KEYS],
            "rows": [*rows, *self._without, *self._earlier],
        }

    def totals(self, summary: RunSummary) -> dict[str, Any]:
        """Return the figures of the whole: counts, the pass rate with its interval, the cost.

        As in all figures of a run, trials of derived rows are not among the trials.
        """
        rate, (known, unknown) = summary.rate, summary.known_cost
        return {
            **{str(verdict): summary.count(verdict) for verdict in Verdict},
            **{word: self._count_without(word) for word in (UNFINISHED, DAMAGED)},
            "trials": len(summary.plain),
            "derived": len(summary.trials) - len(summary.plain),
            "judged": rate.judged,
            "rate": rate.value,
            "interval": rate.interval and rate.interval.as_json(),
            "cost": _finite(summary.cost_usd, 12),
            "known_cost": [_finite(known, 12), unknown],
            "false_claims": summary.false_claims.hits,
        }


def _tell_progress(data: TaskMetadata) -> list[Any] | None:
    """Return how far an attempt came, from 0 to 1, and its furthest milestone."""
    share = data.best_progress
    return None if share is None or data.progress is None else [share, one_line(data.progress.furthest, 60)]


def _describe_derived(data: TaskMetadata) -> tuple[str, str, str]:
    """Return what a row was derived by, how that has reached the agent, and what became of it."""
    if data.derived is None:
        return "", "", ""
    return data.derived.name, data.derived.channel, find_outcome(data) or "not judged"


def _finite(value: float | None, digits: int) -> float | None:
    """Return a rounded number; None for NaN and infinity, which JSON does not have."""
    return None if value is None or not math.isfinite(value) else round(value, digits)


_PLACE = {name: place for place, name in enumerate(COLUMNS)}


def about_run(manifest: Mapping[str, Any], name: str, selected: int | None) -> dict[str, Any]:
    """Return what the run page says of the run itself.

    Args:
        manifest: of the run; empty if there is none.
        name: of its folder.
        selected: how many trials it was to have; None if unknown.
    """
    config = manifest.get("config")
    config = config if isinstance(config, Mapping) else {}
    facts = {
        "Eval": manifest.get("name"),
        "Run": name,
        "Started": manifest.get("started_at"),
        "Agent": _agents(config),
        "Browser": manifest.get("browser"),
        "Datasets": _files(manifest.get("datasets")),
        "Commit": manifest.get("git_commit"),
    }
    lines = {title: one_line(value) for title, value in facts.items() if isinstance(value, str) and value}
    return {"facts": lines, "selected": selected, "variants": list(agents_of(config))}


def _agents(config: Mapping[str, Any]) -> str:
    agents = agents_of(config).items()
    return ", ".join(agent if name == "default" else f"{name}: {agent}" for name, agent in agents)


def _files(datasets: Any) -> str:
    blocks: Iterable[Any] = datasets if isinstance(datasets, list) else ()
    return ", ".join(str(block["file"]) for block in blocks if isinstance(block, dict) and "file" in block)
