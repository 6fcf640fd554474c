"""Pages that fight back: each costs its own row at most, and the run ends."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row
from tests.support import PageServer

pytestmark = pytest.mark.adversary

DONE = {"tool": "done", "answer": "right"}
LOOK = [{"tool": "snapshot"}, DONE]
CLICK = [{"tool": "click", "target": "text=Go"}, *LOOK]
GO = "<!doctype html><title>Go</title><button onclick='{}'>Go</button>"
CSP = "require-trusted-types-for 'script'; trusted-types 'none'; script-src 'none'; sandbox"
LOGS = 'for (let n = 0; n < 2e4; n++) console.log("x".repeat(500))'
WORKERS = "for (let n = 0; n < 2; n++) new Worker(URL.createObjectURL(new Blob(['for (;;) {}'])))"

# Those that make an attempt wait come first, so that the others are done meanwhile.
PAGES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "silent": ({"body": "x", "delay_s": 600}, LOOK),
    "moves": ({"body": "<script>setTimeout(() => { location.search = Math.random() }, 30)</script>"}, LOOK),
    "deep": ({"body": "<div>" * 20_000 + "Go"}, LOOK),
    "buttons": ({"body": "<button>b</button>" * 10_000}, LOOK),
    "frames": ({"body": "<iframe srcdoc='<p>x'></iframe>" * 50}, LOOK),
    "console": ({"body": GO.format(LOGS)}, CLICK),
    "titles": ({"body": "<script>setInterval(() => { document.title = Math.random() }, 0)</script>"}, LOOK),
    "title": ({"body": f"<title>{'x' * 5_000_000}</title><button>Go</button>"}, CLICK),
    "address": ({"body": GO.format('history.pushState(0, "", "/" + "a".repeat(2e6))')}, CLICK),
    "workers": ({"body": f"<script>{WORKERS}</script><button>Go</button>"}, CLICK),
    "policy": ({"body": GO.format(""), "headers": {"Content-Security-Policy": CSP}}, CLICK),
    "natives": (
        {"body": "<script>Array.prototype.map = JSON.stringify = () => 'x'</script><b>Go</b>"},
        CLICK,
    ),
    "prints": ({"body": GO.format("print(); alert(1); confirm(2); prompt(3)")}, CLICK),
    "closes": ({"body": GO.format("window.close(); open('about:blank').close()")}, CLICK),
    "crash": ({"body": GO.format("")}, [{"tool": "navigate", "url": "chrome://crash"}, DONE]),
    "file": ({"body": GO.format("")}, [{"tool": "navigate", "url": "file:///etc/passwd"}, DONE]),
    "circle": ({"body": "", "status": 302, "headers": {"Location": "circle"}}, LOOK),
    "locked": ({"body": "", "status": 401, "headers": {"WWW-Authenticate": "Basic realm=x"}}, LOOK),
    "download": (
        {"body": "x", "headers": {"Content-Disposition": 'attachment; filename="../../x.sh"'}},
        LOOK,
    ),
    "fine": ({"body": GO.format("")}, CLICK),
}


def test_no_page_costs_more_than_its_row(evals: Evals, request: pytest.FixtureRequest) -> None:
    """Whatever a page does, its row is judged or errored, the row beside it passes, and nothing is left."""
    pages = PageServer()
    request.addfinalizer(pages.close)
    rows = []
    for name, (page, solution) in PAGES.items():
        url = pages.page(f"/{name}", **page)
        rows.append(row(name, start_url=url, solution=solution))
    evals.write_rows(*rows)
    browser = {"type": "playwright", "navigation_timeout_ms": 10_000, "action_timeout_ms": 3_000}
    limits, capture = {"timeout_ms": 60_000}, {"console": True}
    evals.write_config(browser=browser, lanes=3, limits=limits, capture=capture)
    run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED, run.stdout
    results = {one["query_id"]: (one["verdict"], one["error_source"]) for one in run.summary["results"]}
    assert results["fine"] == ("passed", None)
    assert {results[name] for name in ("circle", "locked", "silent")} == {("errored", "navigation")}
    sizes = {file: file.stat().st_size for file in run.folder.rglob("*.json*")}
    assert {file: size for file, size in sizes.items() if size > 4_000_000} == {}
    assert not list(evals.path.rglob("x.sh"))
    assert "root:" not in "".join(file.read_text("utf-8", "replace") for file in sizes)
