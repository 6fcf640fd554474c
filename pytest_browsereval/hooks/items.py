"""A config as a collector, a trial as an item: attempt and grading are the setup, the verdict is the call."""

from __future__ import annotations

import time
import types
import unittest
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_browsereval.capture.tracebacks import place_in, tracebacks
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import BrowserEvalError, Fault, advise, name_raised
from pytest_browsereval.hooks.hook_calls import describe_outcome
from pytest_browsereval.hooks.marks import take_mark
from pytest_browsereval.hooks.names import is_by_hand
from pytest_browsereval.hooks.representation import represent
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.derived import find_outcome
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict, cost_of
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.report.assertion import describe_end, explain
from pytest_browsereval.report.links import page_of
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.keys import KEYS

if TYPE_CHECKING:
    from pytest_browsereval.hooks.session import EvalSession


Unmade = Literal["budget", "dashboard", "stopped", "decided"]
"""What may have kept an attempt from being made: the run's budget, who watches the run, what stopped it; or
it is not needed, since what it was for is decided."""


def attempt_function(description: str | None = None) -> Callable[[], None]:
    """Return the function of an item, which does nothing: setup makes the attempt and the call reports it.

    Args:
        description: its docstring, which reporters such as Allure take for what the test is about.
    """

    def eval_attempt() -> None: ...

    eval_attempt.__doc__ = description
    return eval_attempt


eval_attempt = attempt_function()
"""The function of all items that are not up."""


class EvalFile(pytest.Module):
    """An eval config. A Module, not a File: module-scoped fixtures find no node in a File."""

    obj = types.ModuleType("browsereval_rows")  # so that nothing is imported
    eval_session: EvalSession

    @classmethod
    def of(cls, session: EvalSession, parent: pytest.Collector, path: Path) -> EvalFile:
        """Return the collector of a config file."""
        made: EvalFile = cls.from_parent(parent, path=path, nodeid=session.nodeid_of(path))
        made.eval_session = session
        return made

    def collect(self) -> list[EvalItem]:
        """Return an item for each trial; a file that cannot be used is reported before anything runs."""
        items: list[EvalItem] = []
        with self.eval_session.note_problems():
            run = self.eval_session.load_run(self.path)
            items = [EvalItem.of(self, run, entry) for entry in run.plan.entries(only=self._asked_for())]
            if self.config.option.markexpr or self.config.option.keyword:  # else no more is read than ids
                for item in items:
                    item.add_marks()
        return items

    def _asked_for(self) -> frozenset[str] | None:
        """Return the names of the rows that the arguments ask for, or None for all of them."""
        names = set()
        for arg in self.config.args:
            file, colons, name = arg.partition("::")
            if (self.config.invocation_params.dir / file).resolve() != self.path.resolve():
                continue
            if not colons:
                return None
            names.add(name.partition("[")[0])
        return frozenset(names) or None


class AttemptErrored(BrowserEvalError):
    """The attempt is errored: raised in setup, so that pytest reports an error, not a failure."""


class AttemptFailed(AssertionError):
    """The attempt is failed: raised in the call."""


class HookBroken(BrowserEvalError):
    """A hook has called what decides about a test: raised in setup, no matter what the attempt came to."""


class PlainId(pytest.Item):
    """An item whose id is what pytest reads from the id's text, on the command line and in its cache.

    A ``Function`` makes the id of its name as a whole: with brackets in it, pytest 9.1 and later would not
    find it equal to the same text from the cache, and ``--lf`` would run everything.
    """

    def __init__(self, name: str, parent: pytest.Collector, **given: Any) -> None:
        given["nodeid"] = f"{parent.nodeid}::{name}"
        super().__init__(name, parent, **given)


