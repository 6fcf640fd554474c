"""Read YAML, JSON and TOML as plain values with line numbers."""

from __future__ import annotations

from pytest_browsereval.config_text.base import (
    Document,
    DocumentError,
    KeyPath,
    file_inside,
    format_path,
    read_text,
    unreadable,
)
from pytest_browsereval.config_text.suffixes import parse

__all__ = [
    "Document",
    "DocumentError",
    "KeyPath",
    "file_inside",
    "format_path",
    "parse",
    "read_text",
    "unreadable",
]
