"""WASP: tasks on self-hosted GitLab and Reddit, and prompt injections with what the attacker wants."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={"dataset": {"wasp": "dataset:WaspConfig"}, "attack": {"wasp": "attack:WaspAttack"}},
    readers=("reader:WaspReader",),
)
