"""Windows are as the config and the row say, by Playwright's names, and passwords go to one server only."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_browsereval.local_server import LocalHandler
from tests.hooks.small_evals import Evals, row
from tests.support import serving

PASSWORD = "rose-bud/77"
LOGIN = {"username": "ada", "password": "${STAGING}"}
SHOWN = """<title>Window</title><meta name=viewport content="width=device-width"><ul id=out></ul><script>
const show = (name, value) => { out.innerHTML += `<li>${name}=${value}</li>` };
show('language', navigator.language);
show('zone', Intl.DateTimeFormat().resolvedOptions().timeZone);
show('ratio', devicePixelRatio); show('touch', navigator.maxTouchPoints); show('width', innerWidth);
show('dark', matchMedia('(prefers-color-scheme: dark)').matches);
</script>"""


@contextmanager
def desk(other: str = "") -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Serve a page that asks for a password below ``/staging``; yield its address and what it was sent."""
    asked: list[tuple[str, str | None]] = []
    wanted = "Basic " + base64.b64encode(f"ada:{PASSWORD}".encode()).decode()

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            given = self.headers["Authorization"]
            asked.append((self.path, given))
            is_open = given == wanted or not self.path.startswith("/staging")
            body = f"{SHOWN}<p>You sent {given}</p>" + f"<img src='{other}/staging/x.png'>" * bool(other)
            if is_open:
                self.send(200, "text/html", body.encode())
            else:
                self.send(401, "text/html", b"who?", {"WWW-Authenticate": 'Basic realm="staging"'})

    with serving(Handler) as url:
        yield url, asked


def see(name: str, url: str, *expected: str, **more: Any) -> dict[str, Any]:
    """Return a row that passes if the page shows what is expected."""
    checks = [{"text": text} for text in expected]
    solution = [{"tool": "read_text"}, {"tool": "done", "answer": "seen"}]
    wanted = {"graders": ["page_state"], "checks": checks, "solution": solution, "start_url": url, **more}
    return row(name, **wanted)


@pytest.mark.parametrize("workers", [[], pytest.param(["-n2"], marks=pytest.mark.slow)])
def test_rows_have_windows_of_their_own(evals: Evals, workers: list[str]) -> None:
    """One dataset has a telephone, a foreign desk and a plain window, side by side, each in its record."""
    with desk() as (url, _):
        kyoto = {"locale": "ja-JP", "timezone_id": "Asia/Tokyo", "color_scheme": "dark"}
        kyoto_shows = ("language=ja-JP", "zone=Asia/Tokyo", "width=500", "dark=true")
        small = {"viewport": {"width": 500, "height": 400}}
        phone_shows = ("touch=1", "ratio=2.625", "width=412", "zone=UTC")
        rows = [
            see("plain", url, "zone=UTC", "touch=0", "width=900", "dark=false"),
            see("phone", url, *phone_shows, context={"device": "Pixel 7"}),
            see("kyoto", url, *kyoto_shows, context={**kyoto, **small}),
        ]
        context = {"viewport": {"width": 900, "height": 600}, "timezone_id": "UTC"}
        run = evals.play(rows, *workers, browser={"context": context}, lanes=3)
        run.assert_outcomes(passed=3)
    conditions = {one.query_id: one.conditions for one in run.attempts}
    assert conditions["plain"] == ("timezone_id=UTC", "viewport=900x600")
    assert conditions["phone"] == ("device=Pixel 7", "timezone_id=UTC")
    assert "viewport=500x400" in conditions["kyoto"]


