"""The rows that a gate names: whether the datasets have them, asked before anything is spent."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.base import DatasetConfig, Select
from pytest_browsereval.datasets.reader import index_rows
from pytest_browsereval.errors import nearest
from pytest_browsereval.model.display import join_first

NAMED = 5
"""Ids that a note lists."""


def check_gate_ids(config: EvalConfig) -> list[str]:
    """Check that rows which the gate names are in a dataset; return notes on those that are left out.

    All rows count, whatever the command line or a shard selects: which of them run is not the gate's error.

    Raises:
        ConfigError: no dataset has a row of that id; with file, line and the nearest id.
        DatasetError: a dataset cannot be read.
    """
    gate = config.gate
    named: dict[str, tuple[str | int, ...]] = {
        query_id: ("gate", "must_pass", place) for place, query_id in enumerate(gate.must_pass)
    }
    named |= {query_id: ("gate", "quarantine", query_id) for query_id in gate.quarantine}
    if not named:
        return []
    lacking = named.keys() - _list_ids(config.dataset, config, named)
    if not lacking:
        return []
    whole = [dataset.model_copy(update={"select": Select()}) for dataset in config.dataset]
    everything = _list_ids(whole, config, None)
    for query_id, path in named.items():
        if query_id not in everything:
            raise config.wrong(
                path,
                f"no row has the id {query_id!r}.{nearest(query_id, everything)} "
                "Name a row of the dataset, or take it out.",
            )
    left_out = [query_id for query_id in gate.must_pass if query_id in lacking]
    if not left_out:
        return []
    names = join_first(left_out, NAMED)
    return [f"`select` of the dataset leaves out rows of gate.must_pass ({names}): the gate will be missed"]


def _list_ids(
    datasets: Iterable[DatasetConfig], config: EvalConfig, only: Collection[str] | None
) -> set[str]:
    return {ref.query_id for dataset in datasets for ref in index_rows(dataset, config.base_dir, only)}
