"""What tests of the examples add to their command lines: only limits, for machines that are busy."""

from __future__ import annotations

PATIENCE = (
    "--eval-set=browser.action_timeout_ms=60000",
    "--eval-set=limits.timeout_ms=250000",
    "--eval-set=limits.stuck_s=120",
)
