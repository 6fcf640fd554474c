"""A config between file and model: plain values that remember where they came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_browsereval.config.environment import Interpolation
from pytest_browsereval.config_text import DocumentError, KeyPath, parse
from pytest_browsereval.redaction.config import hide_logins, is_secret_path, names_secrets
from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.redaction.redactor import Redactor
from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.registry import ConfigReader
from pytest_browsereval.validation_errors import Problem, canonical_key

ALIASES: dict[KeyPath, KeyPath] = {
    ("timeout_ms",): ("limits", "timeout_ms"),
    ("workers",): ("num_workers",),
    ("grader_model",): ("judge", "model"),
    ("grader_api_key_env",): ("judge", "api_key"),
    ("grader_base_url",): ("judge", "base_url"),
}
"""Keys of BrowserOS, and the paths of ours that they stand for on the command line."""

RIVALS: dict[KeyPath, Sequence[str]] = {
    ("lanes",): ("num_workers",),
    ("num_workers",): ("lanes",),
    ("agent",): ("variants",),
    ("variants",): ("agent",),
}
"""Keys that exclude each other: one on the command line removes the other."""


@dataclass
class Draft:
    """The values of a config, and the origin of each value.

    Args:
        tree: the values; ``rename_keys`` turns their keys into snake_case.
        file: the file's name, for messages.
        line_of: returns the line of a path of the file.
        environment: fills in variables; messages do not contain its secrets.
    """

    tree: dict[str, Any]
    file: str
    line_of: Callable[[KeyPath], int | None]
    environment: Interpolation
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(init=False)
    """All problems, by paths of ``tree``; those of ``environment`` are among them."""
    unread: list[tuple[int | None, str]] = field(default_factory=list)
    """Problems of the text itself: lines and messages."""
    checks: list[Callable[[], None]] = field(default_factory=list)
    """Checks that have to wait for the command line."""
    readers: list[ConfigReader] = field(default_factory=list)
    """Those that have recognised the file."""
    aliases: dict[KeyPath, KeyPath] = field(default_factory=ALIASES.copy)
    """Other names of paths, for the command line."""
    variants_left_out: int = 0
    """How many variants the command line has left out."""
    _written: dict[KeyPath, KeyPath] = field(default_factory=dict)
    """For values that were moved or renamed: their paths in the file, in its spelling."""
    _sources: dict[KeyPath, str] = field(default_factory=dict)
    """The origins of values that are not from the file, in words."""

    def __post_init__(self) -> None:
        self.problems = self.environment.problems

    def report(self, path: KeyPath, message: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(path, message))

    def note_source(self, path: KeyPath, source: str) -> None:
        """Note that a value comes from elsewhere than the file."""
        self._sources[path] = source

    def format_keys(self, path: KeyPath) -> str:
        """Return a path with dots, as it is written in the file."""
        return _join_keys(self._path_in_file(path))

    def is_overridden(self, path: KeyPath) -> bool:
        """Return True if a value comes from elsewhere than the file."""
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
        """Move a value; messages still name its path in the file.

        If both paths have a value, one from the command line wins, and two from the file are a problem.
        """
        block, key = self._block(old), old[-1]
        if block is None:
            return
        if self._block(new) is not None and not self.is_overridden(old):
            block.pop(key)
            if not self.is_overridden(new):
                self.report(old, f"given twice, here and as {_join_keys(new)}. Leave one out.")
            return
        value = block.pop(key)
        target = self._target(new, "")
        if target is not None:  # otherwise validation reports the block
            _put(target, new[-1], value)
            self.note_move(old, new)

    def _block(self, path: KeyPath) -> dict[str | int, Any] | None:
        """Return the block that holds a path's last key; None if the key is not there."""
        block = self.get(path[:-1])
        return block if isinstance(block, dict) and path[-1] in block else None

    def note_move(self, old: KeyPath, new: KeyPath) -> None:
        """Note that a value was moved by hand: its origin, its problems and its path in the file follow."""
        written = self._path_in_file(old)
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
            self._refuse(path, label, "write `KEY.PATH=VALUE`, such as `limits.max_steps=20`.")
            return
        try:
            document = parse(given, ".yaml")
        except DocumentError as error:
            self._refuse(path, label, f"the value is {error}")
            return
        for _, message in document.problems:
            self._refuse(path, label, message)
        *outer, last = self._resolve_path(path)
        # With its key, which may say that it is a secret.
        self.set(path, self.environment.fill({last: document.value}, tuple(outer))[last], label)

    def set(self, path: KeyPath, value: Any, label: str) -> None:
        """Set the value at a path, no matter what the file has there."""
        path = self._resolve_path(path)
        target = self._target(path, label)
        if target is None:
            self._refuse(path, label, f"{_join_keys(path[:-1])} has no keys.")
        elif not _put(target, path[-1], value):
            self._refuse(path, label, f"there is no entry {path[-1]!r}: indexes begin with 0.")
        else:
            for rival in RIVALS.get(path, ()):
                self.tree.pop(rival, None)
            for inner in [inner for inner in self._sources if inner[: len(path)] == path]:
                self._sources.pop(inner)
            self.note_source(path, label)

    def _resolve_path(self, path: KeyPath) -> KeyPath:
        """Return a typed path with the names and the spelling of the tree; new keys stay as they are."""
        plain = tuple(canonical_key(str(part)) for part in path)
        for length in range(len(path), 0, -1):
            if (ours := self.aliases.get(plain[:length])) is not None:
                return self._resolve_path((*ours, *path[length:]))
        block: Any = self.tree
        found: list[str | int] = []
        for part, name in zip(path, plain, strict=True):
            keys = block if isinstance(block, dict) else ()
            key = part if isinstance(block, list) else str(part)
            if key not in keys:
                key = next((one for one in keys if canonical_key(str(one)) == name), key)
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
            # `agent: noop` is short for a block, and `agent.tools=...` adds a key to that block.
            if isinstance(_get(block, part), str):
                block[part] = {"path" if path[0] == "dataset" else "type": block[part]}
            block = _get(block, part)
        return block if isinstance(block, dict | list) else None

    def _refuse(self, path: KeyPath, label: str, message: str) -> None:
        self.note_source(path, label)
        self.report(path, message)

    # -- messages

    def locate_message(self, path: KeyPath, message: str) -> str:
        """Return a message with its place, on one line and without secrets."""
        return self._one_line(self._locate(Problem(path, message))[1])

    def list_messages(self) -> list[str]:
        """Return all messages: those about the command line first, then by line."""
        lines = [(line or 0, f"{self.file}:{line}: {message}") for line, message in self.unread]
        lines += [self._locate(problem) for problem in self.problems]
        lines.sort(key=lambda entry: entry[0])
        return list(dict.fromkeys(self._one_line(message) for _, message in lines))

    def _one_line(self, message: str) -> str:
        # One line per problem, as tools that read logs expect; values may hold line ends.
        message = hide_logins(Redactor(list_spellings(self.environment.secrets), HIDDEN).redact(message))
        return message.replace("\r", "\\r").replace("\n", "\\n")

    def _locate(self, problem: Problem) -> tuple[int, str]:
        """Return the line, which sorts the messages, and the message with its place."""
        path = self._path_in_file(problem.path)
        where = f"{_join_keys(path)}: " if path else ""
        for length in range(len(problem.path), 0, -1):
            if source := self._sources.get(problem.path[:length]):
                return 0, f"{source}: {where}{problem.message}"
        line = self.line_of(path)
        at = self.file if line is None else f"{self.file}:{line}"
        return line or 0, f"{at}: {where}{problem.message}"

    def _path_in_file(self, path: KeyPath) -> KeyPath:
        """Return the path in the file of a path in the tree."""
        for length in range(len(path), 0, -1):
            if (written := self._written.get(path[:length])) is not None:
                return (*written, *path[length:])
        return path


def _join_keys(path: KeyPath) -> str:
    return ".".join(map(str, path))


def _rebase(path: KeyPath, old: KeyPath, new: KeyPath) -> KeyPath:
    return (*new, *path[len(old) :]) if path[: len(old)] == old else path


def _get(block: Any, key: str | int) -> Any:
    inner: Any = block if isinstance(block, dict | list) else {}
    with suppress(KeyError, IndexError, TypeError):
        return inner[key]
    return None


def _put(target: Any, key: Any, value: Any) -> bool:
    try:
        target[key if isinstance(target, list) else str(key)] = value
    except (IndexError, TypeError):
        return False
    return True
