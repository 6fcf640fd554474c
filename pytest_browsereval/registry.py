"""Registry of families and members: how a config class becomes a plug-in.

A *member* is a frozen pydantic class with a literal ``type``, its options as fields and a ``build`` method.
Fields name a family through :class:`MemberOf`. A block's member is looked up by its ``type`` in the registry
of the validation context, so that members registered later need no rebuilt unions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PydanticUndefinedAnnotation,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pytest_browsereval.errors import BrowserEvalError, PluginError, RegistryError, describe_error, nearest

FAMILIES = ("agent", "grader", "toolkit", "dataset", "browser", "rule", "export", "attack", "guard")
"""The families that are open to plug-ins."""

OURS = "pytest-browsereval"
"""The owner of the built-in members."""

PLACE_OF_FAMILY = "x-browsereval-family"
"""In a JSON schema: the place of a member of this family; ``features.shared.config_schema`` fills it in."""

TYPE_BY_DEFAULT = "x-browsereval-default"
"""Next to it: the type of a block without one."""


class Component(BaseModel):
    """Base of the members of all families: frozen, strict about keys, named by ``type``."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, loc_by_alias=False, defer_build=True
    )

    family: ClassVar[str] = ""

    type: str
    """The member of the family."""

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the member."""
        default = cls.model_fields["type"].default
        if not isinstance(default, str) or not default:
            raise RegistryError(
                f"{cls.__module__}.{cls.__qualname__} has no default for 'type'. "
                "Write `type: Literal['my-package/name'] = 'my-package/name'`."
            )
        return default

    def secrets(self) -> tuple[str, ...]:
        """Return keys, tokens and other values that the run redacts everywhere."""
        return ()


# The draft is Any here: its class is known in `config`, which is built upon this module.
class ConfigReader(Protocol):
    """Converts config files of another system, or blocks that stand for others.

    It has the methods that it needs, which are called for configs that it recognises: before or after the
    command line has changed them.

    - ``convert(draft, environ)`` converts keys of the file, before the overrides of the command line.
    - ``convert_blocks(draft, registry)`` converts blocks after them, and notes keys without effect.
    - ``complete(config)`` returns what it makes of a config that is valid, or raises ``ConfigError``.

    A ``Draft`` is the tree of keys with the file's lines. Keys are in snake_case, no matter what it says;
    ``Draft.format_keys`` has them as written.
    """

    name: str

    def recognises(self, tree: Mapping[str, Any]) -> bool:
        """Whether a config has something that it converts."""


ComponentT = TypeVar("ComponentT", bound=type[Component])


def _check_annotations(member: type[Component], owner: str) -> None:
    """Refuse a class whose annotations cannot be resolved."""
    # Otherwise the first config that names it would end in an internal error of pydantic.
    try:
        member.model_rebuild()
    except PydanticUndefinedAnnotation as error:
        raise RegistryError(
            f"{owner} registers {member.__qualname__}, whose annotations name {error.name!r}, which is not "
            f"known while the program runs. Import it at the top of {member.__module__}, outside of "
            "TYPE_CHECKING; a module that is loaded by its path has to be in sys.modules."
        ) from None


class Registry:
    """The members of all families, each with its owner.

    Args:
        owner: the owner of members that are registered without one.
        find_left_out: returns the feature that was left out and would bring a member of a family and a name;
            "" if none would. The kinds of checks are asked for as the family ``check``.
        explain: returns what else a name is that is not a member of a family; "" if nothing.
    """

    def __init__(
        self,
        owner: str = OURS,
        *,
        find_left_out: Callable[[str, str], str] = lambda _family, _name: "",
        explain: Callable[[str, str], str] = lambda _family, _name: "",
    ) -> None:
        self._owner = owner
        self.find_left_out = find_left_out
        self._explain = explain
        self._members: dict[tuple[str, str], type[Component] | str] = {}
        """A text is the place of a member that nobody has asked for yet."""
        self._owners: dict[tuple[str, str], str] = {}
        self._aliases: dict[tuple[str, str], str] = {}
        self._readers: dict[str, tuple[ConfigReader, str]] = {}
        """Readers with their owners, by name."""

    def register(
        self, member: ComponentT, *, owner: str | None = None, aliases: tuple[str, ...] = ()
    ) -> ComponentT:
        """Add a member to its family and return it; may be used as a decorator.

        Args:
            member: a class derived from ``AgentConfig``, ``GraderConfig`` or another family's base.
            owner: the distribution or conftest of the member, which messages name.
            aliases: other names of the member.

        Raises:
            RegistryError: it belongs to no open family, or a name is taken.
        """
        owner = self._owner if owner is None else owner
        if not (isinstance(member, type) and issubclass(member, Component)):
            raise RegistryError(
                f"{owner} registers {member!r}, which is not a class derived from a family's config "
                "base. Derive it from AgentConfig, GraderConfig, ToolkitConfig, DatasetConfig, "
                "BrowserConfig, GateRule or ExportConfig of pytest_browsereval."
            )
        _check_annotations(member, owner)
        self._claim((member.family, member.type_name()), member, owner, aliases)
        return member

    def announce(self, family: str, name: str, place: str, *, aliases: tuple[str, ...] = ()) -> None:
        """Add a member that is imported when someone asks for it.

        Args:
            family: the family of the member.
            name: its literal ``type``.
            place: ``module:Class``.
            aliases: other names of the member.

        Raises:
            RegistryError: the family is unknown, or a name is taken.
        """
        # A run uses few of some fifty built-in members, and importing all of them takes 0.3 s.
        self._claim((family, name), place, self._owner, aliases)

    def add_reader(self, reader: ConfigReader, *, owner: str | None = None) -> None:
        """Add a reader of config files of another system.

        Raises:
            RegistryError: its name is taken.
        """
        owner = self._owner if owner is None else owner
        if reader.name in self._readers:
            other = self._readers[reader.name][1]
            raise RegistryError(
                f"Two readers of configs are named {reader.name!r}: of {other} and of {owner}. Rename one."
            )
        self._readers[reader.name] = (reader, owner)

    @property
    def readers(self) -> tuple[ConfigReader, ...]:
        """The readers of config files of other systems, in the order of registration."""
        return tuple(reader for reader, _ in self._readers.values())

    def adopt(self, other: Registry) -> None:
        """Add all members and readers of another registry with their owners, without importing them.

        Raises:
            RegistryError: a name is taken.
        """
        for family, name in other._members:
            aliases = other._foreign_names(family, name)
            self._claim((family, name), other._members[family, name], other._owners[family, name], aliases)
        for reader, owner in other._readers.values():
            self.add_reader(reader, owner=owner)

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield (family, name) of every name and alias, without importing members."""
        yield from self._owners

    def _foreign_names(self, family: str, name: str) -> tuple[str, ...]:
        return tuple(a for (f, a), n in self._aliases.items() if f == family and n == name and a != name)

    def _claim(
        self, key: tuple[str, str], member: type[Component] | str, owner: str, aliases: tuple[str, ...]
    ) -> None:
        family, name = key
        if family not in FAMILIES:
            where = f"{owner} registers {_place_of(member)} in the family {family!r}"
            raise RegistryError(f"{where}. Families: {', '.join(FAMILIES)}.")
        # Neither of two members wins: which plug-in is loaded last is an accident of the machine.
        for label in (name, *aliases):
            if (family, label) in self._owners:
                raise RegistryError(
                    f"Two members of the family {family!r} are named {label!r}: "
                    f"{self._describe((family, label))} and {_place_of(member)} (from {owner}). "
                    "Rename one, or leave a package out with -p no:PLUGIN_NAME."
                )
        self._members[key] = member
        for label in (name, *aliases):
            self._owners[family, label] = owner
            self._aliases[family, label] = name

    def _describe(self, key: tuple[str, str]) -> str:
        return f"{_place_of(self._members[key[0], self._aliases[key]])} (from {self._owners[key]})"

    def _member(self, key: tuple[str, str]) -> type[Component]:
        member = self._members[key]
        if isinstance(member, str):
            member = self._members[key] = _import_member(key, member)
        return member

    def get(self, family: str, name: str) -> type[Component]:
        """Return the member of that name or alias.

        Raises:
            RegistryError: there is no such member; the message has the nearest name and all members.
        """
        label = self._aliases.get((family, name))
        if label is None:
            raise RegistryError(self.unknown(family, name))
        return self._member((family, label))

    def unknown(self, family: str, name: str) -> str:
        """Return the message for an unknown name."""
        if feature := self.find_left_out(family, name):
            return (
                f"unknown {family} {name!r}: the feature that brings it is left out (-p no:{feature}). Leave "
                "that option out."
            )
        if why := self._explain(family, name):
            return f"unknown {family} {name!r}: {why}"
        known = [label for fam, label in self._owners if fam == family]
        return f"unknown {family} {name!r}.{nearest(name, known)} Known: {self.list_names(family)}."

    def list_names(self, family: str) -> str:
        """Return the names and aliases of a family for a message, those of packages with their owner."""
        known = ((label, owner) for (fam, label), owner in self._owners.items() if fam == family)
        names = [label if owner == OURS else f"{label} (from {owner})" for label, owner in known]
        return ", ".join(names) or "none"

    def everything(self) -> Iterator[tuple[str, str, type[Component], tuple[str, ...]]]:
        """Yield (family, name, member, aliases) in the order of registration."""
        for family, name in self._members:
            yield family, name, self._member((family, name)), self._foreign_names(family, name)

    def owner(self, family: str, name: str) -> str:
        """Return the owner of the member of that name or alias; this package if it is not registered."""
        return self._owners.get((family, name), OURS)

    def owners(self) -> tuple[str, ...]:
        """Return the owners of members, without this package."""
        return tuple(dict.fromkeys(owner for owner in self._owners.values() if owner != OURS))

    def members(self, family: str) -> Iterator[tuple[str, type[Component], str]]:
        """Yield (name, member, owner) in the order of registration."""
        for fam, name in self._members:
            if fam == family:
                yield name, self._member((fam, name)), self._owners[fam, name]


