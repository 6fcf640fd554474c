"""Where the state of a site is read: the ``state`` of its block."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from pytest_browsereval.sites.placeholders import names_in

SOURCES = ("sqlite", "url", "storage", "files", "command")


class StateConfig(BaseModel):
    """Where the state of a site is read: exactly one of sqlite, url, storage, files and command."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    sqlite: str | None = Field(default=None, min_length=1)
    """A database file: ``{data}/shop.db``."""
    url: str | None = Field(default=None, min_length=1)
    """An address that answers with JSON, requested with the window's cookies: ``{shop}/api/state``."""
    storage: Annotated[str, StringConstraints(pattern=r"^local:.+")] | None = None
    """``local:KEY``: JSON in the local storage of the site in the attempt's own window."""
    files: str | None = Field(default=None, min_length=1)
    """Files that match a pattern, JSON files with their content: ``{data}/**/*.json``."""
    command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """A program that prints JSON, and its arguments, such as ``["{python}", "dump.py", "{data}"]``."""
    key: str | dict[str, str] = "id"
    """The column that tells rows of a list in JSON apart, for all lists or by list: ``{orders: number}``.
    Databases have primary keys instead."""
    tables: tuple[str, ...] = ()
    """The tables that are read; all by default."""
    max_bytes: int = Field(default=16_000_000, ge=1)
    """The largest state; a larger one makes an attempt *errored*."""

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        given = [name for name in SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a state has exactly one of {', '.join(SOURCES)}; given: {', '.join(given) or 'none'}. "
                'Write one, such as `{sqlite: "{data}/shop.db"}` or `{storage: "local:shop"}`.'
            )
        return self

    @property
    def place(self) -> str:
        """The source in a text: ``{data}/shop.db``."""
        source = next(getattr(self, name) for name in SOURCES if getattr(self, name) is not None)
        return source if isinstance(source, str) else " ".join(source)

    @property
    def is_shared(self) -> bool:
        """Whether all instances of the site have one state, as the place names no instance."""
        return self.storage is None and not names_in(self.place) - {"python"}

    def fill_place(self, base_dir: Path, data: Path | None) -> Path:
        """Return where files are.

        Args:
            base_dir: the folder of the config.
            data: the folder that ``{data}`` stands for.
        """
        return base_dir / self.place.replace("{data}", str(data or "{data}"))
