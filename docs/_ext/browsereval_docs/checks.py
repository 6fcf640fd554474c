"""What checks of a row may have."""

from __future__ import annotations

from pytest_browsereval.graders.comparators import MEANINGS, OPTIONS
from pytest_browsereval.graders.page_checks import BESIDE, list_page_checks


def write_page_checks() -> str:
    """Return the checks of a page, each with its keys."""
    parts = []
    own = dict(BESIDE)
    for kind, form in list_page_checks().items():
        own |= form.keys
        others = [f"`{key}`" for key in form.others]
        if form.compares:
            others.insert(0, "one [comparison](#comparisons)")
        parts.append(
            f"````{{key}} check.{kind} {kind}\n{{.facts}}\n{form.value} · next to it: {', '.join(others)}\n\n"
            f"{form.about}\n\n```json\n{form.example}\n```\n````\n\n"
        )
    parts.append("Keys that may stand next to them:\n\n")
    parts += [f"````{{key}} check.{key} {key}\n{text}\n````\n\n" for key, text in own.items()]
    return "".join(parts)


def write_comparisons() -> str:
    """Return the comparisons and their options."""
    parts = [f"````{{key}} comparison.{kind} {kind}\n{text}\n````\n\n" for kind, text in MEANINGS.items()]
    parts.append("Options of a comparison:\n\n")
    for name, (kind, text) in OPTIONS.items():
        parts.append(f"````{{key}} comparison.{name} {name}\n{{.facts}}\nof `{kind}`\n\n{text}\n````\n\n")
    return "".join(parts)
