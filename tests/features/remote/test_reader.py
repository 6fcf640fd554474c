"""A run at a URL in Python: what is large is fetched when it is asked for."""

from __future__ import annotations

from pytest_browsereval import open_run
from pytest_browsereval.runs.run import PARTIAL
from tests.features.remote.test_push_and_pull import bucket, cache, pushed, written
from tests.hooks.small_evals import Evals

__all__ = ["bucket", "cache"]


def test_messages_and_pictures_are_fetched_when_asked_for(evals: Evals, bucket: str) -> None:
    """Figures come from digests; ids are those of the run on the machine that made it."""
    folder = written(evals)
    local = open_run(folder)
    run = open_run(pushed(evals, folder, bucket))
    assert (run.folder / PARTIAL).exists()
    assert [(one.id, one.verdict, one.counts) for one in run.attempts] == [
        (one.id, one.verdict, one.counts) for one in local.attempts
    ]
    assert run.eval == "shop"
    assert not any((run.folder / "tasks").iterdir())
    for here, there in zip(local.attempts, run.attempts, strict=True):
        assert there.messages == here.messages != ()
        assert there.grades == here.grades
        assert [path.name for path in there.pictures.values()] == [
            path.name for path in here.pictures.values()
        ]
    assert run.files != run.folder