class EvalItem(pytest.Function, PlainId):
    """One trial. Fixtures of conftests apply to it as to any test."""

    eval_session: EvalSession
    active_run: ActiveRun
    entry: Entry
    metadata: TaskMetadata | None = None
    folder: Path | None = None
    cause: Cause | None = None
    """Why its attempt did not pass, if a feature knows that."""
    was_begun: bool = False
    """Whether this process has run its attempt, or taken one that was there."""
    was_judged: bool = False
    """Whether it has passed or failed: a plug-in that runs the item again gets the same result."""
    was_resumed: bool = False
    """Whether its attempt is that of an earlier session."""
    unmade: Unmade | None = None
    """What did not let an attempt be made: the item is skipped, and the run lacks it."""
    _figures: tuple[tuple[str, Any], ...] = ()
    _longer_s: float = 0.0
    """How much longer its attempt took than the item waited for it; less than 0 if it waited longer."""
    output: Sequence[tuple[str, str]] = ()
    """Sections of its reports: what the attempt has printed and logged."""
    _select_by: tuple[pytest.Mark, ...] = ()
    """Tags and dataset whose names are markers of pytest or of a plug-in: rows are selected by them only."""

    @classmethod
    def of(cls, parent: EvalFile, active_run: ActiveRun, entry: Entry) -> EvalItem:
        """Return the item of a trial."""
        item: EvalItem = cls.from_parent(parent, name=entry.name, callobj=eval_attempt)
        item.eval_session, item.active_run = parent.eval_session, active_run
        item.entry = entry
        if entry.ref.query_id not in entry.name:  # it is encoded there, and ``-k`` finds it as it is
            item.extra_keyword_matches.add(entry.ref.query_id)
        return item

    def add_marks(self) -> None:
        """Mark the item with its row's dataset and tags, registering each as a marker."""
        for name in self.active_run.plan.marks(self.entry):
            if not take_mark(self.config, name):
                if all(mark.name != name for mark in self._select_by):
                    self._select_by = (*self._select_by, getattr(pytest.mark, name).mark)
            elif self.get_closest_marker(name) is None:
                self.add_marker(name)

    def iter_markers_with_node(self, name: str | None = None) -> Iterator[tuple[Any, pytest.Mark]]:
        """Yield the markers; to ``-m`` and ``-k``, which ask for no name, also those that must not act."""
        yield from super().iter_markers_with_node(name)
        if name is None:
            yield from ((self, mark) for mark in self._select_by)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Point reports at the row: file and line of the dataset."""
        return self.entry.ref.path, max(self.entry.ref.line - 1, 0), self.name

    def setup(self) -> None:
        """Set the fixtures up, then make the attempt; raises ``AttemptErrored`` if it is errored."""
        self.release()
        # Plug-ins that run items again call setup again: figures of the earlier try are not this one's.
        self.user_properties[:] = [given for given in self.user_properties if given not in self._figures]
        self.add_marks()
        super().setup()
        option = self.config.option
        if option.setuponly or option.setupplan:  # they show fixtures and must not pay for an agent
            return
        began = time.perf_counter()
        record = self.eval_session.prefetch.result_of(self)
        self.metadata, self.folder = metadata, folder = record.metadata, record.folder
        earlier = self._list_before(metadata.attempt)
        self._longer_s = self._took_s(metadata, earlier) - (time.perf_counter() - began)
        output = self.eval_session.output
        self.output = output.sections(folder)
        output.report_warnings(folder)
        self.obj = attempt_function(metadata.query)
        resumed = [("resumed", True)] if self.was_resumed else []
        hook = self.ihook.pytest_browsereval_find_cause
        try:
            if metadata.verdict is Verdict.FAILED:
                self.cause = hook(metadata=metadata, folder=folder)
            known = [("cause", self.cause.name), ("first_wrong_step", self.cause.step)] if self.cause else []
            self._figures = (*properties(metadata, folder, earlier), *known, *resumed)
            self.user_properties.extend(self._figures)
            hook = self.ihook.pytest_browsereval_task_done
            hook(metadata=metadata, folder=folder)
        except (pytest.skip.Exception, pytest.fail.Exception) as outcome:  # the row has its verdict
            raise HookBroken(describe_outcome(hook.name, outcome)) from outcome
        if metadata.verdict is Verdict.ERRORED:
            raise AttemptErrored(metadata.reason)

    def _list_before(self, last: int) -> list[tuple[int, StoredAttempt | None]]:
        """Return the attempts of the trial that were made before the last one; None: it was cut off."""
        if last == 1:
            return []
        tries = {data.attempt: data for data in self.active_run.store.list_tries(self.entry.key)}
        return [(number, tries.get(number)) for number in range(1, last)]

    def _took_s(self, metadata: TaskMetadata, earlier: Iterable[tuple[int, StoredAttempt | None]]) -> float:
        """Return how long the trial's attempts of this session took, whenever that was."""
        if not self.active_run.trials.makes_attempts:
            return metadata.grading_duration_ms / 1000
        began = datetime.fromtimestamp(self.active_run.began, UTC).isoformat()
        own = [one.total_duration_ms for _, one in earlier if one is not None and one.started_at >= began]
        return sum(took or 0.0 for took in (metadata.total_duration_ms, *own)) / 1000

    def set_duration(self, report: pytest.TestReport) -> None:
        """Have the report of the setup tell what the attempt took, not how long its item waited for it.

        Attempts run ahead of their items, so the wait may be nothing, or for others.
        """
        report.duration = max(report.duration + self._longer_s, 0.0)
        report.start = report.stop - report.duration

    def runtest(self) -> None:
        """Assert the verdict."""
        if self.metadata is not None and self.metadata.verdict is Verdict.FAILED:
            raise AttemptFailed(self.metadata.reason)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Show an attempt as a colleague would tell it, anything else as pytest does."""
        if isinstance(excinfo.value, AttemptErrored | AttemptFailed):
            return self.representation()
        return super().repr_failure(excinfo)

    def represent_raised(self, raised: BrowserEvalError) -> Any:
        """Return the report of what we raise ourselves; None of what an attempt's code has raised."""
        if self.metadata is None:
            text, ref = str(raised), self.entry.ref  # no attempt was made: the message is all there is
            return represent(text, text.partition("\n")[0], ref.path, ref.line)
        if isinstance(raised, HookBroken):
            return self.representation(str(raised))
        return self.representation() if isinstance(raised, AttemptErrored) else None

    def release(self) -> None:
        """Let go of the attempt: thousands of items live until pytest ends, and their reports tell it all."""
        self.metadata = self.folder = self.cause = None
        self.output = ()
        self.obj = eval_attempt

    def representation(self, why: str = "") -> Any:
        """Return the report of the attempt as pytest shows it, at the row or at the code that raised.

        Args:
            why: what is wrong besides what the attempt has come to.
        """
        if self.metadata is None or self.folder is None:
            return None
        style = self.config.getoption("tbstyle", "auto")
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        # In a log or a JUnit file, lines stay whole for those who search it.
        width = self.config.get_terminal_writer().fullwidth if reporter and reporter.isatty else 0
        here = self.config.invocation_params.dir
        row = f"{format_path(self.entry.ref.path)}:{self.entry.ref.line}"
        end = describe_end(self.metadata, self.folder)
        text = explain(
            self.metadata, self.folder, style, self.cause, end=end, row=row, here=here, width=width
        )
        raised = next(iter(tracebacks(error.details for error in self.metadata.errors)), "")
        path, line = place_in(raised) or (self.entry.ref.path, self.entry.ref.line)
        whole = f"{why}\n\n{text}" if why else text
        return represent(whole, (why or end).partition("\n")[0], path, line)


