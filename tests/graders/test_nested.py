"""Graders inside of graders, whoever has them among its options."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.combined_grader.grader import AnyGrader
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.nested import fill_sites, parts_of, unfold
from pytest_browsereval.model.grades import GraderResult

URLS = {"shop": "http://127.0.0.1:8000"}
STATE = {"type": "state_diff", "source": {"url": "{shop}/api/state"}}


class Choice(BaseModel):
    by: AnyGrader
    note: str = ""


class Acme(GraderConfig):
    """A package's grader that has others at several depths."""

    type: Literal["acme/any"] = "acme/any"

    page: str = ""
    inner: AnyGrader | None = None
    choices: dict[str, tuple[Choice, ...]] = Field(default_factory=dict)

    async def grade(self, recorded: Recorded) -> GraderResult:
        raise NotImplementedError


def acme(**options: Any) -> Acme:
    registry = builtin_registry()
    registry.register(Acme, owner="acme 1.0")
    return Acme.model_validate(options, context={"registry": registry})


def test_parts_are_found_at_any_depth() -> None:
    """A grader has those of its options; what is inside of one is that one's."""
    twice = {"type": "combined", "graders": ["answer", STATE]}
    whole = acme(inner=twice, choices={"a": [{"by": "gaia"}]})
    assert [part.type for part in parts_of(whole)] == ["combined", "gaia"]
    assert [one.type for one in unfold(whole)] == ["acme/any", "combined", "answer", "state_diff", "gaia"]
    assert parts_of(acme()) == ()


def test_sites_are_filled_in_at_any_depth() -> None:
    """In the grader's own options, in its parts and beside them; the block itself stays as it is."""
    whole = acme(page="{shop}/a", inner=STATE, choices={"a": [{"by": STATE, "note": "{shop}"}]})
    block = whole.model_dump_json()
    filled = fill_sites(whole, URLS)
    assert isinstance(filled, Acme)
    assert "{shop}" not in filled.model_dump_json()
    assert filled.page == "http://127.0.0.1:8000/a"
    assert type(filled.inner) is type(whole.inner)
    assert whole.model_dump_json() == block
    alone = fill_sites(acme(page="{shop}/a {other}"), URLS)
    assert isinstance(alone, Acme)
    assert alone.page == "http://127.0.0.1:8000/a {other}"
