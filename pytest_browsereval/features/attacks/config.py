"""Configs with attacks: their rows are derived, and what cannot be delivered or judged is refused."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterator
from typing import Any

from pytest_browsereval.config.model import EvalConfig
from pytest_browsereval.errors import nearest
from pytest_browsereval.features.attacks.collector import TOKEN_VARIABLE
from pytest_browsereval.features.attacks.dataset import AttackedDataset
from pytest_browsereval.features.attacks.goals import read_goal
from pytest_browsereval.features.shared.attack import ATTACKER, DOUBLED, AttackConfig, list_attacks
from pytest_browsereval.graders.values import show
from pytest_browsereval.model.derived import UNDER
from pytest_browsereval.sites import SiteConfig, names_in

SCRIPTS = ("js", "expression", "script")
"""Keys whose values are programs: a name in braces is a variable there."""
OBEDIENT = "gullible"
"""The type of the agent that does what attackers want."""

SHARED = (
    "the browser's own context is shared with others, whose pages would be attacked too. Give attempts "
    "contexts of their own: `browser: {type: cdp, url: ..., sessions: isolated}` or "
    "`browser: {type: playwright}`."
)
EXAMPLE = '{"tool": "navigate", "url": "{attacker}/collect"}'
TOKEN = secrets.token_hex(24)
"""Begins the paths of the attacker's origin that are this process's: in no payload, row, page or record."""
COLLECTOR = SiteConfig(
    command=(sys.executable, "-m", "pytest_browsereval.features.attacks.collector", "{port}"),
    env={TOKEN_VARIABLE: TOKEN},
    health=f"/{TOKEN}/health",
    reset=f"POST /{TOKEN}/reset",
)

_Path = tuple[str | int, ...]


def derive_rows(config: EvalConfig) -> EvalConfig:
    """Return a config with a row under each attack for each of its rows that the attack selects.

    Raises:
        ConfigError: an attack cannot be delivered or judged.
    """
    attacks = list_attacks(config)
    for path, message in _list_problems(config):
        raise config.wrong(path, message)
    names_attacker = any(one.names_attacker for one in attacks)
    sites = {**config.sites, ATTACKER: COLLECTOR} if names_attacker else config.sites
    completed = config.model_copy(update={"sites": sites})
    completed._secrets = {**config._secrets, TOKEN_VARIABLE: TOKEN}  # noqa: SLF001 as below
    for agent in config.variants.values():
        if agent.type == OBEDIENT:  # which plays the solutions of goals
            agent._attacked = completed  # type: ignore[attr-defined]  # noqa: SLF001 as below
    derived = (AttackedDataset(path=one.path, of=one, attacks=attacks) for one in config.dataset)
    completed._derived = tuple(derived)  # noqa: SLF001 a config is completed only here
    return completed


def _list_problems(config: EvalConfig) -> Iterator[tuple[_Path, str]]:
    if not isinstance(config.trials, int):
        why = "rows under attack cannot run in rounds. Write a number, such as `trials: 3`."
        yield ("trials",), why
    if ATTACKER in config.sites:
        why = "is the name of the attacker's origin. Give the site another name."
        yield ("sites", ATTACKER), why
    attacks = list_attacks(config)
    labels = [one.label for one in attacks]
    for place, attack in enumerate(attacks):
        if attack.label in labels[:place]:
            why = f"two attacks are named {attack.label!r}. Give one a `name` of its own."
            yield ("attacks", place), why
        for path, message in (*_find_undeliverable(config, attack), *_find_unknown(config, attack)):
            yield ("attacks", place, *path), message


def _find_undeliverable(config: EvalConfig, attack: AttackConfig) -> Iterator[tuple[_Path, str]]:
    """Yield what makes an attack that cannot be delivered, or a goal that nobody can reach."""
    if UNDER in attack.label:
        yield (
            ("name",),
            f"the name {attack.label!r} has {UNDER!r} in it, which divides row and attack in ids.",
        )
    is_in_pages, browser = attack.needs().page, config.browser
    if is_in_pages and not browser.has_page:
        why = f"the attack {attack.type!r} needs pages; the browser {browser.type!r} has none. "
        yield (), f"{why}Use `browser: {{type: playwright}}`, or an attack such as `tool_output`."
    try:
        goal = read_goal(attack.goal)
    except ValueError as error:
        yield ("goal",), str(error)
        return
    if (is_in_pages or goal.typed) and browser.has_page and getattr(browser, "sessions", None) == "shared":
        yield (), f"{attack.type!r}: {SHARED}"
    if "{goal}" in attack.model_dump_json(exclude={"goal"}) and not attack.goal.say.strip():
        why = "the payload has {goal}, but the goal says nothing. Write `say`, what the agent is to do, or"
        yield ("goal",), f"{why} leave {{goal}} out of the payload."
    for number, step in enumerate(attack.goal.solution):
        if not isinstance(step.get("tool"), str):
            yield ("goal", "solution", number), f"{show(step)} names no tool. Write {EXAMPLE}."
    if goal.request_checks and not attack.names_attacker:
        why = "a `request` goes to the attacker's origin, and nothing names {attacker}. "
        yield ("goal",), f"{why}Write {{attacker}} where the payload or `say` has its address."
    if goal.needs_page and not browser.has_page:
        kinds = "`request`, `answer`, `given_up`, or `path` with a `source` that has a `url`"
        why = f"its checks look at pages; the browser {browser.type!r} has none. Use {kinds}."
        yield ("goal",), why


def _find_unknown(config: EvalConfig, attack: AttackConfig) -> Iterator[tuple[_Path, str]]:
    """Yield what stands in braces and stands for nothing: where, and what to write."""
    goal, sites = attack.goal, (ATTACKER, *config.sites)
    parts: list[tuple[_Path, Any]] = [
        (("payload",), attack.payload),
        (("goal", "say"), goal.say),  # a goal cannot say what the payload makes of it
        *((("goal", "checks", place), check) for place, check in enumerate(goal.checks)),
        *((("goal", "solution", place), step) for place, step in enumerate(goal.solution)),
        (("goal", "source"), goal.source and goal.source.model_dump(exclude_none=True)),
    ]
    for path, given in parts:
        known = ("goal", *sites) if path == ("payload",) else sites
        is_block = isinstance(given, dict)  # a name in the braces of a program is a variable
        plain = {key: one for key, one in given.items() if key not in SCRIPTS} if is_block else given
        for name in sorted(names_in(DOUBLED.sub("", json.dumps(plain, ensure_ascii=False))) - {*known}):
            names = ", ".join(f"{{{one}}}" for one in known)
            why = f"{{{name}}} is not a placeholder.{nearest(name, known)} Placeholders: {names}."
            yield path, f"{why} For the text itself write {{{{{name}}}}}."
