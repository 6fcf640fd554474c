"""The built-in toolkits, those of a run, and the switches that choose among their tools."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from pytest_browsereval.browsers.base import BrowserConfig, Survey
from pytest_browsereval.contracts import check_result
from pytest_browsereval.errors import PluginError, nearest
from pytest_browsereval.feature import list_features
from pytest_browsereval.needs import Asker, Needs, Offers, check_fit
from pytest_browsereval.registry import Registry
from pytest_browsereval.tools import finish, input, navigation, observation  # noqa: A004
from pytest_browsereval.tools.base import ENDINGS, Tool
from pytest_browsereval.tools.foreign import foreign_tools
from pytest_browsereval.tools.switches import OTHERS, is_on
from pytest_browsereval.tools.toolkit import Toolkit, ToolkitConfig


class WrongSwitch(ValueError):
    """A switch that cannot be set; ``name`` is its name."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


NO_PICTURES = "the model is shown no pictures"

BROWSER = "the browser"
"""The owner of tools that a browser brings."""

CATALOG: Mapping[str, Toolkit] = {
    kit.key: kit
    for kit in (
        *(navigation.KIT, observation.KIT, input.KIT),
        *(feature.load(kit) for feature in list_features().values() for kit in feature.kits),
        finish.KIT,
    )
}
"""The built-in toolkits and those of features, in the order in which a model sees them."""


PAGELESS = frozenset(
    tool.name for kit in CATALOG.values() for tool in kit.tools if not (kit.needs_page and tool.needs_page)
)
"""The built-in tools that work in any window."""

_KIT = Asker("its tools", "act on the page", "Leave the toolkit out")


def kits_for(survey: Survey, browser: BrowserConfig) -> tuple[Toolkit, ...]:
    """Return the built-in toolkits of a run: a browser's own tools stand in for ours.

    Where windows have no page, tools that need one are vetoed.

    Args:
        survey: what is known of the browser.
        browser: its block.
    """
    if survey.tools is None:
        kits = tuple(CATALOG.values())
        if browser.has_page:
            return kits
        why = f"the windows of `browser: {{type: {browser.type}}}` have no Playwright page"
        vetoes = ({name: why for name in kit.names if name not in PAGELESS} for kit in kits)
        return tuple(
            replace(kit, vetoes={**kit.vetoes, **more}) for kit, more in zip(kits, vetoes, strict=True)
        )
    own = Toolkit("browser", "Tools of the browser", foreign_tools(survey.tools), owner=BROWSER)
    return own, CATALOG["finish"]


def vetoes(
    kits: Iterable[Toolkit], available: Collection[str], *, sees_pictures: bool = True
) -> dict[str, str]:
    """Return the tools that are on but cannot be of use here, each with the reason.

    Args:
        kits: the toolkits of the run.
        available: the tools that are switched on.
        sees_pictures: False for an agent whose model is shown no pictures of the page.
    """
    found: dict[str, str] = {}
    for kit in kits:
        blind = {} if sees_pictures else dict.fromkeys(kit.needs_pictures, NO_PICTURES)
        found |= {name: why for name, why in {**blind, **kit.vetoes}.items() if name in available}
    return found


def veto_note(found: Mapping[str, str], kits: Iterable[Toolkit], available: Collection[str]) -> str:
    """Return one sentence about vetoed tools, whole toolkits by their key; empty if there are none.

    Args:
        found: what :func:`vetoes` has returned.
        kits: the toolkits of the run.
        available: the tools that are switched on.
    """
    by_reason: dict[str, list[str]] = {}
    for kit in kits:
        on = [name for name in kit.names if name in available]
        reasons = {found.get(name) for name in on}
        is_whole = len(on) > 1 and len(reasons) == 1
        for name in on[:1] if is_whole else on:
            if (why := found.get(name)) is not None:
                by_reason.setdefault(why, []).append(kit.key if is_whole else name)
    message = "; ".join(f"{', '.join(dict.fromkeys(names))} ({why})" for why, names in by_reason.items())
    return f"not offered: {message}" if message else ""


