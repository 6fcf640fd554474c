"""The tools of an attempt: switches of the run and its variant, and sites that its row uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.errors import nearest
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.sites import names_in
from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.switches import OTHERS
from pytest_browsereval.tools.toolkit import Toolkit
from pytest_browsereval.tools.toolkits import WrongSwitch, resolve_tools, veto_note, vetoes


@dataclass(frozen=True)
class Toolsets:
    """The tools of a run."""

    kits: tuple[Toolkit, ...] = ()
    """Its toolkits."""
    by_variant: Mapping[str, tuple[Tool, ...]] = field(default_factory=dict)
    """The tools that a variant's rows may have."""
    vetoes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By variant: tools that are switched on and cannot be of use, each with the reason."""
    sites_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By the key of a toolkit: the sites that it is bound to; others are offered to every row."""

    @classmethod
    def of(cls, config: EvalConfig, builtin: Iterable[Toolkit], plugged: Iterable[Toolkit]) -> Toolsets:
        """Return the tools of a config.

        Args:
            config: its switches, variants and sites.
            builtin: the built-in toolkits that work in its browser.
            plugged: those of its ``toolkits``.

        Raises:
            ConfigError: a switch or a site names what there is not, two tools have one name, or a tool is
                switched on that needs a page where windows have none.
        """
        builtin, plugged = tuple(builtin), tuple(plugged)
        kits = (*builtin, *plugged)
        _resolve(config, config.tools, builtin, plugged, ())
        on = {
            name: _resolve(config, switches_of(config, name), builtin, plugged, (name,))
            for name in config.variants
        }
        found = {name: vetoes(kits, {tool.name for tool in tools}) for name, tools in on.items()}
        names = {kit.key: kit.names for kit in kits}
        for variant in on if not config.browser.has_page else ():
            own = config.variants[variant].tools or {}
            for name, is_on in {**config.tools, **own}.items():
                lacking = [tool for tool in names.get(name, (name,)) if tool in found[variant]]
                if is_on and lacking:
                    place = ("variants", variant, "tools") if name in own else ("tools",)
                    raise config.wrong(
                        (*place, name),
                        f"{name} is on, and {', '.join(lacking)} cannot work: {found[variant][lacking[0]]}. "
                        f"Leave {name} out, or use a browser of type playwright or cdp.",
                    )
        kept = {name: tuple(t for t in tools if t.name not in found[name]) for name, tools in on.items()}
        return cls(kits, kept, found, _sites_of(config, kits))

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that any attempt may have, in the order of the toolkits."""
        names = {tool.name for tools in self.by_variant.values() for tool in tools}
        return tuple({t.name: t for kit in self.kits for t in kit.tools if t.name in names}.values())

    def not_offered(self, variant: str) -> str:
        """Return one sentence about tools that are on and cannot be of use; empty if there are none."""
        vetoed = self.vetoes[variant]
        return veto_note(vetoed, self.kits, {*vetoed, *(tool.name for tool in self.by_variant[variant])})

    def with_absent_tools(self, variant: str, message: object) -> str:
        """Return a message about tools with those that are on and cannot work."""
        absent = self.not_offered(variant)
        return f"{message} ({absent})" if absent else str(message)

    def kits_for(self, sites: Collection[str]) -> tuple[Toolkit, ...]:
        """Return the toolkits of a row that uses these sites."""
        return tuple(
            kit for kit in self.kits if (own := self.sites_of.get(kit.key)) is None or own & {*sites}
        )

    def tools_for(self, variant: str, sites: Collection[str]) -> tuple[Tool, ...]:
        """Return the tools that a variant has in a row that uses these sites."""
        names = {name for kit in self.kits_for(sites) for name in kit.names}
        return tuple(tool for tool in self.by_variant[variant] if tool.name in names)

    def sites_used(self, task: Task, sites: Collection[str]) -> set[str]:
        """Return the sites that a row lists or names by a placeholder; none where they make no difference.

        Args:
            task: the row, before its placeholders are filled in.
            sites: the names of the config's sites.
        """
        return ({*task.sites} | names_in(task.model_dump_json())) & {*sites} if self.sites_of else set()


def switches_of(config: EvalConfig, variant: str) -> dict[str, bool]:
    """Return the switches of a variant: its own before those of the run, or alone after ``only``."""
    own = config.variants[variant].tools or {}
    return dict(own) if OTHERS in own else {**config.tools, **own}


def _resolve(
    config: EvalConfig,
    switches: Mapping[str, bool],
    builtin: tuple[Toolkit, ...],
    plugged: tuple[Toolkit, ...],
    variant: tuple[str, ...],
) -> tuple[Tool, ...]:
    place = ("variants", *variant, "tools") if variant else ("tools",)
    try:
        return resolve_tools(switches, plugged, builtin=builtin)
    except ValueError as error:
        switch = (error.name,) if isinstance(error, WrongSwitch) else ()
        raise config.wrong((*place, *switch), error) from None


def _sites_of(config: EvalConfig, kits: tuple[Toolkit, ...]) -> dict[str, frozenset[str]]:
    known = [kit.key for kit in kits if not kit.is_fixed]
    bound: dict[str, frozenset[str]] = {}
    for site, block in config.sites.items():
        for number, key in enumerate(block.toolkits or ()):
            if key not in known:
                message = (
                    f"unknown toolkit {key!r}.{nearest(key, known)} Known: {', '.join(known)}. One of a "
                    f"plug-in has to be in `toolkits` too: `toolkits: [{{type: {key}}}]`"
                )
                raise config.wrong(("sites", site, "toolkits", number), message)
            bound[key] = bound.get(key, frozenset()) | {site}
    return bound
