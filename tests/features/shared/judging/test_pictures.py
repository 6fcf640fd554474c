from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from PIL import Image

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.errors import Fault
from pytest_browsereval.features.shared.judging import pictures
from pytest_browsereval.features.shared.judging.pictures import encode_jpeg, load_pictures, sample_evenly
from pytest_browsereval.runs.folder import number_of
from tests.features.shared.judging.asking import picture, recorded_in
from tests.features.shared.judging.bench import gave


def test_a_picture_that_is_gone_is_missing_evidence(tmp_path: Path) -> None:
    """The log tells which were taken; one that nobody took leaves a gap, which is none."""
    recorded = recorded_in(tmp_path)
    with pytest.raises(Fault, match=r"no picture was recorded: there is nothing to look at\. Write less: 0"):
        load_pictures(recorded, else_write="less: 0")
    log = MessageLogger(tmp_path)
    for number in (1, 3):
        picture(tmp_path, number)
        log.log(gave(number, "ok", screenshot=number))
    log.log(gave(4, "ok"))
    log.close()
    assert [number_of(path) for path in load_pictures(recorded)] == [1, 3]
    (tmp_path / "screenshots" / "003.png").unlink()
    with pytest.raises(Fault, match=r"pictures that were taken are gone: 3$"):
        load_pictures(recorded)


def test_a_sample_spans_all_and_keeps_the_last(subtests: pytest.Subtests) -> None:
    """Never more than the cap, no item twice, in order, the last five always, the first too."""
    for count in [0, 1, 5, 29, 30, 31, 45, 59, 60, 61, 500]:
        with subtests.test(count=count):
            items = list(range(count))
            taken = sample_evenly(items, 30, keep_last=5)
            assert len(taken) == min(count, 30)
            assert taken == sorted(set(taken))
            assert taken[-5:] == items[-5:]
            assert taken[:1] == items[:1]
            gaps = [b - a for a, b in itertools.pairwise(taken[:-5])]
            assert not gaps or max(gaps) - min(gaps) <= 1


def test_transparent_and_palette_pictures_become_jpeg(tmp_path: Path) -> None:
    """Whatever a browser or another system has recorded."""
    for number, mode in enumerate(("RGBA", "P", "L", "LA", "1"), 1):
        path = tmp_path / f"{number}.png"
        Image.new(mode, (20, 10)).save(path)
        assert encode_jpeg(path, 16)[:3] == b"\xff\xd8\xff"


def test_a_huge_picture_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would fill the memory before it is made smaller."""
    path = picture(tmp_path, 1, (100, 100))
    monkeypatch.setattr(pictures, "MOST_PIXELS", 9_999)
    with pytest.raises(Fault, match=r"001\.png is too large"):
        encode_jpeg(path, 512)
    with pytest.raises(Fault, match=r"002\.png cannot be read"):
        encode_jpeg(path.with_name("002.png"), 512)
