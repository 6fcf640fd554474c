"""What stands in the place of a secret. Run folders and cassettes hold these words: they do not change."""

from __future__ import annotations

MARK = "[redacted]"
"""In what is recorded, and in messages about it."""

HIDDEN = "***"
"""In a config that is shown. Another word: the hash by which a run goes on is that of the config as shown."""
