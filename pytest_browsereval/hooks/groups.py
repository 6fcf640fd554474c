"""``--dist loadgroup``: rows of one ``xdist_group`` are run by one worker."""

from __future__ import annotations

import pytest

from pytest_browsereval.hooks.items import EvalItem


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
        for item in items:
            if isinstance(item, EvalItem) and "@" not in item.nodeid and (names := _groups(item)):
                item.add_suffix(f"@{'_'.join(sorted(names))}")


def _groups(item: pytest.Item) -> set[str]:
    marks = item.iter_markers("xdist_group")
    return {str(mark.args[0] if mark.args else mark.kwargs.get("name", "default")) for mark in marks}
