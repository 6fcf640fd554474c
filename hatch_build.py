"""What the package index shows: the README with links that work there, and the project's addresses.

The repository names no host of its own. A release sets ``PROJECT_URL`` to the repository's address and
``PROJECT_REF`` to the tag; pictures and links of the README then lead there. Without them it has neither.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[([^\]]*)\]\((?!https?://)([^)\s]+)\)\n*", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://|#|mailto:)([^)\s]+)\)")
FENCED = re.compile(r"(^```.*?^```|^(?: {4}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)


class ReleaseMetadata(MetadataHookInterface):
    """Sets ``readme`` and ``urls`` of the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what ``pyproject.toml`` calls dynamic."""
        url = os.environ.get("PROJECT_URL", "").rstrip("/")
        ref = os.environ.get("PROJECT_REF") or "HEAD"
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_links(text, url, ref)}
        metadata["urls"] = (
            {
                "Source": url,
                "Documentation": f"{url}/blob/{ref}/docs/index.md",
                "Changelog": f"{url}/blob/{ref}/CHANGELOG.md",
                "Issues": f"{url}/issues",
            }
            if url
            else {}
        )


def with_links(text: str, url: str, ref: str) -> str:
    """Return the README with links into the repository at an address, or without them.

    Args:
        text: Markdown; what is in code blocks stays as it is.
        url: the repository's address; empty leaves pictures out and keeps the words of links only.
        ref: a tag, a branch or a commit.
    """
    picture = rf"![\1]({url}/raw/{ref}/\2)\n\n" if url else ""
    link = rf"[\1]({url}/blob/{ref}/\2)" if url else r"\1"
    parts = FENCED.split(text)
    parts[::2] = [LINK.sub(link, PICTURE.sub(picture, part)) for part in parts[::2]]
    return "".join(parts)
