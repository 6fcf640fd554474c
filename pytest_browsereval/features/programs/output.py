"""What a program prints, and what of it is texts, steps, usage and the answer: rules, as data.

A program's output lines are JSON objects or plain text. Rules are JMESPath expressions over the objects;
what gives nothing is skipped. The forms that need no rules::

    {"type": "assistant", "content": "I look for the price."}
    {"type": "step", "tool": "click", "params": {"target": "Buy"}, "result": "clicked", "is_error": false}
    {"type": "usage", "input_tokens": 900, "output_tokens": 40, "cost_usd": 0.002}
    {"type": "answer", "content": "12.50"}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pytest_browsereval.graders.patterns import check_pattern
from pytest_browsereval.graders.values import compile_path
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.redaction.text import well_formed


def _stays_inside(text: str) -> None:
    path = PurePosixPath(text)
    if not path.name or path.is_absolute() or ".." in path.parts or "\\" in text or "\0" in text:
        raise ValueError(f"{text!r} is not a path inside the attempt's folder, such as `answer.txt`.")


def _checked_by(check: Callable[[str], object]) -> AfterValidator:
    def validate(text: str) -> str:
        check(text)
        return text

    return AfterValidator(validate)


InnerPath = Annotated[str, _checked_by(_stays_inside)]
"""Relative, with slashes, and without a way out."""

Pattern = Annotated[str, _checked_by(check_pattern)]

Expression = Annotated[str, _checked_by(compile_path)]
"""JMESPath, over one JSON object of the output."""


def _found(expression: str | None, record: Mapping[str, Any]) -> Any:
    if expression is None:
        return None
    try:
        return jmespath.search(expression, record)
    except JMESPathError:
        return None  # a line of another kind, which the expression was not made for


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class EventRules(_Rule):
    """Which lines of the output become messages of the attempt."""

    assistant: Expression | None = "type == 'assistant' && content"
    """Gives the text, or a list of texts, that the model said."""
    step: Expression | None = "type == 'step' && @"
    """Gives ``{tool, params, result, is_error}`` of a step that the program took in the page by itself;
    read with ``cdp: true`` only, for steps by MCP are recorded anyway."""

    own: Expression | None = None
    """Gives ``{tool, params, result}``, or a list of these, of what the program did without the attempt's
    tools, in a shell of its own for example: recorded, with a warning, and not counted as a step."""
    problem: Expression | None = "type == 'problem' && content"
    """Gives the reason why the program cannot use its model, a refused key for example. An attempt that ends
    with one is errored (``provider``). A later line for which ``assistant`` gives a text takes it back."""
    problem_line: Pattern | None = None
    """A regular expression: what it matches in a line of standard error is such a reason too."""
    refused: Pattern = (
        r"(?i)\b401\b|unauthorized|authentication|not logged in|run /login|"
        r"(invalid|missing|no|specify)\b.{0,40}(\b|_)api.?key"
    )
    """A regular expression: a problem with such words ends the program at once, and the run, since all
    attempts would meet it."""

    def problem_of(self, record: Mapping[str, Any]) -> str | None:
        """Return why the program cannot go on; "" if it does, None if a line says nothing of it."""
        found = _found(self.problem, record)
        if _is_text(found):
            return str(found)
        return "" if self.texts(record) else None

    def problem_in(self, line: str) -> str | None:
        """Return why the program cannot go on, as a line of standard error says it; else None."""
        found = re.search(self.problem_line, line) if self.problem_line else None
        return found[0] if found else None

    def is_refused(self, problem: str) -> bool:
        """Whether nobody is logged in, so that no other attempt can be made."""
        return re.search(self.refused, problem) is not None

    def texts(self, record: Mapping[str, Any]) -> list[str]:
        """Return what the model said in a line."""
        found = _found(self.assistant, record)
        return [text for text in (found if isinstance(found, list) else [found]) if _is_text(text)]

    def steps(self, record: Mapping[str, Any], *, own: bool = False) -> list[dict[str, Any]]:
        """Return the steps in the page that a line tells of, or those by tools of the program's own."""
        found = _found(self.own if own else self.step, record)
        each = found if isinstance(found, list) else [found]
        return [step for step in each if isinstance(step, dict) and _is_text(step.get("tool"))]


