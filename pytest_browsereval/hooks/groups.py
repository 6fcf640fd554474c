"""``--dist loadgroup``: rows of one ``xdist_group`` are run by one worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.order import relations_of
from pytest_browsereval.run.relations import together


class Groups:
    """Puts ``@group`` behind the ids of rows, by which xdist knows what belongs together.

    xdist 3.8 does so itself, but writes to an attribute that pytest 9.1 and later no longer read: each
    test would be a group of its own, without a word.
    """

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Mend the ids in a worker; ids of rows hold no ``@`` of their own."""
        if not getattr(config.option, "loadgroup", False):
            return
        for place, (item, names) in enumerate(zip(items, _scopes(items), strict=True)):
            if isinstance(item, EvalItem) and "@" not in item.nodeid and names:
                items[place] = item.with_suffix(f"@{'_'.join(sorted(names))}")


def _scopes(items: Sequence[pytest.Item]) -> list[set[str]]:
    """Return the names of each item's group; what is tied by ``depends_on`` or ``sites`` has the same."""
    groups = [_groups(item) for item in items]
    ties = [relations_of(item).ties for item in items]
    if not any(ties):
        return groups
    firsts = together([tied | group for tied, group in zip(ties, groups, strict=True)])
    sizes, merged = Counter(firsts), dict[int, set[str]]()
    for first, group in zip(firsts, groups, strict=True):
        merged.setdefault(first, set()).update(group)
    return [merged[first] or ({_name_group(items[first])} if sizes[first] > 1 else set()) for first in firsts]


def _name_group(item: pytest.Item) -> str:
    """Return the name of an item's group without brackets, which would begin the id's parameters."""
    return f"with_{item.name.replace('[', '-').replace(']', '')}"


def _groups(item: pytest.Item) -> set[str]:
    marks = item.iter_markers("xdist_group")
    return {str(mark.args[0] if mark.args else mark.kwargs.get("name", "default")) for mark in marks}
