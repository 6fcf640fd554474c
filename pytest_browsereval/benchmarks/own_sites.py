"""Base of the importers whose rows name sites that people host themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator

from pytest_browsereval.benchmarks.base import BenchmarkConfig, RowProblem
from pytest_browsereval.errors import nearest
from pytest_browsereval.model.display import format_count
from pytest_browsereval.redaction.text import map_texts

_NAME = re.compile(r"\{([A-Za-z_]\w*)\}")
_PLACEHOLDER = re.compile(r"__([A-Z]+(?:_[A-Z]+)*)__")


class OwnSitesConfig(BenchmarkConfig):
    """Base of the importers whose rows name sites, ``__SHOPPING__`` and so on."""

    known_sites: ClassVar[tuple[str, ...]] = ()
    """Names of the sites."""

    sites: dict[str, str | None] = Field(default_factory=dict)
    """Where the sites are, by their names: an address, or ``"{name}"`` for one of the config's ``sites``;
    null leaves the rows of a site out. ``shopping_admin`` is the address with ``/admin`` at its end."""

    @field_validator("sites", mode="before")
    @classmethod
    def _sites_are_known(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        # Rows write __SHOPPING__, people shopping.
        named = {str(key).strip("_").lower(): url for key, url in value.items()}
        for name, url in named.items():
            if name not in cls.known_sites:
                hint, known = nearest(name, cls.known_sites), ", ".join(cls.known_sites)
                raise ValueError(f"{name!r} is not a site of the benchmark.{hint} Sites: {known}.")
            if url is not None and not re.match(r"https?://[^/]|\{[A-Za-z_]\w*\}", str(url)):
                how = 'http://localhost:7770 , the name of a site of the config, "{shop}" , or null'
                raise ValueError(f"{name}: {url!r} is not an address. Write one such as {how}.")
        return {name: url.rstrip("/") if isinstance(url, str) else url for name, url in named.items()}

    def fill_addresses(self, value: Any) -> Any:
        """Return a JSON value with the addresses of sites in the place of ``__SHOPPING__`` and the like."""

        def fill(text: str) -> str:
            return _PLACEHOLDER.sub(lambda found: self.sites.get(found[1].lower()) or found[0], text)

        return map_texts(value, fill, fill)

    def find_sites(self, row: Any) -> list[str]:
        """Return the sites that a JSON value has placeholders for."""
        text = json.dumps(row, ensure_ascii=False, default=str)
        names = (name.lower() for name in dict.fromkeys(_PLACEHOLDER.findall(text)))
        return [name for name in names if name in self.known_sites]

    def name_in_config(self, name: str) -> str | None:
        """Return what the config's ``sites`` call a site; None for one that has an address of its own."""
        found = _NAME.match(self.sites.get(name) or "")
        return found[1] if found else None

    def note_logins(self, count: int) -> list[str]:
        """Return that so many rows need a login; nothing where none does."""
        message = (
            f"{self.title}: {format_count(count, 'row needs', 'rows need')} a login. Give the browser a "
            "`storage_state` in its `context` with the cookies of the sites."
        )
        return [message] if count else []


def read_eval(original: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the block ``eval`` of a row in the form of WebArena's.

    Raises:
        RowProblem: there is none with its ``eval_types``.
    """
    block = original.get("eval")
    if not isinstance(block, Mapping) or not isinstance(block.get("eval_types"), list):
        raise RowProblem("eval: expected a block with the list 'eval_types'.")
    return block
