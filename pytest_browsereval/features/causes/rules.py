"""The causes, in the order in which they are tried: the first rule that holds names the cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.features.causes.actions import UNREAD, Action
from pytest_browsereval.features.causes.attempts import Attempt, find_ways, read_attempt
from pytest_browsereval.features.causes.parting import Parting, find_nearest
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata

MOST_STEPS = 20
"""Steps that a cause names as its evidence."""

LONGEST = 120
"""Characters of a detail."""

ROUNDS = 3
"""How often actions or pages have to come one after the other to be a repetition."""

LONGEST_CYCLE = 4

_GIVES_UP = re.compile(
    r"\b(can ?not|can't|couldn't|could not|unable to|not able to|impossible|not possible"
    r"|g[ai]ve up|giving up|i am stuck|i'm stuck|did not find|didn't find|no way to)\b",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(
    r"nothing matches|not on the page|no element|not found|no such element|matches 0", re.IGNORECASE
)
_NOT_USABLE = re.compile(
    r"is covered|not visible|is disabled|is read-only|keeps moving|outside (of )?the viewport|no option"
    r"|no such option|intercepts pointer",
    re.IGNORECASE,
)
_TOO_SLOW = re.compile(
    r"in time\b|did not load|did not appear|not appear|took longer|timed? ?out|does not react|was cut off",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Evidence:
    """What a rule rests on."""

    steps: Sequence[Action | None] = ()
    detail: str = ""


@dataclass(frozen=True)
class Failure:
    """A failed attempt, with where it parts from what it is compared with."""

    attempt: Attempt
    parting: Parting | None
    """None without anything to compare with."""

    @property
    def own(self) -> Sequence[Action]:
        """The actions that the way does not have; all where there is none."""
        return self.parting.unmatched if self.parting is not None else self.attempt.moves

    @property
    def kind(self) -> str:
        """How it parts."""
        return self.parting.kind if self.parting is not None else ""

    @property
    def step(self) -> Action | None:
        """The first wrong step; without a way, the last one after which a check changed."""
        if self.parting is not None:
            return self.parting.step
        moments = self.attempt.moments
        changed = [after.step for before, after in pairwise(moments) if before.held != after.held]
        return self.find_step(changed[-1]) if changed else None

    def find_step(self, number: int) -> Action | None:
        """Return a step by its number."""
        return next((one for one in self.attempt.actions if one.number == number), None)


Rule = Callable[[Failure], Evidence | None]


# -- repetitions


def _find_cycle(keys: Sequence[object], least: int) -> range | None:
    """Return where a cycle stands that comes three times or more, one after the other, the last one."""
    for end in range(len(keys), least * ROUNDS - 1, -1):
        for size in range(least, LONGEST_CYCLE + 1):
            cycle = list(keys[end - size : end])
            if end < size * ROUNDS or (size > 1 and len(set(cycle)) == 1):
                continue
            start = end
            while start >= size and list(keys[start - size : start]) == cycle:
                start -= size
            if end - start >= size * ROUNDS:
                return range(start, end)
    return None


def _loop_of_pages(failure: Failure) -> Evidence | None:
    moved = [one for one in failure.attempt.actions if one.has_moved]
    own = {one.number for one in failure.own} | {one.number for one in moved if one.kind == "back"}
    found = _find_cycle([one.page for one in moved], 2)
    if found is None or not any(moved[place].number in own for place in found):
        return None
    steps = [moved[place] for place in found]
    return Evidence(steps, ", ".join(sorted({one.page or "" for one in steps})))


def _repeated_action(failure: Failure) -> Evidence | None:
    moves = failure.attempt.moves
    own = {one.number for one in failure.own}
    found = _find_cycle([one.key for one in moves if not one.error], 1)
    if found is None:
        return None
    steps = [[one for one in moves if not one.error][place] for place in found]
    # What the way has is no repetition, however often it is there.
    if sum(one.number in own for one in steps) < len(steps) // 2:
        return None
    is_open = not failure.attempt.is_protected
    said = dict.fromkeys(one.describe(past=False, with_value=is_open) for one in steps)
    return Evidence(steps, " / ".join(said))


# -- actions that fail


def _find_failing(failure: Failure) -> list[Action]:
    """Return the failed actions that decide: the first wrong step, the last action, or twice the same."""
    failed = [one for one in failure.attempt.moves if one.error]
    moves = failure.attempt.moves
    if failure.kind == "failed" and failure.step is not None:
        return [one for one in failed if one.number >= failure.step.number] or [failure.step]
    if failed and moves[-1] is failed[-1] and failure.kind in ("", "end", "early"):
        return [one for one in failed if one.target == failed[-1].target]
    return []


def _with_error(pattern: re.Pattern[str]) -> Rule:
    def rule(failure: Failure) -> Evidence | None:
        failing = _find_failing(failure)
        if not failing or not pattern.search(failing[0].error):
            return None
        first = failing[0]
        detail = first.target.describe() if first.target else normalise_error(first.error)
        return Evidence([one for one in failing if pattern.search(one.error)], detail)

    return rule


def _page_too_slow(failure: Failure) -> Evidence | None:
    last = failure.attempt.actions[-1] if failure.attempt.actions else None
    is_over = failure.attempt.metadata.termination_reason is TerminationReason.TIMEOUT
    if is_over and last is not None and last.kind in ("wait", "open", "back") and last.error:
        return Evidence([last], last.page or "")
    found = _with_error(_TOO_SLOW)(failure)
    return None if found is None else Evidence(found.steps, (found.steps[0] and found.steps[0].page) or "")


def _same_error(failure: Failure) -> Evidence | None:
    failing = _find_failing(failure)
    return Evidence(failing, normalise_error(failing[0].error)) if failing else None


def normalise_error(text: str) -> str:
    """Return an error's first line without numbers, ports and ids, so that equal errors are equal texts."""
    line = text.strip().partition("\n")[0]
    return one_line(re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{6,}\b|\d+", "N", line), LONGEST)


def _reply_not_a_call(failure: Failure) -> Evidence | None:
    replies = [one for one in failure.attempt.actions if one.kind == UNREAD]
    last = failure.attempt.actions[-1:]
    decides = last[0].kind == UNREAD if last else False
    if not decides and (failure.step is None or failure.step.kind != UNREAD):
        return None
    return Evidence(replies, normalise_error(replies[-1].error))


# -- how it ended


def _ended_by(reason: TerminationReason) -> Rule:
    def rule(failure: Failure) -> Evidence | None:
        data = failure.attempt.metadata
        return Evidence(failure.attempt.actions[-1:]) if data.termination_reason is reason else None

    return rule


def _gave_up(failure: Failure) -> Evidence | None:
    data, last = failure.attempt.metadata, failure.attempt.actions[-1:]
    if data.termination_reason is not TerminationReason.COMPLETED:
        return None
    if last and last[0].succeeds is not None:  # rather than what it says in whatever language
        return None if last[0].succeeds else Evidence(last)
    has_done_all = bool(last) and failure.kind in ("end", "lost")
    is_silent = not (data.final_answer or "").strip() and not has_done_all
    says_so = _GIVES_UP.search((data.final_answer or "")[:300].replace("\u2019", "'"))
    return Evidence(last) if is_silent or says_so else None


# -- where it parts


def _parts_by(kind: str) -> Rule:
    def rule(failure: Failure) -> Evidence | None:
        if failure.kind != kind:
            return None
        return Evidence([failure.step], _describe_instead(failure))

    return rule


def _right_state_lost(failure: Failure) -> Evidence | None:
    if failure.kind == "lost":
        return _parts_by("lost")(failure)
    moments = failure.attempt.moments
    held = [sum(one is True for one in moment.held) for moment in moments]
    if failure.kind not in ("", "end", "more") or not held or max(held) <= held[-1]:
        return None
    # The first moment after the last best one.
    place = len(held) - held[::-1].index(max(held))
    return Evidence([failure.find_step(moments[place].step)])


def _describe_instead(failure: Failure) -> str:
    parting = failure.parting
    if parting is None:
        return ""
    if parting.instead is None or failure.attempt.is_protected:
        return parting.step.describe(past=False, with_value=False) if parting.step else ""
    if parting.kind == "value":
        return parting.instead.target.describe() if parting.instead.target else ""
    return parting.instead.describe(past=False, with_value=False)


def _never_reached(failure: Failure) -> Evidence | None:
    parting = failure.parting
    if parting is None or parting.kind != "page":
        return None
    page = parting.instead.page if parting.instead is not None else None
    detail = page if page and not failure.attempt.is_protected else _describe_instead(failure)
    return Evidence([parting.step], detail)


def _wrong_answer(failure: Failure) -> Evidence | None:
    data = failure.attempt.metadata
    said_no = [name for name, one in data.grader_results.items() if one.verdict is Verdict.FAILED]
    if failure.kind not in ("", "end") or not said_no:
        return None
    return Evidence(failure.attempt.actions[-1:], f"grader {one_line(said_no[0], 60)}")


RULES: tuple[tuple[str, str, Rule], ...] = (
    ("loop_of_pages", "loop of pages", _loop_of_pages),
    ("repeated_action", "repeated action", _repeated_action),
    ("reply_not_a_call", "reply that is not a call", _reply_not_a_call),
    ("target_not_found", "target not found", _with_error(_NOT_FOUND)),
    ("target_not_usable", "target not usable", _with_error(_NOT_USABLE)),
    ("page_too_slow", "page too slow", _page_too_slow),
    ("same_error", "error of a tool", _same_error),
    ("out_of_time", "out of time", _ended_by(TerminationReason.TIMEOUT)),
    ("out_of_steps", "out of steps", _ended_by(TerminationReason.MAX_STEPS)),
    ("out_of_budget", "out of budget", _ended_by(TerminationReason.BUDGET)),
    ("gave_up", "gave up", _gave_up),
    ("right_state_lost", "right state lost again", _right_state_lost),
    ("wrong_value", "wrong value", _parts_by("value")),
    ("never_reached_page", "never reached the page", _never_reached),
    ("wrong_target", "wrong target", _parts_by("target")),
    ("step_left_out", "step left out", _parts_by("left_out")),
    ("answered_too_early", "answered too early", _parts_by("early")),
    ("needless_step", "needless step", _parts_by("more")),
    ("wrong_answer", "wrong answer or result", _wrong_answer),
)
"""Name, label and rule of each cause of a failure."""

BY_ACTIONS = frozenset(name for name, _, _ in RULES[: [rule[0] for rule in RULES].index("out_of_time")])
"""Causes that rest on what was done, and so begin at a step."""

NONE = ("none_of_these", "none of these")


def find_cause(metadata: TaskMetadata, folder: Path) -> Cause | None:
    """Return why an attempt did not pass; None if it passed.

    Args:
        metadata: its record.
        folder: its folder, below that of its run.
    """
    if metadata.verdict is Verdict.PASSED:
        return None
    if metadata.error_source is not None:
        source = str(metadata.error_source)
        detail = normalise_error(metadata.reason)
        return Cause(source, f"{source.replace('_', ' ')} broke", detail, (), None, "")
    attempt = read_attempt(folder, metadata)
    failure = Failure(attempt, find_nearest(attempt, find_ways(attempt)))
    return _name_cause(failure)


def _name_cause(failure: Failure) -> Cause:
    step = failure.step
    for name, label, rule in RULES:
        if (found := rule(failure)) is not None:
            shown = [one for one in found.steps if one is not None][:MOST_STEPS]
            if step is None and name in BY_ACTIONS:  # without a way, where the cause begins
                step = next(iter(shown), None)
            number, line = (step.number if step else None), describe_parting(failure, step)
            steps = tuple(one.number for one in shown)
            return Cause(name, label, one_line(found.detail, LONGEST), steps, number, line)
    number, line = (step.number if step else None), describe_parting(failure, step)
    return Cause(*NONE, "", (), number, line)


# -- in words


def describe_parting(failure: Failure, first: Action | None) -> str:
    """Return in a line where an attempt parts from its way, without what is right for a protected row.

    Args:
        failure: the attempt.
        first: the step that is named where there is no way.
    """
    parting = failure.parting
    if parting is None:
        if failure.step is not None:
            known = f"no check changed after step {failure.step.number}"
        else:
            known = f"the cause begins at step {first.number}" if first is not None else "no step is named"
        # That of a protected row is not recorded.
        solution = "no solution is recorded" if failure.attempt.is_protected else "no solution"
        return f"nothing to compare with: {solution}, no attempt of the row has passed; {known}"
    name = parting.way.name if parting.way else ""
    if parting.step is None:
        return f"did nothing; compared with {name}"
    return one_line(f"at step {parting.step.number}: {', '.join(_parts_of(failure, parting, name))}", 300)


def _parts_of(failure: Failure, parting: Parting, name: str) -> Iterator[str]:
    is_open = not failure.attempt.is_protected
    step, instead = parting.step, parting.instead
    if step is not None:
        has_ended = parting.kind == "end" and step.kind != "end"  # its own last step was right
        yield "ended" if has_ended else step.describe(with_value=is_open)
    if parting.kind == "end":
        yield f"after all that {name} does"
    elif instead is None or parting.kind == "more":
        yield f"which {name} does not"
    elif parting.kind == "lost":
        yield f"which undoes what {name} does"
    elif not is_open:
        yield f"and {name} goes on otherwise"
    else:
        does = instead.describe(past=False)
        goes_on = "goes on: " if parting.kind == "early" else ""
        yield f"{name} {goes_on}{does}{' before' if parting.kind == 'left_out' else ''}"
