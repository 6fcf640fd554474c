"""The dashboard's web application: its page, its requests, and who may make them."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_browsereval.features.dashboard.feed import Feed, Watched
from pytest_browsereval.features.dashboard.flights import PICTURES
from pytest_browsereval.local_server import PAGE_HEADERS, PageAccess
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.report.viewer import page as viewer
from pytest_browsereval.report.viewer.attempts import read_attempt
from pytest_browsereval.report.viewer.records import details_of
from pytest_browsereval.run.store import TrialKey
from pytest_browsereval.run_files import read_written

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A request of the page is a few words; more is not from the page.
MOST_BYTES = 64 * 1024

_JSON = "application/json"
_ATTEMPT = re.compile(r"(?:[A-Za-z0-9_+-][\w.+-]*/){3}attempt-[0-9]{1,9}", re.ASCII)
_PICTURE = re.compile(rf"[0-9]{{1,9}}\.({'|'.join(PICTURES)})")


def _allow_framing(policy: str) -> str:
    return f"{policy}; frame-ancestors 'none'"


AGAIN_S = 1
# The address is printed before pytest has read the evals: until then there is no run to show.
_WAITING_STYLE = """
:root { color-scheme: light dark; --back: #f4f5f7; --ink: #1b1f24; --soft: #57606a; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1318; --ink: #e6edf3; --soft: #a3adb8; } }
body { background: var(--back); color: var(--ink); margin: 15vh 1.5rem; }
body { font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 34rem; margin: 0 auto; }
h1 { font-size: 1.25rem; }
p { color: var(--soft); }
"""
WAITING = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<style>{_WAITING_STYLE}</style>
<meta http-equiv="refresh" content="{AGAIN_S}">
<title>Waiting for the run</title>
<main>
<h1>Waiting for the run</h1>
<p>pytest is still reading the evals. The run opens here by itself as soon as there is something to see.</p>
</main>
</html>
"""

# Every answer has these headers, unless it has its own.
GUARDS = tuple(
    (name.lower().encode(), value.encode())
    for name, value in {
        "Content-Security-Policy": _allow_framing("default-src 'none'"),
        **PAGE_HEADERS,
    }.items()
)


class PageRequest(BaseModel):
    """A request of a page to the run."""

    model_config = ConfigDict(extra="forbid", strict=True)

    want: Literal["pause", "resume", "stop", "skip", "keep"]
    query_id: str = Field(default="", max_length=20_000)
    variant: str = Field(default="default", max_length=20_000)
    trial: int = Field(default=1, ge=1)


class Dashboard:
    """The pages of a session's runs.

    `PageAccess` says which requests are answered. Every file is asked for by parts that are checked, and none
    is a link.

    Args:
        runs: returns the runs that there are; there may be more of them later.
        port: where the server listens.
    """

    def __init__(self, runs: Callable[[], Sequence[Watched]], port: int) -> None:
        self._runs = runs
        self.access = PageAccess(port)
        self.feeds: list[Feed] = []

    def feed(self, place: int) -> Feed | None:
        """Return the events of a run by its place; None if there is no such run."""
        runs = self._runs()
        self.feeds += [Feed(watched) for watched in runs[len(self.feeds) :]]
        return self.feeds[place] if 0 <= place < len(self.feeds) else None

    # -- requests

    def app(self) -> ASGIApp:
        """Return the application; it imports what serves it."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        inner = Starlette(
            routes=[
                Route("/", self._home),
                Route("/{run:int}/", self._page),
                Route("/{run:int}/events", self._events),
                Route("/{run:int}/attempts/{key:path}", self._attempt),
                Route("/{run:int}/tasks/{key:path}/screenshots/{name}", self._picture),
                Route("/{run:int}/control", self._control, methods=["POST"]),
            ]
        )

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            async def guarding(message: Message) -> None:
                if message["type"] == "http.response.start":
                    given = {name.lower() for name, _ in message["headers"]}
                    message["headers"] += [pair for pair in GUARDS if pair[0] not in given]
                await send(message)

            headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
            token = str(scope["path"]).removeprefix("/").partition("/")[0]
            if (why := self.access.find_refusal(headers, token)) is not None:
                await _refuse(403, why)(scope, receive, guarding)
            else:
                await inner({**scope, "root_path": f"/{self.access.token}"}, receive, guarding)

        return guarded

    def _of(self, request: Request) -> Feed:
        from starlette.exceptions import HTTPException

        feed = self.feed(request.path_params["run"])
        if feed is None:
            raise HTTPException(404)
        return feed

    # -- answers

    async def _home(self, _: Request) -> Response:
        from starlette.responses import RedirectResponse

        return RedirectResponse(f"/{self.access.token}/0/") if self.feed(0) else self._wait()

    def _wait(self) -> Response:
        """Return the page until there is a run: the address is printed before the evals are read."""
        from starlette.responses import HTMLResponse

        policy = f"default-src 'none'; img-src data:; style-src {viewer.hash_of(_WAITING_STYLE)}"
        headers = {"Retry-After": str(AGAIN_S), "Content-Security-Policy": _allow_framing(policy)}
        return HTMLResponse(WAITING, 503, headers=headers)

    async def _page(self, request: Request) -> Response:
        from starlette.responses import HTMLResponse

        if self.feed(0) is None:
            return self._wait()
        feed = self._of(request)
        data = feed.data()
        names = [one.watched.name for one in self.feeds]
        data["live"] |= {"runs": names, "own": request.path_params["run"]}
        form = live_form()
        text = viewer.page(data, feed.watched.name, form=form)
        return HTMLResponse(text, headers={"Content-Security-Policy": _allow_framing(viewer.policy_of(form))})

    async def _events(self, request: Request) -> Response:
        from starlette.responses import StreamingResponse

        last = request.headers.get("last-event-id") or request.query_params.get("after", "")
        stream = self._of(request).stream(last)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def _attempt(self, request: Request) -> Response:
        from starlette.responses import Response

        key = request.path_params["key"]
        feed = self._of(request)
        if _folder(feed, key) is None:
            return _refuse(404, "there is no such attempt")
        details = details_of(read_attempt(feed.watched.door, feed.watched.store, key), is_served=True)
        return Response(well_formed(json.dumps(details, ensure_ascii=False)), media_type=_JSON)

    async def _picture(self, request: Request) -> Response:
        from starlette.responses import Response

        folder = _folder(self._of(request), request.path_params["key"], "screenshots")
        match = _PICTURE.fullmatch(request.path_params["name"])
        if folder is not None and match is not None:
            with contextlib.suppress(OSError):
                return Response(read_written(folder / match[0]), media_type=PICTURES[match[1]])
        return _refuse(404, "there is no such picture")

    async def _control(self, request: Request) -> Response:
        from starlette.responses import Response

        feed = self._of(request)
        # Of this type no form of another page can send: its browser would ask here first.
        is_ours = request.headers.get("content-type", "").partition(";")[0].strip() == _JSON
        if not is_ours or "origin" not in request.headers:
            return _refuse(415, "not sent by the dashboard's page")
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return _refuse(413, f"more than {MOST_BYTES} bytes")
        try:
            wish = PageRequest.model_validate_json(bytes(body))
        except ValidationError as error:
            return _refuse(400, str(error).partition("\n")[0])
        try:
            _apply_request(feed, wish)
        except OSError as error:
            return _refuse(500, f"the disk refused: {error.strerror or error}")
        feed.catch_up()
        return Response(b"{}", media_type=_JSON)


def _apply_request(feed: Feed, wish: PageRequest) -> None:
    control = feed.watched.control
    if wish.want in ("skip", "keep"):
        key = TrialKey(wish.query_id, wish.variant, wish.trial)
        control.skip(key, is_skipped=wish.want == "skip")
        return
    state = control.read_state()
    paused = wish.want == "pause" if wish.want in ("pause", "resume") else state.paused
    control.write_state(replace(state, paused=paused, stopped=state.stopped or wish.want == "stop"))


def _folder(feed: Feed, key: str, below: str = "") -> Path | None:
    """Return the folder of an attempt, or one in it; None if it is missing or reached by a link."""
    if not _ATTEMPT.fullmatch(key):
        return None
    top = (feed.watched.store.root / "tasks").resolve()
    folder = top / key / below
    return folder if folder.is_dir() and folder.resolve() == folder else None


def _refuse(status: int, why: str) -> Response:
    from starlette.responses import Response

    return Response(json.dumps({"error": why}), status, media_type=_JSON)


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
