"""A code of two-factor authentication is made when it is typed, and written nowhere."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest

from pytest_browsereval.config.variables import Variables
from pytest_browsereval.features.totp.reader import read_totp
from pytest_browsereval.local_server import LocalHandler
from tests.hooks.small_evals import Evals, row
from tests.support import PageServer, serving

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
SHORT = "JBSW Y3DP EHPK 3PXP"
"""Of 80 bits, in groups, as many sites show theirs."""
AGENT = """
async def answer(context):
    for name, text in (("fill", "${CODE}"), ("press_key", None)):
        given = {"text": text} if text else {"key": "Enter"}
        said = await context.tools.call(name, {"target": "label=Code", **given})
        if not said.ok:
            return said.output
    return (await context.tools.call("read_text", {})).output
"""


@contextmanager
def bank() -> Iterator[tuple[str, list[str]]]:
    """Serve a page that takes a code and repeats it; yield its address and the codes that it got."""
    typed: list[str] = []

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            form = "<form action=/in><label>Code <input name=code></label><button>Log in</button></form>"
            if codes := parse_qs(urlsplit(self.path).query).get("code"):
                typed.extend(codes)
                is_right = pyotp.TOTP(SECRET).verify(codes[0], valid_window=1)
                form = f"<p>{'Welcome' if is_right else 'Wrong'}</p><p>You typed {codes[0]}.</p>{form}"
            self.send(200, "text/html", form.encode())

    with serving(Handler) as url:
        yield url, typed


def enter(name: str, url: str, **more: Any) -> dict[str, Any]:
    solution = [
        {"tool": "fill", "target": "label=Code", "text": "${CODE}"},
        {"tool": "click", "target": "role=button"},
        {"tool": "read_text"},
        {"tool": "done", "answer": "in"},
    ]
    plain = {"graders": ["page_state"], "checks": [{"text": "Welcome"}], "solution": solution}
    return row(name, start_url=url, **{**plain, **more})


KEYS: dict[str, Any] = {
    "variables": {"CODE": {"totp": "${SEED}"}},
    "dataset": [{"path": "rows.jsonl", "trusted": True}],
    "browser": "playwright",
}


def find_leaks(evals: Evals, *secrets: str) -> list[str]:
    """Return the files with a secret; pictures show what pages show, and are no text.

    Six digits that are a part of a longer number, of a time or of a hash, are there by chance.
    """
    found = re.compile(rb"(?<![0-9a-f.])(?:%s)(?![0-9a-f])" % "|".join(secrets).encode())
    files = [file for file in evals.path.rglob("*") if file.is_file() and file.suffix != ".jpeg"]
    return [f"{file}: {hit[0]!r}" for file in files if (hit := found.search(file.read_bytes()))]


@pytest.mark.parametrize("workers", [[], pytest.param(["-n2"], marks=pytest.mark.slow)])
def test_a_code_is_typed_and_written_nowhere(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, workers: list[str]
) -> None:
    """Whatever the variable of the secret is called, and though the page repeats the code."""
    monkeypatch.setenv("SEED", SECRET)
    with bank() as (url, typed):
        evals.write([enter("a", url), enter("b", url)], **KEYS, lanes=2, capture={"har": True, "dom": True})
        run = evals.run("shop.eval.yaml", *workers)
        run.assert_outcomes(passed=2)
    assert len(typed) == 2
    assert find_leaks(evals, SECRET, *typed) == []


def test_an_agent_types_a_code_by_its_name(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """It never sees the code as its own, the log has the name, and another site gets none."""
    monkeypatch.setenv("SEED", SECRET)
    (evals.path / "agents.py").write_text(AGENT)
    with bank() as (url, typed), bank() as (stranger, stolen):
        rows = [
            enter("own", url),
            enter("lured", url, setup_script=f"location.href = '{stranger}'", checks=[{"text": "Code"}]),
        ]
        agent = {"type": "function", "function": "agents:answer"}
        run = evals.play(rows, **{**KEYS, "agent": agent})
        run.assert_outcomes(passed=2)
    assert (len(typed), stolen) == (1, [])
    assert find_leaks(evals, SECRET, *typed) == []
    assert "is typed only on pages of" in str(run.attempt("lured").final_answer)
    log = next(run.folder.glob("tasks/own/*/*/*/messages.jsonl")).read_text()
    assert '"text":"${CODE}"' in log
    assert "with '${CODE}'" in log


def test_codes_are_those_of_an_authenticator() -> None:
    """Of the text beside a QR code, short ones too, and of the address in it with digits, period and hash."""
    address = f"otpauth://totp/Shop:ada?secret={SECRET}&issuer=Shop&digits=8&period=60&algorithm=SHA256"
    made, told = read_totp(address), pyotp.parse_uri(address)
    assert isinstance(told, pyotp.TOTP)
    assert [made.at(moment) for moment in (0, 59, 10**9)] == [told.at(moment) for moment in (0, 59, 10**9)]
    assert read_totp(SHORT).at(0) == read_totp(SHORT.replace(" ", "").lower()).at(0) == "282760"


def test_a_person_s_code_is_recognised_later() -> None:
    """The recorder knows the codes of the next hour by the name of their variable."""
    values = Variables({"PASSWORD": "hunter22"}, {"CODE": read_totp(SECRET)})
    names = values.list_typed()
    assert names["hunter22"] == "PASSWORD"
    assert names[read_totp(SECRET).at(int(time.time()) + 1_800)] == "CODE"


def test_rows_from_elsewhere_get_no_code(
    evals: Evals, pages: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row chooses the page: the dataset has to be trusted."""
    monkeypatch.setenv("SEED", SECRET)
    run = evals.play([enter("a", pages.page("/x", "x"))], **{**KEYS, "dataset": "rows.jsonl"})
    assert run.ret == 4
    run.stderr.fnmatch_lines(["*types ${CODE}*Read the rows and write `trusted: true`*"])


def test_a_wrong_secret_is_told_without_it(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Before the run, with its line and what to write; so are a missing package and another key."""
    cases = [
        ("no base 32!", {"totp": "${SEED}"}, "*shop.eval.yaml:*: variables.CODE.totp: is not a TOTP secret*"),
        (f"otpauth://hotp/x?secret={SECRET}&counter=1", {"totp": "${SEED}"}, "*is not a TOTP secret*"),
        (SECRET, {"otp": "${SEED}"}, "*variables.CODE.otp: unknown key*'totp'*"),
    ]
    for secret, block, message in cases:
        with subtests.test(message=message):
            monkeypatch.setenv("SEED", secret)
            run = evals.play([row("a")], variables={"CODE": block})
            assert run.ret == 4
            run.stderr.fnmatch_lines([message])
            assert secret not in "\n".join((*run.outlines, *run.errlines))
    monkeypatch.setenv("SEED", SECRET)
    monkeypatch.setitem(sys.modules, "pyotp", None)
    run = evals.play([row("a")], variables=["SEED", {"CODE": {"totp": "${SEED}"}}])
    run.stderr.fnmatch_lines(["*pip install 'pytest-browsereval[[]totp]'*"])
