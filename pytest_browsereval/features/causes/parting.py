"""Where a failed attempt parts from what it is compared with: the first step that never comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.features.causes.actions import FIELDS, SETS, SOFT, UNDOES, Action
from pytest_browsereval.features.causes.attempts import MOST_MOVES, Attempt, Way
from pytest_browsereval.features.causes.targets import (
    OTHER,
    PERHAPS,
    SAME,
    Target,
    compare_targets,
    is_same_element,
)

REACHED = 0.9
"""How far two actions are the same that lead to the same page, by any way."""

_LIKE = ({"click", "check"}, {"click", "choose"})
"""Kinds by which one can do the same to one target."""


AT_END = ("", "end", "answered_too_early")
"""How an attempt parts that no step of its own leads astray."""


@dataclass(frozen=True)
class Failure:
    """A failed attempt, with where it parts from what it is compared with."""

    attempt: Attempt
    own: Sequence[Action]
    """The actions that the way does not have; all where there is none."""
    way: Way | None = None
    """None without anything to compare with."""
    kind: str = ""
    """How it parts: a cause, or ``failed``, ``unknown``, or ``end`` where no step leads astray."""
    step: Action | None = None
    """The first wrong step; None if the attempt has none."""
    instead: Action | None = None
    """What the way has in its place."""
    matched: int = 0
    """How many actions of the way the attempt has done."""
    is_whole: bool = False
    """Whether all that it has is surely all that the way has, answer included."""
    hurries: bool = False
    """Whether the way waits for a page, and the attempt never does."""

    @property
    def last(self) -> Sequence[Action]:
        """The last action, if there is one."""
        return self.attempt.actions[-1:]

    @property
    def is_done(self) -> bool:
        """Whether it has done all of the way."""
        return self.way is not None and self.kind == "end" and self.matched == len(self.way.moves)

    @property
    def may_be_work(self) -> bool:
        """Whether what it did again may have been of use: only a limit and a way speak against it."""
        is_over = self.attempt.metadata.termination_reason is TerminationReason.COMPLETED
        return is_over or self.way is None

    def is_wrong_before(self, step: Action) -> bool:
        """Whether a step before this one had left the way."""
        return self.kind not in AT_END and self.step is not None and self.step.number < step.number


def compare_actions(a: Action, b: Action, *, knows_pages: bool) -> float:
    """Return how far an action of an attempt does what one of a way does, from 0 to 1."""
    if a.error:
        return OTHER
    if b.page is not None and a.has_moved and a.page == b.page and (not knows_pages or b.has_moved):
        return REACHED
    same = compare_targets(a.target, b.target)
    if _is_enter(a) and _is_enter(b):  # it sends a form from any field
        return max(PERHAPS, same)
    if a.kind == b.kind:  # a tool that is not known is compared by its name
        is_other = a.kind == "other" and a.tool != b.tool
        if a.kind == "open":  # where it leads is known of recorded ways only
            is_other = a.page != b.page and (knows_pages or not a.value or a.value != b.value)
        return OTHER if is_other else SAME if a.kind == "open" else min(same, _compare_values(a, b))
    if _submits(a, b) or _submits(b, a):
        return PERHAPS
    return min(REACHED, same) if _are_like(a, b) else OTHER


def _are_like(a: Action, b: Action) -> bool:
    """Whether two actions can do the same to one target."""
    return a.kind == b.kind or any({a.kind, b.kind} <= kinds for kinds in _LIKE)


def _is_enter(one: Action) -> bool:
    return one.kind == "press" and one.value.strip().casefold() in ("enter", "return")


def _submits(a: Action, b: Action) -> bool:
    """Whether one sends a form by a key, and the other may do it by its button."""
    return _is_enter(a) and b.kind == "click" and (b.target is None or b.target.role in ("", "button"))


def _compare_values(a: Action, b: Action) -> float:
    first, second = a.value.strip(), b.value.strip()
    is_same = first == second or (a.kind != "type" and first.casefold() == second.casefold())
    if is_same or a.is_open or b.is_open:
        return SAME
    # An option by its value and by its label.
    is_word = [one.islower() and one.replace("-", "").replace("_", "").isalnum() for one in (first, second)]
    return PERHAPS if a.kind == "choose" and is_word[0] != is_word[1] else OTHER


def _align(scores: Sequence[Sequence[float]], count: int) -> list[tuple[int, int]]:
    """Return which action of an attempt stands for which of a way, in their order, the earliest first."""
    best = [[0.0] * (count + 1) for _ in range(len(scores) + 1)]
    for i in range(len(scores) - 1, -1, -1):
        for j in range(count - 1, -1, -1):
            taken = scores[i][j] + best[i + 1][j + 1] if scores[i][j] else 0.0
            best[i][j] = max(taken, best[i + 1][j], best[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(scores) and j < count:
        if scores[i][j] and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            i += 1
    return pairs


def compare_with(attempt: Attempt, ways: Sequence[Way]) -> Failure:
    """Return where an attempt parts from the way that it has followed furthest."""
    found = [_Search(attempt, way).find() for way in ways]
    alone = Failure(attempt, attempt.moves)
    return max(found, key=lambda one: (one.matched, -len(one.own)), default=alone)


_Pair = tuple[Action, Action]
"""An action of the attempt, and the one of the way that it stands for."""


class _Search:
    def __init__(self, attempt: Attempt, way: Way) -> None:
        self._attempt, self._way, self._moves = attempt, way, attempt.moves[:MOST_MOVES]
        knows = way.knows_pages
        self._scores = [[compare_actions(a, b, knows_pages=knows) for b in way.moves] for a in self._moves]
        self._pairs = _align(self._scores, len(way.moves))
        taken, self._met = ({pair[side] for pair in self._pairs} for side in (0, 1))
        for i in range(len(self._moves)):  # done in another order, as fields of a form are
            if i not in taken and (j := self._find_loose(i)) is not None:
                taken.add(i)
                self._met.add(j)
        self._unmatched = tuple(one for i, one in enumerate(attempt.moves) if i not in taken)
        self._matched = [self._moves[i] for i in sorted(taken)]
        self._wrong = dict(self._find_values())

    def _find_loose(self, i: int) -> int | None:
        """Return what a move does of the way out of turn; not a field of a form that was sent before."""
        one = self._moves[i]
        sent = [to for at, to in self._pairs if at < i and self._moves[at].kind in ("click", "press")]
        for j, same in enumerate(self._scores[i]):
            is_same = same > PERHAPS or (same and one.kind in SETS and one.value.strip())
            is_late = one.kind in SETS and any(to > j for to in sent)
            if j not in self._met and is_same and not is_late:
                return j
        return None

    def _find_values(self) -> Iterator[tuple[int, _Pair]]:
        """Yield, by its place in the way, what was set to another value, in any order of fields."""
        for place, other in enumerate(self._way.moves):
            for one in self._unmatched if place not in self._met else ():
                is_wrong = _set_the_same(other, one) and _compare_values(one, other) == OTHER
                if is_wrong and not self._is_corrected(one):
                    yield place, (one, other)

    def _is_corrected(self, one: Action) -> bool:
        return any(_set_the_same(one, other) for other in self._matched if other.number > one.number)

    def find(self) -> Failure:
        """Return the first strong departure, else the first weak one, else the end."""
        strong = [self._make("wrong_value", one, other) for one, other in self._wrong.values()]
        weak: list[Failure] = []
        for extra, missing, pair in self._gaps():
            if (found := self._find_in(extra, missing, pair)) is not None:
                (strong if found[0] else weak).append(found[1])
        if strong:
            return min(strong, key=lambda one: one.step.number if one.step else 10**9)
        # What only the answer shows is no matter of the way.
        if weak and not self._attempt.is_about_answer:
            return weak[0]
        if (strays := self._strays) and not self._unmatched and not self._attempt.is_about_answer:
            acts = [one for one in self._attempt.actions if one.kind not in ("look", "wait", "end")]
            if acts[-1] in strays and len(self._met) == len(self._way.moves):
                return self._make("right_state_lost", acts[-1])
        return self._make("end", self._last, self._way.end)

    def _make(self, kind: str, step: Action | None, instead: Action | None = None) -> Failure:
        own, its, way = self._attempt.end, self._way.end, self._way
        is_same = own is not None and its is not None and own.value.strip() == its.value.strip()
        is_answer = is_same or self._attempt.refused <= {"page_state", "state_diff"}
        is_all = len(self._pairs) == len(way.moves) == len(self._attempt.moves)
        is_sure = is_all and all(self._scores[i][j] > PERHAPS for i, j in self._pairs)
        hurries = way.waits and all(one.kind != "wait" for one in self._attempt.actions)
        is_whole = kind == "end" and is_answer and is_sure and not hurries and not self._strays
        matched = len(self._met)
        return Failure(self._attempt, self._unmatched, way, kind, step, instead, matched, is_whole, hurries)

    @property
    def _strays(self) -> list[Action]:
        """Steps back and forward in the history, and reloads, where the way has none."""
        has_none = all(one.kind != "back" for one in self._way.actions)
        return [one for one in self._attempt.actions if has_none and one.kind == "back" and not one.error]

    @property
    def _last(self) -> Action | None:
        return self._attempt.actions[-1] if self._attempt.actions else None

    def _gaps(self) -> Iterator[tuple[list[Action], list[Action], _Pair | None]]:
        """Yield what the attempt and the way have between two matched actions, and the next such pair."""
        done = self._met | self._wrong.keys()
        i = j = 0
        for to_i, to_j in (*self._pairs, (len(self._moves), len(self._way.moves))):
            left = [one for place, one in enumerate(self._way.moves[j:to_j], j) if place not in done]
            missing = [one for one in left if one.kind != "scroll"]
            has_tabs = any(one.kind == "tabs" for one in missing)
            own = [one for one in self._moves[i:to_i] if one not in self._matched]
            extra = [one for one in own if (has_tabs and one.kind == "tabs") or not self._is_forgiven(one)]
            is_last = to_i == len(self._moves)
            yield extra, missing, None if is_last else (self._moves[to_i], self._way.moves[to_j])
            i, j = to_i + 1, to_j + 1

    def _is_forgiven(self, one: Action) -> bool:
        """Whether an extra action does no harm: it changes nothing, or a later one sets the same right."""
        is_focus = one.kind == "click" and one.target is not None and one.target.role in FIELDS
        return one.kind in SOFT or is_focus or (one.kind in SETS and self._is_corrected(one))

    def _find_in(
        self, extra: list[Action], missing: list[Action], pair: _Pair | None
    ) -> tuple[bool, Failure] | None:
        """Return how an attempt leaves the way in a gap, and whether it surely never comes back."""
        for one in extra:
            before = (other for other in self._matched if other.number < one.number)
            undone = next((other for other in before if _set_the_same(other, one)), None)
            if undone is not None and undone.value != one.value:
                return True, self._make("right_state_lost", one, undone)
        if extra and missing:
            return self._find_instead(extra, missing, pair)
        if missing and pair is None:
            return True, self._make("answered_too_early", self._last, missing[0])
        if missing and pair is not None:
            step = pair[0]
            sends = (one for one in self._matched if one.number >= step.number and one.kind not in SETS)
            is_form = all(one.kind in SETS for one in missing)  # that is left incomplete
            return is_form, self._make("step_left_out", next(sends, step) if is_form else step, missing[0])
        done = [one for one in extra if not one.error]
        return (pair is None, self._find_more(done, is_end=pair is None)) if done else None

    def _find_instead(
        self, extra: list[Action], missing: list[Action], pair: _Pair | None
    ) -> tuple[bool, Failure]:
        """Return what was done in the place of what: of the last gap its first action has to be it."""
        first = extra if pair else extra[:1]
        pairs = [(one, other, _name_substitute(one, other)) for one in first for other in missing]
        like = [found for found in pairs if found[2]] or pairs[:1]
        if pair is not None:
            one, other, kind = like[0]
            # Both ways may have come to the same page, which is known of recorded attempts only.
            has_met = self._way.knows_pages and pair[0].has_moved and pair[0].page == pair[1].page
            return bool(kind) and not has_met, self._make(kind or "wrong_target", one, other)
        one, other, kind = max(like, key=lambda found: compare_targets(found[0].target, found[1].target))
        kind = kind or ("failed" if one.error else "wrong_target")
        is_click = one.kind == other.kind == "click"
        if kind == "wrong_target" and one.has_moved and (not is_click or self._attempt.is_about_answer):
            kind = "never_reached_page"
        is_unknown = (one.kind, kind) == ("other", "wrong_target")
        return True, self._make("unknown" if is_unknown else kind, one, other)

    def _find_more(self, extra: Sequence[Action], *, is_end: bool) -> Failure:
        """Return what was done and is not in the way: at the end an undoing, or once more what it has."""
        for one in extra if is_end else ():
            if one.target and UNDOES.search(one.target.name):
                return self._make("right_state_lost", one)
        for one in extra:
            for other in self._matched:
                is_same = (one.kind, one.value, one.before) == (other.kind, other.value, other.before)
                if other.number < one.number and is_same and is_same_element(one.target, other.target):
                    return self._make("step_repeated", one, other)
        scores = self._scores[self._moves.index(extra[0])]
        return self._make(
            "needless_step",
            extra[0],
            next((self._way.moves[j] for j, same in enumerate(scores) if same), None),
        )


def _set_the_same(a: Action, b: Action) -> bool:
    is_set = a.kind in SETS and b.kind in SETS and a.kind == b.kind and not b.error
    return is_set and a.target is not None and compare_targets(a.target, b.target) == SAME


def _name_substitute(extra: Action, missing: Action) -> str:
    """Return in which way an action was done in the place of another one; empty if it was not."""
    if not _are_like(extra, missing) or (extra.kind == "other" and extra.tool != missing.tool):
        return ""
    same = compare_targets(extra.target, missing.target)
    if extra.error:
        return "failed" if same else ""
    if extra.kind in SETS and same:
        return "wrong_value" if _compare_values(extra, missing) == OTHER else ""
    return "wrong_target" if _are_of_one_role(extra.target, missing.target) else ""


def _are_of_one_role(a: Target | None, b: Target | None) -> bool:
    """Whether one target may have been taken for the other."""
    if a is None or b is None:
        return a is b
    return not (a.role and b.role) or a.role == b.role
