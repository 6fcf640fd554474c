"""Whatever breaks: a clear message, the right verdict and exit code, and nothing left running."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls, done, refuses
from tests.hooks.launched import FUNCTION, files_with, go, metadata, verdicts, write_agent
from tests.hooks.small_evals import Evals, errored_row, row

BLANK_PATH = {"PATH": "/nowhere", "PLAYWRIGHT_BROWSERS_PATH": "/nowhere", "BROWSEREVAL_BROWSER": ""}
DONE = {"tool": "done", "answer": "right"}


# -- sites and start pages

APP = """
import http.server, os

class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/die":
            os._exit(3)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<title>shop</title>hello")

    def log_message(self, *args):
        pass

print("the shop is open", flush=True)
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
"""
SILENT = ["sh", "-c", "echo waiting for the database; exec sleep 300"]
"""A shell: it has printed that long before it is late, however busy the machine is."""


@pytest.mark.slow
def test_sites_and_start_pages_that_fail_err_their_own_rows(evals: Evals) -> None:
    """Each is errored with its own reason; rows around them pass, and a site that died is started anew."""
    (evals.path / "app.py").write_text(APP)
    dies = [{"tool": "navigate", "url": "{shop}/die"}, DONE]
    evals.write_rows(
        row("before", start_url="{shop}/"),
        errored_row("unreachable"),
        row("silent", start_url="{silent}/"),
        row("ends", start_url="{ends}/"),
        row("dies", start_url="{shop}/", solution=dies),
        row("after", start_url="{shop}/"),
    )
    commands: dict[str, Any] = {
        "shop": {"command": [sys.executable, "app.py"]},
        "silent": {"command": SILENT, "health_timeout_s": 5},
        "ends": {"command": [sys.executable, "-c", "print('no such database'); raise SystemExit(5)"]},
    }
    evals.write_config(browser="playwright", sites=commands)
    code, output = go(evals)
    assert code == 1
    expected = dict.fromkeys(("silent", "ends", "dies"), "errored (site)")
    expected |= {"before": "passed", "unreachable": "errored (navigation)", "after": "passed"}
    assert verdicts(evals.summary()) == expected
    for told in (
        "The site 'silent' was not ready within 5 s",
        "waiting for the database",
        "ended with exit code 5",
        "no such database",
        "The site 'shop' was lost while it was needed. Its process ended with exit code 3",
    ):
        assert told in " ".join(output.split())
    assert go(evals, "--eval-regrade=latest")[0] == 1
    assert verdicts(evals.summary()) == expected


# -- the browser


@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=["alone", "workers"]
)
@pytest.mark.slow
def test_no_browser_ends_the_run_at_once(evals: Evals, args: tuple[str, ...]) -> None:
    """Exit code 4, the message and what to type once, and not an error for each of a hundred rows."""
    evals.write([row(f"r{number}") for number in range(100)], browser="playwright", lanes=4)
    env = BLANK_PATH if args else {"BROWSEREVAL_BROWSER": "/nonexistent"}
    code, output = go(evals, *args, env=env)
    assert code == 4
    assert ("browsereval install-browser" if args else "BROWSEREVAL_BROWSER is '/nonexistent'") in output
    # Each worker has one at most; the first one's end stops the other, which may not have come to its own.
    assert output.count("ERROR at setup of") in ((1, 2) if args else (0,))
    assert not (evals.path / "results").exists()


# -- the disk


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount two megabytes, which only root may do."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(command, check=False).returncode:
        pytest.skip("mounting takes root on Linux")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


FILLS = """
async def solve(context):
    if begins(context) == "fills":
        with open(pathlib.Path(str(context.base_dir)) / "disk/rest", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
    return "right"
"""


@pytest.mark.slow
def test_a_full_disk_ends_the_run(evals: Evals) -> None:
    """What has finished is kept and shown; the lost row is an error, and no further one is paid for."""
    write_agent(evals, FILLS)
    evals.write([row("first"), row("fills"), *(row(f"r{number}") for number in range(5))], agent=FUNCTION)
    with small_disk(evals.path / "disk") as disk:
        code, output = go(evals, "--eval-output=disk")
        kept = list(disk.glob("shop/*/tasks/*/*/*/*/metadata.json"))
    assert code == 1, output
    assert [path.parts[-5] for path in kept] == ["first"]
    assert "Free some space or name another place with --eval-output=DIR" in output
    assert "1 passed, 1 error" in output
    assert "summary.json was not written" in output
    assert not (evals.path / "r0.begun").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=["alone", "workers"]
)
def test_a_file_in_place_of_the_output_folder(evals: Evals, args: tuple[str, ...]) -> None:
    """It is a usage error that names the place and the option."""
    (evals.path / "taken").write_text("")
    evals.write([row(f"r{number}") for number in range(9)])
    code, output = go(evals, "--eval-output=taken", *args)
    assert code == 4
    assert "taken" in output
    assert "--eval-output=DIR" in output


# -- plug-ins that end the run


# -- hostile rows and secrets


@pytest.mark.slow
def test_hostile_rows_spoil_no_report(evals: Evals) -> None:
    """Escape codes, tags, line breaks, NUL and a megabyte of text leave terminal, JUnit and HTML intact."""
    evil = "\x1b[2J\x1b[31mred <script>alert(1)</script>\n]]>\x00"
    evals.write([row("evil", query=evil, says=evil), row("big", query="y" * 1_000_000, says="z" * 100_000)])
    code, output = go(evals, "-rA", "--color=no", "--junit-xml=junit.xml", "--html=report.html")
    assert code == 1
    assert not {"\x1b", "\x00"} & set(output)
    assert len(output) < 20_000
    suite = ET.parse(evals.path / "junit.xml").getroot()[0]  # noqa: S314 our own file
    assert suite.get("failures") == "2"
    assert "<script>alert(1)" not in (evals.path / "report.html").read_text(encoding="utf-8")
    assert metadata(evals.run_folder(), "evil").final_answer == evil


KEY, PASSWORD = "sk-kept-in-the-environment", 'hunter2 "the" password'


class Model:
    """A model that fails in its own way for each row."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, request: ModelRequest) -> Reply:
        name = request.text.partition("answer of ")[2].partition(".")[0]
        self.asked[name] += 1
        is_first = self.asked[name] == 1
        if name == "broken":
            return refuses(500, f"no luck with {KEY}")
        if name == "busy" and is_first:
            return Reply(status=429, headers={"Retry-After": "1"})
        if name == "types" and is_first:
            return calls(call("fill", target="input", text=PASSWORD))
        if name == "tells":
            return done(f"The key is {KEY}, the password {PASSWORD}")
        return done("right")


SWALLOWS = """
from pytest_browsereval.llm.client import chat_client
from pytest_browsereval.llm.config import LLMConfig

async def work(context):
    client = chat_client(LLMConfig(**context.config.options))
    try:
        await client.complete([{"role": "user", "content": "hello"}])
    except BaseException:
        return "right"
"""


@pytest.mark.slow
def test_a_model_that_fails_until_the_time_is_over_is_a_fault(evals: Evals) -> None:
    """Also if it never replies, a part asks it, or the agent swallows what it raises."""
    (evals.path / "mine.py").write_text(SWALLOWS)

    def answer(request: ModelRequest) -> Reply:
        if request.body["model"] == "leads":
            return calls(call("delegate", instruction="buy a mug"))
        if request.body["model"] == "silent":
            return done("right").after(60)
        is_busy = request.body["model"] == "busy"
        return Reply(status=429, headers={"Retry-After": "1"}) if is_busy else refuses(500)

    evals.write_rows(row("r"))
    with ScriptedModel(answer) as server:
        model = {"base_url": server.base_url, "api_key": "none"}
        busy, down = {**model, "model": "busy"}, {**model, "model": "down", "max_tries": 20}
        parts = {"orchestrator": {**model, "model": "leads"}, "executor": down}
        variants = {
            "busy": {"type": "single", **busy},
            "down": {"type": "single", **down},
            "part": {"type": "orchestrator-executor", **parts},
            "silent": {"type": "single", **model, "model": "silent"},
            "swallows": {"type": "function", "function": "mine:work", "options": busy},
        }
        evals.write_config(variants=variants, lanes=5, retries=0, limits={"timeout_ms": 3000})
        code, output = go(evals, "--eval-keep-going")
    assert code == 1, output
    made = {each["variant"]: each for each in evals.summary()["results"]}
    for name, status in (("busy", 429), ("down", 500), ("part", 500), ("swallows", 429), ("silent", 0)):
        assert (made[name]["verdict"], made[name]["error_source"]) == ("errored", "provider"), name
        assert (f"answered {status} after" if status else "no reply within") in made[name]["reason"]
        assert "(the time was over before a reply came: limits.timeout_ms is 3000)" in made[name]["reason"]


@pytest.mark.slow
def test_models_that_fail_and_models_that_tell_secrets(evals: Evals) -> None:
    """Busy is waited for, broken is tried again and errored; no secret gets into any file or line."""
    (evals.path / "site").mkdir()
    page = "<title>form</title><input oninput='document.title = value; location.hash = value'>"
    (evals.path / "site/index.html").write_text(page)
    evals.write_rows(
        row("good"), row("broken"), row("busy"), row("tells"), row("types", start_url="{site}/index.html")
    )
    model = Model()
    with ScriptedModel(model) as server:
        agent = {"type": "single", "model": "m", "base_url": server.base_url, "api_key": "THE_KEY"}
        evals.write_config(
            agent={**agent, "max_tries": 2},
            lanes=3,
            retries=1,
            sites={"site": {"static": "site"}},
            browser={"args": ["--my-password=${THE_PASSWORD}"]},
        )
        reports = ("--junit-xml=junit.xml", "--html=report.html", "-rA")
        code, output = go(evals, *reports, env={"THE_KEY": KEY, "THE_PASSWORD": PASSWORD})
    assert code == 1, output
    assert verdicts(evals.summary()) == {
        "good": "passed",
        "broken": "errored (provider)",
        "busy": "passed",
        "tells": "failed",
        "types": "passed",
    }
    assert (model.asked["broken"], model.asked["busy"]) == (4, 2)  # two tries in each of two attempts
    assert "answered 500 after 2 tries" in " ".join(output.split())
    assert files_with(evals.path, *list_spellings([KEY, PASSWORD])) == []
    assert "[redacted]" in output
