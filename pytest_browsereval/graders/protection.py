"""Reference answers of protected tasks, kept out of everything that is written of a grade.

Benchmarks ask for it, so that no model ever learns their answers from a published run.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

from pydantic import JsonValue

from pytest_browsereval.model.grades import Criterion, GraderResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.text import map_leaves

WITHHELD = "[withheld]"
"""What stands in the place of a reference answer, which is not a secret: whoever has the row has it."""

_WORD = re.compile(r"[^\W_]+")
_THOUSANDS = re.compile(r"(?<=\d)[,'\u2019\u00a0\u202f ](?=\d{3}(?!\d))")
_TELLING = 4
"""A word of a longer answer with so many letters tells something of it by itself, as a number does."""
_NAMES = frozenset({"type", "name", "answer", "path", "query", "script", "evaluator", "eval_types"})
"""Keys that messages name."""
_WITHOUT_BLANKS = 0x2E80
"""Where the scripts of East Asia begin."""


def mask_of(task: Task) -> Callable[[str], str]:
    """Return what takes the reference answer of a protected task out of a text; ``str`` for other tasks.

    It is found in any case and punctuation. Its numbers and longer words are hidden by themselves too, since
    a judge tells them in its own order, unless the instruction has them anyway.
    """
    pattern = pattern_of(task)
    return str if pattern is None else lambda text: pattern.sub(WITHHELD, unicodedata.normalize("NFC", text))


def pattern_of(task: Task) -> re.Pattern[str] | None:
    """Return what finds the reference answer of a protected task in a normalised text; None: nothing."""
    return _pattern(tuple(_list_texts(task.answer)), task.query) if task.protected else None


def wordings_of(task: Task) -> tuple[str, ...]:
    """Return the reference answer as it may be worded: whole and by its words, in several cases."""
    found: list[str] = []
    for answer in _list_texts(task.answer):
        text = unicodedata.normalize("NFC", answer)
        plain = _THOUSANDS.sub("", text)
        found += [_trim_to_words(text), _trim_to_words(plain), *_WORD.findall(plain)]
    cased = [(one, one.lower(), one.upper(), one.capitalize(), one.title()) for one in found]
    return tuple(dict.fromkeys(one for cases in zip(*cased, strict=True) for one in cases))


def hide_quotes(message: str, task: Task) -> str:
    """Return why a row is refused, without what a protected one expects: graders quote what they cannot use.

    The reference answer is hidden word by word; of what else judges the row, whole values in quotes.
    """
    if not task.protected:
        return message
    judging: list[JsonValue] = [task.rubric, *task.checks, *task.evals, *task.solution]
    blocks = (grader for grader in task.graders if isinstance(grader, dict))
    judging += [value for block in blocks for key, value in block.items() if key not in ("type", "name")]
    for text in sorted(set(_list_texts(judging)) - _NAMES, key=len, reverse=True):
        for quoted in (repr(text), json.dumps(text), json.dumps(text, ensure_ascii=False)):
            message = message.replace(quoted, WITHHELD)
    return mask_of(task)(message)


def mask_grade(result: GraderResult, task: Task) -> GraderResult:
    """Return a grade without the reference answer of a protected task."""
    mask = mask_of(task)
    if mask is str:
        return result
    changes = {
        "reasoning": mask(result.reasoning),
        "criteria": tuple(_mask_criterion(criterion, mask) for criterion in result.criteria),
        "details": {name: _mask_value(value, mask) for name, value in result.details.items()},
    }
    return result.model_copy(update=changes)


def _mask_criterion(criterion: Criterion, mask: Callable[[str], str]) -> Criterion:
    changes = {
        "name": mask(criterion.name),
        "reason": mask(criterion.reason),
        "expected": _mask_value(criterion.expected, mask, with_numbers=True),
        "actual": _mask_value(criterion.actual, mask, with_numbers=True),
    }
    return criterion.model_copy(update=changes)


def _mask_value(value: JsonValue, mask: Callable[[str], str], *, with_numbers: bool = False) -> JsonValue:
    def mask_leaf(leaf: JsonValue) -> JsonValue:
        if isinstance(leaf, str):
            return mask(leaf)
        is_number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
        return WITHHELD if with_numbers and is_number and mask(str(leaf)) != str(leaf) else leaf

    masked_value: JsonValue = map_leaves(value, mask_leaf, mask)
    return masked_value


# -- what is looked for


def _list_texts(answer: JsonValue) -> Iterator[str]:
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield key
            yield from _list_texts(value)
    elif isinstance(answer, list):
        for item in answer:
            yield from _list_texts(item)
    elif answer is not None and not isinstance(answer, bool):
        yield str(answer)


@lru_cache(maxsize=256)
def _pattern(answers: tuple[str, ...], query: str) -> re.Pattern[str] | None:
    public = {word.casefold() for word in _words(query)}
    found: dict[str, None] = {}
    for answer in answers:
        words = _words(answer)
        alone = [word for word in words if _tells(word) and word.casefold() not in public]
        found.update({_border_words([word]): None for word in alone})
        if words:
            found[_border_words(words)] = None
        elif answer.strip():
            found[re.escape(answer.strip())] = None
    wanted = sorted(found, key=len, reverse=True)
    return re.compile("|".join(wanted), re.IGNORECASE) if wanted else None


def _trim_to_words(text: str) -> str:
    words = list(_WORD.finditer(text))
    return text[words[0].start() : words[-1].end()] if words else text.strip()


def _border_words(words: list[str]) -> str:
    """Return a pattern for words with anything between them that is no word; "5" is not in "15"."""
    before = "" if _has_no_border(words[0][0]) else r"(?<![^\W_])"
    behind = "" if _has_no_border(words[-1][-1]) else r"(?![^\W_])"
    return before + r"[\W_]+".join(_spell_word(word) for word in words) + behind


def _has_no_border(char: str) -> bool:
    """Tell whether a script is written without blanks."""
    return ord(char) >= _WITHOUT_BLANKS or "\u0e00" <= char <= "\u0eff" or "\u1000" <= char <= "\u109f"


def _words(text: str) -> list[str]:
    return _WORD.findall(_THOUSANDS.sub("", unicodedata.normalize("NFC", text)))


def _tells(word: str) -> bool:
    return len(word) >= _TELLING or any(char.isdigit() or _has_no_border(char) for char in word)


def _spell_word(word: str) -> str:
    """Return a pattern for a word: with and without accents, a number with and without thousands marked."""
    if word.isdecimal() and len(word) > 3:
        head = len(word) % 3 or 3
        groups = [word[:head], *(word[at : at + 3] for at in range(head, len(word), 3))]
        return r"[,.'\u2019\u00a0\u202f ]?".join(groups)
    plain = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return re.escape(word) if plain == word else f"(?:{re.escape(word)}|{re.escape(plain)})"
