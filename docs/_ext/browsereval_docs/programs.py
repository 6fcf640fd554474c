"""Options of pytest and subcommands of `browsereval`, as their parsers have them."""

from __future__ import annotations

import argparse
import re
import textwrap
from typing import Any, cast

import pytest

from pytest_browsereval import plugin
from pytest_browsereval.__main__ import gather_commands
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.registry import OURS

OPTION = re.compile(r"(?<![`\w-])--?[a-z][\w-]*(?:=\w+)?")


class _Recorder:
    """Stands for pytest's parser and keeps what plug-ins add."""

    def __init__(self) -> None:
        self.options: list[tuple[tuple[str, ...], dict[str, Any]]] = []

    def getgroup(self, *_: str) -> _Recorder:
        return self

    def addoption(self, *names: str, **how: Any) -> None:
        self.options.append((names, how))

    def addini(self, *_: Any, **__: Any) -> None: ...


def list_options() -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Return the options that the plug-in and its features add to pytest."""
    recorder = _Recorder()
    plugin.pytest_addoption(cast("Any", recorder), pytest.PytestPluginManager())  # it has what is used
    return recorder.options


def write_options() -> str:
    """Return pytest's options of ours by name."""
    entries = []
    for names, how in sorted(list_options()):
        choices = how.get("choices")
        metavar = "{" + ",".join(map(str, choices)) + "}" if choices else how.get("metavar", "")
        takes_value = how.get("action") not in ("store_true", "store_const", "store_false")
        shown = f"{names[0]} {metavar}" if metavar and takes_value else names[0]
        if how.get("nargs") == "?":
            shown = f"{names[0]}[={metavar}]"
        entries.append(f"````{{option}} {shown}\n{_sentence(how.get('help', ''))}\n````\n\n")
    return "```{program} pytest\n```\n\n" + "".join(entries)


def write_commands() -> str:
    """Return the subcommands, each with its arguments."""
    wrong: list[str] = []
    parts = []
    for owner, command in gather_commands(open_door(), wrong.append):
        if owner != OURS:
            continue
        parser = argparse.ArgumentParser(
            prog=f"browsereval {command.name}", add_help=False, formatter_class=_Narrow
        )
        command.add_arguments(parser)
        usage = textwrap.dedent(f"       {parser.format_usage().removeprefix('usage: ')}").strip()
        parts.append(f"## `{command.name}`\n\n{_sentence(command.help)}\n\n```text\n{usage}\n```\n\n")
        parts.append(f"```{{program}} browsereval {command.name}\n```\n\n")
        parts += [
            f"````{{option}} {_show(action)}\n{_sentence(_help_of(action))}\n````\n\n"
            for action in parser._actions  # noqa: SLF001 argparse has no other list of them
        ]
    if wrong:
        raise RuntimeError("\n".join(wrong))
    return "".join(parts)


class _Narrow(argparse.HelpFormatter):
    """Breaks lines where a page does, whatever terminal builds the site."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=84)


def _show(action: argparse.Action) -> str:
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    metavar = action.metavar if isinstance(action.metavar, str) else choices or action.dest.upper()
    if not action.option_strings:
        return metavar
    value = "" if action.nargs == 0 else f" {metavar}"
    return ", ".join(f"{name}{value}" for name in action.option_strings)


def _help_of(action: argparse.Action) -> str:
    text = action.help or ""
    return (
        text % {"default": action.default, "prog": "browsereval"} if "%(" in text else text.replace("%%", "%")
    )


def _sentence(text: str) -> str:
    """Return a help text as a sentence, its markup characters as they are."""
    shown = text.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")
    shown = OPTION.sub(r"`\g<0>`", shown)
    return f"{shown[:1].upper()}{shown[1:]}{'' if shown.endswith('.') else '.'}"
