"""Names in braces in attacks: of sites, ``{attacker}``, ``{goal}``; ``{{word}}`` is the text ``{word}``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from pytest_browsereval.errors import nearest
from pytest_browsereval.features.shared.attack import DOUBLED, AttackConfig
from pytest_browsereval.sites import names_in

SCRIPTS = ("js", "expression", "script")
"""Keys whose values are programs: a name in braces is a variable there."""

GOAL = "goal"
"""What stands for a goal's ``say`` in a payload."""

Path = tuple[str | int, ...]


def find_unknown(attack: AttackConfig, known: Collection[str]) -> Iterator[tuple[Path, str]]:
    """Yield what stands in braces in an attack and stands for nothing: where, and what to write.

    Args:
        attack: its payload, its goal and options.
        known: names that stand for something.
    """
    goal = attack.goal
    parts: list[tuple[Path, Any]] = [(("payload",), attack.payload), (("goal", "say"), goal.say)]
    parts += [(("goal", "checks", place), check) for place, check in enumerate(goal.checks)]
    parts += [(("goal", "solution", place), step) for place, step in enumerate(goal.solution)]
    if goal.source is not None:
        parts.append((("goal", "source"), goal.source.model_dump(exclude_none=True)))
    for path, value in parts:
        # A goal cannot say what the payload makes of it.
        here = known if path == ("payload",) else [name for name in known if name != GOAL]
        for name in _list_names(value, DOUBLED.findall):
            if name in here:
                why = f"{{{{{name}}}}} cannot be the text {{{name}}}: what {{{name}}} stands for is always "
                yield path, f"{why}filled in. Write it in another way."
        for name in _list_names(value, _find_single):
            if name not in here:
                why = f"{{{name}}} stands for nothing here.{nearest(name, here)} Placeholders: "
                names = ", ".join(f"{{{one}}}" for one in here)
                yield path, f"{why}{names}. For the text itself write {{{{{name}}}}}."
    # What else has texts, plug-ins say: only what is nearly one of the names is refused there.
    rest = attack.model_dump_json(exclude={"payload", "goal"})
    for name in sorted(names_in(rest) - set(known)):
        if hint := nearest(name, known):
            yield (), f"{{{name}}} stands for nothing.{hint} Placeholders: {', '.join(known)}."


def _find_single(text: str) -> set[str]:
    return names_in(DOUBLED.sub("", text))


def _list_names(value: Any, find: Callable[[str], Iterable[str]]) -> list[str]:
    return sorted({name.strip("{}") for text in _list_texts(value) for name in find(text)})


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in SCRIPTS:
                yield from _list_texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _list_texts(inner)
