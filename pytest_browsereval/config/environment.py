"""``${NAME}`` in a config is the value of an environment variable; an unset variable is an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pytest_browsereval.errors import nearest
from pytest_browsereval.foreign_names import hint_at_dotenv
from pytest_browsereval.redaction.names import SHORTEST_SECRET, is_secret_name
from pytest_browsereval.validation_errors import Problem

# Not `os.path.expandvars`: it leaves unset variables as they are, and fills in `$NAME` without braces too.
_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OPTION = re.compile(r"(-{0,2}[\w-]+)(?:=|: *)(.+)", re.DOTALL)
_LITERAL = re.compile(r"(?!-)(?![A-Z][A-Z\d_]*\Z).{8,}", re.DOTALL)
"""No other option, no name of a variable, and none of the short words that stand for a key: ``ollama``."""


@dataclass
class Interpolation:
    """Fills in ``${NAME}``, and remembers problems and secrets."""

    environ: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    """The secrets, by the names of their variables."""
    literals: dict[str, None] = field(default_factory=dict)
    """Those that stand in the file itself, under a name or behind an option of a command."""
    in_clear: dict[str, None] = field(default_factory=dict)
    """Other variables that the file names, whose values are not redacted."""

    @property
    def secrets(self) -> list[str]:
        """The secrets, each once."""
        return list(dict.fromkeys((*self.named.values(), *self.literals)))

    def fill(self, value: Any, path: tuple[str | int, ...] = ()) -> Any:
        """Return a copy of the value with its texts filled in; ``$${`` stands for a plain ``${``."""
        if isinstance(value, dict):
            filled = {key: self.fill(inner, (*path, key)) for key, inner in value.items()}
            self._remember(filled.items())
            return filled
        if isinstance(value, list | tuple):
            words = [self.fill(inner, (*path, place)) for place, inner in enumerate(value)]
            self._remember(pair for pair in pairwise(words) if str(pair[0]).startswith("-"))
            self._remember(found.groups() for word in words if (found := _OPTION.fullmatch(str(word))))
            return words
        if isinstance(value, str) and "${" in value:
            return _REFERENCE.sub(lambda match: self._value(match, path), value)
        return value

    def _remember(self, given: Iterable[tuple[Any, ...]]) -> None:
        for name, value in given:
            if isinstance(value, str) and _LITERAL.fullmatch(value) and is_secret_name(str(name), "key"):
                self.literals[value] = None

    def _value(self, match: re.Match[str], path: tuple[str | int, ...]) -> str:
        name = match[1]
        if name is None:
            return "${"
        if not _NAME.match(name):
            message = f"{match[0]!r} is not a variable. Write `${{NAME}}`, or `$${{` for a plain `${{`."
            self.problems.append(Problem(path, message))
            return match[0]
        if name not in self.environ:
            message = f"the environment variable {name!r} is not set.{nearest(name, self.environ)}"
            how = f"Set it, or write `$${{` for a plain `${{`.{hint_at_dotenv(name)}"
            self.problems.append(Problem(path, f"{message} {how}"))
            return match[0]
        value = self.environ[name]
        # To redact a short value such as `1` would spoil every number in a report.
        if is_secret_name(name, "variable") and len(value) >= SHORTEST_SECRET:
            self.named[name] = value
        elif value:
            self.in_clear[name] = None
        return value
