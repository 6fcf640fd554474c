"""Maps the tools of an MCP server to purposes: navigate, snapshot, screenshot, close.

Tools and arguments are the server's own, read from its list. What the config and the table of known servers
leave open is asked for by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from pytest_browsereval.browsers.base import ForeignTool
from pytest_browsereval.errors import nearest
from pytest_browsereval.model.display import join_first
from pytest_browsereval.redaction.text import map_texts

Purpose = Literal["navigate", "snapshot", "screenshot", "close", "pages", "address"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

GROUPS = ("page", "url", "title")
"""The named groups of a pattern that mean something."""

KNOWN: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("servers.yaml").read_text(encoding="utf-8")
)
"""Well-known servers by their names: the tools by which they are known, and what these are for."""

_PLACEHOLDER = re.compile(r"\{(url|page|format|quality|script)\}")
_MOST_LISTED = 60


class ToolUse(BaseModel):
    """How one of the server's tools is called."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str = Field(min_length=1)
    """Its name, as the server lists it."""
    arguments: dict[str, JsonValue] = {}
    """What it is called with. ``{url}``, ``{page}``, ``{format}`` and ``{quality}`` are filled in."""
    pattern: str | None = None
    """A regular expression on its text; its groups ``page``, ``url``, ``title`` tell where the browser is."""
    fails: str | None = None
    """A regular expression on its text that means failure, for a server that does not say so otherwise."""

    @field_validator("pattern", "fails")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        try:
            found = re.compile((value or "").replace("{page}", "1"))
        except re.error as error:
            raise ValueError(f"{value!r} is not a regular expression: {error}") from None
        if wrong := set(found.groupindex) - set(GROUPS):
            raise ValueError(f"{value!r} has a group {wrong.pop()!r}. Allowed: {', '.join(GROUPS)}.")
        return value

    @property
    def groups(self) -> set[str]:
        """What its text tells."""
        return set(re.compile((self.pattern or "").replace("{page}", "1")).groupindex)


class ToolUses(BaseModel):
    """The tools for what every attempt needs; each a name, or a block with arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    navigate: ToolUse | None = None
    """Opens the start page: ``{url}``."""
    snapshot: ToolUse | None = None
    """Gives the page as text, which a model is shown at the start."""
    screenshot: ToolUse | None = None
    """Gives a picture of the page."""
    close: ToolUse | None = None
    """Closes the page at the end; not needed for a ``command``, whose process ends."""
    pages: ToolUse | None = None
    """Lists the pages, for servers whose tools want the page named."""
    address: ToolUse | None = None
    """Runs ``{script}`` in the page, which gives the page's address and HTTP status: only this shows that a
    page did not open. Without it, they are not known."""

    @field_validator("*", mode="before", json_schema_input_type=ToolUse | str | None)
    @classmethod
    def _name_is_short_for_a_block(cls, value: object) -> object:
        return {"tool": value} if isinstance(value, str) else value


def list_pages(use: ToolUse | None, text: str) -> list[str]:
    """Return the names of all pages that a tool's text lists; none where its pattern finds but one."""
    if use is None or use.pattern is None or "{page}" not in use.pattern:
        return []
    return re.findall(re.sub(r"\(\?P<\w+>", "(?:", use.pattern).replace("{page}", r"(\w+)"), text)


def read_where(use: ToolUse, text: str, page: str | None) -> dict[str, str]:
    """Return what a tool's text tells by its pattern of where the browser is; see ``GROUPS``."""
    found = re.search(use.pattern.replace("{page}", re.escape(page or "")), text) if use.pattern else None
    return {name: value.strip() for name, value in found.groupdict().items() if value} if found else {}


class MappingProblem(ValueError):
    """The tools of the server do not do; the message says what is missing and what to write."""


