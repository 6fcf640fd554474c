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
    are_alike,
    compare_targets,
    is_same_element,
)

REACHED = 0.9
"""How far two actions are the same that lead to the same page, by whatever way."""

_LIKE = ({"click", "check"}, {"click", "choose"})
"""Kinds by which one can do the same to one target."""


@dataclass(frozen=True)
class Parting:
    """Where an attempt parts from a way."""

    kind: str
    """``failed``, ``value``, ``target``, ``page``, ``unsure``, ``unknown``, ``left_out``, ``lost``,
    ``again``, ``more``, ``early`` or ``end``."""
    step: Action | None
    """The first wrong step; None if the attempt has none."""
    instead: Action | None = None
    """What the way has in its place."""
    matched: int = 0
    """How many actions of the way the attempt has done."""
    is_whole: bool = False
    """Whether all that it has is surely all that the way has, answer included."""
    hurries: bool = False
    """Whether the way waits for a page, and the attempt never does."""
    unmatched: tuple[Action, ...] = ()
    """Actions of the attempt that the way does not have."""
    way: Way | None = None


def compare_actions(a: Action, b: Action, *, knows_pages: bool) -> float:
    """Return how far an action of an attempt does what one of a way does, from 0 to 1."""
    if a.error:
        return OTHER
    if b.page is not None and a.has_moved and a.page == b.page and (not knows_pages or b.has_moved):
        return REACHED
    if a.kind != b.kind or (_is_enter(a) and _is_enter(b)):
        return _compare_others(a, b)
    if a.kind == "open":
        return SAME if a.page == b.page else OTHER
    # A ref is never written in a solution, and a tool that is not known is compared by its name.
    if a.kind == "other" and a.tool != b.tool:
        return OTHER
    return min(compare_targets(a.target, b.target), _compare_values(a, b))


def _compare_others(a: Action, b: Action) -> float:
    """Compare actions of two kinds that may come to the same, and keys that send a form from any field."""
    same = compare_targets(a.target, b.target)
    if a.kind == b.kind:
        return max(PERHAPS, same)
    is_named = b.target is not None and b.target.name and b.target.name in a.words
    if _submits(a, b) or _submits(b, a) or is_named:
        return PERHAPS
    return min(REACHED, same) if any({a.kind, b.kind} <= kinds for kinds in _LIKE) else OTHER


def _is_enter(one: Action) -> bool:
    return one.kind == "press" and one.value.strip().casefold() in ("enter", "return")


def _submits(a: Action, b: Action) -> bool:
    """Whether one sends a form by a key, and the other may do it by its button."""
    is_button = b.kind == "click" and (b.target is None or b.target.role in ("", "button"))
    return _is_enter(a) and is_button


def _compare_values(a: Action, b: Action) -> float:
    if a.value.strip() == b.value.strip() or a.is_open or b.is_open:
        return SAME
    if a.kind == "type":
        return OTHER
    first, second = a.value.strip().casefold(), b.value.strip().casefold()
    if first == second:
        return SAME
    # An option by its value and by its label.
    is_word = [all(c.isalnum() or c in "-_" for c in one) and one.islower() for one in (a.value, b.value)]
    return PERHAPS if a.kind == "choose" and is_word[0] != is_word[1] else OTHER


