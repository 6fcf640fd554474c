"""The causes, in the order in which they are tried: the first rule that holds names the cause."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

from pytest_browsereval.browsers.base import describe_login
from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.features.causes.actions import UNREAD, Action, find_cycle
from pytest_browsereval.features.causes.attempts import find_ways, read_attempt
from pytest_browsereval.features.causes.parting import AT_END, Failure, compare_with
from pytest_browsereval.features.causes.texts import GIVES_UP, Evidence, Reading
from pytest_browsereval.features.shared.tool_loop.call_text import WRITTEN_CALL, is_written_call
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict, split_grades
from pytest_browsereval.model.results import TaskMetadata

MOST_STEPS = 20
"""Steps that a cause names as its evidence."""

LONGEST = 120
"""Characters of a detail."""

LIMITS = {
    TerminationReason.TIMEOUT: "out_of_time",
    TerminationReason.MAX_STEPS: "out_of_steps",
    TerminationReason.BUDGET: "out_of_budget",
}

PARTED = (
    "right_state_lost", "wrong_value", "never_reached_page", "wrong_target", "step_left_out",
    "answered_too_early", "step_repeated", "needless_step",
)  # fmt: skip
"""Ways to part that are causes."""

ERRORS = (
    ("unknown_tool", r"^(unknown tool|no such tool|tool .{1,80} not found)", False),
    ("wrong_arguments", r"^(wrong|invalid) arguments|^input validation error", False),
    ("target_not_found",
     "nothing matches|not on the page|no element|not found|no such element|matches 0", True),
    ("target_covered", "is covered|intercepts pointer", True),
    ("target_not_usable",
     "not visible|is disabled|is read-only|keeps moving|outside (of )?the viewport|no (such )?option", True),
    ("page_not_loaded", r"\bERR_(?!\w*TIMED_OUT)", False),
    ("page_too_slow",
     r"in time\b|did not load|not appear|took longer|timed?[ _]?out|does not react|was cut off", False),
)  # fmt: skip
"""Causes by what a tool says, and whether only of a call with a target."""

_SITE_ERROR = re.compile(r"the site (answered HTTP \d+ to a request on the way: .*)", re.DOTALL)
_CUT_OFF = re.compile(r"repl(y|ies) (was )?cut off")
_STOPPED = re.compile(r"^wait was cut off|was cut off: limits\.max_")
"""Says nothing of the page: a pause at the end of the time, or a call that was one too many."""


def normalise_error(text: str) -> str:
    """Return an error's first line without numbers, ports and ids, so that equal errors are equal texts."""
    line = text.strip().partition("\n")[0]
    return one_line(re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{6,}\b|(?<!HTTP )(?<!\d)\d+", "N", line), LONGEST)


def _named_by_graders(failure: Failure) -> Evidence | None:
    """What the graders that refused it say themselves, if each of them does."""
    deciding = {n: one for n, one in failure.attempt.metadata.grader_results.items() if not one.advisory}
    refused = [details for verdict, details in split_grades(deciding) if verdict == Verdict.FAILED]
    named = [cause for one in refused if isinstance(cause := one.get("cause"), dict) and cause.get("name")]
    if not named or len(named) < len(refused):
        return None
    name, detail = (one_line(str(named[0].get(key, "")), LONGEST) for key in ("name", "detail"))
    detail = "" if failure.attempt.is_protected else detail
    if failure.kind in PARTED and failure.step is not None:
        return Evidence(name, [failure.step], detail)
    return Evidence(name, (), detail, "no step is known to have done it")


# -- what was done


def _page_error(failure: Failure) -> Evidence | None:
    found = None
    for one in failure.attempt.actions:
        if one.status is not None:
            found = one if found is None or one.has_moved else found
        elif one.kind not in ("back", "end"):  # it went on, or looked at another page
            found = None
    if found is None or failure.is_wrong_before(found):
        return None
    why = f"the page answered HTTP {found.status}{describe_login(found.status)}"
    # Where the way leads there as well, the page may be right: one that finds nothing answers 404 too.
    is_known = failure.way is not None and found in failure.own
    is_likely = failure.last[0].status is None or not is_known
    return Evidence("page_error", [found], f"HTTP {found.status}: {found.page}", why, is_likely)


def _loop_of_pages(failure: Failure) -> Evidence | None:
    moved = [one for one in failure.attempt.actions if one.has_moved]
    steps = [moved[place] for place in find_cycle([one.page for one in moved], 2) or ()]
    if not any(one in failure.own or one.kind == "back" for one in steps):
        return None
    pages = ", ".join(sorted({one.page or "" for one in steps}))
    return Evidence("loop_of_pages", steps, pages, is_likely=failure.may_be_work)


def _repeated_action(failure: Failure) -> Evidence | None:
    moves = [one for one in failure.attempt.moves if not one.error]
    steps = [moves[place] for place in find_cycle([one.key for one in moves], 1) or ()]
    # What the way has is no repetition, however often it is there.
    if not steps or sum(one in failure.own for one in steps) < len(steps) // 2:
        return None
    # An agent that saw something new then was not caught in it.
    looks = [one for one in failure.attempt.actions if one.kind == "look"]
    known = {one.says for one in looks if one.number < steps[-1].number}
    if any(one.number > steps[-1].number and one.says not in known for one in looks):
        return None
    said = dict.fromkeys(one.describe(with_value=not failure.attempt.is_protected) for one in steps)
    return Evidence("repeated_action", steps, " / ".join(said), is_likely=failure.may_be_work)


def _reply_not_a_call(failure: Failure) -> Evidence | None:
    replies = [one for one in failure.attempt.actions if one.kind == UNREAD]
    if any(one is not None and one.kind == UNREAD for one in (*failure.last, failure.step)):
        error = replies[-1].error
        name = "reply_cut_off" if _CUT_OFF.search(error) else "reply_not_a_call"
        return Evidence(name, replies, normalise_error(error))
    data = failure.attempt.metadata
    if any(WRITTEN_CALL in one.message for one in data.warnings):
        return Evidence("reply_not_a_call", failure.last, WRITTEN_CALL)
    if failure.attempt.end is None and is_written_call(data.final_answer or ""):
        return Evidence("reply_not_a_call", failure.last, "", "the answer looks like a call", is_likely=True)
    return None


def _failed_action(failure: Failure) -> Evidence | None:
    """Name the error of the failed actions that decide: the first wrong step and later ones, or the last."""
    moves, step = failure.attempt.moves, failure.step
    failed = [one for one in moves if one.error]
    if failure.kind == "failed" and step is not None:
        failed = [one for one in failed if one.number >= step.number] or [step]
        decisive = failed[0]
    elif failed and moves[-1] is failed[-1] and failure.kind in AT_END:
        decisive = failed[-1]
        if failure.is_done and decisive.kind != "wait":
            return None
        done = max((one.number for one in moves if not one.error), default=0)
        failed = [one for one in failed if one.number > done or one.target == decisive.target]
    else:
        return None
    if _STOPPED.search(decisive.error):
        return None
    text, target = normalise_error(decisive.error), decisive.target
    is_likely = failure.kind != "failed"
    for name, words, needs_target in ERRORS:
        if re.search(words, decisive.error, re.IGNORECASE) and (target is not None or not needs_target):
            is_slow = name == "page_too_slow"
            detail = (decisive.page or "") if is_slow else target.describe() if target is not None else text
            shown = [one for one in failed if re.search(words, one.error, re.IGNORECASE)]
            return Evidence(name, shown, detail, is_likely=is_likely or is_slow)
    return _page_too_slow(failure) or Evidence("same_error", failed, text, is_likely=is_likely)


def _page_too_slow(failure: Failure) -> Evidence | None:
    if failure.kind == "end" and failure.hurries:
        why = "the known way waits there, but no step of the attempt is known to have waited"
        return Evidence("page_too_slow", failure.last, "", why, is_likely=True)
    look = Reading(failure.attempt).find_unready()
    why = "the page may have been empty or loading when it was read there"
    return Evidence("page_too_slow", [look], look.page or "", why, is_likely=True) if look else None


# -- how it ended


def _recorded(failure: Failure) -> Evidence | None:
    """What the record says: a request that a site refused, a limit, a reply that was cut off."""
    data, last = failure.attempt.metadata, failure.last
    said = [one.message for one in data.warnings]
    if refused := next(filter(None, map(_SITE_ERROR.search, said)), None):
        why = "a request on the way failed, and the page may not have said so"
        return Evidence("page_error", last, one_line(refused[1], LONGEST), why, is_likely=True)
    if name := LIMITS.get(data.termination_reason):
        return Evidence(name, last)
    cut = next(filter(_CUT_OFF.search, said), None)
    return Evidence("reply_cut_off", last, one_line(cut, LONGEST)) if cut else None


def _gave_up(failure: Failure) -> Evidence | None:
    data, last = failure.attempt.metadata, failure.last
    if last and last[0].succeeds is not None:  # rather than what it says in any language
        return None if last[0].succeeds else Evidence("gave_up", last)
    answer, query = ((text or "").replace("\u2019", "'") for text in (data.final_answer, data.query))
    is_silent = not answer.strip() and not (last and failure.kind in ("end", "right_state_lost"))
    # A task that asks what is not possible is answered by such words.
    says_so = GIVES_UP.search(answer[:300]) and not GIVES_UP.search(query)
    return Evidence("gave_up", last, is_likely=True) if is_silent or says_so else None


def _no_step(failure: Failure) -> Evidence | None:
    actions = failure.attempt.actions
    is_idle = all(one.kind == "end" for one in actions)
    has_all = failure.attempt.metadata.total_steps <= len(actions)
    return Evidence("no_step", failure.last) if is_idle and has_all and not failure.is_whole else None


def _login_needed(failure: Failure) -> Evidence | None:
    step = Reading(failure.attempt).find_login()
    if step is None or failure.is_wrong_before(step):
        return None
    why = "the attempt ended at a page that seems to ask for a login"
    return Evidence("login_needed", [step], step.page or "", why, is_likely=True)


# -- where it parts


def _parted(failure: Failure) -> Evidence | None:
    if failure.kind not in PARTED or failure.step is None:
        return None
    if failure.kind in ("never_reached_page", "wrong_target"):  # by another way it has read the answer
        for found in Reading(failure.attempt).guess_answer():
            return found
    about = failure.step if failure.attempt.is_protected else failure.instead or failure.step
    return Evidence(failure.kind, [failure.step], about.describe(with_value=False), is_likely=True)


def _refused(failure: Failure) -> Evidence | None:
    grades = failure.attempt.metadata.grader_results
    said_no = [name for name, one in grades.items() if one.verdict is Verdict.FAILED]
    if failure.is_whole:
        return Evidence("wrong_row", failure.last, is_likely=True)
    if failure.kind != "end" or not said_no:
        return None
    return Evidence("wrong_answer", failure.last, f"grader {one_line(said_no[0], 60)}", is_likely=True)


RULES = (
    _named_by_graders,
    _page_error,
    _loop_of_pages,
    _repeated_action,
    _reply_not_a_call,
    _failed_action,
    _recorded,
    _page_too_slow,
    _gave_up,
    _no_step,
    _login_needed,
    _parted,
    _refused,
)
"""What ``Reading.guess`` says comes after them."""


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
        label, detail = f"errored ({source.replace('_', ' ')})", normalise_error(metadata.reason)
        found = _page_error(Failure(read_attempt(folder, metadata), ())) if metadata.broken_page else None
        if found is None:
            return Cause(source, label, detail, (), None, "")
        first = found.steps[0]
        said = f"at step {first.number}: {first.describe(with_value=False)}; {found.why}"
        return Cause(source, label, detail, (), first.number, said)
    attempt = read_attempt(folder, metadata)
    return _name_cause(compare_with(attempt, find_ways(attempt)))


def _name_cause(failure: Failure) -> Cause:
    # Words count where there is no way.
    guesses = Reading(failure.attempt).guess() if failure.way is None else ()
    tried = chain((rule(failure) for rule in RULES), guesses)
    found = next((one for one in tried if one is not None), Evidence("not_known"))
    shown = found.steps[:MOST_STEPS]
    is_first = shown and (found.why or failure.kind in AT_END)
    step = shown[0] if is_first else None if found.why else failure.step
    label = found.name.replace("_", " ")
    return Cause(
        found.name,
        f"likely {label}" if found.is_likely else label,
        one_line(found.detail, LONGEST),
        tuple(one.number for one in shown),
        step.number if step else None,
        one_line(_describe(failure, step, found.why), 300),
    )


# -- in words


def _describe(failure: Failure, step: Action | None, why: str) -> str:
    """Return in a line where an attempt went wrong, without what is right for a protected row."""
    way, is_open = failure.way, not failure.attempt.is_protected
    if way is not None and step is failure.step and not why:
        return _describe_way(failure, way.name, is_open=is_open)
    at = f"at step {step.number}: {step.describe_outcome(with_value=is_open)}" if step else ""
    if way is None and not at:
        # That of a protected row is not recorded.
        known = "is known" if is_open else "is recorded"
        at = f"no solution {known}, and no passed attempt of the row was found"
    elif way is None and not why:
        why = "nothing was found to compare with"
    return "; ".join(filter(None, (at, why)))


def _describe_way(failure: Failure, name: str, *, is_open: bool) -> str:
    step, instead = failure.step, failure.instead
    if step is None:
        return f"no step is recorded; compared with {name}"
    did = step.describe_outcome(with_value=is_open)
    if failure.kind == "end":
        did = did if step.kind == "end" else "ends"  # its own last step was right
        said = f"as {name} does" if failure.is_whole else f"compared with {name}"
    elif instead is None or failure.kind in ("step_repeated", "needless_step", "right_state_lost"):
        said = f"which {name} does not have there"
    elif not is_open:
        said = f"where {name} may have a different step"
    else:
        does = instead.describe()
        if does == step.describe() and not step.error:
            does = "acts on another element of that name"
        when = {"answered_too_early": " next", "step_left_out": " before"}.get(failure.kind, "")
        said = f"{name} {does}{when}"
    return f"at step {step.number}: {did}, {said}"