@dataclass(frozen=True)
class Mapped:
    """The uses as they fit the server at hand."""

    uses: Mapping[Purpose, ToolUse]
    schemas: Mapping[str, dict[str, Any]]
    """The argument schemas of those of the server's tools that are a browser's, by name."""

    @property
    def tells_url(self) -> bool:
        """Whether some tool's text tells the address of the page."""
        return any("url" in use.groups for use in self.uses.values())

    @property
    def wants_page(self) -> bool:
        """Whether some tool wants the page named."""
        return any(map(self.needs_page, self.uses.values()))

    def page_argument(self, tool: str) -> str | None:
        """Return the argument of a tool that names a page, if it takes one."""
        uses = (use.arguments.items() for use in self.uses.values())
        names = {name for pairs in uses for name, given in pairs if given == "{page}"}
        return next(iter(names & _properties(self.schemas.get(tool, {})).keys()), None)

    def opens_page(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call opens a page as the attempt's first was opened, and its text names it."""
        use = self.uses["navigate"]
        fixed = {name: given for name, given in use.arguments.items() if not placeholders(given)}
        return tool == use.tool and fixed.items() <= arguments.items()

    def needs_page(self, use: ToolUse) -> bool:
        """Return whether the page has to be known before it is called."""
        return "page" in placeholders(use.arguments)

    def arguments(self, use: ToolUse, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with what the placeholders stand for, of the types that the schema wants."""
        properties = _properties(self.schemas[use.tool])
        found: dict[str, Any] = {}
        for name, given in use.arguments.items():
            schema = properties.get(name, {})
            if given == "{format}":
                found[name] = _format(schema, str(values["format"]))
            else:
                value = map_texts(given, lambda text: _fill(text, values))
                is_number = schema.get("type") in ("number", "integer")  # a page's number, as a text
                found[name] = int(value) if is_number and str(value).isdigit() else value
        return found


def map_tools(declared: ToolUses, tools: Sequence[ForeignTool], *, has_process: bool) -> Mapped:
    """Return the uses of a server's tools, checked against their schemas.

    Args:
        declared: the config's; it comes before what is known of a server.
        tools: all that the server lists.
        has_process: its process ends with the attempt, so that nothing has to be closed.

    Raises:
        MappingProblem: with everything that is missing, and what to write.
    """
    listed = {tool.name for tool in tools}
    # By its tools: names and versions of servers change, and forks keep neither.
    known: Mapping[str, Any] = next((one for one in KNOWN.values() if {*one["lists"]} <= listed), {})
    schemas = {tool.name: tool.schema for tool in tools if tool.name not in known.get("not_offered", ())}
    uses: dict[Purpose, ToolUse] = {}
    problems: list[str] = []
    for purpose in PURPOSES:
        own: ToolUse | None = getattr(declared, purpose)
        use = own or _find_known_use(known.get("uses", {}).get(purpose), schemas)
        if use is None:
            if purpose not in ("pages", "address") and not (purpose == "close" and has_process):
                problems.append(f"tools.{purpose} names no tool, and the server is not a known one")
        elif use.tool not in schemas:
            hint = nearest(use.tool, schemas)
            wrong = f"tools.{purpose} is {use.tool!r}, which the server does not list.{hint}"
            problems.append(wrong.rstrip("."))
        else:
            if purpose == "navigate" and not use.arguments and "url" in _properties(schemas[use.tool]):
                use = use.model_copy(update={"arguments": {"url": "{url}"}})
            uses[purpose] = use
    mapped = Mapped(uses, schemas)
    if problems := [*problems, *_problems(mapped)]:
        names = join_first(list(schemas), _MOST_LISTED) or "none"
        raise MappingProblem(
            f"{'; '.join(problems)}. The server has the tools {names}. "
            "Write `tools: {navigate: NAME, snapshot: NAME, screenshot: NAME, close: NAME}`, where a NAME "
            'may be `{tool: NAME, arguments: {ARGUMENT: "{url}"}}`.'
        )
    return mapped


def _find_known_use(block: Mapping[str, Any] | None, schemas: Mapping[str, dict[str, Any]]) -> ToolUse | None:
    """Return a known use without the arguments that this version of the server does not take."""
    if block is None or block["tool"] not in schemas:
        return None
    use = ToolUse.model_validate(block)
    # Versions of one server differ in the arguments that they take.
    takes = _properties(schemas[use.tool])
    return use.model_copy(update={"arguments": {k: v for k, v in use.arguments.items() if k in takes}})


def _problems(mapped: Mapped) -> Iterator[str]:
    for purpose, use in mapped.uses.items():
        schema = mapped.schemas[use.tool]
        properties, where = _properties(schema), f"tools.{purpose}: {use.tool}"
        names = ", ".join(properties) or "none"
        for name in use.arguments:
            if properties and name not in properties:
                hint = nearest(name, properties)
                yield f"{where} takes no argument {name!r}.{hint} It takes {names}"
        for name in schema.get("required", ()):
            if name not in use.arguments:
                yield f"{where} wants {name!r}, for which there is no value"
        if purpose == "navigate" and "url" not in placeholders(use.arguments):
            yield f"{where} has no argument with '{{url}}'; write which of {names} takes it"
    sources = (mapped.uses.get("pages"), mapped.uses.get("navigate"))
    if mapped.wants_page and not any("page" in use.groups for use in sources if use):
        yield r"tools.pages: no tool gives the page; name one with a pattern such as '(?P<page>\d+)'"


# -- arguments


def _properties(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    given = schema.get("properties")
    found = given if isinstance(given, dict) else {}
    return {name: own if isinstance(own, dict) else {} for name, own in found.items()}


def placeholders(value: Any) -> set[str]:
    """Return the names of the placeholders in a value."""
    if isinstance(value, str):
        return set(_PLACEHOLDER.findall(value))
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(placeholders, inner)) if inner else set()


def _fill(text: str, values: Mapping[str, Any]) -> Any:
    if whole := _PLACEHOLDER.fullmatch(text):
        return values.get(whole[1])
    return _PLACEHOLDER.sub(lambda match: str(values.get(match[1])), text)


def _format(schema: Mapping[str, Any], asked: str) -> str:
    """Return the picture format to ask for: a lossless one where the right one is not to be had."""
    choices = [str(choice) for choice in schema.get("enum", ())]
    if not choices or asked in choices:
        return asked
    return "png" if "png" in choices else choices[0]
