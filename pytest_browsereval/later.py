"""What the format has words for and this version cannot do: refused by name, never ignored."""

from __future__ import annotations

_JUDGES = "no grader asks a model yet; graders that compare, read the page or its state work today"

KEYS: dict[tuple[str, ...], str] = {
    ("judge",): _JUDGES,
    ("budget",): "limits.max_cost_usd and limits.timeout_ms limit each attempt",
    ("gate", "tags"): "gate.min_pass_rate holds for all rows; one eval file per tag has a gate of its own",
    (
        "gate",
        "groups",
    ): "gate.min_pass_rate holds for all rows; one eval file per group has a gate of its own",
    ("gate", "per_tag"): "gate.min_pass_rate holds for all rows; one eval file per tag has a gate of its own",
    (
        "gate",
        "per_group",
    ): "gate.min_pass_rate holds for all rows; one eval file per group has a gate of its own",
    ("gate", "max_cost_usd"): "limits.max_cost_usd limits each attempt",
    ("gate", "max_regressions"): "gate.must_pass names rows that have to pass",
    ("gate", "baseline"): "gate.must_pass names rows that have to pass",
    ("gate", "confidence"): "gate.min_pass_rate compares the rate as it is",
    ("capture", "trace"): "screenshots and messages are recorded",
    ("capture", "console"): "screenshots and messages are recorded",
    ("capture", "dom"): "screenshots and messages are recorded",
    ("capture", "har"): "screenshots and messages are recorded",
}
"""Keys of the eval config, each with what works today."""

_BROWSEROS_AGENTS = "the agent `single` works with any chat-completions model"
_MODEL_GRADERS = "answer, page_state, state_diff and command are graders that need no model"
_IMPORTERS = "jsonl, json, csv and yaml are read; `columns` renames the columns of a benchmark's own file"

MEMBERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "agent": (
        _BROWSEROS_AGENTS,
        (
            "orchestrator-executor",
            "orchestrated",
            "claude-code",
            "gemini-computer-use",
            "yutori-navigator",
            "command",
        ),
    ),
    "grader": (
        _MODEL_GRADERS,
        (
            "webvoyager",
            "webvoyager_grader",
            "mind2web",
            "mind2web_judge",
            "fara",
            "fara_grader",
            "fara_alignment",
            "fara_rubric",
            "fara_multimodal",
            "fara_combined",
            "rubric",
            "trajectory_score",
            "performance",
            "performance_grader",
            "agisdk_state_diff",
            "infinity_state",
            "combined",
        ),
    ),
    "dataset": (
        _IMPORTERS,
        (
            "webvoyager",
            "online-mind2web",
            "mind2web",
            "webarena",
            "webarena-verified",
            "visualwebarena",
            "webchorearena",
            "workarena",
            "miniwob",
            "webtailbench",
            "odysseys",
            "agisdk",
            "real",
            "assistantbench",
            "browsecomp",
            "webbench",
            "gaia",
            "huggingface",
        ),
    ),
    "browser": ("`browser: {type: playwright}` starts a local Chromium", ("cdp", "mcp")),
}
"""Members of later versions by family, with what works today; an installed one of the name comes first."""


def member_refusal(family: str, name: str) -> str | None:
    """Return the message for a member of a later version; None if the name is not one."""
    works, names = MEMBERS.get(family, ("", ()))
    if name not in names:
        return None
    return f"the {family} {name!r} is not supported yet. What works today: {works}."
