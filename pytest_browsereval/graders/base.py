"""What a grader is: it observes the live window once, then judges the recorded attempt.

Two steps, so that a grade can be made again offline: ``observe`` runs while the window is open and
returns plain JSON, which is stored in ``evidence.json``; ``grade`` sees that evidence and the
attempt's files, nothing live.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml
from pydantic import Field, JsonValue, TypeAdapter

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.downloads import Download, list_downloads
from pytest_browsereval.errors import ErrorSource, Fault, Outage, TerminationReason
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.grades import GraderResult, Unanswered, Verdict
from pytest_browsereval.model.messages import Message, read_message
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.needs import ChecksRead, Needs
from pytest_browsereval.registry import Component
from pytest_browsereval.run_files import read_written
from pytest_browsereval.sites.settings import SiteConfig


class GraderFault(Fault):
    """The grader cannot judge: the grade is *errored*, never a failure.

    Args:
        message: one sentence for a reader of the report.
    """

    def __init__(self, message: str) -> None:
        super().__init__(ErrorSource.GRADER, message)


def _report_unknown(what: str) -> GraderFault:
    return GraderFault(f"messages.jsonl {what}, so it is not known what the agent did")


def find_requests(evidence: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the requests of pages that graders have observed; None if none of them did.

    Args:
        evidence: by the grader's name.
    """
    for one in (one for one in evidence.values() if isinstance(one, dict)):
        found = one.get("request")
        if isinstance(found, dict) and "entries" in found:
            return list(found["entries"])
        parts = one.get("seen")  # those of a grader that is made of others
        if isinstance(parts, dict) and (of_part := find_requests(parts)) is not None:
            return of_part
    return None


@dataclass(frozen=True)
class Recorded:
    """A finished attempt, as a grader sees it."""

    task: Task
    final_answer: str | None
    termination_reason: TerminationReason
    final_url: str | None
    folder: Path
    """The attempt's folder: ``messages.jsonl``, ``screenshots/``."""
    evidence: Mapping[str, JsonValue] = field(default_factory=dict)
    """What ``observe`` returned, by the grader's name."""
    whole: Mapping[str, JsonValue] | None = None
    """The evidence of all graders, where this one is a part of another one."""
    site_urls: Mapping[str, str] = field(default_factory=dict)
    """Base URLs of the sites that were up, by name."""
    sites: Mapping[str, SiteConfig] = field(default_factory=dict)
    """The sites of the config, by name."""
    base_dir: Path = Path()
    """The folder of the eval config, which paths in the block are relative to."""
    judge: JudgeConfig | None = None
    """The run's model for graders that ask one."""
    started_at: str = ""
    """When the attempt began: ISO 8601, UTC."""
    agent_duration_ms: float | None = None
    """How long the agent worked; None if it was not measured."""
    usage: Usage = field(default_factory=Usage)
    """What the agent's model calls used."""
    redact: Callable[[str], str] = str
    """Takes the run's secrets out of a text; graders that write files pass every text through it."""

    @property
    def downloads(self) -> list[Download]:
        """The downloads, in the order in which they ended; the files are in ``folder / "downloads"``."""
        return list_downloads(self.folder)

    @property
    def requests(self) -> list[dict[str, Any]] | None:
        """The requests of its pages, if the row has a check of requests, visits or calls; else None.

        Each has ``method``, ``url``, ``step``, ``at`` (seconds since 1970), ``status`` once it was answered,
        and ``kind`` and ``body`` of what was sent; ``cut`` if the body is not whole.
        """
        return find_requests(self.evidence if self.whole is None else self.whole)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of its log.

        Raises:
            GraderFault: the log is missing or damaged, so that it is not known what the agent did.
        """
        try:
            lines = read_written(self.folder / "messages.jsonl").splitlines(keepends=True)
        except FileNotFoundError:
            raise _report_unknown("is missing") from None
        except OSError as error:
            raise _report_unknown(f"cannot be read ({error.strerror})") from None
        found: list[Message] = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(read_message(line))
            except ValueError:
                # A last line without its end was cut by a kill. A judge would take any other gap in the
                # record for something that the agent did not do.
                if line.endswith(b"\n"):
                    raise _report_unknown(f"is damaged in line {number}") from None
        return tuple(found)

    def get_evidence(self, label: str, key: str, what: str) -> Any:
        """Return a value of what a grader observed.

        Args:
            label: of the grader.
            key: of the value.
            what: its name in messages.

        Raises:
            GraderFault: it was not observed.
        """
        seen = self.evidence.get(label)
        if not isinstance(seen, dict) or key not in seen:
            raise GraderFault(f"{what} was not read; run the task again")
        return seen[key]


@dataclass(frozen=True)
class Golden:
    """A small attempt with a known grade, with which a grader shows that it works: no model, no network.

    ``browsereval doctor`` lets every programmatic grader judge its own goldens.
    """

    name: str
    verdict: Verdict
    task: Task
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    """Of the grader's block, ``type`` left out."""
    final_answer: str | None = None
    final_url: str | None = None
    evidence: Mapping[str, JsonValue] = field(default_factory=dict)
    """By the grader's label, as ``observe`` would have returned it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Text files of the attempt's folder by their relative path: ``messages.jsonl``, ``network.har``."""


