"""MiniWoB++: small pages that ask for something and reward it themselves; a row is a page with a seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from pytest_browsereval.benchmarks.base import BenchmarkConfig
from pytest_browsereval.benchmarks.packages import INSTALLED, find_rows
from pytest_browsereval.config_text import DocumentError
from pytest_browsereval.errors import nearest
from pytest_browsereval.features.shared.row_source import Row

PACKAGE = "miniwob"
NO_TASKS = frozenset({"button-delay", "chase-circle", "hover-shape", "moving-items", "simon-says"})
"""Pages for which the package has no task; they run where ``pages`` names them."""


class MiniwobConfig(BenchmarkConfig):
    """Makes a row of each page of MiniWoB++ and each seed; ``sites`` serves the pages.

    ``sites: {miniwob: {package: miniwob, static: html}}``. The page shows what it asks for.
    """

    type: Literal["miniwob"] = "miniwob"
    title = "MiniWoB"

    path: Path = INSTALLED
    """The folder of the pages; ``:installed``, the default, is ``html/miniwob`` of the installed package."""
    pages: tuple[str, ...] = ()
    """Names of pages without suffix, in the order of the rows; all 125 tasks by default."""
    seeds: tuple[int, ...] = Field(default=(1,), min_length=1)
    """A page with another seed asks for something else."""
    site: str = Field(default="miniwob", pattern=r"^[A-Za-z_]\w*$")
    """The name of the pages among the ``sites`` of the config."""
    query: str = "Do what the page asks."
    """The instruction of every row: the page's own is made when its episode starts."""
    max_time_ms: int = Field(default=1_000_000, ge=1)
    """How long an episode lasts before it ends by itself, with the reward -1. The pages' own limit of seconds
    is for people."""

    def file(self, base_dir: Path) -> Path:
        """Return the absolute path of the folder with the pages.

        Raises:
            DatasetError: it is that of the package, which is not installed.
        """
        if self.path != INSTALLED:
            return super().file(base_dir)
        return find_rows(self.type, PACKAGE, "html/miniwob", PACKAGE)

    def originals(self, path: Path) -> Sequence[Row]:
        """Return pages and seeds, seed by seed.

        Raises:
            DocumentError: there are no pages, or one that ``pages`` names is not among them.
        """
        known = sorted(file.stem for file in path.glob("*.html"))
        if not known:
            raise DocumentError("the folder has no page.")
        for page in self.pages:
            if page not in known:
                raise DocumentError(
                    f"there is no page {page!r}.{nearest(page, known)} Pages are named like click-button."
                )
        # The package's own list, so that scores cover the same 125 tasks as those of others.
        pages = self.pages or [page for page in known if page not in NO_TASKS]
        rows = [{"page": page, "seed": seed} for seed in self.seeds for page in pages]
        return list(enumerate(rows, 1))

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a page with its seed as a row."""
        page, seed = original["page"], original["seed"]
        limit = f"core.EPISODE_MAX_TIME = {self.max_time_ms}"
        start = f"Math.seedrandom({seed}); {limit}; core.startEpisodeReal()"
        return {
            "query_id": f"{page}-{seed}",
            "query": self.query,
            "start_url": f"{{{self.site}}}/miniwob/{page}.html",
            "setup_script": start,
            "graders": ["miniwob"],
            "tags": [page],
            "metadata": {"original_task_id": page, "website": "miniwob", "category": page},
        }
