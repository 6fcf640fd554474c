"""The format of a text, by its file's suffix."""

from __future__ import annotations

from pytest_browsereval.config_text.base import Document, DocumentError
from pytest_browsereval.config_text.json_text import parse_json
from pytest_browsereval.config_text.toml_text import parse_toml


def parse(text: str, suffix: str) -> Document:
    """Return the document of a text in the format of that file suffix.

    Raises:
        DocumentError: the text is not in that format, or the format is unknown.
    """
    parsers = {".yaml": _parse_yaml, ".yml": _parse_yaml, ".json": parse_json, ".toml": parse_toml}
    parser = parsers.get(suffix.lower())
    if parser is None:
        raise DocumentError(f"the suffix {suffix!r} names no format. Known: {', '.join(parsers)}.")
    return parser(text)


def _parse_yaml(text: str) -> Document:
    from pytest_browsereval.config_text.yaml_text import parse_yaml  # the other formats need no YAML library

    return parse_yaml(text)
