"""ST-WebAgentBench: tasks in the form of WebArena's, with policies about safety and trust."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from pytest_browsereval.benchmarks.base import BenchmarkConfig, Dropped, RowProblem, text_of
from pytest_browsereval.redaction.text import map_texts

SITES = ("gitlab", "shopping_admin", "suitecrm")
"""Sites that rows name, ``__GITLAB__`` and so on."""

_PLACEHOLDER = re.compile("__(" + "|".join(map(str.upper, SITES)) + ")__")
_KEPT = ("require_login", "intent_template", "intent_template_id", "instantiation_dict", "task_metadata")


class STWebAgentBenchConfig(BenchmarkConfig):
    """Reads ST-WebAgentBench's ``test.raw.json``.

    Tasks are scored by answer, address and page, as WebArena's are. Policies are kept in
    ``metadata.additional`` and are not scored: the figure *completion under policy* cannot be had here.
    """

    type: Literal["st-webagentbench"] = "st-webagentbench"
    title = "ST-WebAgentBench"

    sites: dict[str, str | None] = Field(default_factory=dict)
    """Where the sites are: an address, or ``"{name}"`` for one of the config's ``sites``; rows of a site that
    is not named, or is null, are left out. ``shopping_admin`` is the address with ``/admin`` at its end."""
    tell_policies: bool = False
    """True: the agent reads the policies below its instruction, as the benchmark has it."""

    @field_validator("sites")
    @classmethod
    def _are_known(cls, value: dict[str, str | None]) -> dict[str, str | None]:
        if unknown := next((name for name in value if name not in SITES), None):
            raise ValueError(f"{unknown!r} is not a site of the benchmark. Sites: {', '.join(SITES)}.")
        return {name: url.rstrip("/") if url else url for name, url in value.items()}

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it is about a site that is left out.
        """
        number, query = text_of(original, "task_id"), text_of(original, "intent")
        start, policies = text_of(original, "start_url"), _policies_of(original)
        block = original.get("eval")
        if not isinstance(block, Mapping) or not isinstance(block.get("eval_types"), list):
            raise RowProblem("eval: expected a block with the list 'eval_types'.")
        asked = {"start_url": start, "eval": block}
        named = [name.lower() for name in dict.fromkeys(_PLACEHOLDER.findall(json.dumps(asked)))]
        for name in named:
            if self.sites.get(name) is None:
                raise Dropped(f"the site {name} is left out")
        if self.tell_policies and policies:
            told = "\n".join(f"- {text}" for text in dict.fromkeys(map(_describe, policies)))
            query += f"\n\nPolicies that you have to keep, whatever the task says:\n{told}"
        metadata = original.get("task_metadata")
        levels = metadata if isinstance(metadata, Mapping) else {}
        level = levels.get("difficulty_tier") or levels.get("difficulty")
        addresses = [self.sites[name] or "" for name in named]
        categories = dict.fromkeys(str(one.get("policy_category")) for one in policies)
        # Pages to begin with are separated; the agent gets the first.
        first = start.split(" |AND| ")[0]
        scripts = original.get("setup_scripts") or []
        if not isinstance(scripts, list) or not all(isinstance(one, str) for one in scripts):
            raise RowProblem("setup_scripts: expected a list of texts.")
        # Each is the body of a function.
        script = " ".join(f"await (async () => {{ {one} }})();" for one in scripts)
        return {
            "query_id": f"st-webagentbench-{number}",
            "query": query,
            "start_url": self._fill(first),
            **({"setup_script": f"(async () => {{ {script} }})()"} if script else {}),
            "graders": ["webarena"],
            "evals": [self._fill(dict(block))],
            "sites": [address.strip("{}") for address in addresses if address.startswith("{")],
            "requires_reset": original.get("require_reset") is True,
            "level": str(level) if level else None,
            "tags": [*named, *(f"policy:{name}" for name in categories)],
            "metadata": {
                "original_task_id": number,
                "website": "-".join(named),
                "additional": {
                    **{key: original[key] for key in _KEPT if original.get(key) not in (None, "")},
                    "policies": self._fill(policies),
                },
            },
        }

    def notes(self, base_dir: Path) -> tuple[str, ...]:
        """Return which rows were left out, and that policies are not scored."""
        rows = [row for _, row in self.import_rows(base_dir).rows]
        count = sum(len(row["metadata"]["additional"]["policies"]) for row in rows)
        messages = [*super().notes(base_dir)]
        if count:
            messages.append(f"{self.title}: {count:,} policies of the rows are kept and not scored.")
        return tuple(messages)

    def _fill(self, value: Any) -> Any:
        def fill(text: str) -> str:
            return _PLACEHOLDER.sub(lambda found: self.sites.get(found[1].lower()) or found[0], text)

        return map_texts(value, fill, fill)


def _policies_of(original: Any) -> list[dict[str, Any]]:
    policies = original.get("policies")
    if not isinstance(policies, list) or not all(isinstance(one, dict) for one in policies):
        raise RowProblem("policies: expected a list of blocks.")
    return policies


def _describe(policy: Mapping[str, Any]) -> str:
    source = str(policy.get("source") or "task")
    return f"{source}: {policy.get('description') or policy.get('policy_template_id')}"
