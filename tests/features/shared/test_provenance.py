"""Where the manifests of two runs differ."""

from __future__ import annotations

from pytest_browsereval.features.shared.provenance import TIME, differences

A = {
    "started_at": "2026-01-01T00:00:00.000Z",
    "name": "shop",
    "config": {"trials": 1, "lanes": 1, "gate": {"min_pass_rate": 0.9}},
    "config_hash": "0",
    "tools": ["click"],
    "tool_hashes": {"click": "0"},
    "browser": "Chromium 1",
}
B = {
    **A,
    "started_at": "2026-01-02T00:00:00.000Z",
    "name": "mail",
    "config": {"trials": 3, "lanes": 2, "gate": {"min_pass_rate": 0.5}},
    "config_hash": "1",
    "tools": ["click", "press"],
    "tool_hashes": {"click": "0", "press": "1"},
}


def test_all_but_time() -> None:
    """A value is told once: keys of the config and tools one by one, and no hash over all of them."""
    assert list(differences(A, B, left_out=TIME).values()) == [
        "config.gate.min_pass_rate: 0.9 -> 0.5",
        "config.lanes: 1 -> 2",
        "config.trials: 1 -> 3",
        "name: shop -> mail",
        "tool_hashes.press: none -> 1",
    ]
    assert differences(A, {**A, "started_at": "later"}, left_out=TIME) == {}
