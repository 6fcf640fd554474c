from __future__ import annotations

import pytest

from pytest_browsereval.model.progress import Followed, FollowedCheck, Moment, Progress

CHECKS = (FollowedCheck(name="cart"), FollowedCheck(name="in the cart", is_milestone=True))
MOMENTS = (
    Moment(step=0, held=(False, None)),
    Moment(step=2, held=(True, True), found={0: "2"}),
    Moment(step=3, note="a dialog is open"),
    Moment(step=3, held=(False, True), is_end=True),
)


def test_a_file_says_what_was_written() -> None:
    """Checks and moments come back as they were, a line each."""
    written = Followed(checks=CHECKS, moments=MOMENTS)
    data = written.as_lines()
    assert data.count(b"\n") == 1 + len(MOMENTS)
    assert Followed.parse(data) == written


@pytest.mark.parametrize("data", [b"", b"{}", b'{"checks": []}\nno json', b'{"checks": [1]}'])
def test_other_files_are_refused(data: bytes) -> None:
    """A file that is none of these is a ``ValueError``, not half a curve."""
    with pytest.raises(ValueError, match=r"."):
        Followed.parse(data)


def test_the_share_is_that_of_the_milestones_first() -> None:
    """The furthest milestone counts where there are some, else the best moment; nothing is not zero."""
    assert Progress(checks=4, best=0.5).share == 0.5
    assert Progress(checks=4, best=0.5, milestones=4, reached=3).share == 0.75
    assert Progress(checks=4).share is None
