"""A config on its way from the file to the model: plain values that remember where they came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_browsereval.documents import DocumentError, KeyPath
from pytest_browsereval.documents.yaml_text import parse_yaml
from pytest_browsereval.problems import Problem, is_secret_key, snake, written_key


@dataclass
class Draft:
    """The values of a config, and the origin of each.

    Args:
        tree: the values.
        file: the file's name, for messages.
        line_of: returns the line of a path of the file.
    """

    tree: dict[str, Any]
    file: str
    line_of: Callable[[KeyPath], int | None]
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """Their paths are those of ``tree``."""
    unread: list[tuple[int | None, str]] = field(default_factory=list)
    """What was wrong with the text itself: lines and messages."""
    _origins: dict[KeyPath, KeyPath | str] = field(default_factory=dict)
    """For moved values: the path in the file, or the words for another source."""

    def wrong(self, path: KeyPath, message: str) -> None:
        """Note what is wrong."""
        self.problems.append(Problem(path, message))

    def came_from(self, path: KeyPath, origin: KeyPath | str) -> None:
        """Note that what stands at ``path`` was written elsewhere."""
        self._origins[path] = origin

    def move(self, key: str, path: tuple[str, ...]) -> None:
        """Move a top-level value to another path, under its own words in messages."""
        written = written_key(self.tree, key)
        if not isinstance(written, str):
            return
        block, name = self._block(path[:-1]), path[-1]
        if block is None:
            self.tree.pop(written)
            return  # the block itself is wrong, which validation tells
        if written_key(block, name) is not None:
            self.wrong((written,), f"given twice, here and as {'.'.join(path)}. Leave one out.")
            self.tree.pop(written)
            return
        block[name] = self.tree.pop(written)
        self.came_from(path, (written,))

    def _block(self, path: tuple[str, ...]) -> dict[str, Any] | None:
        block: Any = self.tree
        for name in path:
            key = written_key(block, name)
            if key is None:
                block[name] = {}
                key = name
            if isinstance(block[key], str):
                block[key] = _in_full(name, block[key])
            block = block[key]
            if not isinstance(block, dict):
                return None
        return block if isinstance(block, dict) else None

    # -- overrides

    def override(self, text: str) -> None:
        """Set a value by ``key.path=value``, the value written as in YAML."""
        dotted, equals, given = text.partition("=")
        is_secret = is_secret_key(dotted.strip().rpartition(".")[2])
        label = f"--eval-set {f'{dotted}=***' if is_secret else text!r}"
        path = tuple(_index_or_key(part) for part in dotted.strip().split("."))
        if not equals or "" in path:
            self._refuse(path, label, "write KEY.PATH=VALUE, such as limits.max_steps=20.")
            return
        try:
            document = parse_yaml(given)
        except DocumentError as error:
            self._refuse(path, label, f"the value is {error}")
            return
        for _, message in document.problems:
            self._refuse(path, label, message)
        self.set(path, document.value, label)

    def set(self, path: KeyPath, value: Any, label: str) -> None:
        """Set the value at a path, whatever the file says there."""
        path = ALIASES.get(tuple(snake(str(part)) for part in path), path)
        target: Any = self.tree
        written: KeyPath = ()
        for part in path[:-1]:
            target, key = self._inner(target, part)
            if key is None:
                self._refuse(path, label, f"{'.'.join(map(str, (*written, part)))} holds no keys.")
                return
            written = (*written, key)
        if not _put(target, path[-1], value):
            self._refuse(path, label, f"there is no entry {path[-1]!r}: indexes begin with 0.")
            return
        for rival in RIVALS.get(path, ()):
            _drop(self.tree, rival)
        self.came_from((*written, path[-1]), label)

    def _inner(self, target: Any, part: str | int) -> tuple[Any, str | int | None]:
        key = written_key(target, part)
        if key is None:
            if not isinstance(target, dict):
                return None, None
            key = str(part)
            target[key] = {}
        if isinstance(target[key], str):
            target[key] = _in_full(part, target[key])
        inner = target[key]
        return (inner, key) if isinstance(inner, dict | list) else (None, None)

    def _refuse(self, path: KeyPath, label: str, message: str) -> None:
        self.came_from(path, label)
        self.wrong(path, message)

    # -- messages

    def told_all(self) -> list[str]:
        """Return all messages, those of the command line first, then by line."""
        told = [(line or 0, f"{self.file}:{line}: {message}") for line, message in self.unread]
        told += [self.told(problem) for problem in self.problems]
        return list(dict.fromkeys(message for _, message in sorted(told, key=lambda entry: entry[0])))

    def told(self, problem: Problem) -> tuple[int, str]:
        """Return the line, for sorting, and the message with its place."""
        origin, rest = self._origin(problem.path)
        if isinstance(origin, str):
            where = ".".join(map(str, problem.path))
            return 0, f"{origin}: {where}: {problem.message}"
        path = (*origin, *rest)
        line = self.line_of(path)
        place = self.file if line is None else f"{self.file}:{line}"
        where = ".".join(map(str, path))
        return line or 0, f"{place}: {where}: {problem.message}" if where else f"{place}: {problem.message}"

    def _origin(self, path: KeyPath) -> tuple[KeyPath | str, KeyPath]:
        for length in range(len(path), -1, -1):
            origin = self._origins.get(path[:length])
            if isinstance(origin, str):
                return origin, path[length:]
            if origin is not None:
                outer, rest = self._origin_above(origin)
                return (outer, rest) if isinstance(outer, str) else ((*outer, *rest), path[length:])
        return (), path

    def _origin_above(self, path: KeyPath) -> tuple[KeyPath | str, KeyPath]:
        """Follow a moved value whose old place was itself set from elsewhere."""
        for length in range(len(path), 0, -1):
            origin = self._origins.get(path[:length])
            if isinstance(origin, str):
                return origin, path[length:]
        return path, ()


ALIASES: dict[tuple[str, ...], KeyPath] = {
    ("timeout_ms",): ("limits", "timeout_ms"),
    ("browseros", "headless"): ("browser", "headless"),
    ("workers",): ("num_workers",),
}
"""Words of BrowserOS that stand for keys of ours."""

RIVALS: dict[KeyPath, Sequence[str]] = {
    ("lanes",): ("num_workers",),
    ("num_workers",): ("lanes",),
    ("agent",): ("variants",),
    ("variants",): ("agent",),
}
"""Keys that exclude each other: on the command line, one puts the other out."""


def _in_full(name: str | int, value: str) -> dict[str, Any]:
    return {"path" if name == "dataset" else "type": value}


def _index_or_key(part: str) -> str | int:
    return int(part) if part.isdecimal() else part


def _put(target: Any, part: str | int, value: Any) -> bool:
    key = written_key(target, part)
    if isinstance(target, list):
        if key is None:
            return False
        target[int(key)] = value
        return True
    target[str(part) if key is None else key] = value
    return True


def _drop(tree: dict[str, Any], name: str) -> None:
    key = written_key(tree, name)
    if key is not None:
        tree.pop(str(key))
