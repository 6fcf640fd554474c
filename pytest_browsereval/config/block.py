"""Base of all blocks of a config."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Block(BaseModel):
    """Base of the blocks of a config: frozen, strict about keys, camelCase accepted."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        alias_generator=to_camel,
        loc_by_alias=False,
        hide_input_in_errors=True,
        defer_build=True,
    )
