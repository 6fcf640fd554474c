"""The ``sites`` block of a config, and what can be checked of it before anything is started."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from pytest_browsereval.errors import ConfigError
from pytest_browsereval.feature import list_features
from pytest_browsereval.foreign_names import describe_running
from pytest_browsereval.model.tasks import Ready
from pytest_browsereval.redaction.names import secret_values
from pytest_browsereval.sites.state import StateConfig
from pytest_browsereval.temporary import read_environment

_UrlPath = Annotated[str, StringConstraints(pattern=r"^/\S*$")]
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*$")]
_Reset = Annotated[str, StringConstraints(pattern=r"^(restart|(GET|POST|PUT|PATCH|DELETE) /\S*)$")]

RESTART = "restart"
"""The ``reset`` of a site that is stopped and started."""
_OF_STATIC = {"static", "package", "ready", "toolkits", "state", "volatile", "hide"}
DATA = "{data}"


class SiteConfig(BaseModel):
    """One site: ``{static: ./site}``, ``{command: [PROGRAM, ...]}`` or ``{compose: FILE, service, port}``."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    static: Path | None = None
    """A folder of files to serve, relative to the config."""
    package: _Name | None = None
    """An installed Python package; ``static`` is then relative to its folder."""
    command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Program and arguments, never a shell line. ``{port}`` is the port to listen on (also in the
    variable PORT), ``{python}`` the Python that runs pytest, ``{data}`` the copy of ``data``."""
    compose: Path | None = None
    """A Docker Compose file, relative to the config. Each start is a project of its own, which is removed
    with its volumes at the end; ``env`` has the variables that the file may name."""
    service: str | None = None
    """The service of that file which serves the site."""
    port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    """The port of that service, in its container."""
    data: Path | None = None
    """A folder of initial data, relative to the config. Each start of the command gets a new copy, whose path
    stands for ``{data}`` in ``command``, ``env`` and ``cwd``; the copy is removed at the end."""
    health: _UrlPath = "/"
    """A path that answers with a status below 500 once the site is ready."""
    health_timeout_s: float = Field(default=30, gt=0)
    """How long the site may take to be ready, or to be reset; 120 for a Compose site."""
    stop_timeout_s: float = Field(default=3, gt=0)
    """How long the site may take to end when it is asked to; then it is killed. 60 for a Compose site."""
    reset: _Reset | None = None
    """What brings the site back to its initial state: a request such as ``POST /reset``, before each attempt,
    or ``restart``, which restarts it before and after each row with ``requires_reset: true``, except before
    the first row. With it every attempt has an instance to itself; without it all share one."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables of the command, on top of the environment of pytest."""
    cwd: Path | None = None
    """Where the command runs, relative to the config, or ``{data}``; by default the config's folder."""

    ready: Ready | None = None
    """What to wait for on the start page of a row before the attempt begins, if the row has no ``ready`` of
    its own: ``{text: "Launcher"}``, or ``url``, ``target`` or ``js``."""
    toolkits: tuple[str, ...] | None = None
    """Toolkits, by their keys, that only rows that use this site have."""
    state: StateConfig | None = None
    """Where its state is read, for the grader ``effects``: ``{sqlite: "{data}/shop.db"}``, or ``url``,
    ``storage``, ``files`` or ``command``."""
    volatile: tuple[str, ...] = ()
    """What of its state is not compared, as ``table.column``: ``["sessions.*", "*.updated_at"]``."""
    hide: tuple[str, ...] = ()
    """What of its state is never stored, as ``table.column``: ``[users.email]``."""

    @model_validator(mode="before")
    @classmethod
    def _takes_its_time(cls, block: Any) -> Any:
        is_slow = isinstance(block, dict) and "compose" in block
        return {"health_timeout_s": 120, "stop_timeout_s": 60, **block} if is_slow else block

    @model_validator(mode="before")
    @classmethod
    def _is_started_here(cls, value: Any) -> Any:
        address = value.get("url") if isinstance(value, dict) else value
        if isinstance(address, str) and "://" in address:
            raise ValueError(
                f"a site is what the run starts, and {address!r} is an address."
                + describe_running(address, "the site's name in braces")
            )
        return value

    @field_validator("command", mode="before")
    @classmethod
    def _is_a_list(cls, value: Any) -> Any:
        if isinstance(value, str):
            words = ", ".join(json.dumps(word) for word in value.split())
            raise ValueError(  # noqa: TRY004 pydantic takes no TypeError
                f"it is one text, but no shell reads it. Write the list `[{words}]`."
            )
        return value

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        given = ", ".join(sorted(self.model_fields_set)) or "nothing"
        if [self.static, self.command, self.compose].count(None) != 2:
            raise ValueError(
                f"a site has exactly one of static, command and compose; given: {given}. Write "
                "`{static: FOLDER}`, `{command: [PROGRAM, ...]}` or `{compose: FILE, service: web, port: N}`."
            )
        parts = [self.compose, self.service, self.port]
        if parts.count(None) not in {0, 3} or (self.compose and self.cwd):
            raise ValueError(
                f"compose, service and port belong together, and have no cwd; given: {given}. "
                "Write `{compose: compose.yaml, service: web, port: 3000}`."
            )
        if self.package is not None and self.static is None:
            raise ValueError(
                f"package is {self.package!r}, but only a static site can be in a package. "
                "Write `{package: NAME, static: FOLDER}`."
            )
        if self.static is not None and (others := self.model_fields_set - _OF_STATIC):
            raise ValueError(
                f"a static site has no {', '.join(sorted(others))}. "
                "Leave that out, or serve the site with a command."
            )
        named = any(DATA in text for text in (*(self.command or ()), *self.env.values(), str(self.cwd)))
        if named != (self.data is not None):
            given = f"data is {str(self.data)!r}, and nothing names its copy" if self.data else "no data"
            raise ValueError(
                f"{given}. Write both `data: FOLDER` and {{data}} in command, env or cwd, or neither of them."
            )
        return self

    def folder(self, base_dir: Path, data: Path | None = None) -> Path:
        """Return the folder that is served, or in which the command runs.

        Args:
            base_dir: the folder of the config.
            data: the copy; None stands for what is copied.
        """
        home = _package_folder(self.package) if self.package is not None else base_dir
        cwd = str(self.cwd or "").replace(DATA, str(data or self.data))
        return (home or base_dir) / (self.static or cwd)

    def secrets(self) -> tuple[str, ...]:
        """Return the variables of the command that must never be written."""
        return secret_values(self.env)

    def environment(self, port: int, data: Path | str = DATA) -> dict[str, str]:
        """Return the variables of the command."""
        own = {name: value.replace(DATA, str(data)) for name, value in self.env.items()}
        # Unbuffered, or the last lines of a Python site that dies would be lost.
        return {**read_environment(), "PYTHONUNBUFFERED": "1", **own, "PORT": str(port)}


