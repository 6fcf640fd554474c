"""Relations of rows: which come before which, and which may not run at the same time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_browsereval.model.display import join_first
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.sites import RESTART, SiteConfig, names_in

MOST_LISTED = 5
"""How many rows a note lists before it counts the rest."""


@dataclass(frozen=True, slots=True)
class Relations:
    """What a row has to do with others."""

    depends_on: tuple[str, ...] = ()
    """Ids of rows that have to pass before it."""
    locks: frozenset[str] = frozenset()
    """Attempts that share one never run at the same time in one process."""
    ties: frozenset[str] = frozenset()
    """Rows that share one are run by one process."""


ALONE = Relations()
"""Of a row that has to do with no other."""


def relations_of(task: Task, sites: Mapping[str, SiteConfig], eval_name: str, course: str) -> Relations:
    """Return what a row has to do with others.

    Sites that the config runs have an instance for each attempt if they can be reset, one for each process
    if they cannot; a site that someone else runs is there once for all.

    Args:
        task: the row.
        sites: of the config.
        eval_name: names the config.
        course: variant and trial, which depend on rows of the same variant and trial.
    """
    rows = (task.query_id, *task.depends_on) if task.depends_on else (task.query_id,)
    outside = {f"site {name}" for name in task.sites if name not in sites}
    shared = {f"site {name} of {eval_name}" for name in task.sites if name in sites and not sites[name].reset}
    return Relations(
        depends_on=task.depends_on,
        locks=frozenset(outside | shared),
        ties=frozenset({*(f"row {row} of {eval_name} {course}" for row in rows), *outside}),
    )


def together(ties: Sequence[Collection[str]]) -> list[list[int]]:
    """Return the places that belong together.

    Args:
        ties: of each place; those that share one belong together, also by way of others.
    """
    first = list(range(len(ties)))

    def root(place: int) -> int:
        while first[place] != place:
            first[place] = place = first[first[place]]
        return place

    owners: dict[str, int] = {}
    for place, names in enumerate(ties):
        for name in names:
            one, other = sorted((root(owners.setdefault(name, place)), root(place)))
            first[other] = one
    found: dict[int, list[int]] = {}
    for place in range(len(ties)):
        found.setdefault(root(place), []).append(place)
    return list(found.values())


def groups(of: Sequence[Relations]) -> list[list[int]]:
    """Return the places that rest on each other: by what they depend on, or by a site that they share.

    Args:
        of: the relations of each place.
    """
    return together([one.ties | one.locks for one in of])


def sites_to_reset(task: Task, sites: Mapping[str, SiteConfig]) -> tuple[list[str], list[str]]:
    """Return the sites that a row needs reset and that cannot be: ours without a ``reset``, and others'."""
    if not task.requires_reset:
        return [], []
    ours = list_own_sites(task, sites)
    lacking = [name for name in sorted(ours) if sites[name].command is not None and not sites[name].reset]
    return lacking, [name for name in task.sites if name not in sites]


def list_own_sites(task: Task, sites: Collection[str]) -> set[str]:
    """Return the sites of the config that a row uses."""
    return {*task.sites, *names_in(task.model_dump_json())}.intersection(sites) if sites else set()


def notes_on(tasks: Iterable[Task], selected: Collection[str], sites: Mapping[str, SiteConfig]) -> list[str]:
    """Return what a reader of the run should know: rows that were left out, sites that nobody resets.

    Args:
        tasks: the rows that are to run.
        selected: their ids.
        sites: of the config.
    """
    early: list[str] = []
    restarted = {name for name, site in sites.items() if site.reset == RESTART}
    used: dict[str, bool] = {}
    """Of those, whether a row needs a reset of it."""
    unreset: dict[str, None] = {}
    for task in tasks:
        if missing := [other for other in task.depends_on if other not in selected]:
            early.append(f"{task.query_id} (needs {', '.join(missing)})")
        for name in list_own_sites(task, restarted):
            used[name] = used.get(name, False) or task.requires_reset
        unreset.update(dict.fromkeys(sites_to_reset(task, sites)[1]))
    notes = []
    if early:
        names = join_first(early, MOST_LISTED, "; ")
        notes.append(f"these rows run without the rows that they depend on, which are not selected: {names}")
    if unreset:
        notes.append(
            f"rows need these sites reset, which the config does not run, so nothing resets them: "
            f"{', '.join(unreset)}. Write them in `sites` with a `reset`, or reset them between runs."
        )
    if idle := [name for name, is_needed in used.items() if not is_needed]:
        notes.append(
            f"no selected row says `requires_reset`, so these sites are never restarted: {', '.join(idle)}. "
            "Write `requires_reset: true` into rows that change the state of a site."
        )
    return notes
