"""A config on its way from the file to the model: plain values that remember where they came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_browsereval.config_text import DocumentError, KeyPath, parse
from pytest_browsereval.redaction.config import hide_logins, is_secret_path, names_secrets
from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.redaction.redactor import Redactor
from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.validation_errors import Problem, find_key, snake

ALIASES: dict[KeyPath, KeyPath] = {
    ("timeout_ms",): ("limits", "timeout_ms"),
    ("workers",): ("num_workers",),
    ("grader_model",): ("judge", "model"),
    ("grader_api_key_env",): ("judge", "api_key"),
    ("grader_base_url",): ("judge", "base_url"),
}
"""Words of BrowserOS that stand for keys of ours, and what they hold with them."""

RIVALS: dict[KeyPath, Sequence[str]] = {
    ("lanes",): ("num_workers",),
    ("num_workers",): ("lanes",),
    ("agent",): ("variants",),
    ("variants",): ("agent",),
}
"""Keys that exclude each other: on the command line, one puts the other out."""


@dataclass
class Draft:
    """The values of a config, and the origin of each.

    Args:
        tree: the values.
        file: the file's name, for messages.
        line_of: returns the line of a path of the file.
        secrets: values that no message may repeat.
    """

    tree: dict[str, Any]
    file: str
    line_of: Callable[[KeyPath], int | None]
    secrets: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """Their paths are those of ``tree``."""
    unread: list[tuple[int | None, str]] = field(default_factory=list)
    """What was wrong with the text itself: lines and messages."""
    checks: list[Callable[[], None]] = field(default_factory=list)
    """What is looked at once the command line is read."""
    aliases: dict[KeyPath, KeyPath] = field(default_factory=ALIASES.copy)
    """Other words for paths, on the command line; in snake_case."""
    _written: dict[KeyPath, KeyPath] = field(default_factory=dict)
    """Where a value that was moved stands in the file."""
    _sources: dict[KeyPath, str] = field(default_factory=dict)
    """The words for the source of what is not from the file."""

    def wrong(self, path: KeyPath, message: str) -> None:
        """Note what is wrong."""
        self.problems.append(Problem(path, message))

    def note_source(self, path: KeyPath, source: str) -> None:
        """Note that a value is not from the file."""
        self._sources[path] = source

    def format_keys(self, path: KeyPath) -> str:
        """Return a path as it is written in the file, with dots."""
        return _join_keys(self._words(path))

    def is_overridden(self, path: KeyPath) -> bool:
        """Return True if a value is not from the file."""
        return path in self._sources

    # -- moving

    def move(self, old: KeyPath, new: KeyPath) -> None:
        """Move a value; messages go on to tell it under its old path.

        Of two values the one that is not from the file stays; two of the file are wrong.
        """
        block, path = _find_block(self.tree, old)
        if block is None:
            return
        there = _find_block(self.tree, new)
        if there[0] is not None and not self.is_overridden(path):
            block.pop(path[-1])
            if not self.is_overridden(there[1]):
                self.wrong(path, f"given twice, here and as {_join_keys(new)}. Leave one out.")
            return
        value = block.pop(path[-1])
        target, key = self._target(new, "")
        if target is not None:  # else the block is wrong itself, which validation tells
            _put(target, key, value)
            self.note_move(path, new)

    def note_move(self, old: KeyPath, new: KeyPath) -> None:
        """Note that a value was moved by hand."""
        written = self._words(old)
        for path in [path for path in self._sources if path[: len(old)] == old]:
            self._sources[(*new, *path[len(old) :])] = self._sources.pop(path)
        for path in [path for path in self._written if path[: len(old)] == old and path != old]:
            self._written[(*new, *path[len(old) :])] = self._written.pop(path)
        self._written[new] = written

    # -- overrides

    def override(self, text: str, fill: Callable[[Any, KeyPath], Any] = lambda value, _: value) -> None:
        """Set a value by ``key.path=value``, the value written as in YAML.

        Args:
            text: what was typed.
            fill: returns a value with variables of the environment filled in.
        """
        dotted, equals, given = text.partition("=")
        path: KeyPath = tuple(int(p) if p.isdecimal() else p for p in dotted.strip().split("."))
        is_secret = is_secret_path(path) or names_secrets(given)
        label = f"--eval-set {f'{dotted}={HIDDEN}' if is_secret else repr(text)}"
        if not equals or "" in path:
            self._refuse(path, label, "write KEY.PATH=VALUE, such as limits.max_steps=20.")
            return
        try:
            document = parse(given, ".yaml")
        except DocumentError as error:
            self._refuse(path, label, f"the value is {error}")
            return
        for _, message in document.problems:
            self._refuse(path, label, message)
        self.set(path, fill(document.value, self._ours(path)), label)

    def set(self, path: KeyPath, value: Any, label: str) -> None:
        """Set the value at a path, whatever the file says there."""
        path = self._ours(path)
        target, key = self._target(path, label)
        if target is None:
            self._refuse(path, label, f"{_join_keys(path[:-1])} holds no keys.")
        elif not _put(target, key, value):
            self._refuse(path, label, f"there is no entry {key!r}: indexes begin with 0.")
        else:
            for rival in RIVALS.get(path, ()):
                self.tree.pop(rival if rival in self.tree else str(find_key(self.tree, rival)), None)
            for inner in [inner for inner in self._sources if inner[: len(path)] == path]:
                self._sources.pop(inner)
            self.note_source((*path[:-1], key), label)

    def _ours(self, path: KeyPath) -> KeyPath:
        plain = tuple(snake(str(part)) for part in path)
        for length in range(len(path), 0, -1):
            if (ours := self.aliases.get(plain[:length])) is not None:
                return self._ours((*ours, *path[length:]))
        return path

    def _target(self, path: KeyPath, label: str) -> tuple[Any, Any]:
        """Return the block that holds a path's last key, made if it is not there, and that key."""
        block: Any = self.tree
        for place, part in enumerate(path[:-1]):
            key = _either(block, part)
            if key is None:
                if not isinstance(block, dict):
                    return None, None
                key = str(part)
                block[key] = {}
                if label:
                    self.note_source((*path[:place], key), label)
            if isinstance(block[key], str):
                block[key] = {"path" if path[0] == "dataset" else "type": block[key]}
            block = block[key]
            if not isinstance(block, dict | list):
                return None, None
        key = _either(block, path[-1])
        return block, path[-1] if key is None else key

    def _refuse(self, path: KeyPath, label: str, message: str) -> None:
        self.note_source(path, label)
        self.wrong(path, message)

    # -- messages

    def locate_message(self, path: KeyPath, message: str) -> str:
        """Return a message with its place, in one line and without secrets."""
        return self._one_line(self._locate(Problem(path, message))[1])

    def list_messages(self) -> list[str]:
        """Return all messages, those of the command line first, then by line."""
        lines = [(line or 0, f"{self.file}:{line}: {message}") for line, message in self.unread]
        lines += [self._locate(problem) for problem in self.problems]
        lines.sort(key=lambda entry: entry[0])
        return list(dict.fromkeys(self._one_line(message) for _, message in lines))

    def _one_line(self, message: str) -> str:
        message = hide_logins(Redactor(list_spellings(self.secrets), HIDDEN).redact(message))
        return message.replace("\r", "\\r").replace("\n", "\\n")

    def _locate(self, problem: Problem) -> tuple[int, str]:
        """Return the line, for sorting, and the message with its place."""
        path = self._words(problem.path)
        where = f"{_join_keys(path)}: " if path else ""
        # A value that was moved since has its source under its new path.
        moved = (
            (*new, *problem.path[len(old) :])
            for new, old in self._written.items()
            if problem.path[: len(old)] == old
        )
        for place in (problem.path, *moved):
            for length in range(len(place), 0, -1):
                if source := self._sources.get(place[:length]):
                    return 0, f"{source}: {where}{problem.message}"
        line = self.line_of(path)
        at = self.file if line is None else f"{self.file}:{line}"
        return line or 0, f"{at}: {where}{problem.message}"

    def _words(self, path: KeyPath) -> KeyPath:
        """Return a path of the tree as it is written in the file."""
        for length in range(len(path), 0, -1):
            if (written := self._written.get(path[:length])) is not None:
                return (*written, *path[length:])
        return path


def _join_keys(path: KeyPath) -> str:
    return ".".join(map(str, path))


def _find_block(tree: Any, path: KeyPath) -> tuple[Any, KeyPath]:
    """Return the block that holds a path's last key, None if it is not there, and the path as written."""
    block = tree
    written: KeyPath = ()
    for place, part in enumerate(path):
        key = find_key(block, part)
        if key is None:
            return None, path
        written = (*written, key)
        if place < len(path) - 1:
            block = block[key]
    return block, written


def _either(block: Any, part: str | int) -> str | int | None:
    """Return the key of a block that a part of a path means, in the one spelling or the other."""
    key = find_key(block, part)
    return find_key(block, snake(part)) if key is None and isinstance(part, str) else key


def _put(target: Any, key: Any, value: Any) -> bool:
    if isinstance(target, list) and not (isinstance(key, int) and key < len(target)):
        return False
    target[key if isinstance(target, list) else str(key)] = value
    return True
