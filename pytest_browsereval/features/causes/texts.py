"""What answers, pages and tasks say: words that make a cause likely, and never certain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_browsereval.features.causes.actions import SETS, UNDOES, Action
from pytest_browsereval.features.causes.attempts import Attempt
from pytest_browsereval.features.causes.targets import read_refs
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
_CALCULATES = re.compile(r"\b(average|difference|total|sum|altogether|combined|by how)\b", re.IGNORECASE)
_OPTION = re.compile(r'^\s*- option "((?:[^"\\]|\\.)*)"', re.MULTILINE)
_DIGITS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "ten": "10"}
_ACTS_ON = frozenset({"link", "button", "radio", "option", "checkbox", "tab", "menuitem"})
_LEAST_TEXT = 20
"""Characters of a result from which it is taken for what a page says."""


@dataclass(frozen=True)
class Evidence:
    """What a cause rests on."""

    name: str
    """Of the cause."""
    steps: Sequence[Action] = ()
    detail: str = ""
    why: str = ""
    """What the record says, where the first wrong step does not."""
    is_likely: bool = False
    """Whether it rests on words or on a comparison: it may be otherwise."""


def guess(name: str, step: Action, why: str, detail: str = "") -> Evidence:
    """Return a cause that is likely by words."""
    return Evidence(name, [step], detail, why, is_likely=True)


def split_words(text: str) -> list[str]:
    """Return the words and numbers of a text as they are compared."""
    return [word.rstrip(".,") for word in re.findall(r"[\w+-][\w.,@+-]*", text.casefold())]


def says_answer(text: str, answer: str) -> bool:
    """Whether a text has an answer: its words, or the same number in another form."""
    text = re.sub(r"\[[^\]\n]*\]|https?://\S+", " ", text)  # attributes of a snapshot, addresses
    if (number := _read_number(answer)) is not None:
        return any(_read_number(one) == number for one in re.findall(r"(?<![\w.,])-?\d[\d.,]*", text))
    wanted, found = (f" {' '.join(split_words(one))} " for one in (answer, text))
    return wanted.strip() != "" and wanted in found


def _read_number(text: str) -> float | None:
    plain = text.strip().strip("$€£").rstrip(".,")
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", plain):
        plain = plain.replace(",", "")
    try:
        return float(plain.replace(",", "."))
    except ValueError:
        return None


class Reading:
    """What the pages of an attempt have said, and what its task names."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._moves = [one for one in attempt.moves if not one.error]
        self._words = [_DIGITS.get(word, word) for word in split_words(attempt.metadata.query)]
        self._looks = [
            one
            for one in attempt.actions
            if one.kind in ("look", "wait", "other") and not one.error and len(one.says) >= _LEAST_TEXT
        ]
        last = max((one.number for one in attempt.moves), default=0)
        self._looks_at_end = [one for one in self._looks if one.number > last]

    def _says(self, phrase: str) -> bool:
        """Whether the task has words one after the other, the last one maybe with an ending."""
        return f" {' '.join(split_words(phrase))}" in f" {' '.join(self._words)}"

    def _is_named(self, word: str) -> bool:
        """Whether the task has a word, maybe with an ending."""
        return any(
            own == word or (len(word) > 2 and own.startswith(word) and own[len(word) :].isalpha())
            for own in self._words
        )

    def find_login(self) -> Action | None:
        """Return the step after which the attempt stood before a login, to its end."""
        actions = self._attempt.actions
        page, start = (actions[-1].page, actions[0].before) if actions else (None, None)
        wants = page is not None and page != start and _LOGIN.search(page) and not self._says("log in")
        said = [one for one in self._looks_at_end if _EXPIRED.search(one.says)]
        typed = any(one.kind in SETS and one.before == page for one in actions)
        if not said and (typed or not wants):
            return None
        return next((one for one in reversed(actions) if one.has_moved), said[0] if said else None)

    def find_unready(self) -> Action | None:
        """Return the last look at the last page, if that was empty or still loading."""
        looks = self._looks_at_end
        body = looks[-1].says if looks else ""
        return looks[-1] if _EMPTY.search(body) and len(body) < 1_000 else None

    def guess(self) -> Iterator[Evidence]:
        """Yield causes that the task and the pages make likely, the most likely first."""
        yield from self.guess_answer()
        yield from self._guess_refusal()
        yield from self._guess_undo()
        if not self._attempt.is_protected:
            yield from self._guess_mistaken()
        yield from self._guess_unreached()

    def _find_reference(self) -> str | None:
        """Return the row's reference answer where only the answer was refused."""
        attempt = self._attempt
        answer = attempt.stored.task.answer if attempt.stored is not None else None
        is_known = isinstance(answer, str | int | float) and not attempt.is_protected
        return str(answer) if is_known and self._looks and attempt.is_about_answer else None

    def guess_answer(self) -> Iterator[Evidence]:
        """Yield that the answer was read and another one was given."""
        answer = self._find_reference()
        found = [one.number for one in self._looks if answer and says_answer(one.says, answer)]
        if found:
            why = f"the reference answer is in the result of step {found[0]}"
            yield guess("wrong_answer", self._attempt.actions[-1], why)

    def _guess_unreached(self) -> Iterator[Evidence]:
        """A part of the answer is on no page, and no grader says that what was done is right."""
        attempt, answer = self._attempt, self._find_reference()
        is_right = any(one.verdict is Verdict.PASSED for one in attempt.metadata.grader_results.values())
        if (
            answer is None or is_right or _CALCULATES.search(attempt.metadata.query)
        ):  # a page need not have it
            return
        words = [one for one in re.findall(r"\w+", answer) if len(one) > 3 or one[0].isdigit()]
        parts = [answer, *(words if _read_number(answer) is None else ())]
        told = (one.says for one in attempt.actions if one.kind != "end")
        if any(says_answer(text, part) for text in told for part in parts):
            return
        why = "the reference answer was not found in the recorded results"
        moved = [one for one in attempt.actions if one.has_moved]
        if moved:
            yield guess("never_reached_page", moved[0], why)
        elif not attempt.moves:
            yield guess("answered_too_early", attempt.actions[-1], why)

    def _guess_refusal(self) -> Iterator[Evidence]:
        moves = self._attempt.moves
        is_sent = moves and moves[-1].kind in ("click", "press") and not moves[-1].has_moved
        has_form = any(one.kind in SETS for one in moves)
        if is_sent and has_form and any(_REFUSED.search(one.says) for one in self._looks_at_end):
            yield guess("form_refused", moves[-1], "the page then seems to say what is wrong in a form")

    def _guess_undo(self) -> Iterator[Evidence]:
        for one in self._moves[1:]:
            word = UNDOES.search(one.target.name) if one.kind == "click" and one.target else None
            if word and not self._says(word[0]):
                yield guess("right_state_lost", one, "its name suggests that it may undo something")

    def _guess_mistaken(self) -> Iterator[Evidence]:
        """What the task does not name, in the place of what it names."""
        acted = [it for one in self._moves for it in (one.value, one.target.name if one.target else "") if it]
        for one in (one for one in self._moves if not one.is_open):
            is_typed = one.kind == "type"
            for other in self._list_typed(one, acted) if is_typed else self._list_offered(one):
                new = other if is_typed else self._find_named(_get_name(one), other)
                if new and other not in acted:
                    where = f", as {_shorten(other)} on that page does" if new != other else ""
                    name = "wrong_value" if one.kind in ("type", "choose") else "wrong_target"
                    yield guess(name, one, f"the task names {_shorten(new)}{where}", _shorten(other))

    def _list_typed(self, one: Action, acted: Sequence[str]) -> Iterator[str]:
        """Yield numbers and addresses of the task that were never used, and look like what was typed."""
        value = " ".join(split_words(one.value))
        if not value or f" {value} " in f" {' '.join(self._words)} ":
            return
        used = {word for text in acted for word in split_words(text)}
        for word in self._words:
            is_like = word[0].isdigit() and value[0].isdigit() and abs(len(word) - len(value)) < 2
            if word not in used and (is_like or ("@" in word and "@" in value)):
                yield word

    def _list_offered(self, one: Action) -> Iterator[str]:
        """Yield what a page had in the place of what was clicked, ticked or chosen."""
        name, target = _get_name(one), one.target
        words = set(split_words(name))
        for look in self._looks if words else ():
            if one.kind == "choose":
                lists = re.split(r"(?m)^(?=\s*- (?:combobox|listbox)\b)", look.says)
                yield from next((found for it in lists if name in (found := _OPTION.findall(it))), ())
            elif one.kind in ("click", "check") and target is not None and look.page == one.before:
                for it in read_refs(look.says).values():
                    its = set(split_words(it.name))
                    is_like = it.role == "radio" or 2 * len(words & its) >= min(len(words), len(its))
                    if it.role in _ACTS_ON and it.role == (target.role or it.role) and is_like:
                        yield it.name

    def _find_named(self, taken: str, other: str) -> str:
        """Return what the task names of one of two names that the other does not have; else an empty text."""
        own, its = split_words(taken), split_words(other)
        new, lost = [word for word in its if word not in own], [word for word in own if word not in its]
        is_mistaken = lost and new and all(map(self._is_named, new)) and not any(map(self._is_named, lost))
        return " ".join(new) if is_mistaken else ""


def _get_name(one: Action) -> str:
    return one.value if one.kind == "choose" or one.target is None else one.target.name


def _shorten(name: str) -> str:
    """Return a name from a page or a task as lines quote it."""
    return repr(one_line(name, 60))
