"""YAML with line numbers, by the core schema of YAML 1.2: ``on``, ``no`` and dates are texts.

PyYAML composes the nodes, and the values are made here. ruamel.yaml reads YAML 1.2 with positions too, but
takes six times as long for 10,000 rows (8.6 s instead of 1.4 s, measured with 0.19.1).
"""

from __future__ import annotations

import re
import sys
from typing import Any, ClassVar

import yaml

from pytest_browsereval.config_text.base import Document, DocumentError, KeyPath

MAX_NODES = 1_000_000
"""Aliases multiply: ten lines can stand for 10^9 values. No file of a person comes near this number."""

MAX_DEPTH = 100


def _parser() -> Any:
    """Return PyYAML's parser in C if it makes nodes of the classes that we know, else the one in Python."""
    # The C module is loaded once per process and keeps the classes of the first import of `yaml`. Tests that
    # restore `sys.modules`, as those with `pytester` do, import `yaml` again and get other classes.
    compiled = sys.modules.get("yaml._yaml")
    knows_ours = compiled is not None and getattr(compiled, "ScalarNode", None) is yaml.ScalarNode
    return yaml.CSafeLoader if knows_ours else yaml.SafeLoader


class _Loader(_parser()):  # type: ignore[misc]
    """Composes nodes, with types of plain scalars by https://yaml.org/spec/1.2.2/#103-core-schema."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), _first)


def parse_yaml(text: str) -> Document:
    """Return the document of a YAML text.

    Raises:
        DocumentError: it is not YAML.
    """
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise DocumentError(f"not YAML: {said}.", mark.line + 1 if mark else None) from None
    except RecursionError:
        raise DocumentError("not readable: nested too deeply.") from None
    builder = _YamlBuilder()
    value = None if root is None else builder.build(root)
    return Document(value, lambda path: _yaml_line(root, path), builder.problems)


class _YamlBuilder:
    """Makes plain values from composed nodes."""

    def __init__(self) -> None:
        self.problems: list[tuple[int | None, str]] = []
        self._nodes = 0

    def build(self, node: yaml.Node, depth: int = 0) -> Any:
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise DocumentError("not readable: too many values or levels (aliases?).", _line(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            self._check_tag(node, "seq")
            return [self.build(child, depth + 1) for child in node.value]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        raise TypeError(f"PyYAML made a {type(node)}, which is neither a mapping, a sequence nor a scalar")

    def _check_tag(self, node: yaml.Node, expected: str) -> None:
        # Other loaders call the class that a tag names (CWE-502), and nothing here needs a tag.
        if node.tag != f"tag:yaml.org,2002:{expected}":
            self.problems.append((_line(node), f"the tag {node.tag!r} is not allowed. Leave it out."))

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        self._check_tag(node, "map")
        # Own keys win over merged ones, and earlier blocks over later ones: https://yaml.org/type/merge.html
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                for source in _find_merged_nodes(value_node):
                    merged = {**self.build(source, depth + 1), **merged}
                continue
            key = self._key(key_node)
            if key in first:
                message = f"the key {key!r} occurs twice, first in line {first[key]}. Leave one out."
                self.problems.append((_line(key_node), message))
            first.setdefault(key, _line(key_node))
            own[key] = self.build(value_node, depth + 1)
        return {**merged, **own}

    def _key(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":str"):
            return str(node.value)
        name = str(node.value) if isinstance(node, yaml.ScalarNode) else "a list or block"
        self.problems.append((_line(node), f"the key {name!r} is not a string. Put it in quotes."))
        return name

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        kind, text = node.tag.rpartition(":")[2], node.value
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind in ("int", "float"):
            return self._number(node, kind, text)
        if kind != "merge":
            self._check_tag(node, "str")
        try:
            text.encode()
        except UnicodeEncodeError:
            self.problems.append((_line(node), f"{text[:40]!r} contains half a character. Leave it out."))
        return text

    def _number(self, node: yaml.ScalarNode, kind: str, text: str) -> float | str:
        try:
            if kind == "float":
                return float(text)
            # Base 0 would refuse 007, which is 7 here. Python refuses more than 4,300 decimal digits anyway.
            return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        except ValueError:
            self.problems.append((_line(node), f"{text[:40]!r} is not a number. Put it in quotes."))
            return str(text)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _is_merge(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:merge")


def _find_merged_nodes(node: yaml.Node) -> list[yaml.Node]:
    sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
    for source in sources:
        if not isinstance(source, yaml.MappingNode):
            raise DocumentError("'<<' merges blocks only: write `<<: *ANCHOR_OF_A_BLOCK`.", _line(node))
    return list(sources)


def _yaml_line(root: yaml.Node | None, path: KeyPath) -> int | None:
    if root is None:
        return None
    node, line = root, _line(root)
    for part in path:
        if (found := _yaml_child(node, part)) is None:
            break
        line, node = found
    return line


def _yaml_child(node: yaml.Node, part: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return _line(node.value[part]), node.value[part]
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        if not _is_merge(key) and key.value == str(part):
            return _line(key), value
    merged = (source for key, value in node.value if _is_merge(key) for source in _find_merged_nodes(value))
    return next(filter(None, (_yaml_child(source, part) for source in merged)), None)
