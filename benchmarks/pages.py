"""Serves the pages of the package ``miniwob`` until its input ends; its first line is the address."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path

from pytest_browsereval.sites.static import StaticSite


async def main() -> None:
    """Serve."""
    spec = importlib.util.find_spec("miniwob")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The package miniwob is not installed. Type  pip install miniwob")
    site = StaticSite(Path(next(iter(spec.submodule_search_locations))) / "html")
    await site.start()
    print(site.url, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await site.close()


if __name__ == "__main__":
    asyncio.run(main())
