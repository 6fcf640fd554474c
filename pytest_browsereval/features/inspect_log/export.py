"""Writes a finished run as logs of Inspect, one for each variant, trial by trial.

What was made at derived rows has a log of its own: the accuracy of the other one is the pass rate.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pytest_browsereval.analysis.parts import lacking
from pytest_browsereval.config.export import ExportConfig, Exported
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.features.inspect_log.conversation import make_usage
from pytest_browsereval.features.inspect_log.package import check_installed, load_api, make_id
from pytest_browsereval.features.inspect_log.trials import VERDICT, Totals, TrialWriter, name_main_model
from pytest_browsereval.features.shared.export_record import clean_json, describe_withheld
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.run.locks import RunLocks
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import read_log
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.turns import parse_time

Trials = dict[str, list[StoredAttempt]]


class InspectExport(ExportConfig):
    """Inspect logs, one for each variant, for its viewer and its data frames.

    Attempts at derived rows have logs of their own.
    """

    type: Literal["inspect"] = "inspect"
    output: Path = Path("logs")
    """The folder to write; ``inspect view`` looks into ``logs``."""
    pictures: bool = True
    """Whether pictures are written too."""

    def preflight(self, base_dir: Path) -> None:
        """Check that Inspect is installed."""
        check_installed()

    def write(self, run: StoredRun, base_dir: Path) -> Exported:
        """Write the logs; those of the same run that are there are replaced."""
        api, target = load_api(), base_dir / self.output
        target.mkdir(parents=True, exist_ok=True)
        logs: dict[tuple[str, str], Trials] = {}
        for attempt in run.attempts:
            key = attempt.variant, "" if attempt.derived is None else f"under_{attempt.derived.by}"
            logs.setdefault(key, {}).setdefault(attempt.trial_id, []).append(attempt)
        notes: dict[str, list[str]] = {"withheld": [], "lost": []}
        for (variant, mark), trials in logs.items():
            log = _Log(api, run, variant, mark, pictures=self.pictures)
            with _replace(target / log.name) as file:
                log.write(file, trials.values(), notes)
        left_out, count = describe_withheld(len(notes["withheld"])), sum(map(len, logs.values()))
        return Exported(str(self.output), count, left_out, tuple(notes["lost"]))


@contextmanager
def _replace(path: Path) -> Iterator[Path]:
    """Yield a file that becomes the other one once it is whole."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


