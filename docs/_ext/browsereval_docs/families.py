"""The members of a family: what each is, its other names, its keys."""

from __future__ import annotations

import inspect

from pydantic import BaseModel

from browsereval_docs.fields import write_keys
from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.browsers.base import BrowserConfig
from pytest_browsereval.browsers.playwright.contexts import PageOptions
from pytest_browsereval.config.export import ExportConfig
from pytest_browsereval.config.guard import GuardConfig
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.shared.attack import AttackConfig
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.registry import Component

BASES: dict[str, type[Component]] = {
    "agent": AgentConfig,
    "attack": AttackConfig,
    "browser": BrowserConfig,
    "dataset": DatasetConfig,
    "export": ExportConfig,
    "grader": GraderConfig,
    "guard": GuardConfig,
}
SHARED: dict[type[BaseModel], str] = {
    LLMConfig: "The keys of a model, see [providers](providers.md#keys-of-a-model), and:",
    PageOptions: "The [keys of pages](#keys-of-pages), and:",
}
"""Keys that several members have, and where they stand."""


def write_family(family: str) -> str:
    """Return the members of a family, in the order in which messages list them."""
    base = BASES[family]
    parts = []
    if common := write_keys(base, family):
        parts.append(f"## Keys of every {family}\n\n{common}")
    if family == "browser":
        text = "Browsers that are driven by Playwright have them: `playwright` and `cdp`."
        without = frozenset(base.model_fields)
        parts.append(
            f"## Keys of pages\n\n{text}\n\n{write_keys(PageOptions, 'browser.page', without=without)}"
        )
    for its, name, member, aliases in builtin_registry().everything():
        if its != family:
            continue
        parts.append(f"## `{name}`\n\n")
        if aliases:
            parts.append(f"Other names: {', '.join(f'`{alias}`' for alias in aliases)}.\n\n")
        parts.append(f"{inspect.getdoc(member)}\n\n")
        shared = next((one for one in SHARED if issubclass(member, one)), None)
        known: set[str] = {*base.model_fields}
        if shared is not None:
            known |= set(shared.model_fields)
        keys = write_keys(member, f"{family}.{name}", without=frozenset(known))
        parts.append(f"{SHARED[shared]}\n\n" if shared and keys else "")
        parts.append(keys or f"It has no keys but those that every {family} has.\n\n")
    return "".join(parts)
