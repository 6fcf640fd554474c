"""A task: one row of a dataset, checked."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator


class RowMetadata(BaseModel):
    """Where a task comes from, as BrowserOS writes it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    original_task_id: str = ""
    """The task's id in the benchmark that it was taken from."""
    website: str | None = None
    """The site that the task is about."""
    category: str | None = None
    """A group of tasks, by the benchmark's own words."""
    additional: dict[str, JsonValue] = Field(default_factory=dict)
    """Anything else that the benchmark says of the task."""
    source: JsonValue = None
    """The original row, where an importer kept it."""


class Task(BaseModel):
    """One row: what the agent is asked to do, where it starts, and how it is judged."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    query_id: str = Field(min_length=1)
    """Unique in its dataset; shown as given, encoded wherever a path or a node id is made of it."""
    query: str = Field(min_length=1)
    """The instruction."""
    dataset: str = ""
    """The name of the set that the row belongs to; becomes a marker."""
    graders: tuple[str | dict[str, JsonValue], ...] = ()
    """Names of graders or grader blocks; a config with graders of its own replaces them."""
    start_url: str | None = None
    """Where the window opens; ``{name}`` stands for the base URL of a site. None: an empty page."""
    setup_script: str | None = None
    """JavaScript evaluated in the start page before the agent begins."""
    metadata: RowMetadata = RowMetadata()
    answer: JsonValue = None
    """The reference answer, for graders that compare one."""
    rubric: JsonValue = None
    """A rubric written for this task."""
    checks: tuple[dict[str, JsonValue], ...] = ()
    """What must hold on the final page or state; see the graders ``page_state`` and ``state_diff``."""
    solution: tuple[dict[str, JsonValue], ...] = ()
    """Tool calls that solve the task, ``{"tool": name, ...arguments}``: the ``scripted`` agent plays them."""
    tags: tuple[str, ...] = ()
    """Become markers, to be selected by ``-m``."""
    depends_on: tuple[str, ...] = ()
    """Ids of tasks that have to come first."""
    revision: int | str | None = None
    """The benchmark's own revision of the task."""
    level: int | str | None = None
    """How hard the benchmark says that the task is."""
    evals: tuple[dict[str, JsonValue], ...] = ()
    """How the benchmark itself scores the task, as it writes it; for the grader of that benchmark."""
    sites: tuple[str, ...] = ()
    """Names of the sites whose state the task uses: tasks that share one never run at the same time."""
    requires_reset: bool = False
    """Whether it changes the state of its sites, so that they have to be reset before the next task."""
    protected: bool = False
    """Whether the benchmark asks that its answers are never written in clear."""

    @field_validator("graders", "checks", "solution", "tags", "depends_on", "evals", "sites", mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any) -> Any:
        return () if value is None else value

    def content_hash(self) -> str:
        """Return 16 hex digits over what makes the task what it is; an edited task is a changed one."""
        fields = {"query", "start_url", "graders", "answer", "rubric", "checks", "revision"}
        fields |= {"evals"} if self.evals else set()
        text = json.dumps(self.model_dump(mode="json", include=fields), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
