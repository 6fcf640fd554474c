"""Sites with ``data``: each start of the server has a copy of its own, and ``reset: restart``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import ConfigError, Fault
from pytest_browsereval.features.command_site.folder import copy_data
from pytest_browsereval.sites import SiteConfig, Sites, check
from pytest_browsereval.temporary import own_folder
from tests.features.command_site.test_site import ask_once, get
from tests.hooks.conftest import evals
from tests.hooks.small_evals import Evals

__all__ = ["evals"]

NOTES = """
import http.server, os, sys
from pathlib import Path

notes = Path(sys.argv[1], "notes")
with open("starts", "a") as starts:
    starts.write(f"{notes.parent}\\n")

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/add":
            notes.write_text(notes.read_text() + "more;")
        body = f"<p>{os.getpid()} notes: {notes.read_text().count(';')}</p>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

if Path(os.environ["BROKEN"]).exists():
    sys.exit(f"last words of {os.environ['BROKEN']}")
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""


def notes_site(folder: Path, **more: Any) -> dict[str, Any]:
    """Write a site whose state is a file, and return its block."""
    (folder / "notes.py").write_text(NOTES)
    template = folder / "template"
    template.mkdir()
    (template / "notes").write_text("first;")
    broken = str(folder / "broken")
    command = ["{python}", "notes.py", "{data}"]
    return {"command": command, "data": "template", "env": {"BROKEN": broken}, **more}


def starts_of(folder: Path) -> list[Path]:
    """Return the copy of each start; none is there any more."""
    copies = [Path(line) for line in (folder / "starts").read_text().split()]
    assert [copy for copy in copies if copy.exists()] == []
    assert len(set(copies)) == len(copies)
    assert (folder / "template" / "notes").read_text() == "first;"
    return copies


def row(name: str, notes: str, *, adds: bool = False, **more: Any) -> dict[str, Any]:
    """Return a row that expects notes, once it may have added one."""
    steps = [{"tool": "navigate", "url": "{lab}/add"}] if adds else [{"tool": "snapshot"}]
    return {
        "query_id": name,
        "query": f"See {name}.",
        "start_url": "{lab}/",
        "graders": ["page_state"],
        "checks": [{"text": notes}],
        "solution": steps,
        "requires_reset": adds,
        **more,
    }


@pytest.mark.parametrize("lanes", [1, 3])
def test_rows_find_the_first_state(evals: Evals, lanes: int) -> None:
    """A site is restarted with new data after rows that change it, and not before the first row."""
    site = notes_site(evals.path, reset="restart")
    rows = [row("see", "notes: 1"), row("add", "notes: 2", adds=True)]
    rows += [row("again", "notes: 2", adds=True), row("end", "notes: 1")]
    ran = evals.play(rows, browser="playwright", sites={"lab": site}, lanes=lanes)
    ran.assert_outcomes(passed=4)
    copies = starts_of(evals.path)
    assert len(copies) == 4 if lanes == 1 else 2 <= len(copies) <= 4
    logs = list((ran.folder / "sites").glob("lab-*.log"))
    assert len(logs) == len(copies)


def test_rows_that_only_look_share_a_start(evals: Evals) -> None:
    """Rows that need no reset are run on one instance, and a note says that it is never restarted."""
    site = notes_site(evals.path, reset="restart")
    ran = evals.play([row(name, "notes: 1") for name in "abc"], browser="playwright", sites={"lab": site})
    ran.assert_outcomes(passed=3)
    assert len(starts_of(evals.path)) == 1
    assert "so these sites are never restarted: lab" in str(ran.stdout)


def test_site_that_does_not_come_up_again(evals: Evals) -> None:
    """The attempt that needed the restart is errored by the site, with the server's last words."""
    site = notes_site(evals.path, reset="restart")
    broken = evals.path / "broken"
    (evals.path / "conftest.py").write_text(
        "from pathlib import Path\n"
        "def pytest_browsereval_task_done(metadata):\n"
        f"    Path({str(broken)!r}).touch()\n"
    )
    rows = [row("add", "notes: 2", adds=True), row("see", "notes: 1")]
    ran = evals.play(rows, browser="playwright", sites={"lab": site})
    ran.assert_outcomes(passed=1, errors=1)
    assert f"last words of {broken}" in str(ran.stdout)
    assert ran.attempt("see").error_source == "site"
    assert len(starts_of(evals.path)) == 2


