"""The causes, in the order in which they are tried: the first rule that holds names the cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path

from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.features.causes import errors
from pytest_browsereval.features.causes.actions import SOFT, UNREAD, Action, find_cycle
from pytest_browsereval.features.causes.attempts import Attempt, find_ways, read_attempt
from pytest_browsereval.features.causes.parting import Parting, find_nearest
from pytest_browsereval.features.causes.targets import describe_places
from pytest_browsereval.features.causes.texts import GIVES_UP, Reading
from pytest_browsereval.llm.json_tools import WRITTEN_CALL, is_written_call
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata

MOST_STEPS = 20
"""Steps that a cause names as its evidence."""


@dataclass(frozen=True)
class Evidence:
    """What a rule rests on."""

    steps: Sequence[Action | None] = ()
    detail: str = ""
    why: str = ""
    """What the record says, where the first wrong step does not."""
    is_likely: bool = False
    """Whether it rests on words or on a comparison: it may be otherwise."""


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
    def is_over(self) -> bool:
        """Whether the agent ended it by itself, and not a limit."""
        return self.attempt.metadata.termination_reason is TerminationReason.COMPLETED

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

    @cached_property
    def reading(self) -> Reading:
        """What pages said, where there is no way to compare with."""
        return Reading(self.attempt)

    def find_step(self, number: int) -> Action | None:
        """Return a step by its number."""
        return next((one for one in self.attempt.actions if one.number == number), None)


Rule = Callable[[Failure], Evidence | None]


def likely(steps: Sequence[Action | None] = (), detail: str = "", why: str = "") -> Evidence:
    """Return what makes a cause likely."""
    return Evidence(steps, detail, why, is_likely=True)


# -- repetitions


def _loop_of_pages(failure: Failure) -> Evidence | None:
    moved = [one for one in failure.attempt.actions if one.has_moved]
    own = {one.number for one in failure.own} | {one.number for one in moved if one.kind == "back"}
    found = find_cycle([one.page for one in moved], 2)
    if found is None or not any(moved[place].number in own for place in found):
        return None
    if failure.is_over and found.stop < len(moved):  # it got out of it
        return None
    steps = [moved[place] for place in found]
    return Evidence(steps, ", ".join(sorted({one.page or "" for one in steps})))


def _repeated_action(failure: Failure) -> Evidence | None:
    moves = [one for one in failure.attempt.moves if not one.error]
    own = {one.number for one in failure.own}
    found = find_cycle([one.key for one in moves], 1)
    if found is None:
        return None
    steps = [moves[place] for place in found]
    # An agent that did something else then, or looked after it had scrolled, was not caught in it.
    has_read = all(one.kind in SOFT for one in steps) and failure.attempt.actions[-2].kind == "look"
    if failure.is_over and (found.stop < len(moves) or has_read):
        return None
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
    if failed and moves[-1] is failed[-1] and failure.kind in ("", "end", "early") and not _is_done(failure):
        done = max((one.number for one in moves if not one.error), default=0)
        return [one for one in failed if one.number > done or one.target == failed[-1].target]
    return []


def _is_done(failure: Failure) -> bool:
    """Whether an agent had done all of the way before its last action failed."""
    parting = failure.parting
    if not failure.is_over or failure.attempt.moves[-1].kind == "wait" or parting is None:
        return False
    return failure.kind == "end" and parting.way is not None and parting.matched == len(parting.way.moves)


def _find_decisive(failure: Failure) -> Action | None:
    """Return the failed action whose error names the cause."""
    failing = _find_failing(failure)
    return (failing[0] if failure.kind == "failed" else failing[-1]) if failing else None


def _with_error(pattern: re.Pattern[str], *, needs_target: bool = False) -> Rule:
    def rule(failure: Failure) -> Evidence | None:
        one = _find_decisive(failure)
        if one is None or not pattern.search(one.error) or (needs_target and one.target is None):
            return None
        detail = one.target.describe() if one.target else errors.normalise_error(one.error)
        shown = [each for each in _find_failing(failure) if pattern.search(each.error)]
        return Evidence(shown, detail, is_likely=failure.kind != "failed")

    return rule


def _page_error(failure: Failure) -> Evidence | None:
    found = None
    for one in failure.attempt.actions:
        found = None if one.status is None else one if found is None or one.has_moved else found
    parted = failure.kind in ("value", "target", "left_out", "lost", "failed") and failure.step is not None
    if found is None or (parted and failure.step is not None and failure.step.number < found.number):
        return None
    why = f"the page answered HTTP {found.status}"
    is_likely = failure.parting is None and failure.attempt.metadata.error_source is None
    return Evidence([found], f"HTTP {found.status}: {found.page}", why, is_likely)


def _page_error_before(failure: Failure) -> Evidence | None:
    least = 400 if failure.kind in ("", "end", "early") else 500
    bad = [one for one in failure.attempt.actions if (one.status or 0) >= least]
    return likely(bad, f"HTTP {bad[0].status}: {bad[0].page}") if bad else None


def _page_too_slow(failure: Failure) -> Evidence | None:
    last = failure.attempt.actions[-1] if failure.attempt.actions else None
    is_over = failure.attempt.metadata.termination_reason is TerminationReason.TIMEOUT
    if is_over and last is not None and last.kind in ("wait", "open", "back") and last.error:
        return likely([last], last.page or "")
    found = _with_error(errors.TOO_SLOW)(failure)
    if found is not None:
        return likely(found.steps, (found.steps[0] and found.steps[0].page) or "")
    if failure.kind == "end" and failure.parting and failure.parting.hurries:
        why = "the way has a wait, and no step is known to have waited"
        return likely(failure.attempt.actions[-1:], "", why)
    look = failure.reading.find_unready()
    why = "that look may have found the page empty or loading"
    return likely([look], look.page or "", why) if look else None


def _same_error(failure: Failure) -> Evidence | None:
    decisive = _find_decisive(failure)
    if decisive is None:
        return None
    is_likely = failure.kind != "failed"
    return Evidence(_find_failing(failure), errors.normalise_error(decisive.error), is_likely=is_likely)


def _reply_not_a_call(failure: Failure) -> Evidence | None:
    replies = [one for one in failure.attempt.actions if one.kind == UNREAD]
    last = failure.attempt.actions[-1:]
    decides = last[0].kind == UNREAD if last else False
    if decides or (failure.step is not None and failure.step.kind == UNREAD):
        return Evidence(replies, errors.normalise_error(replies[-1].error))
    if any(WRITTEN_CALL in one.message for one in failure.attempt.metadata.warnings):
        return Evidence(last, WRITTEN_CALL)
    is_text = failure.attempt.end is None and is_written_call(failure.attempt.metadata.final_answer or "")
    return likely(last, "", "the answer looks like a call") if is_text else None


# -- how it ended


def _ended_by(reason: TerminationReason) -> Rule:
    def rule(failure: Failure) -> Evidence | None:
        data = failure.attempt.metadata
        return Evidence(failure.attempt.actions[-1:]) if data.termination_reason is reason else None

    return rule


def _reply_cut_off(failure: Failure) -> Evidence | None:
    said = [one.message for one in failure.attempt.metadata.warnings if errors.CUT_OFF.search(one.message)]
    return Evidence(failure.attempt.actions[-1:], one_line(said[0], errors.LONGEST)) if said else None


def _gave_up(failure: Failure) -> Evidence | None:
    data, last = failure.attempt.metadata, failure.attempt.actions[-1:]
    if not failure.is_over:
        return None
    if last and last[0].succeeds is not None:  # rather than what it says in whatever language
        return None if last[0].succeeds else Evidence(last)
    has_done_all = bool(last) and failure.kind in ("end", "lost")
    is_silent = not (data.final_answer or "").strip() and not has_done_all
    answer, query = ((text or "").replace("\u2019", "'") for text in (data.final_answer, data.query))
    # A task that asks what is not possible is answered by such words.
    says_so = GIVES_UP.search(answer[:300]) and not GIVES_UP.search(query)
    return likely(last) if is_silent or says_so else None


def _no_step(failure: Failure) -> Evidence | None:
    data = failure.attempt.metadata
    actions = failure.attempt.actions
    is_idle = all(one.kind == "end" for one in actions) and data.total_steps <= len(actions)
    is_over = failure.is_over and not _wrong_row(failure)
    return Evidence(failure.attempt.actions[-1:]) if is_idle and is_over else None


def _login_needed(failure: Failure) -> Evidence | None:
    step = failure.reading.find_login()
    is_later = step is not None and failure.step is not None and failure.step.number < step.number
    if step is None or (is_later and failure.kind not in ("end", "early")):
        return None
    return likely([step], step.page or "", "the attempt ended at a page that seems to ask for a login")


# -- where it parts


def _parts_by(kind: str) -> Rule:
    def rule(failure: Failure) -> Evidence | None:
        if failure.kind != kind:
            return None
        return likely([failure.step], _describe_instead(failure))

    return rule


def _right_state_lost(failure: Failure) -> Evidence | None:
    if failure.kind == "lost":
        return _parts_by("lost")(failure)
    held = failure.attempt.held
    if failure.kind not in ("", "end", "more", "again") or not held or max(held)[0] <= held[-1][0]:
        return None
    # The first moment after the last best one.
    counts = [count for count, _ in held]
    step = failure.find_step(held[len(counts) - counts[::-1].index(max(counts))][1])
    return Evidence([step], "", "fewer checks held after it than before")


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
    return likely([parting.step], detail)


def _wrong_row(failure: Failure) -> Evidence | None:
    is_whole = failure.parting is not None and failure.parting.is_whole
    return likely(failure.attempt.actions[-1:]) if is_whole else None


def _wrong_answer(failure: Failure) -> Evidence | None:
    data = failure.attempt.metadata
    said_no = [name for name, one in data.grader_results.items() if one.verdict is Verdict.FAILED]
    if failure.kind != "end" or not said_no:
        return None
    return likely(failure.attempt.actions[-1:], f"grader {one_line(said_no[0], 60)}")


RULES: tuple[tuple[str, str, Rule], ...] = (
    ("page_error", "page answered an error", _page_error),
    ("loop_of_pages", "loop of pages", _loop_of_pages),
    ("repeated_action", "repeated action", _repeated_action),
    ("reply_not_a_call", "reply that is not a call", _reply_not_a_call),
    ("unknown_tool", "unknown tool", _with_error(errors.UNKNOWN_TOOL)),
    ("wrong_arguments", "wrong arguments of a call", _with_error(errors.WRONG_ARGUMENTS)),
    ("target_not_found", "target not found", _with_error(errors.NOT_FOUND, needs_target=True)),
    ("target_covered", "target covered", _with_error(errors.COVERED, needs_target=True)),
    ("target_not_usable", "target not usable", _with_error(errors.NOT_USABLE, needs_target=True)),
    ("page_too_slow", "page too slow", _page_too_slow),
    ("same_error", "error of a tool", _same_error),
    ("out_of_time", "out of time", _ended_by(TerminationReason.TIMEOUT)),
    ("out_of_steps", "out of steps", _ended_by(TerminationReason.MAX_STEPS)),
    ("out_of_budget", "out of budget", _ended_by(TerminationReason.BUDGET)),
    ("reply_cut_off", "reply cut off", _reply_cut_off),
    ("gave_up", "gave up", _gave_up),
    ("no_step", "no step before the end", _no_step),
    ("login_needed", "login needed", _login_needed),
    ("right_state_lost", "right state lost again", _right_state_lost),
    ("wrong_value", "wrong value", _parts_by("value")),
    ("never_reached_page", "never reached the page", _never_reached),
    ("wrong_target", "wrong target", _parts_by("target")),
    ("step_left_out", "step left out", _parts_by("left_out")),
    ("page_error", "page answered an error", _page_error_before),
    ("answered_too_early", "answered too early", _parts_by("early")),
    ("step_repeated", "step done twice", _parts_by("again")),
    ("needless_step", "needless step", _parts_by("more")),
    ("wrong_row", "wrong row", _wrong_row),
    ("wrong_answer", "wrong answer", _wrong_answer),
)
"""Name, label and rule of each cause of a failure; what ``Reading.guess`` says comes after them."""

LABELS = {name: label for name, label, _ in RULES}

BY_ACTIONS = frozenset(name for name, _, _ in RULES[: [rule[0] for rule in RULES].index("out_of_time")])
"""Causes that rest on what was done, and so begin at a step."""

NONE = ("not_known", "not known")


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
        label, detail = f"errored ({source.replace('_', ' ')})", errors.normalise_error(metadata.reason)
        found = _page_error(Failure(read_attempt(folder, metadata), None)) if metadata.broken_page else None
        first = found.steps[0] if found is not None else None
        if found is None or first is None:
            return Cause(source, label, detail, (), None, "")
        said = first.describe(with_value=False)
        return Cause(source, label, detail, (), first.number, f"at step {first.number}: {said}; {found.why}")
    attempt = read_attempt(folder, metadata)
    failure = Failure(attempt, find_nearest(attempt, find_ways(attempt)))
    return _name_cause(failure)


def _name_cause(failure: Failure) -> Cause:
    tried = ((name, label, rule(failure)) for name, label, rule in RULES)
    for name, label, found in chain(tried, _guess(failure)):
        if found is not None:
            shown = [one for one in found.steps if one is not None][:MOST_STEPS]
            step = _find_step(failure, name, found, next(iter(shown), None))
            steps = tuple(one.number for one in shown)
            number, said = (step.number if step else None), f"likely {label}" if found.is_likely else label
            line = describe_parting(failure, step, found.why)
            return Cause(name, said, one_line(found.detail, errors.LONGEST), steps, number, line)
    step = failure.step
    number, line = (step.number if step else None), describe_parting(failure, step, "")
    return Cause(*NONE, "", (), number, line)


def _guess(failure: Failure) -> Iterator[tuple[str, str, Evidence]]:
    """Yield what is likely where there is no way, and the agent ended by itself."""
    for one in failure.reading.guess() if failure.parting is None and failure.is_over else ():
        yield (
            one.name,
            LABELS.get(one.name, one.name.replace("_", " ")),
            likely([one.step], one.detail, one.why),
        )


def _find_step(failure: Failure, name: str, found: Evidence, first: Action | None) -> Action | None:
    """Return the first wrong step: where it parts, else where the cause begins."""
    is_at_end = failure.kind in ("end", "early")
    if (
        found.why
        or (failure.parting is None and first is not None)
        or ((failure.step is None or is_at_end) and name in BY_ACTIONS)
    ):
        return first
    return failure.step


# -- in words


def describe_parting(failure: Failure, step: Action | None, why: str) -> str:
    """Return in a line where an attempt went wrong, without what is right for a protected row.

    Args:
        failure: the attempt.
        step: the first wrong step.
        why: what the record says of it, where the way does not.
    """
    parting = failure.parting
    if parting is not None and step is parting.step and not why:
        return one_line(_describe_way(failure, parting), 300)
    at = (
        f"at step {step.number}: {step.describe(with_value=not failure.attempt.is_protected)}" if step else ""
    )
    if parting is None and not at:
        # That of a protected row is not recorded.
        known = "is recorded" if failure.attempt.is_protected else "is known"
        at = f"no solution {known}, and no passed attempt of the row was found"
    elif parting is None and not why:
        why = "nothing was found to compare with"
    return one_line("; ".join(filter(None, (at, why))), 300)


def _describe_way(failure: Failure, parting: Parting) -> str:
    name = parting.way.name if parting.way else ""
    is_open = not failure.attempt.is_protected
    step, instead = parting.step, parting.instead
    if step is None:
        return f"no step is recorded; compared with {name}"
    # Its own last step was right.
    did = "ended" if parting.kind == "end" and step.kind != "end" else step.describe(with_value=is_open)
    if parting.kind == "end":
        count = len(parting.way.moves) if parting.way else 0
        is_all = not parting.unmatched and parting.matched == count
        said = f"no step is known to differ from {name}" if is_all else f"compared with {name}"
        said = f"as {name} does" if parting.is_whole else said
    elif parting.kind == "again":
        said = "as an earlier step did"
    elif instead is None or parting.kind == "more":
        said = f"which was not found in {name}" if instead is None else f"which {name} may not do so often"
    elif parting.kind == "lost":
        said = f"which may undo what {name} does"
    elif not is_open:
        said = f"where {name} may have another one"
    else:
        goes_on = "goes on: " if parting.kind == "early" else ""
        before = " before" if parting.kind == "left_out" else ""
        does = instead.describe(past=False)
        if does == step.describe(past=False) and not step.error:  # two of one name
            places = describe_places(step.target, instead.target)
            did, does = did + places[0], does + places[1]
        said = f"{name} {goes_on}{does}{before}"
    return f"at step {step.number}: {did}, {said}"
