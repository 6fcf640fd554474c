"""Everything that this package raises on purpose.

BrowserEvalError
├── UsageError              wrong before anything was spent: exit code 4
│   ├── ConfigError         the eval config
│   ├── DatasetError        rows of a dataset
│   ├── RegistryError       unknown, clashing or broken plug-in members
│   └── PluginError         a plug-in raises or returns what it must not
├── Fault                   the attempt is *errored*: something other than the agent's work broke
│   ├── StopRun             ... and no further attempt can succeed (a refused key, say)
│   ├── Undrawn             ... or a page that waits for its dialog has no picture
│   └── Outage              ... and rows that need the same site or model will most likely meet it too
├── RunStopped              the attempt was not made, because an earlier one stopped the run
├── OverBudget              the attempt was not made, because the run's budget is used up
├── CalledOff               the attempt was not made, because a person who watches the run did not want it
└── LimitReached            the attempt is over: steps, time, tokens or money ran out
"""

from __future__ import annotations

import difflib
import sys
import traceback
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from pytest_browsereval.foreign_names import find_meant

HOW_TO_SKIP = "Skip a row before its attempt: in a fixture or in pytest_runtest_setup"

_OURS = __file__.removesuffix("errors.py")

_OUTCOMES = {
    "Skipped": "pytest.skip()",
    "Failed": "pytest.fail()",
    "XFailed": "pytest.xfail()",
    "Exit": "pytest.exit()",
}
"""Functions of pytest by the class of what they raise."""


class ErrorSource(StrEnum):
    """What broke. The values are on disk and permanent."""

    WINDOW_CREATION = "window_creation"
    NAVIGATION = "navigation"
    SITE = "site"
    BROWSER = "browser"
    PROVIDER = "provider"
    AGENT = "agent"
    TOOL = "tool"
    SCREENSHOT = "screenshot"
    MESSAGE_LOGGING = "message_logging"
    GRADER = "grader"
    CLEANUP = "cleanup"
    REPLAY = "replay"
    """A model call or a request of the page that was not recorded."""
    HARNESS = "harness"
    UNKNOWN = "unknown"


class TerminationReason(StrEnum):
    """Why the agent stopped. The values are on disk and permanent."""

    COMPLETED = "completed"
    MAX_STEPS = "max_steps"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    ERROR = "error"
    UNKNOWN = "unknown"
    """For attempts of other systems whose record does not say."""


PLUGIN_ERRORS: tuple[type[BaseException], ...] = (BaseException,)
"""What the code of a plug-in raises; ask :func:`is_given_up` of it. On the loop ``SystemExit`` and
``KeyboardInterrupt`` are its own doing, for Ctrl-C reaches the main thread only; let through, they would end
the loop and every other attempt with it. What pytest's functions `skip`, `fail` and `xfail` raise would have
the row's item skipped or excused. Any other one that is let through costs the attempt its record."""


class BrowserEvalError(Exception):
    """Base of all that this package raises on purpose."""


class UsageError(BrowserEvalError):
    """Wrong input, found before anything was spent: pytest ends with exit code 4."""


class ConfigError(UsageError):
    """The eval config cannot be used; the message has file, line, path, value and what is allowed."""


class DatasetError(UsageError):
    """Rows of a dataset cannot be used; the message has file and line of the first five.

    Args:
        message: for a reader.
        problems: all of them, those too that the message only counts; the message's lines by default.
    """

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems) or tuple(message.splitlines())


class RegistryError(UsageError):
    """A plug-in member is unknown, clashes with another one or cannot be loaded."""


class PluginError(UsageError):
    """A plug-in raises or returns what it must not; the message names it, and where it is defined."""


class Fault(BrowserEvalError):
    """Something other than the agent's work broke: the attempt is *errored*, never *failed*.

    Args:
        source: what broke.
        message: one sentence for a reader of the report.
        status: the HTTP status that a provider answered, if that is what broke.
    """

    def __init__(self, source: ErrorSource, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.source = source
        self.status = status
        self.usage: Any = None
        """What a model counted for replies that were not usable, as a ``Usage``; None if nothing is known."""


class Undrawn(Fault):
    """A page that waits for the answer to its dialog is not drawn: the next step has a picture again."""


class StopRun(Fault):
    """A fault that every further attempt would meet as well: the run stops at once."""


class Outage(Fault):
    """A site or a model did not answer: after two rows that met the same one, the run stops.

    Args:
        source: what broke.
        message: for a reader of the report; its first line has to make sense alone.
        what: which site or model.
        answered_at: when that last answered this process, in seconds since 1970; None if never.
        status: the HTTP status, if there was one.
    """

    def __init__(
        self,
        source: ErrorSource,
        message: str,
        *,
        what: str,
        answered_at: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(source, message, status=status)
        self.what = what
        self.answered_at = answered_at


class RunStopped(BrowserEvalError):
    """The attempt was not made: the message tells what has shown that no attempt can succeed."""


class OverBudget(BrowserEvalError):
    """The attempt was not made: the message tells which limit of the whole run is reached."""


class CalledOff(BrowserEvalError):
    """The attempt was not made: the message tells what someone who watches the run has done."""


class LimitReached(BrowserEvalError):
    """A limit ended the attempt, or a part that was delegated; graders still judge what was reached.

    It ends the attempt even if it is caught: later calls raise it again.

    Args:
        reason: the termination reason to record.
        message: which limit, its value, and what was used.
        went_on_s: how long code that caught it continued.
    """

    def __init__(self, reason: TerminationReason, message: str, *, went_on_s: float = 0.0) -> None:
        super().__init__(message)
        self.reason = reason
        self.went_on_s = went_on_s


def nearest(given: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the known name nearest to the given one, or ``""``.

    A name of another tool leads to ours.
    """
    known = list(known)
    if (name := find_meant(given, known)) is not None:
        return f" Did you mean {name!r}?"
    others = [one for one in known if one != given]  # `latest`, where there is no run
    matches = difflib.get_close_matches(given, others, n=1, cutoff=0.6)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def describe_error(error: BaseException) -> str:
    """Return what to say of an exception: a fault's message, or else its kind, its message and its place."""
    if isinstance(error, Fault):
        return str(error)
    frames = list(traceback.extract_tb(error.__traceback__))
    if name_raised(error) in _OUTCOMES.values():  # the last frames are pytest's own
        frames = [frame for frame in frames if "_pytest" not in frame.filename] or frames
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{name_raised(error)}: {error}{where}{advise(error)}"


def is_given_up(error: BaseException) -> bool:
    """Return whether an exception cancels or closes work from outside, as nothing does by itself."""
    if isinstance(error, GeneratorExit):  # each coroutine that is closed gets one, where it waits
        frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
        return not frames or frames[-1].startswith(_OURS)
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop, so nobody cancels
        return False
    return task is None or task.cancelling() > 0


def name_raised(error: BaseException) -> str:
    """Return what to call what was raised: its class, or the function of pytest that raises it."""
    name = type(error).__name__
    is_outcome = any(kind.__module__ == "_pytest.outcomes" for kind in type(error).__mro__)
    return _OUTCOMES.get(name, name) if is_outcome else name


def advise(error: BaseException) -> str:
    """Return what to write instead of an outcome of pytest, which an attempt does not have; "" for others."""
    return f". {HOW_TO_SKIP}." if name_raised(error) in ("pytest.skip()", "pytest.xfail()") else ""