def _place_of(member: type[Component] | str) -> str:
    return (
        member.replace(":", ".") if isinstance(member, str) else f"{member.__module__}.{member.__qualname__}"
    )


def _import_member(key: tuple[str, str], place: str) -> type[Component]:
    """Return a member that was announced.

    Raises:
        RegistryError: the class there is not the announced one.
    """
    module, _, name = place.partition(":")
    member = getattr(import_module(module), name, None)
    found = "is not a config class"
    if isinstance(member, type) and issubclass(member, Component):
        if (member.family, member.type_name()) == key:
            _check_annotations(member, place)
            return member
        found = f"is the {member.family} {member.type_name()!r}"
    raise RegistryError(f"{place} was announced as the {key[0]} {key[1]!r}, but {found}.")


def read_block(member: type[Component], options: Mapping[str, Any], context: Any) -> Component:
    """Return a member with its options, validated.

    Raises:
        ValidationError: the options are wrong.
        PluginError: code of the member raises another error.
    """
    try:
        return member.model_validate(options, context=context)
    except (ValueError, BrowserEvalError):  # pydantic's ValidationError is a ValueError
        raise
    except Exception as error:
        raise PluginError(
            f"the {member.family} {member.type_name()!r} ({_place_of(member)}) cannot be built from its "
            f"block: {describe_error(error)}. Fix the plug-in."
        ) from error