def test_a_password_goes_to_its_origin_and_into_no_file(
    evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that asks for one on the same page gets none, and neither password nor header is written."""
    monkeypatch.setenv("STAGING", PASSWORD)
    with desk() as (stranger, asked_by_stranger), desk(stranger) as (url, asked):
        rows = [see("in", f"{url}/staging/", "touch=0"), see("out", f"{stranger}/staging/", "touch=0")]
        browser = {"context": {"http_credentials": {**LOGIN, "origin": url}}}
        run = evals.play(rows, browser=browser, capture={"har": True, "dom": True, "trace": "on"})
        run.assert_outcomes(passed=1, errors=1)
    assert [given for path, given in asked if path == "/staging/"][-1] is not None
    assert {given for _, given in asked_by_stranger} == {None}
    assert "set `browser.context.http_credentials`" in run.attempt("out").reason
    assert len(asked_by_stranger) >= 2
    header = base64.b64encode(f"ada:{PASSWORD}".encode())
    files = [file for file in evals.path.rglob("*") if file.is_file() and file.name != "shop.eval.yaml"]
    leaky = [f for f in files if any(one in f.read_bytes() for one in (PASSWORD.encode(), header))]
    assert leaky == []
    assert PASSWORD not in "\n".join(run.outlines)


def test_a_password_passes_the_filter_of_origins(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site behind basic auth opens with ``allowed_origins`` too, in a window that is lent as well."""
    monkeypatch.setenv("STAGING", PASSWORD)
    with desk() as (url, asked):
        rows = [see("a", f"{url}/staging/", "touch=0")]
        context = {"http_credentials": {**LOGIN, "origin": url}}
        variants = {"ours": "scripted", "lent": {"type": "command", "command": ["echo", "seen"], "cdp": True}}
        browser = {"context": context, "allowed_origins": ["shop.example"]}
        run = evals.play(rows, browser=browser, variants=variants)
        run.assert_outcomes(passed=2)
    assert len({given for _, given in asked} - {None}) == 1


def test_keys_in_headers_need_allowed_origins(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """With them a page elsewhere gets nothing, and a row that starts elsewhere is not begun."""
    monkeypatch.setenv("SHOP_TOKEN", "t-123456789")
    headers = {"extra_http_headers": {"Authorization": "Bearer ${SHOP_TOKEN}"}}
    with desk() as (stranger, asked_by_stranger), desk(stranger) as (url, asked):
        rows = [see("in", url, "touch=0"), see("out", stranger, "touch=0")]
        evals.play(rows, browser={"context": headers}).stderr.fnmatch_lines(
            ["*context.extra_http_headers.Authorization would go to each server*Write allowed_origins*"]
        )
        evals.write_config(browser={"context": headers, "allowed_origins": [url]})
        run = evals.run("shop.eval.yaml")
        run.assert_outcomes(passed=1, errors=1)
    assert asked[0][1] == "Bearer t-123456789"
    assert asked_by_stranger == []
    assert "the row starts elsewhere" in run.attempt("out").reason


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"context": {"locales": "de"}}, "*:*: browser.context.locales: is not an option*'locale'?*"),
    ({"context": {"color_scheme": "drak"}}, "*color_scheme: 'drak' is not allowed*'dark'*"),
    ({"context": {"viewport": {"width": 9, "heigth": 9}}}, "*viewport.heigth: unknown key*'height'*"),
    ({"context": {"timezone_id": "Europe/Berln"}}, "*Did you mean 'Europe/Berlin'?*"),
    ({"context": {"record_har_path": "x"}}, "*record_har_path: cannot be set: write `capture: {har: true}`*"),
    ({"context": {"geolocation": {"latitude": 1, "longitude": 2}}}, "*permissions: [[]geolocation]*"),
    ({"context": {"http_credentials": LOGIN}}, "*http_credentials: needs an `origin`*"),
    ({"context": {"http_credentials": {**LOGIN, "origin": "{shpo}"}}}, "*'shpo', which is not a site*"),
    (
        {"context": {"proxy": {"server": "http://p:1"}}, "allowed_origins": ["a.example"]},
        "*context.proxy has no effect with allowed_origins*HTTP_PROXY*",
    ),
    ({"type": "blank", "context": {"locale": "de"}}, "*browser.context: unknown key*"),
]


def test_a_wrong_option_is_told_with_its_line(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Before a browser starts, with what to write instead, and without the password."""
    monkeypatch.setenv("STAGING", PASSWORD)
    for options, message in WRONG:
        with subtests.test(message=message):
            run = evals.play([row("a")], browser=options)
            assert run.ret == 4
            run.stderr.fnmatch_lines([message])
            assert PASSWORD not in "\n".join((*run.outlines, *run.errlines))


def test_a_row_chooses_only_what_harms_nobody(evals: Evals, subtests: pytest.Subtests) -> None:
    """Else the run does not begin; file and line are told."""
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("playwright", {"permissions": ["camera"]}, "*rows.jsonl:1: *permissions cannot be chosen by a row*"),
        ("playwright", {"devise": "x"}, "*context.devise cannot be chosen*Did you mean 'device'?*"),
        ("playwright", {"locale": 3}, "*rows.jsonl:1: *context.locale: expected a string, not 3*"),
        ("playwright", {"geolocation": {"latitude": 1, "longitude": 2}}, "*permissions: [[]geolocation]*"),
        ("blank", {"locale": "de"}, "*the browser 'blank' cannot set `context`*"),
    ]
    for browser, context, message in cases:
        with subtests.test(context=context):
            run = evals.play([row("a", context=context)], browser=browser)
            assert run.ret == 4
            run.stderr.fnmatch_lines([message])


def test_a_password_in_an_address_is_refused(evals: Evals, subtests: pytest.Subtests) -> None:
    """Of the start page and of what a solution opens; the message says what to write and not the password."""
    for more in (
        {"start_url": "http://ada:rose@127.0.0.1:9/"},
        {"solution": [{"tool": "navigate", "url": "http://:rosebud@127.0.0.1:9/"}]},
    ):
        with subtests.test(more=more):
            run = evals.play([row("a", **more)], browser="playwright")
            assert run.ret == 4
            run.stderr.fnmatch_lines(["*rows.jsonl:1: *write `browser: {context: {http_credentials: *"])
            assert "rose" not in "\n".join((*run.outlines, *run.errlines))


def test_an_address_that_an_agent_makes_up_keeps_its_password(evals: Evals) -> None:
    """Neither its log nor the address of the page, the traffic or the answer has what it typed there."""
    with desk() as (url, asked):
        lured = url.replace("http://", "http://ada:rose-bud%2F77@") + "/staging/"
        code = f"async def go(context):\n    await context.tools.call('navigate', {{'url': {lured!r}}})\n"
        (evals.path / "agents.py").write_text(f"{code}    return 'I opened ' + {lured!r}\n")
        agent = {"type": "function", "function": "agents:go"}
        rows = [see("a", url, "touch=0")]
        run = evals.play(rows, agent=agent, browser="playwright", capture={"har": True, "trace": "on"})
        run.assert_outcomes(passed=1)
    assert asked[-1][1] is not None
    files = [file for file in run.folder.rglob("*") if file.is_file()]
    assert [file for file in files if b"rose-bud" in file.read_bytes()] == []