@pytest.mark.parametrize(("reset", "is_shared"), [(None, True), ("POST /", False)])
def test_other_resets(tmp_path: Path, *, reset: str | None, is_shared: bool) -> None:
    """Without a reset all leases share one copy; a request is not sent to an instance with new data."""
    block = notes_site(tmp_path, reset=reset)

    async def course() -> None:
        sites = Sites({"lab": SiteConfig.model_validate(block)}, tmp_path, tmp_path / "logs")
        async with sites.lease(["lab"]) as one, sites.lease(["lab"]) as two:
            await get(f"{one['lab']}/add")
            assert ("notes: 2" in await get(two["lab"])) is is_shared
        async with sites.lease(["lab"]):
            pass
        await sites.close()

    asyncio.run(course())
    assert len(starts_of(tmp_path)) == (1 if is_shared else 2)
    # Of the third lease only. The logs are whole once the sites have closed.
    assert sum(log.read_text().count("POST") for log in tmp_path.glob("logs/*")) == (0 if is_shared else 1)


def test_what_a_copy_holds(tmp_path: Path) -> None:
    """Links within stay links, what is read-only can be written, and what is withheld is left out."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "file").write_text("x")
    (inner / "file").chmod(0o400)
    (inner / "rows.jsonl").write_text("answers")
    (inner / "link").symlink_to("file")
    (inner / "round").symlink_to("round")
    (tmp_path / "up").symlink_to("inner/../inner")
    inner.chmod(0o500)
    copy = copy_data(tmp_path, [inner / "rows.jsonl"])
    inner.chmod(0o700)
    assert sorted(path.name for path in (copy / "inner").iterdir()) == ["file", "link", "round"]
    assert (copy / "inner" / "link").readlink() == Path("file")
    assert [(copy / one).stat().st_mode & 0o700 for one in ("inner", "inner/file")] == [0o700, 0o600]
    assert copy.is_relative_to(own_folder())


def test_what_is_not_copied(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """What leads out of the folder, or is not a file, is refused by name before anything is started."""

    def link(place: Path, target: str) -> None:
        place.symlink_to(target)

    cases: list[tuple[str, Callable[[Path], object], str]] = [
        ("absolute", lambda one: link(one / "out", "/etc/hosts"), "has the link 'out', which leads out"),
        ("upwards", lambda one: link(one / "up", "../up"), r"to '\.\./up'"),
        ("pipe", lambda one: os.mkfifo(one / "pipe"), "has 'pipe', which is not a file"),
        ("missing", lambda one: one.rmdir(), "is not a folder"),
    ]
    for name, spoil, told in cases:
        with subtests.test(name):
            folder = tmp_path / name
            folder.mkdir()
            spoil(folder)
            site = SiteConfig.model_validate({"command": ["{python}", "{data}"], "data": name})
            with pytest.raises(ConfigError, match=f"sites.lab.data is '{name}', and .*{told}"):
                check({"lab": site}, tmp_path)
            sites = Sites({"lab": site}, tmp_path)

            async def lease(sites: Sites = sites) -> None:
                async with sites.lease(["lab"]):
                    pytest.fail("it was to be refused")

            with pytest.raises(Fault, match="its data cannot be copied"):
                asyncio.run(lease())


def test_working_folder(tmp_path: Path) -> None:
    """``cwd`` may be the copy, and a program in it may be the command."""
    template = tmp_path / "template"
    template.mkdir()
    program = template / "serve"
    program.write_text('#!/bin/sh\nexec python3 -m http.server --bind 127.0.0.1 "$PORT"\n')
    program.chmod(0o755)
    block = {"command": ["{data}/serve"], "data": "template", "cwd": "{data}"}
    config = SiteConfig.model_validate(block)
    check({"lab": config}, tmp_path)
    assert "serve" in ask_once(config, tmp_path)[1]
