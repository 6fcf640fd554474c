"""A task: one row of a dataset, checked."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from pytest_browsereval.model.clock import Clock

TASK_FILE = "task.json"
"""In the folder of an attempt: the row, and by what it is judged."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class RowMetadata(_Frozen):
    """The origin of a task, with the keys of BrowserOS."""

    original_task_id: str = ""
    """The id of the task in its benchmark."""
    website: str | None = None
    """The site of the task."""
    category: str | None = None
    """A group of tasks, as the benchmark names it."""
    additional: dict[str, JsonValue] = Field(default_factory=dict)
    """Anything else from the benchmark."""
    source: JsonValue = None
    """The original row, if an importer has kept it."""


SITUATION = ("query", "start_url", "setup_script", "ready", "sites", "files", "context", "clock")
"""Keys of a row that an agent works by: where one of them has changed, its attempt is one at another task."""
JUDGED_BY = ("graders", "answer", "rubric", "checks", "effects", "milestones", "evals", "revision")
"""Keys of a row that its attempts are judged by."""
OTHER_KEYS = (
    *("query_id", "dataset", "metadata", "tags", "level", "protected"),
    *("solution", "depends_on", "requires_reset"),
)
"""Keys of a row that change no result of an agent: a resumed run may reuse what there is."""

_LISTS = ("graders", "checks", "milestones", "solution", "tags", "depends_on", "evals", "sites", "files")


class RowFile(_Frozen):
    """A file that comes with a row, for the agent to upload."""

    path: str = Field(min_length=1)
    """The file, relative to the folder of the dataset's file; its name for the agent as well."""
    sha256: str | None = None
    """The hash of its content, filled in when the row is read: with another content it is another task."""


_REF = re.compile(r"\[?(ref=)?(f\d+)?e\d+\]?")


class Ready(_Frozen):
    """What the start page has to be before an attempt begins; all that is given has to hold."""

    text: str | None = Field(default=None, min_length=1)
    """A text on the page."""
    url: str | None = Field(default=None, min_length=1)
    """Its address, where ``*`` stands for any characters."""
    target: str | None = Field(default=None, min_length=1)
    """An element that is visible, as tools name it: ``role=button[name="Add"]``, but not a ref."""
    js: str | None = Field(default=None, min_length=1)
    """An expression in JavaScript whose value is true."""
    timeout_s: float = Field(default=30, gt=0, le=3_600)
    """How long to wait; then the attempt is errored."""

    @model_validator(mode="before")
    @classmethod
    def _is_a_block(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(  # noqa: TRY004 pydantic takes no TypeError
                f"it is a text. Write `{{text: {json.dumps(value)}}}`, or a block with url, target or js."
            )
        return value

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not any((self.text, self.url, self.target, self.js)):
            raise ValueError('write what to wait for: `{text: "Launcher"}`, or url, target or js.')
        if self.target is not None and _REF.fullmatch(self.target):
            raise ValueError(
                f'{self.target!r} is a ref, which is different each time. Write role=button[name="Add"].'
            )
        return self


class Milestone(_Frozen):
    """A check of the page that an attempt passes on its way."""

    name: str = Field(min_length=1)
    """What reports call it."""
    check: dict[str, JsonValue]
    """A check of the page, as in ``checks``."""


class Task(_Frozen):
    """One row: the instruction, the start page, and how the result is judged."""

    query_id: str = Field(min_length=1)
    """Unique in its dataset; shown as it is, and encoded in paths and node ids."""
    query: str = Field(min_length=1)
    """The instruction."""
    dataset: str = ""
    """The name of the dataset; becomes a marker."""
    graders: tuple[str | dict[str, JsonValue], ...] = ()
    """Names of graders or grader blocks; graders of the config replace them."""
    start_url: str | None = None
    """The first page; ``{name}`` stands for the base URL of a site. None is an empty page."""
    setup_script: str | None = None
    """JavaScript that runs in the start page before the agent begins."""
    context: dict[str, JsonValue] = Field(default_factory=dict)
    """What the window is like, in Playwright's words: ``{"device": "iPhone 15"}``; also ``locale``,
    ``timezone_id``, ``color_scheme``, ``viewport``, ``geolocation``."""
    clock: Clock | None = None
    """The time when the page opens, such as ``2026-03-01T09:00``; it runs on from there."""
    ready: Ready | None = None
    """What to wait for on the start page before the agent's time begins: ``{text: "Launcher"}``, or ``url``,
    ``target`` or ``js``. It replaces the ``ready`` of the site."""
    metadata: RowMetadata = RowMetadata()
    """The origin of the task."""
    answer: JsonValue = None
    """The reference answer, for graders that compare answers."""
    rubric: JsonValue = None
    """What a judge looks for: ``{items: [{criterion, max_points, description, required, condition}]}``.
    A criterion that is ``required`` must be met to pass; one with a ``condition`` counts only where that
    holds."""
    checks: tuple[dict[str, JsonValue], ...] = ()
    """Conditions for the final page or state; see the graders ``page_state`` and ``state_diff``."""
    effects: tuple[dict[str, JsonValue], ...] | Literal["nothing"] | None = None
    """What should change in the state of its sites, or ``nothing``; see the grader ``effects``."""
    milestones: tuple[Milestone, ...] = ()
    """What an attempt passes, in order, ``[{name, check}]``. They are evaluated after every step if
    ``capture.checks`` is ``each``, and change no verdict."""
    solution: tuple[dict[str, JsonValue], ...] = ()
    """Tool calls that solve the task, ``{"tool": name, ...arguments}``; the ``scripted`` agent plays them."""
    tags: tuple[str, ...] = ()
    """Markers, for ``-m``."""
    depends_on: tuple[str, ...] = ()
    """Ids of tasks that have to run first."""
    revision: int | str | None = None
    """The revision of the task in the benchmark."""
    level: int | str | None = None
    """The difficulty of the task in the benchmark."""
    evals: tuple[dict[str, JsonValue], ...] = ()
    """The benchmark's own scoring rules, for the grader of that benchmark."""
    sites: tuple[str, ...] = ()
    """Sites whose state the task uses. Without a ``reset``, rows that name the same site never run at the
    same time."""
    files: tuple[RowFile, ...] = ()
    """Files for the agent to upload, such as ``[fixtures/cv.pdf]``, relative to the dataset's file and in its
    folder. The tool ``upload_file`` takes them by these names."""
    requires_reset: bool = False
    """True if the row needs, and changes, the initial state of its sites."""
    protected: bool = False
    """True if the benchmark asks that its answers are never written in plain text."""

    @field_validator(*_LISTS, mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any) -> Any:
        return () if value is None else value

    @field_validator("files", mode="before", json_schema_input_type=tuple[str | RowFile, ...] | None)
    @classmethod
    def _are_files(cls, value: Any) -> Any:
        is_list = isinstance(value, list | tuple)
        return [{"path": one} if isinstance(one, str) else one for one in value] if is_list else value

    def content_hash(self) -> str:
        """Return 16 hex digits over what defines the task: an edited task has another hash."""
        # Without defaults: a key that is new leaves the hashes of rows without it as runs have them on disk.
        given = self.model_dump(mode="json", include={*SITUATION, *JUDGED_BY}, exclude_defaults=True)
        text = json.dumps(given, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
