"""The dashboard's server: its page, its requests, and what it gives away."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, unquote

from pydantic import BaseModel, ConfigDict

from pytest_browsereval.features.dashboard.feed import Feed, Watched
from pytest_browsereval.features.shared.page_server import PICTURES, Answer, PageServer
from pytest_browsereval.features.shared.viewer import page as viewer
from pytest_browsereval.features.shared.viewer.attempts import read_attempt
from pytest_browsereval.features.shared.viewer.records import details_of
from pytest_browsereval.run_files import read_written

ASKED_S = 3.0
"""A page asks each second. For one that has not asked for so long pytest does not wait: it is closed."""
_LOOK_S = 0.05
_HTML = "text/html; charset=utf-8"
_KEY = r"((?:[A-Za-z0-9_+-][\w.+-]*/){3}attempt-[0-9]{1,9})"
_DETAILS = re.compile(rf"attempts/{_KEY}", re.ASCII)
_PICTURE = re.compile(rf"tasks/{_KEY}/screenshots/([0-9]{{1,9}}\.({'|'.join(PICTURES)}))", re.ASCII)


class PageRequest(BaseModel):
    """A request of a page to the run."""

    model_config = ConfigDict(extra="forbid", strict=True)

    want: Literal["pause", "resume", "stop"]


class DashboardServer(PageServer):
    """The pages of a session's runs, from the session's start to its end.

    Every file is asked for by parts that are checked, and none is a link.

    Args:
        runs: returns the runs that there are; there may be more of them later.
        port: where to listen; 0 takes a free port.

    Raises:
        UsageError: the port is taken.
    """

    def __init__(self, runs: Callable[[], Sequence[Watched]], port: int = 0) -> None:
        super().__init__("--eval-dashboard", port)
        self._runs = runs
        self._feeds: list[Feed] = []
        self._lock = threading.RLock()
        self.start()

    def close(self) -> None:
        """Close the port, once pages that ask were told the end of the run."""
        told_at = time.monotonic()
        asking = [one for one in self._feeds if told_at - one.asked_at < ASKED_S]
        while time.monotonic() - told_at < ASKED_S and (
            self.under_way or any(one.asked_at < told_at for one in asking)
        ):
            time.sleep(_LOOK_S)
        super().close()

    def get(self, path: str, query: str) -> Answer:
        """Return a page, or what it asks for."""
        number, _, rest = path.partition("/")
        with self._lock:
            self._update()
            if not path and self._feeds:
                return Answer(b"", _HTML, status=307, headers={"Location": f"/{self.access.token}/0/"})
            return self._get(self._find(number), int(number), unquote(rest), query)

    def _update(self) -> None:
        self._feeds += [Feed(watched) for watched in self._runs()[len(self._feeds) :]]

    def _find(self, number: str) -> Feed:
        if not re.fullmatch(r"[0-9]{1,9}", number):
            raise LookupError(number)
        return self._feeds[int(number)]

    def _get(self, feed: Feed, number: int, path: str, query: str) -> Answer:
        if not path:
            data = feed.data()
            data["live"] |= {"runs": [one.watched.name for one in self._feeds], "own": number}
            form = live_form()
            text = viewer.page(data, feed.watched.name, form=form)
            return Answer(text.encode(), _HTML, viewer.policy_of(form))
        if path == "news":
            last = parse_qs(query).get("after", ["0"])[0]
            return Answer.of(feed.news(int(last) if re.fullmatch(r"[0-9]{1,9}", last) else 0))
        if match := _DETAILS.fullmatch(path):
            _check_folder(feed, match[1])
            attempt = read_attempt(feed.run, match[1])
            return Answer.of(details_of(attempt, is_served=True))
        if match := _PICTURE.fullmatch(path):
            file = _check_folder(feed, f"{match[1]}/screenshots") / match[2]
            if not file.is_symlink() and file.is_file():
                return Answer(read_written(file), PICTURES[match[3]])
        raise LookupError(path)

    def post(self, path: str, body: bytes) -> Answer:
        """Write down what is wanted of a run."""
        number, _, rest = path.partition("/")
        if rest != "control":
            raise LookupError(path)
        wish = PageRequest.model_validate_json(body)
        with self._lock:
            self._update()
            _apply_request(self._find(number), wish)
        return Answer.of({})


def _apply_request(feed: Feed, wish: PageRequest) -> None:
    control = feed.watched.control
    state = control.read_state()
    paused = wish.want == "pause" if wish.want in ("pause", "resume") else state.paused
    control.write_state(replace(state, paused=paused, stopped=state.stopped or wish.want == "stop"))


def _check_folder(feed: Feed, key: str) -> Path:
    """Return a folder below that of all tasks.

    Raises:
        LookupError: it is missing, or reached by a link.
    """
    top = (feed.watched.store.root / "tasks").resolve()
    folder = top / key
    if not folder.is_dir() or folder.resolve() != folder:
        raise LookupError(key)
    return folder


# Only the page's own script runs; it asks only this server, and cannot turn a text into markup.
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


@cache
def live_form() -> viewer.Form:
    """Return the form of the dashboard's page."""
    own = files("pytest_browsereval.features.dashboard")

    def read(name: str) -> str:
        return own.joinpath(name).read_text(encoding="utf-8")

    viewers = [
        read("script/asking.js") if name == "details" else viewer.script_named(name)
        for name in viewer.SCRIPTS
    ]
    scripts = (*viewers, *(read(f"script/{name}.js") for name in ("lanes", "queue", "live")))
    style = viewer.part("page.css") + read("live.css")
    return replace(viewer.run_form(), scripts=scripts, style=style, policy=POLICY, live=read("live.html"))
