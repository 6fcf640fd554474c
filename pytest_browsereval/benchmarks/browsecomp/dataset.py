"""BrowseComp: questions whose answers are hard to find and easy to check, encrypted against leaks."""

from __future__ import annotations

import base64
import binascii
import hashlib
from itertools import cycle
from typing import Any, Literal

from pytest_browsereval.benchmarks.base import BenchmarkConfig, RowProblem, text_of


class BrowseCompConfig(BenchmarkConfig):
    """Reads BrowseComp's encrypted CSV (``problem,answer,problem_topic,canary``); decrypts in memory only."""

    type: Literal["browsecomp"] = "browsecomp"
    title = "BrowseComp"

    start_url: str | None = None
    """Where rows without a page of their own start; an empty page by default."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task; ``metadata.source`` stays encrypted.

        The file has no ids: that of a row is a hash of its question.

        Raises:
            RowProblem: a column is missing, or does not decrypt.
        """
        canary, topic = text_of(original, "canary"), text_of(original, "problem_topic", default="")
        problem, answer = (decrypt(text_of(original, key), canary, key) for key in ("problem", "answer"))
        # A place in the file would change with every selection that is published.
        return {
            "query_id": f"browsecomp-{hashlib.sha256(problem.encode()).hexdigest()[:12]}",
            "query": problem,
            "start_url": self.start_url,
            "graders": ["browsecomp"],
            "answer": answer,
            "tags": [topic],
            "protected": True,
            "metadata": {"category": topic, "additional": {"topic": topic}},
        }


def decrypt(text: str, password: str, key: str) -> str:
    """Return a text decrypted: base64, then XOR with the SHA-256 of the password, over and over.

    Args:
        text: as the file has it.
        password: the row's canary.
        key: the column, for messages, which never hold what was read.

    Raises:
        RowProblem: it is not base64, or not encrypted with this password.
    """
    try:
        secret = base64.b64decode(text, validate=True)
        pad = cycle(hashlib.sha256(password.encode()).digest())
        plain = bytes(one ^ other for one, other in zip(secret, pad, strict=False)).decode()
    except (binascii.Error, ValueError):
        raise RowProblem(
            f"{key}: it does not decrypt with the row's canary. Take the file as it is published, encrypted."
        ) from None
    if not plain.strip():
        raise RowProblem(f"{key}: it decrypts to nothing.")
    return plain