def _sum_tokens(name: str, usages: Iterable[Usage]) -> int | None:
    """Return tokens that models have used together; None if none was asked, or none says how many."""
    used = [usage for usage in usages if usage.input_tokens or usage.output_tokens]
    return sum(getattr(usage, name) for usage in used) if used else None


def _list_judged(record: TaskMetadata) -> list[Usage]:
    return [grade.usage for grade in record.grader_results.values()]


PROPERTIES: tuple[tuple[str, Callable[[TaskMetadata], Any]], ...] = (
    ("verdict", lambda record: str(record.verdict)),
    ("error_source", lambda record: record.error_source and str(record.error_source)),
    ("steps", lambda record: record.total_steps),
    ("duration_s", lambda record: (took := record.total_duration_ms) and round(took / 1000, 3)),
    ("termination_reason", lambda record: str(record.termination_reason)),
    ("tokens_in", lambda record: _sum_tokens("input_tokens", [record.usage])),
    ("tokens_out", lambda record: _sum_tokens("output_tokens", [record.usage])),
    ("judge_tokens_in", lambda record: _sum_tokens("input_tokens", _list_judged(record))),
    ("judge_tokens_out", lambda record: _sum_tokens("output_tokens", _list_judged(record))),
    ("variant", lambda record: record.variant),
    ("trial", lambda record: record.trial),
    ("attempt", lambda record: record.attempt),
    *((key.name, key.read) for key in KEYS),
)
"""Properties that a trial has if their value is known: their names, and what reads them."""


def properties(
    metadata: TaskMetadata, folder: Path, earlier: Sequence[tuple[int, StoredAttempt | None]] = ()
) -> Iterator[tuple[str, Any]]:
    """Yield the properties that JUnit and other readers get of a trial: names with JSON scalars."""
    known = ((name, read(metadata)) for name, read in PROPERTIES)
    # 0 says something; what is not so, or empty, does not.
    yield from ((name, value) for name, value in known if value not in ("", None) and value is not False)
    for name, grade in metadata.grader_results.items():
        yield f"score.{_printable(name)}", None if grade.score is None else round(grade.score, 6)
    for named, usage in metadata.usage_by_role.items():
        role = _printable(named)
        yield f"tokens_in.{role}", usage.input_tokens
        yield f"tokens_out.{role}", usage.output_tokens
        yield f"cost_usd.{role}", usage.cost_usd
    if any(grade.usage.requests for grade in metadata.grader_results.values()):
        yield "judge_cost_usd", cost_of(metadata.grader_results.values())
    yield "cost_usd", metadata.cost_usd  # without a value where it is not known
    if (derived := metadata.derived) is not None:
        yield derived.by, derived.name
        if (outcome := find_outcome(metadata)) is not None:
            yield f"{derived.by}_outcome", outcome
    if earlier:
        yield "earlier_attempts", "; ".join(_describe_earlier(earlier))
    yield "folder", folder.as_posix()
    yield "page", page_of(folder)