class MemberOf:
    """Marks a field for a member of a family: ``agent: Annotated[AgentConfig, MemberOf("agent")]``.

    The ``type`` of the block selects the member; a text is short for ``{"type": text}``.

    Args:
        family: the family of the member.
        default: the type of a block without one; None if a block has to have one.
    """

    def __init__(self, family: str, *, default: str | None = None) -> None:
        self.family = family
        self.default = default

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that looks the member up in the validation context."""
        # The registry comes with the validation: at the time of this schema plug-ins are not loaded yet.
        return core_schema.with_info_plain_validator_function(
            self._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: value.model_dump(mode="json"), when_used="json"
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return a placeholder, which the ``schema`` command replaces by the installed members."""
        default = {} if self.default is None else {TYPE_BY_DEFAULT: self.default}
        return {PLACE_OF_FAMILY: self.family, **default}

    def _validate(self, value: Any, info: core_schema.ValidationInfo) -> Component:
        if isinstance(value, Component):  # a copy of a config is made from its members
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
            raise RuntimeError("a `MemberOf` field needs a registry in the validation context")
        name = block.get("type", self.default)
        if not isinstance(name, str):
            if self.family in block:
                why = "the block has no type, but a key `{family}`. Write its content one level higher."
                raise PydanticCustomError("plugged_type", why, {"family": self.family})
            raise PydanticCustomError(
                "plugged_type",
                "the block has no type. Write `type: NAME` with one of: {known}.",
                {"known": registry.list_names(self.family)},
            )
        try:
            member = registry.get(self.family, name)
        except RegistryError as error:
            raise PydanticCustomError("plugged_unknown", "{why}", {"why": str(error)}) from None
        options = {**block, "type": member.type_name()}
        return read_block(member, options, info.context)
