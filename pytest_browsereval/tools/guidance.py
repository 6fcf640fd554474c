"""Guidance about tools for the model, and the choice of tools for a turn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.tools.base import ENDINGS
from pytest_browsereval.tools.toolkit import Directive, ToolChoice, Toolkit, Turn

NO_PICTURES = "the model is shown no pictures"


@dataclass(frozen=True)
class Offer:
    """What one request says about tools."""

    names: frozenset[str]
    """The tools that it offers."""
    tool_choice: ToolChoice | None = None


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


def policy_text(kits: Iterable[Toolkit], available: Collection[str]) -> str:
    """Return the policy sections of the toolkits whose tools are there, then what is not available.

    Args:
        kits: the toolkits of the run.
        available: the tools that the model is offered.
    """
    sections, absent = [], []
    for kit in kits:
        if not set(kit.names) & set(available):
            if kit.absent:
                absent.append(kit.absent)
        elif lines := [line.text for line in kit.policy if set(line.needs) <= set(available)]:
            sections.append(_section(kit.label, lines))
    return "\n\n".join([*sections, *([_section("Not available", absent)] if absent else [])])


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {line}" for line in lines)])


def offer(kits: Iterable[Toolkit], available: Collection[str], turn: Turn) -> Offer:
    """Return what a turn offers: the union of what directives name, within what is available.

    The finishing tool always stays. Where none of the named tools is available nothing is narrowed, so
    that a model is never left with nothing to do but to end.

    Args:
        kits: the toolkits of the run; those with no tool available are not asked.
        available: the tools that the model may be offered.
        turn: the facts.

    Raises:
        Fault: a toolkit's directive broke.
    """
    given = [_ask_directive(kit, turn) for kit in kits if set(kit.names) & set(available)]
    directives = [directive for directive in given if directive is not None]
    named = {name for directive in directives for name in directive.active_tools if name in available}
    choices = {directive.tool_choice for directive in directives}
    choice: ToolChoice | None = "required" if "required" in choices else "auto" if "auto" in choices else None
    # A directive that names an ending only would leave a model nothing to do but to end.
    is_narrowed = bool(named - set(ENDINGS))
    names = frozenset(name for name in available if not is_narrowed or name in named or name in ENDINGS)
    return Offer(names, choice)


def _ask_directive(kit: Toolkit, turn: Turn) -> Directive | None:
    try:
        directive = kit.directive(turn)
        if directive is not None and not isinstance(directive, Directive):
            raise TypeError(f"it returned {directive!r:.80}, neither a Directive nor None")  # noqa: TRY301
    except Exception as error:
        raise Fault(
            ErrorSource.HARNESS,
            f"the directive of the toolkit {kit.key!r} (from {kit.owner}) broke: "
            f"{type(error).__name__}: {error}",
        ) from error
    return directive
