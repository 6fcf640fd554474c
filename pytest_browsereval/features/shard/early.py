"""The option ``--eval-shard``."""

from __future__ import annotations

from pytest_browsereval.feature import Option

OPTIONS = (
    Option(
        "--eval-shard",
        metavar="I/N",
        help="run only shard I of N, such as 1/4; auto (Kubernetes: auto/N): the one that CI or the "
        "cluster assigns; `browsereval merge` joins the shards into one run",
        wakes=True,  # it is about hand-written tests as well, and nothing is known of those before
    ),
)
