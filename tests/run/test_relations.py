"""What belongs together, who runs it, and what is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run.relations import relations_of, sites_to_reset, together
from pytest_browsereval.sites import SiteConfig

SITES = {
    "files": SiteConfig(static=Path("site")),
    "shared": SiteConfig(command=("serve",)),
    "fresh": SiteConfig(command=("serve",), reset="POST /reset"),
}


def task(query_id: str = "a", **fields: Any) -> Task:
    return Task.model_validate({"query_id": query_id, "query": "Do it.", **fields})


def test_a_long_chain_is_no_matter_of_depth() -> None:
    """Ten thousand rows, each tied to the next."""
    assert len(together([{str(n), str(n + 1)} for n in range(10_000)])) == 1
    assert len(together([{str(n), str(n + 1)} for n in reversed(range(10_000))])) == 1


def test_relations_by_the_kind_of_site() -> None:
    """Ours that is reset is its own; ours that is shared is locked; somebody else's is tied as well."""
    got = relations_of(task(sites=["files", "shared", "fresh", "bank"]), SITES, "shop", "default-1")
    assert got.locks == {"site bank", "site shared of shop", "site files of shop"}
    assert got.ties == {"site bank", "row a of shop default-1"}
    needy = relations_of(task("b", depends_on=["a"]), SITES, "shop", "default-1")
    assert needy.depends_on == ("a",)
    assert needy.ties & got.ties == {"row a of shop default-1"}
    assert not relations_of(task("b", depends_on=["a"]), SITES, "shop", "default-2").ties & got.ties


def test_sites_that_cannot_be_reset() -> None:
    """Those of ours that have no way, also if only an address names them; and those of others."""
    needy = task(sites=["bank", "fresh"], start_url="{shared}/cart", requires_reset=True)
    assert sites_to_reset(needy, SITES) == (["shared"], ["bank"])
    assert sites_to_reset(task(sites=["files", "fresh"], requires_reset=True), SITES) == ([], [])
    assert sites_to_reset(task(sites=["bank", "shared"]), SITES) == ([], [])
