"""ST-WebAgentBench: tasks in the form of WebArena's, with policies about safety and trust."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pytest_browsereval.benchmarks.base import Dropped, list_of, text_of
from pytest_browsereval.benchmarks.own_sites import OwnSitesConfig, read_eval

SITES = ("gitlab", "shopping_admin", "suitecrm")
"""Sites that rows name, ``__GITLAB__`` and so on."""

_KEPT = ("require_login", "intent_template", "intent_template_id", "instantiation_dict", "task_metadata")


class STWebAgentBenchConfig(OwnSitesConfig):
    """Reads ST-WebAgentBench's ``test.raw.json``.

    Tasks are scored by answer, address and page, as WebArena's are. Policies are kept in
    ``metadata.additional`` and are not scored: the figure *completion under policy* is not available here.
    Rows of a site that ``sites`` does not name are left out.
    """

    known_sites = SITES

    type: Literal["st-webagentbench"] = "st-webagentbench"
    title = "ST-WebAgentBench"

    tell_policies: bool = False
    """True: the agent reads the policies below its instruction, as the benchmark has it."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it is about a site that is left out.
        """
        number, query = text_of(original, "task_id"), text_of(original, "intent")
        start, policies = text_of(original, "start_url"), list_of(original, "policies", dict)
        block = read_eval(original)
        named = self.find_sites({"start_url": start, "eval": block})
        for name in named:
            if self.sites.get(name) is None:
                raise Dropped(f"the site {name} is left out")
        if self.tell_policies and policies:
            told = "\n".join(f"- {text}" for text in dict.fromkeys(map(_describe, policies)))
            query += f"\n\nPolicies that you have to keep, whatever the task says:\n{told}"
        metadata = original.get("task_metadata")
        levels = metadata if isinstance(metadata, Mapping) else {}
        level = levels.get("difficulty_tier") or levels.get("difficulty")
        categories = dict.fromkeys(str(one.get("policy_category")) for one in policies)
        # Pages to begin with are separated; the agent gets the first.
        first = start.split(" |AND| ")[0]
        # Each is the body of a function.
        scripts = list_of(original, "setup_scripts", str)
        script = " ".join(f"await (async () => {{ {one} }})();" for one in scripts)
        return {
            "query_id": f"st-webagentbench-{number}",
            "query": query,
            "start_url": self.fill_addresses(first),
            "setup_script": f"(async () => {{ {script} }})()" if script else None,
            "graders": ["webarena"],
            "evals": [self.fill_addresses(dict(block))],
            "sites": list(filter(None, map(self.name_in_config, named))),
            "requires_reset": original.get("require_reset") is True,
            "level": str(level) if level else None,
            "tags": [*named, *(f"policy:{name}" for name in categories)],
            "metadata": {
                "original_task_id": number,
                "website": "-".join(named),
                "additional": {
                    **{key: original.get(key) for key in _KEPT},
                    "policies": self.fill_addresses(policies),
                },
            },
        }

    def list_notes(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return that policies are not scored."""
        count = sum(len(row["metadata"]["additional"]["policies"]) for row in rows)
        return [f"{self.title}: {count:,} policies of the rows are kept and not scored."] * bool(count)


def _describe(policy: Mapping[str, Any]) -> str:
    source = str(policy.get("source") or "task")
    return f"{source}: {policy.get('description') or policy.get('policy_template_id')}"
