"""What answers, pages and tasks say: words that make a cause likely, and never certain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property

from pytest_browsereval.features.causes.actions import SETS, UNDOES, Action
from pytest_browsereval.features.causes.attempts import Attempt
from pytest_browsereval.features.causes.targets import read_refs

GIVES_UP = re.compile(
    r"\b(can ?not|can't|couldn't|could not|unable to|not able to|impossible|not possible"
    r"|g[ai]ve up|giving up|i am stuck|i'm stuck|did not find|didn't find|no way to)\b"
    r"|\b(konnte|kann|könnte)\b.{0,60}\bnicht\b|nicht (möglich|gefunden)|unmöglich"
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
_CALL = re.compile(
    r"<(tool_call|function_call|invoke|function=)|^\s*(done|click|navigate|fill)\(", re.MULTILINE
)
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_LOGIN = re.compile(
    r"(^|[/_.?=&-])(log-?in|sign-?in|logon|sso|session-?expired|auth)([/_.?=&-]|$)", re.IGNORECASE
)
_EXPIRED = re.compile(
    r"(session|login)\b.{0,20}\b(has )?(expired|timed out)|please (log|sign) in\b", re.IGNORECASE
)
_EMPTY = re.compile(r"\(The page is empty\.\)|\b(loading|please wait)\b(…|\.\.\.)?", re.IGNORECASE)
_REFUSED = re.compile(
    r"^\s*- alert\b|\b(is|are) (required|invalid|not valid)\b|\b(must|has to) (be|contain|have|match)\b"
    r"|\bplease (enter|fill|accept|select|choose|check|provide|correct)\b",
    re.IGNORECASE | re.MULTILINE,
)
_SENDS = re.compile(
    r"\b(place order|order now|submit|send|save|confirm|pay|buy|checkout|check out|book|publish|finish"
    r"|bestellen|senden|absenden|speichern|bestätigen|kaufen|envoyer|valider|enviar|guardar|confirmar)\b",
    re.IGNORECASE,
)
_TWICE = re.compile(r"\b(twice|two|three|four|five|times|both|each|every|all|[2-9]|\d\d+)\b", re.IGNORECASE)
_GOES_ON = re.compile(r"\b(next|more|forward|up|down|increase|plus|add another)\b|[+>»]", re.IGNORECASE)
_NAMED = re.compile(r"\"([^\"]+)\"|'([^']+)'|\b([A-Z][\w-]+|[\w.+-]+@[\w.-]+|\d+(?:[.,]\d+)*)")
_ACTS_ON = frozenset({"link", "button", "radio", "option", "checkbox", "tab", "menuitem"})
_LEAST_TEXT = 20
"""Characters of a result from which it is taken for what a page says."""


def is_call(answer: str) -> bool:
    """Whether an answer looks like a call that was written as text."""
    if _CALL.search(answer):
        return True
    found = _OBJECT.search(answer)
    try:
        value = json.loads(found[0]) if found else None
    except ValueError:
        return False
    names, arguments = ("name", "tool", "action", "function"), ("arguments", "parameters", "args", "params")
    return (
        isinstance(value, dict)
        and any(key in value for key in names)
        and any(key in value for key in arguments)
    )


def fold(text: str) -> str:
    """Return a text without what does not matter where words are looked for."""
    return " ".join(re.sub(r"[^\w.,@+-]+", " ", text.casefold()).split())


def has_words(text: str, words: str) -> bool:
    """Whether words stand in a text one after the other; the last one may have an ending."""
    found = fold(words)
    return len(found) > 1 and re.search(rf"(?<!\w){re.escape(found)}", fold(text)) is not None


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
        if said:
            return said[0]
        typed = any(one.kind in SETS and one.before == page for one in actions)
        return (
            next((one for one in reversed(actions) if one.has_moved), None) if wants and not typed else None
        )

    def find_unready(self) -> Action | None:
        """Return the last look at the last page, if that was empty or still loading."""
        looks = self._looks_at_end()
        body = looks[-1].says if looks else ""
        return looks[-1] if _EMPTY.search(body) and len(body) < 1_000 else None

    def find_refusal(self) -> Action | None:
        """Return the step after which the last page said what is wrong in a form."""
        fields = [one.number for one in self._attempt.moves if one.kind in SETS]
        sent = [one for one in self._attempt.moves if one.kind in ("click", "press") and not one.has_moved]
        is_left = fields and sent and sent[-1].number > fields[-1] and sent[-1] is self._attempt.moves[-1]
        return (
            sent[-1] if is_left and any(_REFUSED.search(one.says) for one in self._looks_at_end()) else None
        )

    def find_undo(self) -> Action | None:
        """Return a step that took back what was done, by its name, if the task does not name that."""
        for one in self._attempt.moves[1:]:
            word = UNDOES.search(one.target.name) if one.kind == "click" and one.target else None
            if word and not one.error and not has_words(self.query, word[0]):
                return one
        return None

    def find_repeat(self) -> Action | None:
        """Return a click that was made twice on one page, where the task does not speak of several."""
        seen: list[Action] = []
        for one in self._attempt.moves:
            name = one.target.name if one.target else ""
            if one.kind != "click" or one.error or not name or _GOES_ON.search(name):
                continue
            if any((other.target, other.before) == (one.target, one.before) for other in seen):
                return None if _TWICE.search(self.query) else one
            if one.target is not None and one.target.role in ("", "button"):
                seen.append(one)
        return None

    def find_value(self) -> tuple[Action, str] | None:
        """Return a value that the task does not name, and what it names that was never set."""
        named = [next(filter(None, match)) for match in _NAMED.findall(self.query)]
        acted = " ".join(
            f"{one.value} {one.target.name if one.target else ''}" for one in self._attempt.moves
        )
        left = [one for one in named[1:] if not has_words(f" {acted} ", one) and one not in acted.split()]
        for one in self._attempt.moves:
            is_set = one.kind in ("type", "choose") and not one.error and one.value and not one.is_open
            if is_set and one.value not in self.query.split() and not has_words(self.query, one.value):
                like = [other for other in left if other[0].isdigit() == one.value[0].isdigit()] or left
                if like:
                    return one, like[0]
        return None

    def find_target(self) -> tuple[Action, str] | None:
        """Return a click on what the task does not name, and what it names that was offered instead."""
        offered: list[tuple[str, str]] = []
        acted = {fold(one.target.name) for one in self._attempt.moves if one.target}
        for one in self._attempt.actions:
            offered += [(it.role, it.name) for it in read_refs(one.says).values() if it.role in _ACTS_ON]
            target = one.target
            if one.kind not in ("click", "check") or one.error or target is None or not target.name:
                continue
            words = {word for word in fold(target.name).split() if len(word) > 2}
            for role, name in offered if not has_words(self.query, target.name) else ():
                is_like = role == (target.role or role) and words & set(fold(name).split())
                if is_like and has_words(self.query, name) and fold(name) not in acted:
                    return one, name
        return None

    def find_unsent(self) -> str:
        """Return the name of a button of the last page that sends something and was not clicked."""
        for one in reversed(self._attempt.actions):
            if one.has_moved:
                return ""
            for it in read_refs(one.says).values():
                if it.role == "button" and _SENDS.search(it.name):
                    later = (other for other in self._attempt.moves if other.number > one.number)
                    clicked = any(
                        other.target and fold(other.target.name) == fold(it.name) for other in later
                    )
                    return "" if clicked else it.name
        return ""

    def find_reference(self) -> Iterator[Action]:
        """Yield the looks that say the row's reference answer."""
        answer = self._attempt.stored.task.answer if self._attempt.stored is not None else None
        wanted = fold(str(answer).removesuffix(".0"))
        pattern = re.compile(rf"(?<![\w.,]){re.escape(wanted)}(?![\w]|[.,]\d*[1-9])")
        yield from (one for one in self.looks if wanted and pattern.search(fold(one.says)))
