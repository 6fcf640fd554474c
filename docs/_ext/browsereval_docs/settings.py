"""The blocks that are no members: the config itself, a row, limits, gate, model."""

from __future__ import annotations

from pydantic import BaseModel

from browsereval_docs.fields import Key, describe_default, describe_field, read_texts, write_keys
from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.config import CaptureConfig, EvalConfig, GateConfig, LimitsConfig
from pytest_browsereval.config.model import BudgetConfig
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.sites import SiteConfig

BLOCKS: dict[str, type[BaseModel]] = {
    "limits": LimitsConfig,
    "budget": BudgetConfig,
    "capture": CaptureConfig,
}
"""Blocks with a section of their own on the page of the config."""

WITHOUT_EFFECT = (
    "provider_id",
    "reasoning_summary",
    *(name for name in LLMConfig.model_fields if name.startswith("acp_")),
    *("access_key_id", "secret_access_key", "session_token"),
)
"""Keys of a model that files of BrowserOS may have."""

ELSEWHERE = {"gate": "gates.md", "sites": "#sites", **{name: f"#{name}" for name in BLOCKS}}


def write_config() -> str:
    """Return all keys of a config, those of blocks in sections of their own."""
    texts = read_texts(EvalConfig)
    agent = Key("agent", "[agent](agents.md) block", "**required** without `variants`", "The agent.")
    parts = ["## Keys of the file\n\n", agent.markdown()]
    for name, field in EvalConfig.model_fields.items():
        kind, default = describe_field(field), describe_default(field)
        if name == "variants":
            default = "**required** without `agent`"
        elif name in ("name", "browser"):  # the loader knows them
            default = ""
        more = f" Its keys: [`{name}`]({ELSEWHERE[name]})." if name in ELSEWHERE else ""
        parts.append(Key(name, kind, default, texts[name] + more).markdown())
    for name, block in BLOCKS.items():
        parts.append(f"## `{name}`\n\n{(block.__doc__ or '').strip()}\n\n")
        parts.append(write_keys(block, prefix=f"{name}."))
    return "".join(parts)


def write_sites() -> str:
    """Return the keys of a site."""
    return write_keys(SiteConfig, prefix="sites.NAME.")


def write_rows() -> str:
    """Return the keys of a row."""
    return write_keys(Task, "row")


def write_gate() -> str:
    """Return the keys of a gate."""
    return write_keys(GateConfig, prefix="gate.")


def write_model() -> str:
    """Return the keys of a block that names a model."""
    unused = ", ".join(f"`{name}`" for name in WITHOUT_EFFECT)
    keys = write_keys(LLMConfig, "model", without=frozenset({*AgentConfig.model_fields, *WITHOUT_EFFECT}))
    return f"{keys}Keys of BrowserOS that are accepted and have no effect: {unused}.\n"


def write_judge() -> str:
    """Return the keys that a judge has beside those of a model."""
    return write_keys(JudgeConfig, prefix="judge.", without=frozenset(LLMConfig.model_fields))
