from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, ValidationError

from pytest_browsereval.datasets.base import DatasetConfig, RowRef
from pytest_browsereval.errors import RegistryError
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import FAMILIES, Component, MemberOf, Registry


class Member(DatasetConfig):
    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        raise NotImplementedError

    def read(self, ref: RowRef) -> Task:
        raise NotImplementedError


class First(Member):
    type: Literal["first"] = "first"
    size: int = 1


class Second(Member):
    type: Literal["acme/second"] = "acme/second"
    first: Annotated[DatasetConfig, MemberOf("dataset")] | None = None


class Holder(BaseModel):
    one: Annotated[DatasetConfig, MemberOf("dataset")]
    more: tuple[Annotated[DatasetConfig, MemberOf("dataset")], ...] = ()


@pytest.fixture
def registry() -> Registry:
    registry = Registry()
    registry.register(First, aliases=("1st",))
    registry.register(Second, owner="acme 1.0")
    return registry


def held(raw: Any, registry: Registry) -> Holder:
    return Holder.model_validate(raw, context={"registry": registry})


def test_what_is_no_member_is_refused(subtests: pytest.Subtests) -> None:
    """With what to write: a class of a family, with its literal type, whose annotations are known."""

    class Late(Member):
        type: Literal["late"] = "late"
        where: Nowhere | None = None  # type: ignore[name-defined]  # noqa: F821 imported for types only

    class Lost(Component):
        family: ClassVar[str] = "gadget"
        type: Literal["lost"] = "lost"

    class Nameless(Member):
        pass

    not_derived = r"^acme registers .* not a class derived from a family's config base"
    for thing, told in (
        (First(path=Path("x")), not_derived),
        (BaseModel, not_derived),
        (Late, r"^acme registers .*Late, whose annotations name 'Nowhere'"),
        (Lost, f"family 'gadget'. Families: {', '.join(FAMILIES)}"),
        (Nameless, r"Nameless has no default for 'type'. Write `type: Literal\["),
    ):
        with subtests.test(thing=thing), pytest.raises(RegistryError, match=told):
            Registry().register(thing, owner="acme")  # type: ignore[type-var]


def test_a_refused_member_leaves_nothing_behind(registry: Registry) -> None:
    """When an alias clashes, the member's own name is not taken either."""

    class Third(Member):
        type: Literal["third"] = "third"

    with pytest.raises(RegistryError, match="named '1st'"):
        registry.register(Third, aliases=("1st",))
    with pytest.raises(RegistryError, match="unknown dataset 'third'"):
        registry.get("dataset", "third")
    assert registry.register(Third) is Third


def test_members_are_listed_in_order(registry: Registry) -> None:
    """Listings keep the order of registration, aliases next to their member; a message has the owners."""
    everything: list[Any] = [("dataset", "first", First, ("1st",)), ("dataset", "acme/second", Second, ())]
    assert list(registry.everything()) == everything
    assert registry.unknown("dataset", "frist") == (
        "unknown dataset 'frist'. Did you mean 'first'? Known: first, 1st, acme/second (from acme 1.0)."
    )
    assert registry.unknown("agent", "first") == "unknown agent 'first'. Known: none."


def test_a_field_takes_a_name_a_block_or_a_member(registry: Registry) -> None:
    """The type of a block selects a member; aliases become the member's own name."""
    given = First(path=Path("x"), size=3)
    config = held(
        {"one": {"type": "1st", "path": "a"}, "more": [given, {"type": "acme/second", "path": "b"}]}, registry
    )
    assert config.one == First(path=Path("a"))
    assert config.more[0] is given
    assert isinstance(config.more[1], Second)


def test_problems_inside_keep_their_place(registry: Registry) -> None:
    """All problems in a member of a member are reported at once, with their paths."""
    first = {"type": "first", "path": "b", "size": "x", "q": 1}
    one = {"type": "acme/second", "path": "a", "first": first}
    with pytest.raises(ValidationError) as caught:
        held({"one": one, "more": ["nope", 3, {"path": "a"}]}, registry)
    places = {error["loc"]: error["type"] for error in caught.value.errors()}
    assert places == {
        ("one", "first", "size"): "int_parsing",
        ("one", "first", "q"): "extra_forbidden",
        ("more", 0): "plugged_unknown",
        ("more", 1): "plugged_block",
        ("more", 2): "plugged_type",
    }


def test_dumps_hold_the_members_own_keys(registry: Registry) -> None:
    """A dumped field gives the same member when it is validated again."""
    config = held({"one": {"type": "first", "path": "a", "size": 5}}, registry)
    dumped = config.model_dump(mode="json")
    assert (dumped["one"]["type"], dumped["one"]["size"]) == ("first", 5)
    assert held(dumped, registry) == config


def test_an_announced_member_has_to_exist(subtests: pytest.Subtests) -> None:
    """The first use reports what is wrong; a second member of the name is refused without that use."""
    for place, told in (("Second", "is the dataset 'acme/second'"), ("Nobody", "is not a config class")):
        with subtests.test(place=place):
            registry = Registry("acme 1.0")
            registry.announce("dataset", "first", f"{__name__}:{place}")
            with pytest.raises(RegistryError, match=rf"{place} \(from acme 1\.0\) and .*First \(from me\)"):
                registry.register(First, owner="me")
            with pytest.raises(RegistryError, match=f"announced as the dataset 'first', but {told}"):
                registry.get("dataset", "first")
