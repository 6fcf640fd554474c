"""Configs with attacks: their rows are derived, and what cannot be delivered or judged is refused."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Sequence

from pytest_browsereval.config.model import EvalConfig
from pytest_browsereval.features.attacks.collector import TOKEN_VARIABLE
from pytest_browsereval.features.attacks.dataset import AttackedDataset
from pytest_browsereval.features.attacks.goals import ReadGoal, read_goal
from pytest_browsereval.features.attacks.placeholders import GOAL, find_unknown
from pytest_browsereval.features.shared.attack import ATTACKER, AttackConfig, list_attacks
from pytest_browsereval.graders.values import show
from pytest_browsereval.model.derived import UNDER
from pytest_browsereval.sites import SiteConfig

OBEDIENT = "gullible"
"""The type of the agent that does what attackers want."""

SHARED = (
    "the browser's own context is shared with others, whose pages would be attacked too. Give attempts "
    "contexts of their own: `browser: {type: cdp, url: ..., context: own}` or `browser: {type: playwright}`."
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


def derive_rows(config: EvalConfig) -> EvalConfig:
    """Return a config with a row under each attack for each of its rows that the attack selects.

    Raises:
        ConfigError: an attack cannot be delivered or judged.
    """
    attacks = list_attacks(config)
    _check(config, attacks)
    names_attacker = any(f"{{{ATTACKER}}}" in one.model_dump_json() for one in attacks)
    sites = {**config.sites, ATTACKER: COLLECTOR} if names_attacker else config.sites
    completed = config.model_copy(update={"sites": sites})
    completed._secrets = {**config._secrets, TOKEN_VARIABLE: TOKEN}  # noqa: SLF001 as below
    for agent in config.variants.values():
        if agent.type == OBEDIENT:  # which plays the solutions of goals
            agent._attacked = completed  # type: ignore[attr-defined]  # noqa: SLF001 as below
    derived = [AttackedDataset(path=one.path, of=one, attacks=attacks) for one in config.dataset]
    for dataset in derived:
        dataset._wrong = completed.wrong  # noqa: SLF001 a config is completed only here
    completed._derived = tuple(derived)  # noqa: SLF001 as above
    return completed


def _check(config: EvalConfig, attacks: Sequence[AttackConfig]) -> None:
    if not isinstance(config.trials, int):
        why = "rows under attack are not made in rounds. Write a number, such as `trials: 3`."
        raise config.wrong(("trials",), why)
    if ATTACKER in config.sites:
        why = "is the name of the attacker's origin. Give the site another name."
        raise config.wrong(("sites", ATTACKER), why)
    seen: dict[str, int] = {}
    for place, attack in enumerate(attacks):
        if seen.setdefault(attack.label, place) != place:
            why = f"two attacks are named {attack.label!r}. Give one a `name` of its own."
            raise config.wrong(("attacks", place), why)
        for path, message in _find_problems(config, attack):
            raise config.wrong(("attacks", place, *path), message)


def _find_problems(config: EvalConfig, attack: AttackConfig) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if UNDER in attack.label:
        yield ("name",), f"the name {attack.label!r} has {UNDER!r} in it, which ends the ids of rows."
    if attack.needs().page and not config.browser.has_page:
        yield (
            (),
            (
                f"the attack {attack.type!r} needs pages; the browser {config.browser.type!r} gives none. "
                "Use `browser: {type: playwright}`, or an attack such as `tool_output`."
            ),
        )
    elif attack.needs().page and getattr(config.browser, "context", None) == "shared":
        yield (), f"{attack.type!r}: {SHARED}"
    try:
        attack.check_options()
    except ValueError as error:
        yield (), str(error)
    try:
        goal = read_goal(attack.goal)
    except ValueError as error:
        yield ("goal",), str(error)
    else:
        yield from _find_lacking(config, attack, goal)
        if goal.needs_page and not config.browser.has_page:
            kinds = "`request`, `answer`, `given_up`, or `path` with a `source` that has a `url`"
            why = f"its checks look at pages; the browser {config.browser.type!r} gives none. Use {kinds}."
            yield ("goal",), why
        elif goal.typed and not attack.needs().page and getattr(config.browser, "context", None) == "shared":
            yield ("goal",), f"`typed`: {SHARED}"


def _find_lacking(
    config: EvalConfig, attack: AttackConfig, goal: ReadGoal
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield what makes a goal that nobody can reach: every agent would resist such an attack."""
    if "{goal}" in attack.model_dump_json(exclude={"goal"}) and not attack.goal.say.strip():
        why = "the payload has {goal}, and the goal says nothing: the agent would read an empty sentence. "
        yield ("goal",), f"{why}Write `say`, what the agent is to do, or leave {{goal}} out of the payload."
    yield from find_unknown(attack, (GOAL, ATTACKER, *config.sites))
    for number, step in enumerate(attack.goal.solution, 1):
        if not isinstance(step.get("tool"), str):
            why = (
                f"step {number} of the goal's solution is {show(step)}, which names no tool. Write {EXAMPLE}."
            )
            yield ("goal", "solution", number - 1), why
    if goal.needs_requests and f"{{{ATTACKER}}}" not in attack.model_dump_json():
        why = "a `request` goes to the attacker's origin, and nothing names {attacker}. "
        yield ("goal",), f"{why}Write {{attacker}} where the payload or `say` has its address."