def build_plugged_kits(
    blocks: Iterable[ToolkitConfig], registry: Registry, browser: BrowserConfig
) -> tuple[Toolkit, ...]:
    """Build the toolkits that a config adds, each with its owner.

    Args:
        blocks: the config's ``toolkits``.
        registry: tells who brings them.
        browser: what they have to work in.

    Raises:
        ValueError: one cannot be built, or cannot work in the browser.
        PluginError: ``build`` returns something else.
    """
    kits = []
    for block in blocks:
        owner = registry.owner("toolkit", block.type)
        try:
            kit = replace(check_result(block, "build", block.build(), Toolkit, "a Toolkit"), owner=owner)
            check_fit(_KIT, Needs(page=kit.needs_page), Offers(page=browser.has_page, browser=browser.type))
        # It names the plug-in already.
        except PluginError:
            raise
        except Exception as error:
            what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise ValueError(f"the toolkit {block.type!r} (from {owner}) cannot be used: {what}") from error
        kits.append(kit)
    return tuple(kits)


def resolve_tools(
    switches: Mapping[str, bool],
    more: Iterable[Toolkit] = (),
    *,
    builtin: Iterable[Toolkit] = tuple(CATALOG.values()),
) -> tuple[Tool, ...]:
    """Return the tools that the switches leave on; ``is_on`` has the table.

    Args:
        switches: booleans by the names of toolkits and tools.
        more: toolkits in addition to the built-in ones.
        builtin: the built-in toolkits that can work; fewer where the browser brings tools of its own.

    Raises:
        ValueError: a switch has an unknown name, turns the finishing tool off, or two tools have one name.
    """
    kits = (*builtin, *more)
    check_names(kits)
    _check_switches(switches, kits)
    tools = {tool.name: tool for kit in kits for tool in kit.tools}
    return tuple(tool for name, tool in tools.items() if is_on(name, kits, switches))


def check_names(kits: Iterable[Toolkit]) -> None:
    """Check that each name stands for one thing. A toolkit may hold a tool of another one as it is.

    Raises:
        ValueError: two have one name; the message names both owners and says what to write.
    """
    owners: dict[str, tuple[Toolkit, Tool | None]] = {}
    for kit in kits:
        if not kit.is_fixed and (taken := set(kit.names) & set(ENDINGS)):
            raise ValueError(
                f"the toolkit {kit.key!r} (from {kit.owner}) has a tool named {min(taken)!r}, which is the "
                "name of a tool that ends an attempt. Rename it."
            )
        for name, tool in ((kit.key, None), *((tool.name, tool) for tool in kit.tools)):
            if name in owners:
                other, same = owners[name]
                # The same object may stand in two toolkits; two tools of one name would hide each other.
                is_shared = tool is not None and tool is same and other is not kit and not other.is_fixed
                if not is_shared:
                    raise ValueError(_clash(name, other, kit))
            owners.setdefault(name, (kit, tool))


def _clash(name: str, one: Toolkit, other: Toolkit) -> str:
    return (
        f"Two tools or toolkits are named {name!r}: one of the toolkit {one.key!r} (from {one.owner}), one "
        f"of {other.key!r} (from {other.owner}). Names are unique, those of tools that are off too. Rename "
        "one, or take a toolkit out of `toolkits`."
    )


def _check_switches(switches: Mapping[str, bool], kits: tuple[Toolkit, ...]) -> None:
    known = [name for kit in kits for name in (kit.key, *kit.names)]
    for name, value in switches.items():
        if name not in (*known, OTHERS):
            listed = "; ".join(f"{kit.key}: {', '.join(kit.names)}" for kit in kits)
            message = f"unknown tool or toolkit {name!r}.{nearest(name, known)} Known: {listed}."
            raise WrongSwitch(name, message)
        fixed = any(kit.is_fixed and name in (kit.key, *kit.names) for kit in kits)
        if fixed and value is False:
            message = f"{name!r} is false, but the finishing tool is always on. Leave {name!r} out."
            raise WrongSwitch(name, message)