class UsageRule(_Rule):
    """Which lines of the output report tokens and cost; all matching lines are added up."""

    when: Expression = "type == 'usage'"
    """True for the lines that report them."""
    input_tokens: Expression = "input_tokens"
    """Tokens of the requests, those read from a cache included."""
    output_tokens: Expression = "output_tokens"
    """Tokens of the answers."""
    cache_read_tokens: Expression = "cache_read_tokens"
    """Those of the input that came from a cache."""
    cache_write_tokens: Expression = "cache_write_tokens"
    """Those of the input that were written to one."""
    cost_usd: Expression = "cost_usd"
    """The cost; unknown where nothing reports it."""
    requests: Expression = "requests"
    """Model calls; 1 where nothing reports them."""

    def usage(self, record: Mapping[str, Any]) -> Usage | None:
        """Return what a line tells; None if it tells nothing."""
        if not _found(self.when, record):
            return None
        names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "requests")
        # Programs print what they like: a count below 0 would give tokens back.
        counts = {name: max(0, int(_number(_found(getattr(self, name), record)) or 0)) for name in names}
        cost = _number(_found(self.cost_usd, record))
        return Usage(**{**counts, "requests": counts["requests"] or 1}, cost_usd=cost)


class AnswerFile(_Rule):
    """The answer is the content of a file."""

    file: InnerPath
    """In the attempt's ``agent`` folder, where the program writes it."""


class AnswerEvent(_Rule):
    """The answer is in the output, in the last line for which an expression gives a text."""

    expression: Expression = Field(alias="json")
    """For example ``result``, or ``type == 'end' && text``."""


AnswerRule = Literal["event", "last_line", "stdout"] | AnswerFile | AnswerEvent
"""Where the answer is if the program did not call ``done``: an event of the form above, the last line, the
whole of standard output, ``{file: NAME}`` or ``{json: EXPRESSION}``."""

_NATIVE = AnswerEvent(expression="type == 'answer' && content")


@dataclass
class OutputReader:
    """Reads standard output line by line, and remembers what can be the answer."""

    rule: AnswerRule
    answer: str | None = None
    _last_line: str | None = None
    _kept: list[str] = field(default_factory=list)
    _has_records: bool = False

    def read(self, line: str) -> dict[str, Any] | None:
        """Return the line's object, if it is one."""
        if line.strip():
            self._last_line = line.strip()
        # Kept for a program that prints one object over many lines, or whose output is the answer.
        self._kept.append(line)
        record = _object(line)
        self._has_records = self._has_records or record is not None
        return self._look_at(record)

    def read_rest(self) -> dict[str, Any] | None:
        """Return the one object that was printed over several lines, after the last of them."""
        start = next((place for place, line in enumerate(self._kept) if line.startswith("{")), None)
        if self._has_records or start is None:
            return None
        return self._look_at(_object("\n".join(self._kept[start:]), whole=False))

    def _look_at(self, record: dict[str, Any] | None) -> dict[str, Any] | None:
        rule = _NATIVE if self.rule == "event" else self.rule
        if record is None:
            return None
        if isinstance(rule, AnswerEvent):
            found = _found(rule.expression, record)
            if rule is _NATIVE and record.get("type") == "answer" and not isinstance(found, str | None):
                found = json.dumps(found, ensure_ascii=False)
            self.answer = well_formed(found) if _is_text(found) else self.answer
        return record

    def find_answer(self) -> str | None:
        """Return the answer that the output gives, once it has ended; files are not looked at."""
        if self.rule == "last_line":
            return self._last_line
        if self.rule == "stdout":
            return "\n".join(self._kept).strip() or None
        return self.answer


def _object(text: str, *, whole: bool = True) -> dict[str, Any] | None:
    """Return the object that a text is, or that it begins with; None if there is none."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text) if whole else json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e15 else None
