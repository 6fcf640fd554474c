"""Tools, providers, hooks, fixtures and markers, as the code lists them."""

from __future__ import annotations

import ast
import inspect
from typing import Any, cast

from pytest_browsereval import hookspecs
from pytest_browsereval.features.fixtures import early, fixtures
from pytest_browsereval.providers import PROVIDERS, REFUSED, list_capabilities
from pytest_browsereval.testing import evals
from pytest_browsereval.tools.toolkits import CATALOG


def write_tools() -> str:
    """Return the built-in toolkits with their tools and the arguments of these."""
    parts = []
    for kit in CATALOG.values():
        state = "always on" if kit.is_fixed else "on by default" if kit.default_on else "off by default"
        parts.append(f"## `{kit.key}`\n\n{kit.label}; {state}.\n\n")
        for tool in kit.tools:
            parts.append(f"````{{key}} tool.{tool.name} {tool.name}\n{_escape(tool.description)}\n\n")
            required = tool.schema.get("required", ())
            for name, schema in tool.schema["properties"].items():
                choices = " or ".join(f"`{choice}`" for choice in schema.get("enum", ()))
                kind = choices or schema.get("type", "any")
                needed = ", **required**" if name in required else ""
                default = schema.get("default")
                default = "" if default is None else f", default `{default}`"
                text = _escape(schema.get("description", ""))
                parts.append(f"- `{name}` ({kind}{needed}{default}): {text}\n")
            parts.append("````\n\n")
    return "".join(parts)


def write_providers() -> str:
    """Return the providers, and those that are refused."""
    parts = []
    for one in PROVIDERS.values():
        url = f"`{one.base_url}`" if one.base_url else "`base_url` of the config"
        keyed = f"`{one.key_variable}`" if one.key_variable else "`api_key` of the config"
        key = "none needed" if one.is_keyless else keyed
        facts = [f"- Base URL: {url}", f"- Key: {key}", f"- Supports: {', '.join(list_capabilities(one))}"]
        if one.asks_for:
            facts.insert(1, f"- Needs: `{one.asks_for}`")
        lines = "\n".join(facts)
        parts.append(f"````{{key}} provider.{one.name} {one.name}\n{lines}\n````\n\n")
    parts.append("Names of BrowserOS that are refused, and what to write instead:\n\n")
    parts += [f"- `{name}` {why}.\n" for name, why in REFUSED.items()]
    return "".join(parts)


def write_hooks() -> str:
    """Return the hooks in the order of a run, under the headings of their file."""
    tree, source = ast.parse(inspect.getsource(hookspecs)), inspect.getsource(hookspecs).splitlines()
    parts, heading = [], ""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        above = (line for line in source[: node.lineno] if line.startswith("# -------"))
        *_, latest = above
        if (title := latest.strip("# -")) != heading:
            heading = title
            parts.append(f"## {heading.capitalize()}\n\n")
        name = f"pytest_browsereval.hookspecs.{node.name}"
        parts.append(f"```{{eval-rst}}\n.. autofunction:: {name}\n```\n\n")
        if getattr(getattr(hookspecs, node.name), "pytest_spec", {}).get("firstresult"):
            parts.append("The first result that is not None counts; further plug-ins are not asked.\n\n")
    return "".join(parts)


def write_fixtures() -> str:
    """Return the fixtures for hand-written tests, and the one for tests of members."""
    parts = []
    for module in (fixtures, evals):
        for name, value in vars(module).items():
            if type(value).__name__ == "FixtureFunctionDefinition" and not name.startswith("_"):
                parts.append(f"````{{key}} fixture.{name} {name}\n{inspect.getdoc(value)}\n````\n\n")
    return "".join(parts)


def write_markers() -> str:
    """Return the markers that the plug-in registers."""
    lines: list[str] = []

    class Recorder:
        pluginmanager: Any = type("Manager", (), {"register": staticmethod(lambda *_: None)})

        def addinivalue_line(self, _name: str, line: str) -> None:
            lines.append(line)

    early.pytest_configure(cast("Any", Recorder()))  # it uses these two only
    entries = (line.partition(": ") for line in lines)
    return "".join(
        f"````{{key}} marker.{head.partition('(')[0]} {head}\n{text}.\n````\n\n" for head, _, text in entries
    )


def _escape(text: str) -> str:
    """Return a text of ours without what Markdown would take for markup."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")
