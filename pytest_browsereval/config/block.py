"""Base of all blocks of a config."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Block(BaseModel):
    """Base of the blocks of a config: frozen, strict about keys, with keys in snake_case or camelCase."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        alias_generator=to_camel,
        # Errors name fields; how a key was written is known to the draft of a config.
        loc_by_alias=False,
        # A wrong block may hold a key, and pydantic would print the block.
        hide_input_in_errors=True,
        # Most runs use few of the blocks, and building a schema is the slow part of importing one.
        defer_build=True,
    )
