"""Walls: pages of a site that stop an agent and are no part of the app, such as a queue."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from pytest_browsereval.config.block import Block


class WallConfig(Block):
    """A page that is known by its title, its address, or both; ``*`` stands for any characters."""

    name: str = Field(min_length=1)
    """What reports call it: ``a queue``."""
    title: str | None = Field(default=None, min_length=1)
    """The title of the page, in any case: ``Waiting room*``."""
    url: str | None = Field(default=None, min_length=1)
    """Its address: ``*/queue/*``."""

    @model_validator(mode="after")
    def _is_known_by_something(self) -> Self:
        if self.title is None and self.url is None:
            raise ValueError(
                'write the title or the address of the page: `{name: a queue, title: "Waiting*"}`.'
            )
        return self
