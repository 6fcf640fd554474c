"""How config classes become members of a family.

A *member* is a frozen pydantic class with a literal ``type``, its options as described fields and a
``build`` method. Fields name the family through :class:`Plugged`; the member is looked up by its
``type`` in the registry that the validation context carries, so late members need no rebuilt unions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pytest_browsereval.errors import RegistryError, nearest
from pytest_browsereval.later import member_refusal

FAMILIES = ("agent", "grader", "dataset", "browser")
"""The families that are open to plug-ins."""

LATER_FAMILIES = ("toolkit",)
"""Those that are planned; a member of one is refused, for it would have no effect."""

OURS = "pytest-browsereval"
"""The owner of the built-in members."""


class Component(BaseModel):
    """Base of every member of every family: frozen, strict about its keys, named by ``type``."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, loc_by_alias=False)

    family: ClassVar[str] = ""

    type: str
    """Which member of the family this block configures."""

    @classmethod
    def type_name(cls) -> str:
        """Return the literal that the member is registered under."""
        default = cls.model_fields["type"].default
        if not isinstance(default, str) or not default:
            raise RegistryError(
                f"{cls.__module__}.{cls.__qualname__} has no default for 'type'. "
                "Write:  type: Literal['my-package/name'] = 'my-package/name'"
            )
        return default

    def secrets(self) -> tuple[str, ...]:
        """Return values that must never be written: keys, tokens. The run redacts them everywhere."""
        return ()


ComponentT = TypeVar("ComponentT", bound=type[Component])


class Registry:
    """The members of all families, each with its owner.

    Args:
        owner: who brings members that are registered without an owner.
    """

    def __init__(self, owner: str = OURS) -> None:
        self._owner = owner
        self._members: dict[tuple[str, str], type[Component]] = {}
        self._owners: dict[tuple[str, str], str] = {}
        self._aliases: dict[tuple[str, str], str] = {}

    def register(
        self, member: ComponentT, *, owner: str | None = None, aliases: tuple[str, ...] = ()
    ) -> ComponentT:
        """Add a member to its family and return it, so that it serves as a decorator too.

        Args:
            member: a class derived from ``AgentConfig``, ``GraderConfig`` or another family's base.
            owner: who brings it: a distribution, a conftest; told in every message about it.
            aliases: other names that select it.

        Raises:
            RegistryError: it belongs to no open family, or a name is taken.
        """
        owner = self._owner if owner is None else owner
        if not (isinstance(member, type) and issubclass(member, Component)):
            raise RegistryError(
                f"{owner} registers {member!r}, which is not a class derived from a family's config "
                "base. Derive it from AgentConfig, GraderConfig, DatasetConfig or "
                "BrowserConfig of pytest_browsereval."
            )
        if member.family not in FAMILIES:
            is_later = " Its family is not supported yet." * (member.family in LATER_FAMILIES)
            raise RegistryError(
                f"{owner} registers {member.__qualname__} in the family {member.family!r}.{is_later} "
                f"Families: {', '.join(FAMILIES)}."
            )
        name = member.type_name()
        for label in (name, *aliases):
            key = (member.family, label)
            if key in self._owners:
                raise RegistryError(
                    f"Two members of the family {member.family!r} are named {label!r}: "
                    f"{self._describe(key)} and {member.__module__}.{member.__qualname__} "
                    f"(from {owner}). Rename one, or leave a package out with "
                    f"-p no:PLUGIN_NAME."
                )
        self._members[member.family, name] = member
        for label in (name, *aliases):
            self._owners[member.family, label] = owner
            self._aliases[member.family, label] = name
        return member

    def _describe(self, key: tuple[str, str]) -> str:
        member = self._members[key[0], self._aliases[key]]
        return f"{member.__module__}.{member.__qualname__} (from {self._owners[key]})"

    def get(self, family: str, name: str) -> type[Component]:
        """Return the member of that name or alias.

        Raises:
            RegistryError: there is none; the message has the nearest name and all members with owners.
        """
        label = self._aliases.get((family, name))
        if label is None:
            raise RegistryError(self.unknown(family, name))
        return self._members[family, label]

    def unknown(self, family: str, name: str) -> str:
        """Return the message for a name that no member has."""
        if (refusal := member_refusal(family, name)) is not None:
            return refusal
        known = [label for fam, label in self._owners if fam == family]
        return f"unknown {family} {name!r}.{nearest(name, known)} Known: {self.listed(family)}."

    def listed(self, family: str) -> str:
        """Return the names and aliases of a family for a message, those of packages with their owner."""
        known = ((label, owner) for (fam, label), owner in self._owners.items() if fam == family)
        names = [label if owner == OURS else f"{label} (from {owner})" for label, owner in known]
        return ", ".join(names) or "none"

    def everything(self) -> Iterator[tuple[str, str, type[Component], tuple[str, ...]]]:
        """Yield (family, name, member, aliases) in the order of registration."""
        for (family, name), member in self._members.items():
            aliases = [a for (f, a), n in self._aliases.items() if f == family and n == name and a != name]
            yield family, name, member, tuple(aliases)

    def owners(self) -> tuple[str, ...]:
        """Return who brings members, this package left out."""
        return tuple(dict.fromkeys(owner for owner in self._owners.values() if owner != OURS))

    def members(self, family: str) -> Iterator[tuple[str, type[Component], str]]:
        """Yield (name, member, owner) in the order of registration."""
        for (fam, name), member in self._members.items():
            if fam == family:
                yield name, member, self._owners[fam, name]


class Plugged:
    """Marks a field that holds a member of a family: ``agent: Annotated[AgentConfig, Plugged("agent")]``.

    The block's ``type`` chooses the member; a bare string is short for ``{"type": that}``.
    """

    def __init__(self, family: str) -> None:
        self.family = family

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that looks the member up in the validation context."""
        del source, handler
        return core_schema.with_info_plain_validator_function(
            self._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: value.model_dump(mode="json"), when_used="json"
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return a placeholder, which the ``schema`` command fills with the members installed."""
        del schema, handler
        return {"title": f"any {self.family}", "x-browsereval-family": self.family}

    def _validate(self, value: Any, info: core_schema.ValidationInfo) -> Component:
        if isinstance(value, Component):
            return value
        block = {"type": value} if isinstance(value, str) else value
        if not isinstance(block, Mapping):
            raise PydanticCustomError(
                "plugged_block",
                "expected the name of {family} or a block with its type, not {given}.",
                {
                    "family": f"{'an' if self.family[0] in 'aeiou' else 'a'} {self.family}",
                    "given": repr(value),
                },
            )
        registry = (info.context or {}).get("registry")
        if registry is None:
            raise RuntimeError("a Plugged field needs a registry in the validation context")
        name = block.get("type")
        if not isinstance(name, str):
            raise PydanticCustomError(
                "plugged_type",
                "the block has no type. Write  type: NAME  with one of: {known}.",
                {"known": registry.listed(self.family)},
            )
        try:
            member = registry.get(self.family, name)
        except RegistryError as error:
            raise PydanticCustomError("plugged_unknown", "{why}", {"why": str(error)}) from None
        options = {**block, "type": member.type_name()}
        return member.model_validate(options, context=info.context)  # type: ignore[no-any-return]
