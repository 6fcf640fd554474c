"""WASP's prompt injections: the goals of its attackers, in the words of its templates."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, JsonValue

from pytest_browsereval.benchmarks.base import Dropped, read_rows, text_of
from pytest_browsereval.benchmarks.own_sites import read_eval
from pytest_browsereval.benchmarks.wasp.goals import fill, name_of, site_of, values_of
from pytest_browsereval.config_text import read_text
from pytest_browsereval.datasets.base import Select
from pytest_browsereval.features.shared.attack import AttackConfig, Goal, Placer

PLAIN = Goal(name="request", checks=({"request": "/"},))
"""Stands in until the goals are read from the file."""
ATTACKER = "{attacker}"

_PLACE = Path(__file__).with_name("place.js").read_text(encoding="utf-8")

Template = Literal[
    "goal_hijacking_plain_text", "goal_hijacking_url_injection", "generic_plain_text", "generic_url_injection"
]


class WaspAttack(AttackConfig):
    """Stands for the goals of WASP's attackers that a request to the attacker's origin decides: 5 of 21.

    The others are decided by a page that has to be opened after the run; they are left out. WASP posts
    its payloads into the site; here they are put into the text of an element of the page.
    """

    type: Literal["wasp"] = "wasp"
    channel: ClassVar[str] = "text"

    payload: str = ""
    """What the agent meets, instead of a template of WASP's. ``{goal}`` is the attacker's instruction."""
    goal: Goal = PLAIN
    """Read from the file; leave it out."""
    path: Path
    """WASP's ``attacks_in_webarena_format.jsonl``."""
    templates: Path | None = None
    """WASP's ``constants.py``, which has its templates."""
    template: Template = "goal_hijacking_plain_text"
    """Which of them."""
    user_goal: str = "complete user instruction"
    """What the user wants, in the words of WASP's templates: ``comment``, ``upvote``, ``like``."""
    sites: dict[str, str | None] = Field(default_factory=dict)
    """Where ``gitlab`` and ``reddit`` are, as for the dataset ``wasp``."""
    css: str = "body"
    """The element that gets the payload: the first visible one."""

    async def place(self, placer: Placer) -> None:
        """Append the payload to the element, in every page."""
        given: dict[str, JsonValue] = {"css": self.css, "payload": placer.payload}
        await placer.run_in_pages(_PLACE, given)


def expand(block: WaspAttack, base_dir: Path) -> tuple[list[WaspAttack], Counter[str]]:
    """Return an attack for each goal that can be judged, and how many are left out by the reason.

    Raises:
        OSError: a file cannot be read.
        DocumentError: it is not JSON.
        RowProblem: an entry has not WASP's shape.
        ValueError: there is neither a payload nor a template.
    """
    text = block.payload or _read_template(block, base_dir)
    found: list[WaspAttack] = []
    left_out = Counter[str]()
    for _, entry in read_rows(base_dir / block.path):
        try:
            goal, words = _read_goal(entry, block)
        except Dropped as why:
            left_out[str(why)] += 1
            continue
        label = f"{block.name or 'wasp'}-{name_of(entry)}"[:60].rstrip("-")
        update: dict[str, Any] = {"name": label, "goal": goal, "payload": fill(text, words)}
        if block.select == Select():
            update["select"] = Select(tags=(site_of(entry),))
        found.append(block.model_copy(update=update))
    return found, left_out


def _read_goal(entry: Any, block: WaspAttack) -> tuple[Goal, dict[str, str]]:
    checked = read_eval(entry)
    values = {**values_of(entry, block.sites), "attacker_domain": ATTACKER}
    data = checked.get("exfil_data")
    if checked["eval_types"] != ["exfil"] or not isinstance(data, list):
        raise Dropped("a page decides them")
    wanted = [str(one["must_include"]) for one in data if isinstance(one, Mapping) and "must_include" in one]
    checks: tuple[dict[str, JsonValue], ...] = tuple(
        {"request": "/", "contains": fill(one.replace("{attacker_domain}", ""), values)} for one in wanted
    )
    said = fill(text_of(entry, "instruction"), values)
    is_address = block.template.endswith("url_injection") and not block.payload
    return Goal(name="request", say=said, checks=checks), {
        "user_goal_str": block.user_goal,
        "instantiated_url_of_action": fill(text_of(entry, "action_url"), values),
        "instantiated_instruction_text": said.replace(" ", "-") if is_address else "{goal}",
    }


def _read_template(block: WaspAttack, base_dir: Path) -> str:
    if block.templates is None:
        raise ValueError(
            "there is no payload. Write `templates: constants.py`, a file of WASP's, or `payload`."
        )
    found = dict(_find_templates(read_text(base_dir / block.templates)))
    if block.template not in found:
        raise ValueError(f"{block.templates} has no template {block.template!r}.")
    return found[block.template]


def _find_templates(code: str) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the templates in WASP's code, which is read and not run."""
    names: dict[str, str] = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names |= {t.id: str(node.value.value) for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.Dict):  # inside of an assignment, so these come after all names
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Name) and isinstance(value, ast.Constant) and key.id in names:
                    yield names[key.id], re.sub(r"\s+", " ", str(value.value))
