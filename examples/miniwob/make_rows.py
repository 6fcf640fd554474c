"""Writes ``rows.jsonl``: every page that has a policy, once for each seed."""

from __future__ import annotations

import json
from pathlib import Path

from policies import POLICIES

SEEDS = 5
LONGEST_MS = 1_000_000


def row(page: str, seed: int) -> dict[str, object]:
    """Return a row; its script starts the episode, with a limit that no slow machine reaches."""
    start = f"Math.seedrandom({seed}); core.EPISODE_MAX_TIME = {LONGEST_MS}; core.startEpisodeReal()"
    return {
        "query_id": f"{page}-{seed}",
        "dataset": "miniwob",
        "query": "Do what the page asks.",
        "start_url": f"{{miniwob}}/miniwob/{page}.html",
        "setup_script": start,
        "tags": [page],
    }


if __name__ == "__main__":
    rows = [row(page, seed) for seed in range(1, SEEDS + 1) for page in POLICIES]
    text = "".join(json.dumps(each) + "\n" for each in rows)
    Path(__file__).with_name("rows.jsonl").write_text(text, encoding="utf-8")
