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


# -- registering


def test_a_class_with_unknown_annotations_is_refused() -> None:
    """It cannot be validated; the message names the missing class."""

    class Late(Member):
        type: Literal["late"] = "late"
        where: Nowhere | None = None  # type: ignore[name-defined]  # noqa: F821 imported for types only

    with pytest.raises(RegistryError, match=r"^acme registers .*Late, whose annotations name 'Nowhere'"):
        Registry().register(Late, owner="acme")


def test_members_are_found_by_name_and_alias(registry: Registry) -> None:
    """A member is looked up by its literal type or by an alias, in its family only."""
    assert registry.get("dataset", "first") is First
    assert registry.get("dataset", "1st") is First
    with pytest.raises(RegistryError, match="unknown agent 'first'"):
        registry.get("agent", "first")


def test_members_are_listed_in_order(registry: Registry) -> None:
    """Listings keep the order of registration, aliases beside their member."""
    listed: list[Any] = [("first", First, "pytest-browsereval"), ("acme/second", Second, "acme 1.0")]
    everything: list[Any] = [("dataset", "first", First, ("1st",)), ("dataset", "acme/second", Second, ())]
    assert list(registry.members("dataset")) == listed
    assert list(registry.everything()) == everything


def test_a_refused_member_leaves_nothing_behind(registry: Registry) -> None:
    """When an alias clashes, the member's own name is not taken either."""

    class Third(Member):
        type: Literal["third"] = "third"

    with pytest.raises(RegistryError, match="named '1st'"):
        registry.register(Third, aliases=("1st",))
    with pytest.raises(RegistryError, match="unknown dataset 'third'"):
        registry.get("dataset", "third")
    assert registry.register(Third) is Third


@pytest.mark.parametrize("thing", [3, "first", First(path=Path("x")), dict, BaseModel])
def test_only_classes_of_a_family_are_members(thing: Any) -> None:
    """Anything else is refused with the base classes."""
    with pytest.raises(
        RegistryError, match=r"acme registers .* not a class derived from a family's config base"
    ):
        Registry().register(thing, owner="acme")


def test_a_member_belongs_to_an_open_family() -> None:
    """A component without a family is refused with the families."""

    class Lost(Component):
        family: ClassVar[str] = "gadget"
        type: Literal["lost"] = "lost"

    with pytest.raises(RegistryError, match=f"family 'gadget'. Families: {', '.join(FAMILIES)}"):
        Registry().register(Lost)


def test_a_member_needs_a_literal_type() -> None:
    """A member without a default for its type is refused with what to write."""

    class Nameless(Member):
        pass

    with pytest.raises(RegistryError, match=r"Nameless has no default for 'type'. Write `type: Literal\["):
        Registry().register(Nameless)


def test_an_unknown_name_lists_the_known_ones(registry: Registry) -> None:
    """The message has the nearest name and all members, those of packages with their owner."""
    assert registry.unknown("dataset", "frist") == (
        "unknown dataset 'frist'. Did you mean 'first'? Known: first, 1st, acme/second (from acme 1.0)."
    )
    assert registry.unknown("browser", "x") == "unknown browser 'x'. Known: none."


# -- fields


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
    raw = {
        "one": {
            "type": "acme/second",
            "path": "a",
            "first": {"type": "first", "path": "b", "size": "x", "q": 1},
        }
    }
    with pytest.raises(ValidationError) as caught:
        held({**raw, "more": ["nope", 3, {"path": "a"}]}, registry)
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
    assert (
        held(Holder.model_validate_json(config.model_dump_json(), context={"registry": registry}), registry)
        == config
    )


# -- members that are imported when they are asked for


def announced(place: str, name: str = "first") -> Registry:
    registry = Registry("acme 1.0")
    registry.announce("dataset", name, f"{__name__}:{place}", aliases=("1st",))
    return registry


def test_a_member_may_be_announced() -> None:
    """It is found by type and alias, and listed like a registered one."""
    registry = announced("First")
    assert registry.get("dataset", "1st") is registry.get("dataset", "first")
    assert registry.get("dataset", "first").__name__ == "First"
    assert list(announced("First").members("dataset")) == [
        ("first", registry.get("dataset", "1st"), "acme 1.0")
    ]
    assert registry.owner("dataset", "1st") == "acme 1.0"


@pytest.mark.parametrize(
    ("place", "name", "told"),
    [
        ("Second", "first", "announced as the dataset 'first', but is the dataset 'acme/second'"),
        ("Holder", "first", "announced as the dataset 'first', but is not a config class"),
        ("Nobody", "first", "announced as the dataset 'first', but is not a config class"),
    ],
)
def test_an_announced_member_has_to_exist(place: str, name: str, told: str) -> None:
    """The first use reports what is wrong."""
    with pytest.raises(RegistryError, match=told):
        announced(place, name).get("dataset", name)


def test_an_announced_name_is_taken() -> None:
    """A second member of the name is refused without importing the first one."""
    registry = announced("Nobody")
    with pytest.raises(RegistryError, match=r"Nobody \(from acme 1\.0\) and .*First \(from me\)"):
        registry.register(First, owner="me")
    with pytest.raises(RegistryError, match="in the family 'datset'"):
        registry.announce("datset", "x", "a:B")
