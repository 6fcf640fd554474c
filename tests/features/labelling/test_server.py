"""Who may ask the labelling server, and for what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_browsereval.features.labelling.labels import LabelBook
from pytest_browsereval.features.labelling.server import LabellingServer
from tests.features.dashboard.asking import Asker


def ask(
    server: LabellingServer, path: str, body: str | None = None, *, token: str | None = None, **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    """Send a request as it stands; nothing is tidied on the way."""
    return Asker(server.access.hosts[0], server.access.token).ask(path, body, token=token, **headers)


def says(server: LabellingServer, said: Any, **headers: str) -> int:
    """Send a label as the page does, but for these headers."""
    given = {"Content_Type": "application/json", "Origin": f"http://{server.access.hosts[0]}", **headers}
    return ask(server, "labels", json.dumps(said), **given)[0]


def test_only_the_page_itself_is_answered(served: LabellingServer, book: LabelBook) -> None:
    """By the server of the dashboard, whose tests have more of it; nothing is written for another page."""
    assert says(served, label := {"place": 0, "label": "pass"}) == 200
    assert ask(served, "attempts", token="x" * 32)[0] == 403
    assert ask(served, "attempts", Host="evil.test")[0] == 403
    for headers, status in (
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 415),
        ({"Content_Type": "text/plain"}, 415),
    ):
        assert says(served, label, **headers) == status
    assert len(book.path.read_text().splitlines()) == 1


ELSEWHERE = (
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "attempts/../labels.jsonl",
    "attempts/0/pictures/../../metadata.json",
    "attempts/0/pictures/1",
    "attempts/0/pictures/0/",
    "attempts/3",
    "attempts/٣",
    "labels",
)


def test_nothing_else_is_served(served: LabellingServer) -> None:
    """What is not an attempt, a picture or the page, by number, is not found."""
    for path in ELSEWHERE:
        status, body, _ = ask(served, path)
        assert (status, json.loads(body)) == (404, {"error": "not found"}), path


def test_what_an_attempt_shows(served: LabellingServer) -> None:
    """The course of an attempt at once; nothing of its solution, its grades or its verdict."""
    status, body, _ = ask(served, "attempts/0")
    seen = json.loads(body)
    assert status == 200
    assert (seen["query"], seen["answer"], seen["start_url"]) == ("Do a.", "42", "http://shop.test/")
    steps = [(step["tool"], step["result"], step["picture"]) for step in seen["steps"]]
    assert steps == [("click", "Clicked.", 0), ("done", "Done.", None)]
    everything = b"".join(ask(served, path)[1] for path in ("attempts", "attempts/0"))
    for hidden in (b"29.90", b"in the cart", b"verdict", b"It is wrong", b"j/1"):
        assert hidden not in everything
    reference = json.loads(ask(served, "attempts/0/reference")[1])
    assert reference == {"answer": "29.90", "checks": '[\n {\n  "text": "in the cart"\n }\n]'}
    assert json.loads(ask(served, "attempts/2/reference")[1]) == {}
    (grade,) = json.loads(ask(served, "attempts/0/grades")[1])["grades"]
    assert (grade["grader"], grade["verdict"], grade["score"]) == ("judge", "failed", 0.0)


def test_pictures_are_those_of_the_attempt(served: LabellingServer, tmp_path: Path) -> None:
    """A picture comes with its type; a link to a file elsewhere, which a program has made, is none."""
    status, body, headers = ask(served, "attempts/0/pictures/0")
    assert (status, headers["content-type"], body[:4]) == (200, "image/png", b"\x89PNG")
    (tmp_path / "secret.png").write_bytes(b"secret")
    folder = served.book.attempts[0].folder / "screenshots"
    (folder / "002.png").symlink_to(tmp_path / "secret.png")
    assert ask(served, "attempts/0/pictures/1")[0] == 404


NO_LABELS: tuple[Any, ...] = (
    {"place": 3, "label": "pass"},
    {"place": -1, "label": "pass"},
    {"place": 0, "label": "passed"},
    {"place": 0, "label": "pass", "labeller": "ben"},
    {"place": 0, "label": "pass", "note": "x" * 10_001},
    {"place": 0, "label": "pass", "note": "x" * 70_000},
)


def test_what_is_no_label_is_refused(served: LabellingServer, book: LabelBook) -> None:
    """Nothing is written of it."""
    statuses = [says(served, said) for said in NO_LABELS]
    assert statuses == [404, 400, 400, 400, 400, 413]
    assert not book.path.exists()
