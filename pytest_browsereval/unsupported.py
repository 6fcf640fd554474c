"""Names that the format has and this version does not support: refused with a reason."""

from __future__ import annotations

KEYS: dict[tuple[str, ...], str] = {
    ("gate", "groups"): "gate.tags, gate.websites and gate.variants name pass rates of their own",
    ("gate", "per_tag"): "gate.tags: {TAG: 0.9} names pass rates by tag",
    ("gate", "per_group"): "gate.tags, gate.websites and gate.variants name pass rates of their own",
}
"""Keys of the eval config, each with what works today."""

MEMBERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "dataset": (
        "jsonl, json, csv and yaml are read, and the files of published benchmarks by their own types",
        ("workarena", "huggingface"),
    ),
}
"""Members of later versions by family, with what works today; an installed one of the name comes first."""


def member_refusal(family: str, name: str) -> str | None:
    """Return the message for a member of a later version; None if the name is not one."""
    works, names = MEMBERS.get(family, ("", ()))
    if name not in names:
        return None
    return f"the {family} {name!r} is not supported yet. What works today: {works}."