class _Log:
    """The log of a variant, of its plain trials or of those of derived rows."""

    def __init__(self, api: Any, run: StoredRun, variant: str, mark: str, *, pictures: bool) -> None:
        self._api, self._run, self._variant = api, run, variant
        self._marks = (mark,) if mark else ()
        self._task = well_formed("-".join((run.eval, *self._marks)))
        self._writer = TrialWriter(api, pictures=pictures)
        self._id = make_id(run.eval, run.id, variant, *self._marks)
        given = run.manifest.get("started_at")
        started_at = parse_time(given) if isinstance(given, str) else None
        first = next((parse_time(one.started_at) for one in run.attempts), None)
        incomplete = lacking(run)
        # Inspect's words: a log of one that is still written is *started*.
        cut_off = "cancelled" if RunLocks(run.folder).is_idle() else "started"
        self._status = "success" if incomplete is None else cut_off
        self._incomplete = incomplete and well_formed(incomplete.message)
        found = started_at or first or parse_time("1970-01-01")
        assert found is not None  # noqa: S101 the last one can be read
        self._created = found.isoformat(timespec="seconds")

    @property
    def name(self) -> str:
        """The name of the file, made as Inspect makes it: time, task, id."""
        stamp = self._created.replace(":", "-").replace("+", "-")
        return f"{stamp}_{safe_id(self._task).replace('_', '-')}_{self._id}.eval"

    def write(
        self, file: Path, trials: Iterable[Sequence[StoredAttempt]], notes: Mapping[str, list[str]]
    ) -> None:
        """Write it, one trial after the other: a large run does not fit into memory."""
        api, summaries, names = self._api, [], set()
        record: TaskMetadata | None = None
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for attempts in trials:
                for attempt in attempts:
                    if damage := read_log(attempt.folder)[1]:
                        notes["lost"].append(f"{attempt.query_id}: {damage}")
                    notes["withheld"].extend([attempt.id] if attempt.is_protected else [])
                one = self._writer.make(attempts)
                summaries.append(json.loads(one.summary().model_dump_json(exclude_none=True)))
                names.add(one.id)
                record = record or attempts[-1].metadata
                name, condensed = f"samples/{one.id}_epoch_{one.epoch}.json", api.condense_sample(one)
                # No variable holds the text: it would be there while the next one is made.
                _put(archive, name, condensed.model_dump_json(exclude_none=True))
            assert record is not None  # noqa: S101 a variant has an attempt
            _put(archive, "summaries.json", json.dumps(summaries))
            header, apart = self._make_header(record, sorted(names)), {"samples", "location"}
            _put(archive, "header.json", header.model_dump_json(exclude_none=True, exclude=apart))

    def _make_header(self, record: TaskMetadata, names: list[str]) -> Any:
        api, manifest, totals = self._api, self._run.manifest, self._writer.totals
        agent = well_formed(str(record.agent_config.get("type") or "unknown"))
        given = manifest.get("config")
        config: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        numbers = {key: value for key, value in config.items() if isinstance(value, int)}
        details = {"variant": self._variant, "config_hash": manifest.get("config_hash"), "run": self._run.id}
        details |= {"incomplete": self._incomplete} if self._incomplete else {}
        return api.EvalLog(
            version=2,
            status=self._status,
            eval=api.EvalSpec(
                created=self._created,
                task=self._task,
                run_id=self._run.id,
                eval_id=self._id,
                task_id=make_id(manifest.get("config_hash"), self._variant, *self._marks),
                dataset=api.EvalDataset(name=_name_dataset(manifest), samples=len(names), sample_ids=names),
                model=name_main_model(record),
                solver=agent,
                config=api.EvalConfig(
                    epochs=numbers.get("trials"),
                    retry_on_error=numbers.get("retries"),
                    max_samples=numbers.get("lanes"),
                ),
                tags=[self._variant, *self._marks],
                metadata=clean_json(details),
                headline_metric=api.HeadlineMetric(scorer=VERDICT, metric="accuracy"),
            ),
            plan=api.EvalPlan(steps=[api.EvalPlanStep(solver=agent)]),
            results=self._make_results(totals),
            stats=api.EvalStats(
                started_at=self._created,
                completed_at=totals.completed_at or self._created,
                model_usage={name: make_usage(api, used) for name, used in totals.usage.items()},
            ),
        )

    def _make_results(self, totals: Totals) -> Any:
        api = self._api
        scores = [
            api.EvalScore(
                name=name,
                scorer=name,
                scored_samples=len(values),
                unscored_samples=totals.trials - len(values),
                metrics={"accuracy": api.EvalMetric(name="accuracy", value=sum(values) / len(values))},
            )
            for name, values in sorted(totals.scores.items(), key=lambda one: (one[0] != VERDICT, one[0]))
        ]
        return api.EvalResults(total_samples=totals.trials, completed_samples=totals.completed, scores=scores)


def _name_dataset(manifest: Mapping[str, Any]) -> str:
    files = manifest.get("datasets")
    known = [one.get("file") for one in files if isinstance(one, Mapping)] if isinstance(files, list) else []
    return well_formed(", ".join(str(one) for one in known if one)) or "unknown"


def _put(archive: ZipFile, name: str, text: str) -> None:
    # With a time of its own the same run would be another file each time.
    archive.writestr(ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), text, ZIP_DEFLATED)
