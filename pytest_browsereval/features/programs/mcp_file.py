"""What a program reads: texts with ``{name}`` filled in, and the file that says where its MCP server is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pytest_browsereval.errors import nearest
from pytest_browsereval.features.programs.output import InnerPath
from pytest_browsereval.redaction.text import map_texts

URL_VARIABLE, TOKEN_VARIABLE = "BROWSEREVAL_MCP_URL", "BROWSEREVAL_MCP_TOKEN"
"""Variables that every program gets."""

IN_FILE = ("mcp_url", "mcp_token", "output_dir")

_CONTENT: dict[str, JsonValue] = {
    "mcpServers": {
        "browser": {"type": "http", "url": "{mcp_url}", "headers": {"Authorization": "Bearer {mcp_token}"}}
    }
}


class McpFile(BaseModel):
    """What is written for the program before it starts; the token is taken out when it has ended.

    Placeholders in the texts: ``{mcp_url}``, ``{mcp_token}``, ``{output_dir}``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: InnerPath = "mcp.json"
    """The file, in the attempt's ``agent`` folder."""
    format: Literal["json", "toml"] = "json"
    """How it is written."""
    content: dict[str, JsonValue] = Field(default_factory=lambda: _CONTENT)
    """What is in it, in the form that the program reads."""

    def write(self, folder: Path, values: Mapping[str, str]) -> Path:
        """Write it with its placeholders filled in, for its owner alone to read, and return its path.

        Raises:
            OSError: it cannot be written.
        """
        content = filled(self.content, values)
        text = as_toml(content) if self.format == "toml" else json.dumps(content, indent=1) + "\n"
        path = folder / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        # Made before it has content: the token in it lets anybody use the browser.
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        return path


def as_toml(content: Mapping[str, Any]) -> str:
    """Return a mapping of texts, numbers, booleans, lists of these and mappings as TOML."""
    return "".join(f"{line}\n" for line in _lines(content, ()))


def _lines(content: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Yield a line with the whole path for each value: no table has to be opened then."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _lines(value, (*path, key))
        else:
            yield f"{'.'.join(map(_text, (*path, key)))} = {_text(value)}"


def _text(value: Any) -> str:
    """Return a key or a value, which TOML writes as JSON does, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# -- placeholders

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}|(?<!\$)\{([A-Za-z_]\w*)\}")
"""``${NAME}`` is none: programs read it as a variable in their own files."""


def names_in(value: Any) -> list[str]:
    """Return the placeholders in a text, or in all texts of a structure."""
    found: list[str] = []

    def look(text: str) -> str:
        found.extend(match[2] for match in _PLACEHOLDER.finditer(text) if match[2])
        return text

    map_texts(value, look)
    return found


def check_placeholders(value: Any, allowed: Sequence[str], where: str) -> None:
    """Refuse placeholders that nothing is filled in for.

    Raises:
        ValueError: with the nearest name, and how to write plain braces.
    """
    for name in names_in(value):
        if name not in allowed:
            known = ", ".join(f"{{{each}}}" for each in allowed)
            raise ValueError(
                f"{where} has the placeholder {{{name}}}, which is unknown.{nearest(name, allowed)} "
                f"Known: {known}; write {{{{{name}}}}} for plain braces."
            )


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """Return the value with its placeholders filled in; what is filled in is not looked at again."""

    def fill(text: str) -> str:
        # In one pass: a task that holds braces is not a place to fill in.
        return _PLACEHOLDER.sub(lambda match: f"{{{match[1]}}}" if match[1] else values[match[2]], text)

    return map_texts(value, fill)
