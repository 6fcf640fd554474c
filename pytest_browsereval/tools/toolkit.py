"""Toolkits: several tools behind one switch, with their guidance for the model."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

from pytest_browsereval.errors import nearest
from pytest_browsereval.registry import OURS, Component
from pytest_browsereval.tools.base import Tool

ToolChoice = Literal["auto", "required"]

KEY = re.compile(r"([a-z][a-z0-9-]*/)?[a-z][a-z0-9]*(_[a-z0-9]+)*")
"""A toolkit's key: snake_case, that of a package with its prefix before a slash."""
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes as the name of a function."""


@dataclass(frozen=True)
class Policy:
    """One line of a toolkit's policy: how to use its tools well. A short sentence or two, plain text."""

    text: str
    needs: tuple[str, ...] = ()
    """Tools that the line is about: it is shown if all of them are there. None: if any of the toolkit is."""


@dataclass(frozen=True)
class Turn:
    """The facts that a directive may rest on; never words of the task or of a page."""

    number: int
    """1 for the first request of an attempt."""
    called: tuple[str, ...] = ()
    """The tools that were called in the turn before, in order."""


@dataclass(frozen=True)
class Directive:
    """What a toolkit asks of one turn."""

    active_tools: tuple[str, ...] = ()
    """The tools to offer in this turn; none: it does not narrow them."""
    tool_choice: ToolChoice | None = None
    """``required``: the model has to call a tool in this turn."""


@dataclass(frozen=True)
class Toolkit:
    """Several tools behind one switch, with what belongs to them: policy and directives.

    Raises:
        ValueError: a key or a tool's name cannot be used, or something names a tool of another toolkit.
    """

    key: str
    """Its switch in ``tools:``; that of an installed package with the package's prefix: ``acme/notes``."""
    label: str
    """A few words for people."""
    tools: tuple[Tool, ...]
    default_on: bool = True
    is_fixed: bool = False
    """True: it is always on."""
    policy: tuple[Policy, ...] = ()
    """Told to the model while tools of it are there."""
    absent: str = ""
    """Told instead when none of its tools is there: what the model cannot do."""
    directive: Callable[[Turn], Directive | None] = lambda _: None
    """Asked before every turn in which tools of it are there."""
    needs_pictures: tuple[str, ...] = ()
    """Tools of use only to a model that is shown pictures of the page; others are not offered them."""
    needs_page: bool = True
    """True: its tools work in Playwright's page, which not every browser has."""
    vetoes: Mapping[str, str] = field(default_factory=dict)
    """Tools that cannot work here even if they are switched on, each with the reason: a missing key."""
    owner: str = OURS
    """Who brings it; set by the run."""

    def __post_init__(self) -> None:
        if not KEY.fullmatch(self.key):
            raise ValueError(
                f"the toolkit's key {self.key!r} is not snake_case. Write `my_tools` or `acme/tools`"
            )
        for name in self.names:
            if not TOOL_NAME.fullmatch(name):
                raise ValueError(
                    f"the toolkit {self.key!r} has a tool named {name!r}, which no provider accepts. Use "
                    "up to 64 letters, digits and underscores."
                )
        # A name that is misspelt would silence a policy or a veto, and nobody would notice.
        named = [("policy", name) for line in self.policy for name in line.needs]
        named += [("needs_pictures", name) for name in self.needs_pictures]
        named += [("vetoes", name) for name in self.vetoes]
        for where, name in named:
            if name not in self.names:
                raise ValueError(
                    f"the {where} of the toolkit {self.key!r} name {name!r}, which is not one of its tools."
                    f"{nearest(name, self.names)} Its tools: {', '.join(self.names)}."
                )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its tools."""
        return tuple(tool.name for tool in self.tools)


class ToolkitConfig(Component):
    """Base of the toolkit family's members: ``toolkits: [{type: acme/notes}]`` adds one to a run."""

    family: ClassVar[str] = "toolkit"

    def preflight(self, base_dir: Path) -> None:
        """Check before anything is spent what can be checked: keys, files, programs.

        Args:
            base_dir: the folder of the eval config.

        Raises:
            ConfigError: with what to type next.
        """

    @abstractmethod
    def build(self) -> Toolkit:
        """Return the toolkit. All attempts of a process share it: keep what one notes by its window.

        Raises:
            ValueError: it cannot be made; the message says what to write.
        """
        raise NotImplementedError
