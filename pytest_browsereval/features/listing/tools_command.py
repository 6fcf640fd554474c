"""``tools [CONFIG]``: the tools that there are, their switches, and what a config turns on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.commands.base import Command, add_overrides
from pytest_browsereval.registry import Registry

if TYPE_CHECKING:
    from pytest_browsereval.run.toolsets import Toolsets
    from pytest_browsereval.tools.toolkit import Toolkit

WIDTH = 20


def list_tools(arguments: argparse.Namespace) -> int:
    """Print the catalog of tools; with a config, which of them are on for each variant."""
    from pytest_browsereval.tools.switches import is_on

    toolsets = _of_config(arguments) if arguments.config else _of_installed(arguments.door.load_registry())
    default = {name: is_on(name, toolsets.kits, {}) for kit in toolsets.kits for name in kit.names}
    if arguments.json:
        print(json.dumps({**_describe(toolsets.kits, default), **_choice(toolsets)}, indent=2))
        return 0
    for kit in toolsets.kits:
        owner = f" (from {kit.owner})" if kit.owner != "pytest-browsereval" else ""
        sites = toolsets.sites_of.get(kit.key)
        bound = f", in rows that use {' or '.join(sorted(sites))}" if sites else ""
        print(f"{kit.key}: {kit.label}{owner}{bound}")
        for tool in kit.tools:
            state = _state(tool.name, toolsets, is_default=default[tool.name], is_fixed=kit.is_fixed)
            sentence = tool.description.partition(". ")[0].rstrip(".")
            print(f"  {tool.name:<{WIDTH}}{state:<11}{sentence}".rstrip())
    for variant, vetoed in toolsets.vetoes.items():
        for name, why in vetoed.items():
            print(f"{name} is not offered to {variant}: {why}")
    print("Write `tools: {NAME: true}` or `tools: {NAME: false}` in the config or in a variant.")
    return 0


def _of_installed(registry: Registry) -> Toolsets:
    """Return the catalog without a config: built-in toolkits, and those of packages that need no options."""
    from pytest_browsereval.run.toolsets import Toolsets
    from pytest_browsereval.tools.toolkits import CATALOG

    # Conftests are not loaded: without a config it is unknown which ones count.
    plugged = []
    for name, member, owner in registry.members("toolkit"):
        try:
            block: Any = member.model_validate({"type": name})
            plugged.append(replace(block.build(), owner=owner))
        except ValueError as error:  # it needs options
            print(f"{name} (from {owner}) needs options: {str(error).splitlines()[0]}")
    return Toolsets((*CATALOG.values(), *plugged))


def _of_config(arguments: argparse.Namespace) -> Toolsets:
    """Return the tools of a config; a browser that brings its own is asked for them.

    Raises:
        UsageError: the config cannot be used.
        Fault: the browser does not answer.
    """
    import asyncio

    from pytest_browsereval.browsers.base import Survey
    from pytest_browsereval.config import load_config
    from pytest_browsereval.run.toolsets import Toolsets
    from pytest_browsereval.tools.toolkits import build_plugged_kits, kits_for

    file = Path(arguments.config)
    registry = arguments.door.load_registry()
    config = load_config(file, registry=registry, overrides=arguments.eval_set)
    try:
        plugged = build_plugged_kits(config.toolkits, registry, config.browser)
    except ValueError as error:
        raise config.wrong(("toolkits",), error) from None
    browser = config.browser.prepare(config.base_dir)
    # A browser without tools of its own is not asked: to start it would take seconds.
    survey = asyncio.run(browser.survey()) if config.browser.brings_tools else Survey()
    return Toolsets.of(config, kits_for(survey, config.browser), plugged)


def _state(tool: str, toolsets: Toolsets, *, is_default: bool, is_fixed: bool) -> str:
    if is_fixed:
        return "always on"
    if not toolsets.by_variant:
        return "on" if is_default else "off"
    on = [name for name, tools in toolsets.by_variant.items() if tool in {one.name for one in tools}]
    if 0 < len(on) < len(toolsets.by_variant):
        return f"on for {', '.join(on)}; "
    return "on" if on else "off"


def _describe(kits: Iterable[Toolkit], default: Mapping[str, bool]) -> dict[str, Any]:
    """Return toolkits and tools as plain JSON, for a form or a report.

    Args:
        kits: a tool may be a member of several.
        default: whether a tool is on by default.
    """
    tools = {tool.name: tool.description for kit in kits for tool in kit.tools}
    keys = ("key", "label", "default_on", "is_fixed", "owner")
    return {
        "toolkits": [{**{key: getattr(kit, key) for key in keys}, "tools": kit.names} for kit in kits],
        "tools": [
            {"key": name, "label": _label(name), "description": text, "default_on": default[name]}
            for name, text in tools.items()
        ],
    }


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _choice(toolsets: Toolsets) -> dict[str, Any]:
    """Return what a config turns on; nothing without one."""
    if not toolsets.by_variant:
        return {}
    variants = {
        name: {"tools": [tool.name for tool in tools], "vetoed": dict(toolsets.vetoes[name])}
        for name, tools in toolsets.by_variant.items()
    }
    return {"variants": variants, "sites": {key: sorted(names) for key, names in toolsets.sites_of.items()}}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "config", metavar="CONFIG", nargs="?", help="an eval config, to show which tools it turns on"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_overrides(parser)


COMMANDS = (
    Command(
        "tools",
        "list the tools, their switches and what a config turns on",
        list_tools,
        _arguments,
        group="start",
    ),
)
