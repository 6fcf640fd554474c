"""What answers, pages and tasks say: words that make a cause likely, and never certain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pytest_browsereval.features.causes.actions import SETS, UNDOES, Action
from pytest_browsereval.features.causes.attempts import Attempt
from pytest_browsereval.features.causes.parting import is_about_answer
from pytest_browsereval.features.causes.targets import Target, is_same_element, read_refs
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict

GIVES_UP = re.compile(
    r"\b(can ?not|can't|couldn't|could not|unable to|not able to|impossible|not possible"
    r"|g[ai]ve up|giving up|i am stuck|i'm stuck|did not find|didn't find|no way to)\b"
    r"|\b(konnte|kann|könnte)\b.{0,60}\bnicht\b|nicht (möglich|gefunden|gelungen|geschafft)"
    r"|fehlgeschlagen|unmöglich"
    r"|\bn(e |')(ai|peux|arrive|parviens|suis)\b.{0,40}\bpas\b|introuvable"
    r"|\bno (pude|puedo|pudo|he podido|fue posible|es posible|encontré|logré)\b"
    r"|\bno se (pudo|puede|encontró)\b"
    r"|\bnon (sono riuscit|riesco|posso|ho trovato|è possibile)|\bn[ãa]o (consegui|posso|foi poss|encontrei)"
    r"|\b(kon|kan)\b.{0,60}\bniet\b|niet gevonden|\bnie (mog|udało|znalaz)|\bне (удалось|могу|смог|наш)"  # noqa: RUF001
    r"|\b(kunde|kan|hittade) inte\b|\b(kunne|fandt|fant) ikke\b|bulamad|mümkün değil"
    r"|できません|できなかった|見つかりません|見つけられ|无法|無法|找不到|未能|未找到"
    r"|할 수 없|찾을 수 없|찾지 못|못했",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"(^|[/_.?=&-])(log-?in|sign-?in|logon|sso|session-?expired|auth)([/_.?=&-]|$)", re.IGNORECASE
)
_EXPIRED = re.compile(
    r"(session|login)\b.{0,20}\b(has )?(expired|timed out)|please (log|sign) in\b", re.IGNORECASE
)
_EMPTY = re.compile(
    r"\(The page is empty\.\)|\bplease wait\b|\bloading\b[^.\n]{0,20}(…|\.\.\.)|\bloading\W*$",
    re.IGNORECASE | re.MULTILINE,
)
_REFUSED = re.compile(
    r"^\s*- alert\b|\b(is|are) (required|invalid|not valid)\b|\b(must|has to) (be|contain|have|match)\b"
    r"|\bplease (enter|fill|accept|select|choose|check|provide|correct)\b",
    re.IGNORECASE | re.MULTILINE,
)
_SENDS = re.compile(
    r"\b(place order|order now|submit|send|save|confirm|pay|buy|checkout|check out|book|publish|finish"
    r"|create|post|reserve|apply|buchen|reservieren|bestellen|senden|absenden|speichern|bestätigen|kaufen|envoyer|valider|enviar|guardar|confirmar)\b",
    re.IGNORECASE,
)
_TWICE = re.compile(
    r"\b(twice|two|three|four|five|times|both|each|every|all)\b"
    r"|(?<![\w.:/-])[2-9](?![\w.:/-])",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"\b(next|more|forward|up|down|increase|plus|add another)\b|[+>»]", re.IGNORECASE)
_NAMED = re.compile(
    r"\"([^\"]+)\"|'([^']+)'|(?<!^)(?<![.!?:] )\b([A-Z][\w-]+|[\w.+-]+@[\w.-]+|\d+(?:[.,]\d+)*)"
)
_GERMAN = re.compile(r"\b(der|das|den|dem|ein|eine|einen|für|und|auf|mit|von|zum|zur)\b", re.IGNORECASE)
"""Words of a language that writes all nouns as others write names."""
_OPTION = re.compile(r'^\s*- option "((?:[^"\\]|\\.)*)"', re.MULTILINE)
_SELECTED = re.compile(_OPTION.pattern + r" \[selected\]", re.MULTILINE)
_DIGITS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "ten": "10"}
_ACTS_ON = frozenset({"link", "button", "radio", "option", "checkbox", "tab", "menuitem"})
_LEAST_TEXT = 20
"""Characters of a result from which it is taken for what a page says."""


def fold(text: str) -> str:
    """Return a text without what does not matter where words are looked for."""
    return " ".join(re.sub(r"[^\w.,@+-]+", " ", text.casefold()).split())


def has_words(text: str, words: str) -> bool:
    """Whether words stand in a text one after the other; the last one may have an ending."""
    found = fold(words)
    end = r"(?!\d)" if found[-1:].isdigit() else ""
    return len(found) > 1 and re.search(rf"(?<!\w){re.escape(found)}{end}", fold(text)) is not None


def shorten(name: str) -> str:
    """Return a name from a page or a task as lines quote it."""
    return repr(one_line(name, 60))


@dataclass(frozen=True)
class Guess:
    """A cause that is likely by words."""

    name: str
    step: Action
    why: str
    detail: str = ""


def says_answer(text: str, answer: str) -> bool:
    """Whether a text has an answer: its words, or the same number in another form."""
    text = re.sub(r"\[[^\]\n]*\]|https?://\S+", " ", text)  # attributes of a snapshot, addresses
    wanted, number = fold(answer), _read_number(answer)
    if number is not None:
        return any(_read_number(one) == number for one in re.findall(r"(?<![\w.,])-?\d[\d.,]*", text))
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", fold(text)) is not None


def _with_digits(text: str) -> str:
    return re.sub(r"[^\W\d_]+", lambda word: _DIGITS.get(word[0].lower(), word[0]), text)


def _read_number(text: str) -> float | None:
    plain = text.strip().strip("$€£").rstrip(".,")
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", plain):
        plain = plain.replace(",", "")
    try:
        return float(plain.replace(",", "."))
    except ValueError:
        return None


LONGEST_AROUND = 100
"""Characters from which the text around an element may be cut."""


class Reading:
    """What the pages of an attempt have said, and what its task names."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self.query = attempt.metadata.query

    @cached_property
    def looks(self) -> list[Action]:
        """Results that say what a page has."""
        return [
            one
            for one in self._attempt.actions
            if one.kind in ("look", "wait", "other") and not one.error and len(one.says) >= _LEAST_TEXT
        ]

    def _looks_at_end(self) -> list[Action]:
        """Those of the last page, after all that was done there."""
        last = max((one.number for one in self._attempt.moves), default=0)
        return [one for one in self.looks if one.number > last]

    def find_login(self) -> Action | None:
        """Return the step after which the attempt stood before a login, to its end."""
        actions = self._attempt.actions
        page, start = (actions[-1].page, actions[0].before) if actions else (None, None)
        wants = (
            page != start and page is not None and _LOGIN.search(page) and not has_words(self.query, "log in")
        )
        said = [one for one in self._looks_at_end() if _EXPIRED.search(one.says)]
        typed = any(one.kind in SETS and one.before == page for one in actions)
        if not said and (typed or not wants):
            return None
        return next((one for one in reversed(actions) if one.has_moved), said[0] if said else None)

    def find_unready(self) -> Action | None:
        """Return the last look at the last page, if that was empty or still loading."""
        looks = self._looks_at_end()
        body = looks[-1].says if looks else ""
        return looks[-1] if _EMPTY.search(body) and len(body) < 1_000 else None

    def guess(self) -> Iterator[Guess]:
        """Yield causes that the task and the pages make likely, the most likely first."""
        yield from self._guess_answer(is_read=True)
        yield from self._guess_refusal()
        yield from self._guess_undo()
        if not self._attempt.is_protected:
            yield from self._guess_value()
            yield from self._guess_target()
        yield from self._guess_repeat()
        yield from self._guess_unsent()
        yield from self._guess_answer(is_read=False)
        if not self._attempt.is_protected:
            yield from self._guess_left_out()

    def _guess_answer(self, *, is_read: bool) -> Iterator[Guess]:
        """Compare the row's reference answer, which was not given, with what pages said."""
        attempt = self._attempt
        answer = attempt.stored.task.answer if attempt.stored is not None else None
        is_known = isinstance(answer, str | int | float) and not attempt.is_protected
        if not is_known or not self.looks or not is_about_answer(attempt):
            return
        # Everywhere: that it is nowhere has to be true of all that is recorded.
        told = [one for one in attempt.actions if one.kind != "end"]
        found = [
            one.number for one in (self.looks if is_read else told) if says_answer(one.says, str(answer))
        ]
        moved = [one for one in attempt.actions if one.has_moved] or attempt.moves
        if is_read and found:
            why = f"the reference answer stands in the result of step {found[0]}"
            yield Guess("wrong_answer", attempt.actions[-1], why)
        elif not is_read and not found and not self._is_page_right():
            why = "the reference answer was not found in the recorded results"
            name = "never_reached_page" if moved else "answered_too_early"
            yield Guess(name, (moved[:1] or attempt.actions[-1:])[0], why)

    def _is_page_right(self) -> bool:
        """Whether a grader says that what was done is right, so that the reference answer may be wrong."""
        return any(one.verdict is Verdict.PASSED for one in self._attempt.metadata.grader_results.values())

    def _guess_refusal(self) -> Iterator[Guess]:
        fields = [one.number for one in self._attempt.moves if one.kind in SETS]
        sent = [one for one in self._attempt.moves if one.kind in ("click", "press") and not one.has_moved]
        is_last = fields and sent and sent[-1].number > fields[-1] and sent[-1] is self._attempt.moves[-1]
        if is_last and any(_REFUSED.search(one.says) for one in self._looks_at_end()):
            yield Guess("form_refused", sent[-1], "the page then seems to say what is wrong in a form")

    def _guess_undo(self) -> Iterator[Guess]:
        for one in self._attempt.moves[1:]:
            word = UNDOES.search(one.target.name) if one.kind == "click" and one.target else None
            if word and not one.error and not has_words(self.query, word[0]):
                yield Guess("right_state_lost", one, "by its name it may take something back")

    @cached_property
    def _names(self) -> list[str]:
        """Names and numbers of the task."""
        is_german = len(_GERMAN.findall(self.query)) > 1
        found = ((a or b, c) for a, b, c in _NAMED.findall(self.query))
        return [quoted or word for quoted, word in found if quoted or not (is_german and word.isalpha())]

    @cached_property
    def _left(self) -> list[str]:
        """Those that no step has typed, chosen or acted on."""
        moves = self._attempt.moves
        acted = _with_digits(
            " ".join(f"{one.value} {one.target.name if one.target else ''}" for one in moves)
        )
        return [one for one in self._names if not has_words(acted, one) and one not in acted.split()]

    def _guess_value(self) -> Iterator[Guess]:
        """A value that the task does not name, where another one that it names was never set."""
        query = _with_digits(self.query)
        for one in self._attempt.moves:
            if one.kind == "choose" and (wanted := self._find_option(one)) is not None:
                if wanted:
                    yield Guess("wrong_value", one, f"the task names {wanted}", wanted)
                continue
            is_number = one.kind == "click" and one.target is not None and one.target.name[:1].isdigit()
            value = one.target.name.split()[0] if is_number and one.target else one.value
            is_set = is_number or (one.kind in ("type", "choose") and not one.is_open)
            if not is_set or one.error or not value or value in query.split() or has_words(query, value):
                continue
            if like := [other for other in self._left if other[0].isdigit() == value[0].isdigit()]:
                name = "wrong_target" if is_number else "wrong_value"
                yield Guess(name, one, f"the task names {shorten(like[0])}", shorten(like[0]))

    def _find_option(self, one: Action) -> str | None:
        """Return the option that the task names, if another one was chosen; None if the list is not known."""
        says = next((it.says for it in reversed(self.looks) if it.number < one.number), "")
        lists = re.split(r"(?m)^(?=\s*- (?:combobox|listbox)\b)", says)
        options = next((found for it in lists if one.value in (found := _OPTION.findall(it))), None)
        if options is None:
            return None
        said = [it for it in options if has_words(self.query, it)]
        # A part of a longer one that is named is not named.
        named = [it for it in said if not any(it != other and fold(it) in fold(other) for other in said)]
        is_wrong = named and one.value not in named and not one.error and not one.is_open
        return shorten(named[0]) if is_wrong else ""

    def _guess_left_out(self) -> Iterator[Guess]:
        """What a task of doing names, and no step has touched."""
        moves = self._attempt.moves
        if not moves or is_about_answer(self._attempt):
            return
        if left := [one for one in self._left if not one[0].isdigit()]:
            name = shorten(left[0])
            for one in reversed(moves):
                if one.kind == "click" and one.target is not None and (why := self._misses(one, left[0])):
                    yield Guess("wrong_target", one, f"the task names {name}, which {why}", name)
            why = f"the task names {name}, on which no step is known to have acted"
            yield Guess("step_left_out", self._attempt.actions[-1], why, name)
        chosen = {fold(one.value) for one in moves if one.kind == "choose"}
        chosen |= {fold(it) for look in self.looks for it in _SELECTED.findall(look.says)}
        for look in reversed(self.looks):
            for it in _OPTION.findall(look.says):
                if has_words(self.query, it) and fold(it) not in chosen:
                    why = f"the task names {shorten(it)}, an option that no step is known to have chosen"
                    yield Guess("step_left_out", self._attempt.actions[-1], why, shorten(it))

    def _misses(self, one: Action, left: str) -> str:
        """Say why a click on what the task does not name may be wrong; else return an empty text."""
        target = one.target
        if target is None or any(has_words(target.name, it) for it in self._names):
            return ""
        said = [it.says for it in self.looks if it.number < one.number]
        around = target.hit.around if target.hit is not None else ""
        is_named = 0 < len(around) < LONGEST_AROUND and has_words(self.query, target.name)
        if is_named and not has_words(around, left) and (not said or any(has_words(it, left) for it in said)):
            return "is not in the text around that"
        offered = read_refs(said[-1]).values() if said and one.has_moved else ()
        is_there = any(it.role == (target.role or it.role) and has_words(it.name, left) for it in offered)
        return "was on that page" if is_there else ""

    def _guess_target(self) -> Iterator[Guess]:
        """A click on what the task does not name, where what it names was offered and never clicked."""
        offered: list[tuple[str, str]] = []
        acted = {fold(one.target.name) for one in self._attempt.moves if one.target}
        for one in self._attempt.actions:
            offered += [(it.role, it.name) for it in read_refs(one.says).values() if it.role in _ACTS_ON]
            target = one.target
            if one.kind not in ("click", "check") or one.error or target is None or not target.name:
                continue
            words = {word for word in fold(target.name).split() if len(word) > 2}
            for role, name in offered if not has_words(self.query, target.name) else ():
                like = words & set(fold(name).split())
                is_like = (
                    role == (target.role or role) and fold(name) not in acted and (like or role == "radio")
                )
                if is_like and has_words(self.query, name):
                    why = f"the task names {shorten(name)}, which was on a page"
                    yield Guess("wrong_target", one, why, shorten(name))
                # Of two names that are half the same, a word of the task tells one.
                part = next((it for it in self._left if has_words(name, it)), "") if is_like else ""
                if part and len(like) * 2 >= len(words):
                    why = f"the task names {shorten(part)}, as {shorten(name)} on a page does"
                    yield Guess("wrong_target", one, why, shorten(name))

    def _guess_repeat(self) -> Iterator[Guess]:
        """A button that was clicked twice on one page, where the task does not speak of several."""
        seen: list[tuple[Target, str | None]] = []
        for one in self._attempt.moves if not _TWICE.search(self.query) else ():
            name = one.target.name if one.target else ""
            if one.kind in SETS:  # it may be clicked again for that
                seen.clear()
            if one.kind == "click" and not one.error and name and not _GOES_ON.search(name):
                if one.before and any(
                    is_same_element(it, one.target) for it, page in seen if page == one.before
                ):
                    yield Guess("step_repeated", one, "an earlier step did it on the same page")
                if one.target is not None and one.target.role in ("", "button"):
                    seen.append((one.target, one.before))

    def _guess_unsent(self) -> Iterator[Guess]:
        """A button of the last page that sends something, and that no later step has clicked."""
        moves = [one for one in self._attempt.moves if not one.error]
        if not moves or is_about_answer(self._attempt):  # it was to read
            return
        arrived = max((one.number for one in moves if one.has_moved), default=0)
        here = [one for one in moves if one.number > arrived]
        filled = [one.number for one in here if one.kind in ("type", "choose", "check")]
        since = filled[-1] if filled else arrived
        acted = [one for one in here if one.number > since]
        for look in reversed([one for one in self.looks if one.number >= arrived]):
            sends = [
                it for it in read_refs(look.says).values() if it.role == "button" and _SENDS.search(it.name)
            ]
            if not sends:
                continue
            if not acted or (filled and not any(one.kind in ("click", "press") for one in acted)):
                name, last = shorten(sends[0].name), self._attempt.actions[-1]
                why = (
                    f"no step after step {since} is known to have clicked {name}"
                    if since
                    else (f"no step is known to have clicked {name}")
                )
                yield Guess("answered_too_early", last, why, name)
            return
