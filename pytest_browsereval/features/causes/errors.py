"""What errors of tools say, as texts."""

from __future__ import annotations

import re

from pytest_browsereval.model.display import one_line

LONGEST = 120
"""Characters of a detail."""

NOT_FOUND = re.compile(
    r"nothing matches|not on the page|no element|not found|no such element|matches 0", re.IGNORECASE
)
COVERED = re.compile(r"is covered|intercepts pointer", re.IGNORECASE)
NOT_USABLE = re.compile(
    r"not visible|is disabled|is read-only|keeps moving|outside (of )?the viewport|no option|no such option",
    re.IGNORECASE,
)
UNKNOWN_TOOL = re.compile(r"^(unknown tool|no such tool|tool .{1,80} not found)", re.IGNORECASE)
WRONG_ARGUMENTS = re.compile(r"^(wrong|invalid) arguments|^input validation error", re.IGNORECASE)
SITE_ERROR = re.compile(r"the site (answered HTTP \d+ to a request on the way: .*)", re.DOTALL)
CUT_OFF = re.compile(r"repl(y|ies) (was )?cut off")
NOT_LOADED = re.compile(r"\bERR_(?!\w*TIMED_OUT)")
TOO_SLOW = re.compile(
    r"in time\b|did not load|did not appear|not appear|took longer|timed?[ _]?out|does not react|was cut off",
    re.IGNORECASE,
)

KINDS = (
    ("unknown_tool", UNKNOWN_TOOL, False),
    ("wrong_arguments", WRONG_ARGUMENTS, False),
    ("target_not_found", NOT_FOUND, True),
    ("target_covered", COVERED, True),
    ("target_not_usable", NOT_USABLE, True),
    ("page_not_loaded", NOT_LOADED, False),
    ("page_too_slow", TOO_SLOW, False),
)
"""Causes by what a tool says, and whether only of a call with a target."""


def normalise_error(text: str) -> str:
    """Return an error's first line without numbers, ports and ids, so that equal errors are equal texts."""
    line = text.strip().partition("\n")[0]
    return one_line(re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{6,}\b|(?<!HTTP )(?<!\d)\d+", "N", line), LONGEST)