def read_properties(report: Any) -> dict[str, Any]:
    """Return what ``properties`` has put on the report of a trial; nothing for that of any other test."""
    found = dict(report.user_properties)
    # Other tests may record some of these names for themselves, but hardly all of them.
    is_ours = str(found.get("verdict")) in set(Verdict) and {"folder", "page", "trial"} <= found.keys()
    return found if is_ours else {}


def _printable(name: str) -> str:
    """Return a name whole, without what XML refuses: pytest's JUnit file escapes values only."""
    return one_line(name, len(name))


def _describe_earlier(earlier: Iterable[tuple[int, StoredAttempt | None]]) -> Iterator[str]:
    """Yield what the attempts of a trial came to that were made before this one."""
    for number, data in earlier:
        if data is None:
            yield f"attempt {number}: cut off"
        else:
            source = f" ({data.error_source})" if data.error_source is not None else ""
            yield f"attempt {number}: {data.verdict}{source}: {one_line(data.reason)}"


class SetupReports:
    """Shows an exception of an item's setup, of which pytest does not ask ``repr_failure``.

    What has a report of its own needs no reading of source, which must not happen while the loop's thread
    reads some: see ``capture.tracebacks``.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport | None:
        """Make the report of what we raise ourselves."""
        raised = call.excinfo and call.excinfo.value
        if call.when == "call" or not isinstance(item, EvalItem) or not isinstance(raised, BrowserEvalError):
            return None
        if (shown := item.represent_raised(raised)) is None:
            return None
        passed = pytest.CallInfo.from_call(lambda: None, call.when)
        report = pytest.TestReport.from_item_and_call(item, passed)
        report.outcome, report.longrepr = "failed", shown
        report.duration, report.start, report.stop = call.duration, call.start, call.stop
        return report


class Reports:
    """Puts the verdict on the items' reports."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Let an item that is over go of its attempt."""
        try:
            return (yield)
        finally:
            if isinstance(item, EvalItem):
                item.release()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Add to the report what the attempt has come to."""
        report: Any = yield
        if not isinstance(item, EvalItem):
            _separate_fault(item, call, report)
            return report
        if item.metadata is None:
            report.browsereval_unmade = item.unmade
            return report
        report.sections.extend(item.output)  # as pytest shows what it captures: in each report
        if call.when == "setup":
            item.set_duration(report)
            report.browsereval_verdict = str(item.metadata.verdict)
        if call.excinfo is not None and isinstance(call.excinfo.value, AttemptErrored | AttemptFailed):
            _expect(item, report)
        elif why := _hidden(item.metadata.verdict, call):
            report.outcome, report.longrepr = "failed", item.representation(why)
            vars(report).pop("wasxfail", None)
        return report


def _separate_fault(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Make an error of a fault in the call of a hand-written test.

    To pytest and all its reporters what is raised in a call is a failure, no matter which class it has.
    """
    raised = call.excinfo and call.excinfo.value
    is_fault = isinstance(raised, Fault)
    if isinstance(raised, BaseExceptionGroup):  # of a TaskGroup that runs several rows
        is_fault = raised.split(Fault)[1] is None
    if is_fault and call.when == "call" and report.failed and is_by_hand(item):
        report.when = "setup"


def _hidden(verdict: Verdict, call: pytest.CallInfo[None]) -> str:
    """Return what has been done to an item that would hide the result of its attempt; "" if nothing was."""
    error = call.excinfo and call.excinfo.value
    if call.when == "teardown":
        return ""
    if isinstance(error, pytest.skip.Exception | pytest.xfail.Exception | unittest.SkipTest):
        done = f"{name_raised(error)} was called after the row was judged ({verdict})"
        return f"{done}: {error}{advise(error)}"
    if error is None and verdict is (Verdict.ERRORED if call.when == "setup" else Verdict.FAILED):
        return f"the row {verdict}, and a hook or plug-in has hidden that from pytest"
    return ""


def _expect(item: EvalItem, report: Any) -> None:
    """Report a bad row under a gate as xfailed: the gate's items decide, so a green job shows no red row.

    The gate decides by the run folder: what has another verdict there was not graded again, and stays red.
    """
    run, metadata = item.active_run, item.metadata
    is_expected = metadata is not None and run.config.expects(metadata)
    if metadata and is_expected and run.store.verdict(item.entry.key) is metadata.verdict:
        report.outcome, report.wasxfail = "skipped", one_line(f"{metadata.verdict}: {metadata.reason}")
