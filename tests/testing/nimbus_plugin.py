"""A plug-in written from public names alone, with what no example has; `test_public_names.py` runs it."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from pytest_browsereval import (
    DatasetConfig,
    DatasetError,
    ErrorSource,
    Fault,
    GraderConfig,
    GraderResult,
    Message,
    ModelNeed,
    Needs,
    PassRate,
    Recorded,
    Registry,
    RowMetadata,
    RowRef,
    RunSummary,
    Task,
    Verdict,
    chat_client,
)


class FriendlyConfig(GraderConfig):
    """A grader that asks the judge of the run."""

    type: Literal["nimbus/friendly"] = "nimbus/friendly"

    def needs(self, task: Task) -> Needs:
        del task
        return Needs(models=(ModelNeed(self.label),))

    async def grade(self, recorded: Recorded) -> GraderResult:
        judge = recorded.judge
        if judge is None:
            raise Fault(ErrorSource.GRADER, "there is no judge. Add a `judge` block to the config")
        question = f"Is this friendly? Say yes or no.\n{recorded.final_answer}"
        reply = await chat_client(judge).complete([{"role": "user", "content": question}], role="judge")
        verdict = Verdict.PASSED if reply.text == "yes" else Verdict.FAILED
        return GraderResult(grader=self.label, verdict=verdict, reasoning=reply.text, usage=reply.usage)


class TableConfig(DatasetConfig):
    """A dataset: a table with the columns `id`, `task` and `category`."""

    type: Literal["nimbus/table"] = "nimbus/table"

    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        del ids
        path = self.file(base_dir)
        return [RowRef(row["id"], path, number + 2, number) for number, row in enumerate(read_table(path))]

    def read(self, ref: RowRef) -> Task:
        row = read_table(ref.path)[ref.offset]
        return Task(query_id=row["id"], query=row["task"], metadata=RowMetadata(category=row["category"]))


def read_table(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise DatasetError(f"{path}: {error}. Name a table.") from error


def pytest_browsereval_register(registry: Registry) -> None:
    for member in (FriendlyConfig, TableConfig):
        registry.register(member)


def describe_rate(rate: PassRate) -> str:
    return f"{rate.passed} of {rate.passed + rate.failed}"


lines: list[str] = []


def pytest_browsereval_message(node_id: str, message: Message) -> None:
    lines.append(f"{node_id} {message.type}")


def pytest_browsereval_run_summary(summary: RunSummary, run_folder: Path) -> None:
    rate = summary.rate
    figures: dict[str, JsonValue] = {
        "passed": [t.last.query_id for t in summary.trials if t.last.verdict is Verdict.PASSED],
        "rate": describe_rate(rate),
        "messages": list(lines),
    }
    (run_folder / "report.json").write_text(json.dumps(figures), encoding="utf-8")
