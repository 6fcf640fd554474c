"""A config on its way from the file to the model: plain values that remember where they came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_browsereval.config.environment import Interpolation
from pytest_browsereval.config_text import DocumentError, KeyPath, parse
from pytest_browsereval.redaction.config import hide_logins, is_secret_path, names_secrets
from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.redaction.redactor import Redactor
from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.validation_errors import Problem, canonical_key

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
        environment: fills in variables; no message repeats its secrets.
    """

    tree: dict[str, Any]
    file: str
    line_of: Callable[[KeyPath], int | None]
    environment: Interpolation
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(init=False)
    """Their paths are those of ``tree``; what ``environment`` finds wrong is among them."""
    unread: list[tuple[int | None, str]] = field(default_factory=list)
    """What was wrong with the text itself: lines and messages."""
    checks: list[Callable[[], None]] = field(default_factory=list)
    """What is looked at once the command line is read."""
    aliases: dict[KeyPath, KeyPath] = field(default_factory=ALIASES.copy)
    """Other words for paths, on the command line."""
    _written: dict[KeyPath, KeyPath] = field(default_factory=dict)
    """Where a value that was moved or renamed stands in the file, in the file's spelling."""
    _sources: dict[KeyPath, str] = field(default_factory=dict)
    """The words for the source of what is not from the file."""

    def __post_init__(self) -> None:
        self.problems = self.environment.problems

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

    # -- values

    def get(self, path: KeyPath) -> Any:
        """Return the value at a path; None if there is none."""
        value: Any = self.tree
        for part in path:
            value = _get(value, part)
        return value

    def put(self, path: KeyPath, value: Any) -> None:
        """Replace the value at a path, whose block is there."""
        self.get(path[:-1])[path[-1]] = value

    def move(self, old: KeyPath, new: KeyPath) -> None:
        """Move a value; messages go on to tell it under its old path.

        Of two values the one that is not from the file stays; two of the file are wrong.
        """
        block, key = self._block(old), old[-1]
        if block is None:
            return
        if self._block(new) is not None and not self.is_overridden(old):
            block.pop(key)
            if not self.is_overridden(new):
                self.wrong(old, f"given twice, here and as {_join_keys(new)}. Leave one out.")
            return
        value = block.pop(key)
        target = self._target(new, "")
        if target is not None:  # else the block is wrong itself, which validation tells
            _put(target, new[-1], value)
            self.note_move(old, new)

    def _block(self, path: KeyPath) -> dict[str | int, Any] | None:
        """Return the block that holds a path's last key; None if the key is not there."""
        block = self.get(path[:-1])
        return block if isinstance(block, dict) and path[-1] in block else None

    def note_move(self, old: KeyPath, new: KeyPath) -> None:
        """Note that a value was moved by hand."""
        written = self._words(old)
        self._sources = {_rebase(path, old, new): source for path, source in self._sources.items()}
        self._written = {_rebase(path, old, new): words for path, words in self._written.items()}
        self.problems[:] = [replace(p, path=_rebase(p.path, old, new)) for p in self.problems]
        self._written[new] = written

    # -- overrides

    def override(self, text: str) -> None:
        """Set a value by ``key.path=value``, the value written as in YAML, with ``${NAME}`` in it."""
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
        self.set(path, self.environment.fill(document.value, self._ours(path)), label)

    def set(self, path: KeyPath, value: Any, label: str) -> None:
        """Set the value at a path, whatever the file says there."""
        path = self._ours(path)
        target = self._target(path, label)
        if target is None:
            self._refuse(path, label, f"{_join_keys(path[:-1])} holds no keys.")
        elif not _put(target, path[-1], value):
            self._refuse(path, label, f"there is no entry {path[-1]!r}: indexes begin with 0.")
        else:
            for rival in RIVALS.get(path, ()):
                self.tree.pop(rival, None)
            for inner in [inner for inner in self._sources if inner[: len(path)] == path]:
                self._sources.pop(inner)
            self.note_source(path, label)

    def _ours(self, path: KeyPath) -> KeyPath:
        """Return a typed path in the words and the spelling of the tree; keys that are new stay as typed."""
        plain = tuple(canonical_key(str(part)) for part in path)
        for length in range(len(path), 0, -1):
            if (ours := self.aliases.get(plain[:length])) is not None:
                return self._ours((*ours, *path[length:]))
        block: Any = self.tree
        found: list[str | int] = []
        for part, name in zip(path, plain, strict=True):
            keys = block if isinstance(block, dict) else ()
            key = part if isinstance(block, list) else str(part)
            if key not in keys and name in keys:
                key = name
            found.append(key)
            block = _get(block, key)
        return tuple(found)

    def _target(self, path: KeyPath, label: str) -> Any:
        """Return the block or list for a path's last key, made if it is not there; None if it cannot be."""
        block: Any = self.tree
        for place, part in enumerate(path[:-1], 1):
            if isinstance(block, dict) and part not in block:
                block[part] = {}
                if label:
                    self.note_source(path[:place], label)
            if isinstance(_get(block, part), str):
                block[part] = {"path" if path[0] == "dataset" else "type": block[part]}
            block = _get(block, part)
        return block if isinstance(block, dict | list) else None

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
        message = hide_logins(Redactor(list_spellings(self.environment.secrets), HIDDEN).redact(message))
        return message.replace("\r", "\\r").replace("\n", "\\n")

    def _locate(self, problem: Problem) -> tuple[int, str]:
        """Return the line, for sorting, and the message with its place."""
        path = self._words(problem.path)
        where = f"{_join_keys(path)}: " if path else ""
        for length in range(len(problem.path), 0, -1):
            if source := self._sources.get(problem.path[:length]):
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


def _rebase(path: KeyPath, old: KeyPath, new: KeyPath) -> KeyPath:
    return (*new, *path[len(old) :]) if path[: len(old)] == old else path


def _get(block: Any, key: str | int) -> Any:
    is_there = key in block if isinstance(block, dict) else _is_index(block, key)
    return block[key] if is_there else None


def _is_index(block: Any, key: str | int) -> bool:
    return isinstance(block, list) and isinstance(key, int) and key < len(block)


def _put(target: Any, key: Any, value: Any) -> bool:
    if isinstance(target, list) and not _is_index(target, key):
        return False
    target[key if isinstance(target, list) else str(key)] = value
    return True