class GraderConfig(Component):
    """Base of the grader family's members; a member holds its options and does the grading itself."""

    family: ClassVar[str] = "grader"

    vetoes: ClassVar[bool] = False
    """Whether an attempt fails if a grader of this type fails it, no matter what ``pass_when`` says."""
    judges_broken: ClassVar[bool] = False
    """Whether it also judges an attempt that broke before it was graded. If it vetoes and fails such an
    attempt, this is failed, not errored: what it looks for was there by then."""

    reads: ClassVar[ChecksRead] = ChecksRead()
    """Which entries of a row's ``checks`` graders of this type look at. A row with a check that none of its
    graders reads is refused: it would seem to be checked."""

    name: str | None = Field(default=None, min_length=1)
    """What reports call this grader; the type by default. Names must differ within a row."""
    advisory: bool = False
    """True: the grade stands alongside the others and never decides the verdict, for a judge that people
    agree with too seldom (``browsereval calibrate`` measures it)."""

    @property
    def label(self) -> str:
        """The name in reports, ``pass_when`` and ``grades.json``."""
        return self.name or self.type

    def fingerprint(self, version: int, site_urls: Mapping[str, str] | None = None) -> str:
        """Return what identifies the rules of a grade, so that unlike grades are never compared.

        Args:
            version: of the grader's own rules; raised when the same attempt may get another grade.
            site_urls: base URLs that were filled in: they differ from run to run and do not count.
        """
        options = json.dumps(self.model_dump(mode="json", exclude={"name", "advisory"}), sort_keys=True)
        # Local sites get a free port in each run, and the grade of the same rules has to stay comparable.
        for name, url in (site_urls or {}).items():
            options = options.replace(url, f"{{{name}}}")
        return f"{self.type}/{version}/{hash_bytes(options.encode())}"

    @classmethod
    def golden(cls) -> tuple[Golden, ...]:
        """Return attempts with known grades: at least one that passes and one that fails.

        By default those that ``golden.yaml`` next to the grader's module has under its type.
        """
        kinds = (kind for kind in cls.__mro__ if issubclass(kind, GraderConfig))
        for kind in kinds:
            file = Path(inspect.getfile(kind)).with_name("golden.yaml")
            known = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}
            if "type" in kind.model_fields and (found := known.get(kind.model_fields["type"].default)):
                return TypeAdapter(tuple[Golden, ...]).validate_python(found)
        return ()

    def needs(self, task: Task) -> Needs:
        """Return what it needs to judge this row: see ``Needs``. It never raises.

        It is called before ``check`` too: for a row that ``check`` refuses, return at least ``trust`` and
        ``addresses``.

        Args:
            task: the row.
        """
        return Needs()

    def check(self, task: Task, base_dir: Path) -> None:
        """Check before anything is spent that this grader can judge this row, and has the files for it.

        Args:
            task: the row.
            base_dir: the folder of the eval config.

        Raises:
            ValueError: the row lacks something or holds something wrong, or a file is missing; the message
                says what to write.
        """

    def check_sites(self, task: Task, sites: Mapping[str, SiteConfig], base_dir: Path) -> None:
        """Check that the sites of a row let it be judged.

        Args:
            task: the row.
            sites: that it uses, by name.
            base_dir: the folder of the eval config.

        Raises:
            ValueError: they do not; the message says what to write.
        """

    def check_tools(self, task: Task, names: Mapping[str, Collection[str]], *, has_others: bool) -> None:
        """Check that the tools exist that the row or an option names.

        Args:
            task: the row.
            names: of the run's tools.
            has_others: whether its agents may have tools of their own.

        Raises:
            ValueError: one does not; the message says what to write.
        """

    def preflight(self, base_dir: Path) -> None:
        """Check before anything is spent what does not depend on a row: programs, packages.

        Raises:
            ConfigError: with what to type next.
        """

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read from the live window what ``grade`` will need; plain JSON, None for nothing.

        Raises:
            Fault: the page cannot be read: the grade is *errored*.
        """
        # Most graders judge the recorded files alone and observe nothing.
        return None

    @abstractmethod
    async def grade(self, recorded: Recorded) -> GraderResult:
        """Judge the recorded attempt.

        Raises:
            Fault: the grader cannot judge: the grade is *errored*. Any other exception counts as a fault.
        """
        raise NotImplementedError


def find_unanswered(error: object) -> Unanswered | None:
    """Return which model did not answer, so that the run can stop; None if an error says nothing of it."""
    if not isinstance(error, Outage):
        return None
    return Unanswered(what=error.what, answered_at=error.answered_at)


def hash_bytes(*contents: bytes) -> str:
    """Return the 12 hex digits by which fingerprints know files and texts."""
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:12]


def hash_json(value: object) -> str:
    """Return the 12 hex digits by which fingerprints know a JSON value."""
    return hash_bytes(json.dumps(value, sort_keys=True).encode())
