"""Finds earlier runs below a results folder, by id, path or ``latest``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import ConfigError, nearest
from pytest_browsereval.model.display import join_first
from pytest_browsereval.redaction.address import plain_url
from pytest_browsereval.run.control import CONTROL
from pytest_browsereval.run.store import home_of
from pytest_browsereval.runs.run import PARTIAL, StoredRun

if TYPE_CHECKING:  # commands that read a run need no config, which takes 0.2 s
    from pytest_browsereval.config import EvalConfig

LATEST = "latest"
"""Stands for the newest run."""

_DEEPEST = 4
"""How deep below the current folder other results folders are looked for."""

_PRUNED = frozenset({"node_modules", "__pycache__", "venv", "build", "dist", "site-packages"})

LATEST_ON = "latest-on-"
"""With the name of a branch: its newest whole run."""

MOST_LISTED = 5
"""Runs that a message lists."""

_SECOND = re.compile(r"\d{8}T\d{6}Z(?=-)")
"""How the id of a run begins."""


def describe_unchangeable(url: str) -> str:
    """Return why a run at a URL is not what a command or an option changes, and what to type."""
    shown = plain_url(url)
    return f"{shown} cannot be changed. Run `browsereval pull {shown} -o FOLDER`, and give that folder."


def is_run(folder: Path, *, is_empty_allowed: bool = False) -> bool:
    """Whether a folder is one of a run.

    Args:
        folder: the folder.
        is_empty_allowed: whether a run counts that was ended before its first attempt.
    """
    begun = ("manifest.json", CONTROL) if is_empty_allowed else ()  # a run that was stopped may have either
    return (folder / "tasks").is_dir() or any((folder / name).is_file() for name in begun)


def check_whole(folder: Path) -> None:
    """Refuse a copy that was brought without pictures and other files, where these are needed.

    Raises:
        ConfigError: it is one.
    """
    try:
        url = (folder / PARTIAL).read_text(encoding="utf-8", errors="replace")[:1000]
    except OSError:
        return
    raise ConfigError(
        f"{format_path(folder)} is a copy of a run without its attempts' files. Give the run: {url}"
    )


def age(folder: Path) -> tuple[str, int, str]:
    """Return what sorts runs by time: when they began, when the manifest was written, in ns, and the name.

    The second, in UTC, is in the id; two of one second are told apart by their manifests. A folder of another
    name, that of a merged run say, is as old as its manifest.
    """
    try:
        written = (folder / "manifest.json").stat().st_mtime_ns
    except OSError:
        written = 0
    if begun := _SECOND.match(folder.name):
        return begun[0], written, folder.name
    return f"{datetime.fromtimestamp(written // 10**9, UTC):%Y%m%dT%H%M%SZ}", written, folder.name


@dataclass(frozen=True)
class Runs:
    """Runs that there are already: those of one eval, or of all evals below a results folder."""

    place: Path
    """Where they are looked for."""
    homes: tuple[Path, ...]
    """The folders of the evals that they are of."""

    @classmethod
    def of(cls, output_dir: Path, name: str) -> Self:
        """Return the runs of an eval.

        Args:
            output_dir: its results folder.
            name: of the eval.
        """
        home = home_of(output_dir, name)
        return cls(home, (home,))

    @classmethod
    def below(cls, results: Path) -> Self:
        """Return the runs of all evals below a results folder, which need not be there."""
        homes = sorted(results.iterdir()) if results.is_dir() else []
        return cls(results, tuple(home for home in homes if home.is_dir()))

    @classmethod
    def near(cls, results: Path) -> Self:
        """Return the runs below a results folder, or if it has none those below others of its name.

        These lie in the folders next to it, next to the evals of a project for example.
        """
        found = cls.below(results)
        if found.newest_first(is_empty_allowed=True):
            return found
        others = [cls.below(folder) for folder in _folders_named(results.name, results.parent)]
        homes = tuple(home for runs in others for home in runs.homes)
        return cls(results.parent, homes) if homes else found

    def newest_first(self, *, is_empty_allowed: bool = False) -> list[Path]:
        """Return the runs' folders.

        Args:
            is_empty_allowed: whether runs count that were ended before their first attempt.
        """
        folders = (folder for home in self.homes if home.is_dir() for folder in home.iterdir())
        found = [folder for folder in folders if is_run(folder, is_empty_allowed=is_empty_allowed)]
        return sorted(found, key=age, reverse=True)

    def find(
        self, given: str, base: Path, *, before: Path | None = None, is_empty_allowed: bool = False
    ) -> Path:
        """Return the folder of the run that someone means.

        Args:
            given: a folder, a run's id, or ``latest``.
            base: the folder that a path is relative to.
            before: the folder of a run, which need not be there: *latest* is the last one before it.
            is_empty_allowed: whether a run counts that was ended before its first attempt.

        Raises:
            ConfigError: there is none, or several; the message has the newest ones that there are.
        """
        if given == LATEST:
            for folder in self.newest_first(is_empty_allowed=is_empty_allowed):
                # Seconds and names only: the same in each process of the run, whenever it asks.
                if before is None or age(folder)[::2] < age(before)[::2]:
                    return folder
        elif given and is_run(base / given, is_empty_allowed=is_empty_allowed):
            return base / given
        elif given and given == Path(given).name:
            named = (home / given for home in self.homes)
            found = [folder for folder in named if is_run(folder, is_empty_allowed=is_empty_allowed)]
            if len(found) > 1:
                several = ", ".join(format_path(folder) for folder in found)
                raise ConfigError(f"{given!r} is the id of {len(found)} runs: {several}. Give a run folder.")
            if found:
                return found[0]
        runs = self.newest_first(is_empty_allowed=is_empty_allowed)
        if given and (base / given).is_dir():
            why = f"{given} is not a run folder: it has no `tasks/`."
        else:
            hint = nearest(given, [LATEST, *(folder.name for folder in runs)])
            why = f"there is no run {given!r}.{hint}"
        place = format_path(self.place)
        if not runs:
            raise ConfigError(f"{why} {place} has no run. Run the eval with `pytest`, or give a run folder.")
        names = join_first([folder.relative_to(self.place).as_posix() for folder in runs], MOST_LISTED)
        raise ConfigError(f"{why} Runs in {place}, the newest first: {names}. Give a run folder or an id.")


def _folders_named(name: str, top: Path) -> Iterator[Path]:
    """Yield the folders of a name below another one, not too deep; nothing of environments and packages."""
    for folder, inner, _ in os.walk(top):
        depth = len(Path(folder).relative_to(top).parts)
        if name in inner:
            yield Path(folder, name)
        kept = sorted(one for one in inner if one != name and one not in _PRUNED and not one.startswith("."))
        inner[:] = kept if depth < _DEEPEST else []


def run_folder(
    config: EvalConfig,
    given: str,
    base: Path,
    *,
    before: str | Path | None = None,
    is_empty_allowed: bool = False,
) -> Path:
    """Return the folder of a run of a config.

    Args:
        config: whose runs are looked through.
        given: a folder, the id of a run of this config, or ``latest``.
        base: the folder that a path is relative to.
        before: this session's own run, by its id or its folder: every process finds the same *latest* one,
            anything else that is started meanwhile.
        is_empty_allowed: whether a run counts that was ended before its first attempt.

    Raises:
        ConfigError: there is none; the message has the runs that there are.
    """
    runs = Runs.of(config.output_dir, config.name)
    own = None if before is None else runs.place / before
    found = runs.find(given, base, before=own, is_empty_allowed=is_empty_allowed)
    check_whole(found)
    return found if given == LATEST else found.resolve()


def earlier(run: Path) -> Iterator[Path]:
    """Yield the runs of the same config that are older than a run, the newest first.

    They lie next to it, and their manifests name the same file; without a manifest it has none.

    Args:
        run: its folder.
    """
    run = run.resolve()
    name, own = StoredRun(run).read_manifest().get("config_file"), age(run)
    if name is None:
        return
    for folder in Runs(run.parent, (run.parent,)).newest_first():
        if age(folder) < own and StoredRun(folder).read_manifest().get("config_file") == name:
            yield folder
