"""What a folder of ``features`` or ``benchmarks`` brings, as data: its code is imported when it is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from pytest_browsereval.registry import Registry

PREFIX = "browsereval."
"""Begins the names of features among the plug-ins of pytest: ``-p no:browsereval.html``."""


class Option:
    """An option of pytest's command line.

    Args:
        name: as it is typed.
        wakes: whether it asks for an eval, also where no argument names one.
        settings: the other arguments of ``parser.addoption``.
    """

    def __init__(self, name: str, *, wakes: bool = False, **settings: Any) -> None:
        self.name = name
        self.wakes = wakes
        self.settings = settings

    def is_given(self, config: pytest.Config) -> bool:
        """Return whether the command line has it."""
        return config.getoption(self.name) not in (None, False)


@dataclass(frozen=True)
class Feature:
    """What a folder brings: the ``FEATURE`` of its ``__init__.py``. Modules are named relative to the folder.

    What each run of pytest has to know, also one without an eval, stands in its ``early.py``: ``OPTIONS``,
    and hooks of pytest.
    """

    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By family: the type of each member, with its aliases after it, and where it is: ``module:Class``."""
    readers: Sequence[str] = ()
    """Classes that read config files of other systems: ``module:Class``."""
    commands: Sequence[str] = ()
    """Modules whose ``COMMANDS`` are subcommands of ``browsereval``."""
    kits: Sequence[str] = ()
    """Toolkits in addition to the built-in ones: ``module:KIT``."""
    keys: Sequence[tuple[str, ...]] = ()
    """Keys of a config that nothing else acts on: without the feature, a config that has one is refused."""
    checks: Mapping[str, str] = field(default_factory=dict)
    """By the key of a check of ``page_state``: where its ``CheckForm`` is, ``module:NAME``."""
    apis: Mapping[str, str] = field(default_factory=dict)
    """By the ``api`` of a model: where its ``Api`` is, ``module:Class``."""
    sites: Mapping[str, str] = field(default_factory=dict)
    """By the key of a site's block that tells its kind: the class of such sites, ``module:Class``."""
    explains: str = ""
    """Where the function is that says what to write for an unknown name of a family: ``module:function``."""
    hooks: str = ""
    """The module with its hooks. It is imported when an eval is asked for, or a subcommand runs."""
    package: str = ""
    """The dotted name of the folder; ``list_features`` fills it in."""

    def import_module(self, name: str) -> Any:
        """Return a module of the folder."""
        return import_module(f"{self.package}.{name}")

    def load(self, place: str) -> Any:
        """Return what a module of the folder has: ``module:NAME``."""
        module, _, name = place.partition(":")
        return getattr(self.import_module(module), name)

    def register(self, registry: Registry) -> None:
        """Register the members, each of which is imported when it is named, and the readers."""
        for family, members in self.members.items():
            for names, place in members.items():
                name, *aliases = names.split()
                registry.announce(family, name, f"{self.package}.{place}", aliases=tuple(aliases))
        for reader in self.readers:
            registry.add_reader(self.load(reader)())

    def brings(self, family: str, name: str) -> bool:
        """Return whether a member of that name or alias is its own, or one of a family that needs it."""
        is_own = any(name in names.split() for names in self.members.get(family, ()))
        is_own = is_own or (family == "check" and name in self.checks)
        return is_own or (f"{family}s",) in self.keys


@cache
def list_folders(room: str) -> tuple[str, ...]:
    """Return the names of the folders of a room, in alphabetical order.

    Args:
        room: ``features`` or ``benchmarks``. What several of them need is in ``features/shared``.
    """
    place = Path(__file__).with_name(room)
    return tuple(sorted({one.parent.name for one in place.glob("*/__init__.py")} - {"shared"}))


@cache
def list_features(room: str = "features") -> Mapping[str, Feature]:
    """Return the feature of each folder that is there by its name."""
    packages = {name: f"{__package__}.{room}.{name}" for name in list_folders(room)}
    return {name: replace(import_module(one).FEATURE, package=one) for name, one in packages.items()}


@cache
def list_early() -> Mapping[str, ModuleType]:
    """Return the modules of features that are imported in each run of pytest, by the features' names."""
    place = Path(__file__).with_name("features")
    names = (name for name in list_folders("features") if (place / name / "early.py").is_file())
    return {name: import_module(f"{__package__}.features.{name}.early") for name in names}


def describe_unknown(left_out: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each name of ``-p no:NAME`` that looks like a feature's and is not one's."""
    known = list_folders("features")
    for name in (one.removeprefix(PREFIX) for one in left_out if one.startswith(PREFIX)):
        if name not in known:
            from pytest_browsereval.errors import nearest

            message = f"-p no:{PREFIX}{name}: there is no such feature, so nothing is left out."
            yield f"{message}{nearest(name, known)} Features: {', '.join(known)}."