def align(moves: Sequence[Action], way: Way) -> list[tuple[int, int]]:
    """Return which action of an attempt stands for which of a way, in their order, the earliest first."""
    moves = moves[:MOST_MOVES]
    scores = [[compare_actions(a, b, knows_pages=way.knows_pages) for b in way.moves] for a in moves]
    count = len(way.moves)
    best = [[0.0] * (count + 1) for _ in range(len(moves) + 1)]
    for i in range(len(moves) - 1, -1, -1):
        for j in range(count - 1, -1, -1):
            taken = scores[i][j] + best[i + 1][j + 1] if scores[i][j] else 0.0
            best[i][j] = max(taken, best[i + 1][j], best[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(moves) and j < count:
        if scores[i][j] and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            i += 1
    return pairs


@dataclass(frozen=True)
class _Gap:
    """What lies between two matched actions."""

    extra: list[Action]
    """Of the attempt."""
    missing: list[Action]
    """Of the way."""
    next: tuple[Action, Action] | None
    """The matched pair behind it; None at the end."""


def find_parting(attempt: Attempt, way: Way) -> Parting:
    """Return where an attempt parts from a way."""
    return _Search(attempt, way).find()


class _Search:
    def __init__(self, attempt: Attempt, way: Way) -> None:
        self._attempt, self._way = attempt, way
        self._moves = attempt.moves
        self._pairs = align(self._moves, way)
        self._pairs_in_another_order: list[tuple[int, int]] = []
        taken, met = {i for i, _ in self._pairs}, {j for _, j in self._pairs}
        for i, one in enumerate(self._moves):  # done in another order, as fields of a form are
            same = [j for j in range(len(way.moves)) if j not in met and self._is_same(one, way.moves[j])]
            if i not in taken and same:
                taken.add(i)
                met.add(same[0])
                self._pairs_in_another_order.append((i, same[0]))
        self._met = met
        self._unmatched = tuple(one for i, one in enumerate(self._moves) if i not in taken)
        self._matched = [self._moves[i] for i in sorted(taken)]
        self._wrong = self._find_values()

    def _is_same(self, one: Action, other: Action) -> bool:
        same = compare_actions(one, other, knows_pages=self._way.knows_pages)
        return same > PERHAPS or bool(same and one.kind in SETS and one.value.strip())

    def _find_values(self) -> dict[int, tuple[Action, Action]]:
        """Return, by its place in the way, what was set to another value, in any order of fields."""
        found: dict[int, tuple[Action, Action]] = {}
        for place, other in enumerate(self._way.moves):
            if place in self._met or other.kind not in SETS or other.target is None:
                continue
            for one in self._unmatched:
                is_there = one.kind == other.kind and compare_targets(one.target, other.target) == SAME
                is_wrong = is_there and not one.error and _compare_values(one, other) == OTHER
                if is_wrong and not self._is_corrected(one):
                    found[place] = one, other
        return found

    def _is_corrected(self, one: Action) -> bool:
        return any(_set_the_same(one, other) for other in self._matched if other.number > one.number)

    def find(self) -> Parting:
        """Return the first strong departure, else the first weak one, else the end."""
        strong = [self._make("value", one, other) for one, other in self._wrong.values()]
        weak: list[Parting] = []
        for gap in self._gaps():
            strong += self._find_strong(gap)
            weak += self._find_weak(gap)
        # What only the answer shows is no matter of the way.
        if strong:
            return min(strong, key=lambda one: one.step.number if one.step else 10**9)
        if weak and not is_about_answer(self._attempt):
            return weak[0]
        unsure = [(self._moves[i], self._way.moves[j]) for i, j in self._pairs if self._is_unsure(i, j)]
        if unsure and not is_about_answer(self._attempt):
            return self._make("unsure", *unsure[0])
        if (unsent := self._find_unsent()) is not None:
            return self._make("early", self._last(), unsent)
        return self._make("end", self._last(), self._way.end)

    def _find_unsent(self) -> Action | None:
        """Return what the way clicks after a field that the attempt set too late for it."""
        fields = [(i, j) for i, j in self._pairs_in_another_order if self._moves[i].kind in SETS]
        for i, j in self._pairs:
            sent = self._way.moves[j]
            late = [
                to_i for to_i, to_j in fields if to_i > i and to_j < j and sent.kind in ("click", "press")
            ]
            later = self._moves[max(late) :] if late else ()
            if late and not any(self._is_same(one, sent) for one in later):
                return sent
        return None

    def _is_unsure(self, i: int, j: int) -> bool:
        """Whether two actions of one kind may have been done to two targets."""
        one, other = self._moves[i], self._way.moves[j]
        is_named = one.target is not None and other.target is not None and one.kind == other.kind == "click"
        return is_named and compare_actions(one, other, knows_pages=self._way.knows_pages) == PERHAPS

    def _make(self, kind: str, step: Action | None, instead: Action | None = None) -> Parting:
        own, its = self._attempt.end, self._way.end
        is_same = own is not None and its is not None and own.value.strip() == its.value.strip()
        is_answer = is_same or _list_refused(self._attempt) <= {"page_state", "state_diff"}
        scores = (
            compare_actions(self._moves[i], self._way.moves[j], knows_pages=self._way.knows_pages)
            for i, j in self._pairs
        )
        is_all = len(self._pairs) == len(self._way.moves) == len(self._moves)
        has_waited = any(one.kind == "wait" for one in self._attempt.actions) or not self._way.waits
        is_whole = (
            kind == "end" and is_answer and is_all and has_waited and all(one > PERHAPS for one in scores)
        )
        return Parting(
            kind, step, instead, len(self._met), is_whole, not has_waited, self._unmatched, self._way
        )

    def _last(self) -> Action | None:
        return self._attempt.actions[-1] if self._attempt.actions else None

    def _gaps(self) -> Iterator[_Gap]:
        ends = [*self._pairs, (len(self._moves), len(self._way.moves))]
        i = j = 0
        for place, (to_i, to_j) in enumerate(ends):
            is_last = place == len(self._pairs)
            done = self._met | self._wrong.keys()
            left = [self._way.moves[place] for place in range(j, to_j) if place not in done]
            missing = [one for one in left if one.kind != "scroll"]
            tabs = {one.kind for one in missing} & {"tabs"}
            own = (one for one in self._moves[i:to_i] if one not in self._matched)
            extra = [one for one in own if one.kind in tabs or not self._is_forgiven(one)]
            behind = None if is_last else (self._moves[to_i], self._way.moves[to_j])
            yield _Gap(extra, missing, behind)
            i, j = to_i + 1, to_j + 1

    def _is_forgiven(self, one: Action) -> bool:
        """Whether an extra action does no harm: it changes nothing, or a later one sets the same right."""
        if one.kind in SOFT or (one.kind == "click" and one.target is not None and one.target.role in FIELDS):
            return True
        if any(one is other or _set_the_same(one, other) for other, _ in self._wrong.values()):
            return True
        return one.kind in SETS and self._is_corrected(one)

    # -- departures that never come back

    def _find_strong(self, gap: _Gap) -> Iterator[Parting]:
        before = [one for one in self._matched if not gap.next or one.number < gap.next[0].number]
        for extra in gap.extra:
            undone = next(
                (one for one in before if _set_the_same(one, extra) and one.number < extra.number), None
            )
            if undone is not None and not extra.error and undone.value != extra.value:
                yield self._make("lost", extra, undone)
                return
        if gap.next is None:
            yield from self._find_at_end(gap)
        elif gap.extra and gap.missing:
            if not self._has_met(gap):
                yield from self._find_substitute(gap)
        elif gap.missing and all(one.kind in SETS for one in gap.missing):  # a form that is left incomplete
            number = gap.next[0].number
            sends = (one for one in self._matched if one.number >= number and one.kind not in SETS)
            yield self._make("left_out", next(sends, gap.next[0]), gap.missing[0])

    def _has_met(self, gap: _Gap) -> bool:
        """Whether both ways have come to the same page, which is known of recorded attempts only."""
        if gap.next is None or not self._way.knows_pages:
            return False
        own, other = gap.next
        is_there = own.has_moved and own.page == other.page
        has_moved = any(one.has_moved for one in gap.extra)
        return is_there or (has_moved and own.before is not None and own.before == other.before)

    def _find_substitute(self, gap: _Gap) -> Iterator[Parting]:
        for extra in gap.extra:
            for missing in gap.missing:
                if kind := _name_substitute(extra, missing):
                    yield self._make(kind, extra, missing)
                    return

    def _find_at_end(self, gap: _Gap) -> Iterator[Parting]:
        extra = self._forgive_excursions(gap.extra)
        if not gap.missing:
            extra = [one for one in extra if not one.error]
            undo = next((one for one in extra if one.target and UNDOES.search(one.target.name)), None)
            if undo is not None:
                yield self._make("lost", undo)
            elif extra:
                yield self._find_more(extra)
        elif extra:
            first = extra[0]
            like = [one for one in gap.missing if _name_substitute(first, one)] or gap.missing[:1]
            instead = max(like, key=lambda one: compare_targets(first.target, one.target))
            kind = _name_substitute(first, instead) or ("failed" if first.error else "target")
            is_elsewhere = first.has_moved and not self._has_seen(instead.page)
            if is_elsewhere and kind == "target" and not self._is_mistaken(first, instead):
                kind = "page"
            yield self._make(
                "unknown" if first.kind == "other" and kind == "target" else kind, first, instead
            )
        else:
            yield self._make("early", self._last(), gap.missing[0])

    def _is_mistaken(self, one: Action, other: Action) -> bool:
        """Whether one target was rather taken for another than that the attempt went to another page."""
        names = [set(a.target.name.casefold().split()) if a.target else set() for a in (one, other)]
        is_click = one.kind == other.kind == "click"
        return is_click and (bool(names[0] & names[1]) or not is_about_answer(self._attempt))

    def _has_seen(self, page: str | None) -> bool:
        """Whether the log has a page: of a program with other tools, some argument may name it."""
        return page is not None and any(
            page in (one.page, self._attempt.pages.name(one.value)) for one in self._attempt.actions
        )

    def _find_more(self, extra: Sequence[Action]) -> Parting:
        """Return what was done and is not in the way: once more, if the way has it once."""
        for one in extra:
            for other in self._matched:
                if other.number < one.number and _is_again(one, other):
                    return self._make("again", one, other)
        knows = self._way.knows_pages
        like = (one for one in self._way.moves if compare_actions(extra[0], one, knows_pages=knows))
        return self._make("more", extra[0], next(like, None))

    def _forgive_excursions(self, extra: list[Action]) -> list[Action]:
        """Leave out what led away from a page and back to it, if the agent then ended by itself."""
        if self._attempt.metadata.termination_reason is not TerminationReason.COMPLETED or not extra:
            return extra
        here = extra[0].before
        away = [one for one in self._attempt.actions if one.number >= extra[0].number]
        back = [one.number for one in away if one.has_moved and one.page == here]
        if not back or any(one.kind in SETS and not one.error for one in extra if one.number <= back[-1]):
            return extra
        return [one for one in extra if one.number > back[-1]]

    # -- departures that may do no harm

    def _find_weak(self, gap: _Gap) -> Iterator[Parting]:
        if gap.next is None:
            return
        done = [one for one in gap.extra if not one.error]
        if gap.missing and gap.extra:
            yield self._make("target", gap.extra[0], gap.missing[0])
        elif gap.missing:
            yield self._make("left_out", gap.next[0], gap.missing[0])
        elif done:
            yield self._find_more(done)


def _set_the_same(a: Action, b: Action) -> bool:
    is_set = a.kind in SETS and b.kind in SETS and a.kind == b.kind and not b.error
    return is_set and a.target is not None and compare_targets(a.target, b.target) == SAME


def _is_again(a: Action, b: Action) -> bool:
    is_same = (a.kind, a.value, a.before) == (b.kind, b.value, b.before)
    return is_same and is_same_element(a.target, b.target)


def _name_substitute(extra: Action, missing: Action) -> str:
    """Return in which way an action was done in the place of another one; empty if it was not."""
    is_like = extra.kind == missing.kind or any({extra.kind, missing.kind} <= kinds for kinds in _LIKE)
    if extra.kind == "wait" and extra.error:
        return "failed"
    if not is_like or (extra.kind == "other" and extra.tool != missing.tool):
        return ""
    same = compare_targets(extra.target, missing.target)
    if extra.error:
        return "failed" if same else ""
    if extra.kind in SETS and same:
        return "value" if _compare_values(extra, missing) == OTHER else ""
    return "target" if are_alike(extra.target, missing.target) else ""


def is_about_answer(attempt: Attempt) -> bool:
    """Whether all graders that said no look at the answer only: the names of ours say so."""
    return _list_refused(attempt) == {"answer"}


def _list_refused(attempt: Attempt) -> set[str]:
    """Return the types of the graders that said no."""
    grades = attempt.metadata.grader_results.values()
    bad = [one.grader for one in grades if one.verdict == "failed" and not one.advisory]
    graders = attempt.stored.graders if attempt.stored is not None else ()
    types = {str(one.get("name") or one.get("type")): str(one.get("type")) for one in graders}
    return {types.get(name, name) for name in bad}


def find_nearest(attempt: Attempt, ways: Sequence[Way]) -> Parting | None:
    """Return the parting from the way that the attempt has followed furthest; None without a way."""
    found = [find_parting(attempt, way) for way in ways]
    return max(found, key=lambda one: (one.matched, -len(one.unmatched)), default=None)