def check(configs: Mapping[str, SiteConfig], base_dir: Path) -> None:
    """Refuse sites that cannot work on this machine, before anything is spent.

    Args:
        configs: the sites by name.
        base_dir: the folder of the config.

    Raises:
        ConfigError: a package, a folder or a program is missing.
    """
    for name, config in configs.items():
        if config.command is not None:
            find_kind("command").check(name, config, base_dir)
            continue
        if config.package is not None and _package_folder(config.package) is None:
            raise ConfigError(
                f"sites.{name}.package is {config.package!r}, but no package with that name is installed. "
                f"Allowed: a package that Python can import. Run `pip install {config.package}`."
            )
        check_folder(f"sites.{name}.static", config.static, config, base_dir)


def check_folder(key: str, given: Path | None, config: SiteConfig, base_dir: Path) -> Path:
    """Return the folder of a site.

    Args:
        key: whose value names it.
        given: that value.
        config: the site.
        base_dir: the folder of the config.

    Raises:
        ConfigError: it is missing.
    """
    folder = config.folder(base_dir)
    if not folder.is_dir():
        home = f"the package {config.package!r}" if config.package is not None else repr(str(base_dir))
        raise ConfigError(
            f"{key} is {str(given)!r}, but there is no folder {str(folder)!r}. Allowed: "
            f"a folder that exists, relative to {home}. Create it, or correct the path."
        )
    return folder


def find_kind(key: str) -> Any:
    """Return the class of sites whose blocks have this key.

    Raises:
        ConfigError: the feature that brings it is not there.
    """
    for feature in list_features().values():
        if key in feature.sites:
            return feature.load(feature.sites[key])
    raise ConfigError(f"sites with a {key!r} cannot run: this package lacks the feature that runs them.")


def _package_folder(package: str) -> Path | None:
    """Return where an installed package lies, without importing it."""
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(folders))) if folders else None
