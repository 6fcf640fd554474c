"""Tests of pytest-playwright that are made of harvested rows."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_browsereval.config import load_config
from pytest_browsereval.datasets.reader import index_rows
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.harvest.search import Harvest, Row
from pytest_browsereval.features.harvest.writer import STEPS, make_tests
from pytest_browsereval.features.shared.browser_binary import find_binary
from pytest_browsereval.features.shared.ways import LOOKS, Way
from pytest_browsereval.run.plan import Entry, Plan
from pytest_browsereval.tools.base import ENDINGS
from tests.features.harvest.wanderer import QUICKSTART
from tests.hooks.small_evals import Evals, row

TITLE: dict[str, Any] = {"graders": ["page_state"], "checks": [{"title": "Hats"}], "start_url": "{shop}/"}
ODD = "'''\n\"\"\"\\\nimport os; os.abort()  # {shop} </script> \u2028"


def write_tests(
    evals: Evals, *rows: dict[str, Any], opens: Mapping[str, tuple[bool, ...]] | None = None, **keys: Any
) -> tuple[str, dict[str, str]]:
    """Return the tests that are made of rows whose solutions are proved, and the refusals."""
    (evals.path / "site").mkdir(exist_ok=True)
    path = evals.write(rows, **{"browser": "playwright", "sites": {"shop": {"static": "site"}}, **keys})
    registry = builtin_registry()
    config = load_config(path, registry=registry)
    plan, found = Plan(config, registry), Harvest()
    for dataset in config.dataset:
        for ref in index_rows(dataset, config.base_dir):
            entry = Entry(ref.query_id, ref, dataset, next(iter(config.variants)), 1)
            one = Row(entry, plan.ready(entry))
            *calls, last = one.trial.task.solution
            one.way = Way(tuple(map(dict, calls)), (None,) * (len(calls) + 1), str(last["answer"]), "")
            one.way = replace(one.way, opens=(opens or {}).get(ref.query_id, ()))
            found.rows.append(one)
    text = make_tests(found, config, evals.path / "tests" / "test_shop.py")
    return text, found.refused


CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "role": (
        {"tool": "click", "target": 'role=button[name="Add \\"A\\""] >> nth=1', "button": "right"},
        "page.get_by_role('button', name='Add \"A\"', exact=True).nth(1).click(button='right')",
    ),
    "frame": (
        {"tool": "check", "target": "#survey >>> label=Yes"},
        "page.locator('#survey').content_frame.get_by_label('Yes', exact=True).check()",
    ),
    "css": ({"tool": "hover", "target": ".cart > a"}, "page.locator('.cart > a').hover()"),
    "variable": (
        {"tool": "fill", "target": "#code", "text": "${CODE}"},
        "page.locator('#code').fill(os.environ['CODE'])",
    ),
    "escaped": (
        {"tool": "fill", "target": "#code", "text": "$${CODE}"},
        "page.locator('#code').fill('${CODE}')",
    ),
    "marks": (
        {"tool": "fill", "target": "#code", "text": "(a, ) {more}"},
        "page.locator('#code').fill('(a, ) {more}')",
    ),
    "site": ({"tool": "navigate", "url": "{shop}/a?b=1"}, "page.goto(sites['shop'] + '/a?b=1')"),
    "key": ({"tool": "press_key", "key": "Enter"}, "page.keyboard.press('Enter')"),
    "option": (
        {"tool": "select_option", "target": "select", "values": ["a", "b"]},
        "page.locator('select').select_option(['a', 'b'])",
    ),
    "point": ({"tool": "click_at", "x": 1.5, "y": 2}, "page.mouse.click(1.5, 2)"),
    "text": (
        {"tool": "wait_for_text", "text": "Thanks"},
        "shows(page, 'Thanks', is_there=True, ignores_case=True)",
    ),
}


def test_each_call_is_a_line(
    evals: Evals, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In plain Playwright; what a prompt is answered with stands before the call that opens it."""
    monkeypatch.setenv("CODE", "tulip-9-tulip")
    done = {"tool": "done", "answer": "Done."}
    rows = [row(name, **TITLE) | {"solution": [call, done]} for name, (call, _) in CALLS.items()]
    keys: dict[str, Any] = {"dataset": [{"path": "rows.jsonl", "trusted": True}], "variables": ["CODE"]}
    text, refused = write_tests(evals, *rows, **keys)
    assert not refused
    for name, (_, line) in CALLS.items():
        with subtests.test(name):
            assert f"def test_{name}(page: Page, sites):\n    {f'Say the answer of {name}.'!r}" in text
            assert f"    {line}\n    expect(page).to_have_title('Hats')\n" in text
    assert "tulip" not in text
    click = {"tool": "click", "target": "text=Rename"}
    answer = {"tool": "handle_dialog", "accept": True, "text": "Retro"}
    text, _ = write_tests(evals, row("prompt", **TITLE) | {"solution": [click, answer, done]})
    assert "page.once(\"dialog\", lambda dialog: dialog.accept('Retro'))\n    page.locator(" in text


def test_each_step_of_the_quickstart_can_be_written() -> None:
    """Also those at points of the page and those of tabs."""
    rows = map(json.loads, (QUICKSTART / "tasks.jsonl").read_text().splitlines())
    calls = [one for row in rows for one in row["solution"] if one["tool"] not in {*LOOKS, *ENDINGS}]
    known = {tool: {"tool", *keys.split()} for tool, (keys, _) in STEPS.items()}
    assert [one for one in calls if not one.keys() <= known.get(one["tool"], set())] == []


def test_what_pages_and_rows_say_stays_text(evals: Evals) -> None:
    """Ids, queries, texts and answers are literals: a test calls nothing but what its steps are."""
    calls = [
        {"tool": "fill", "target": f'text="{ODD}"'.replace("{shop}", ""), "text": ODD.replace("{shop}", "")},
        {"tool": "done", "answer": ODD},
    ]
    said = ODD.replace("{shop}", "")
    odd = row(ODD, **TITLE) | {"query": ODD, "checks": [{"text": said}, {"js": "1", "equals": said}]}
    text, refused = write_tests(
        evals, odd | {"solution": calls}, row("import os", **TITLE), row("import_os", **TITLE)
    )
    assert not refused
    own = [one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef) and "test_" in one.name]
    assert len({one.name for one in own}) == 3
    assert all(one.name.isidentifier() for one in own)
    assert not [one for test in own for one in ast.walk(test) if isinstance(one, ast.Import | ast.ImportFrom)]
    names = {one.id for test in own for one in ast.walk(test) if isinstance(one, ast.Name)}
    assert names <= {"page", "sites", "Page", "expect", "shows", "check"}
    compile(text, "test_shop.py", "exec")


@pytest.mark.slow
def test_tabs_zones_and_words_hold_as_in_the_run(evals: Evals) -> None:
    """A call goes on in the tab that it opens, and `2 items` is not in `12 items`.

    An element that nobody sees is not there.
    """
    pages = {
        "index.html": "<a href=two.html target=_blank>New</a> <p id=said>12 items, 5.2</p>"
        "<p role=status></p>",
        "two.html": "<button onclick='document.body.append(`bought it`)'>Buy</button>",
    }
    (evals.path / "site").mkdir()
    for name, text in pages.items():
        (evals.path / "site" / name).write_text(text)
    done = {"tool": "done", "answer": "Done."}
    ways: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "tab": (
            "bought it",
            [{"tool": "click", "target": "text=New"}, {"tool": "click", "target": "button"}],
        ),
        "word": ("2 items", []),
        "number": ("5", []),
        "whole": ("12 items", []),
    }
    rows = [
        row(name, graders=["page_state"], checks=[{"text": text}], start_url="{shop}/")
        | {"solution": [*calls, done]}
        for name, (text, calls) in ways.items()
    ]
    hidden = [{"role": "status", "not": True}, {"role": "status", "count": 0}]
    rows.append(
        row("hidden", graders=["page_state"], checks=hidden, start_url="{shop}/") | {"solution": [done]}
    )
    text, refused = write_tests(evals, *rows, opens={"tab": (True, False)})
    assert not refused
    binary = asyncio.run(find_binary())
    (evals.path / "tests").mkdir()
    (evals.path / "tests/test_shop.py").write_text(text)
    (evals.path / "tests/conftest.py").write_text(
        "import pytest\n\n@pytest.fixture(scope='session')\ndef browser_type_launch_args():\n"
        f"    return {{'executable_path': {str(binary.path)!r}}}\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:browsereval"]
    ran = subprocess.run(
        [*command, "tests"], cwd=evals.path, capture_output=True, text=True, timeout=300, check=False
    )
    failed = set(re.findall(r"^FAILED tests/test_shop.py::test_(\w+)", ran.stdout, re.MULTILINE))
    assert (failed, "3 passed" in ran.stdout) == ({"word", "number"}, True), ran.stdout


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "clock": ({**TITLE, "clock": "2026-03-01T09:00"}, "clock cannot be written"),
    "answer": ({}, "its answer is graded"),
    "grader": (
        {**TITLE, "graders": ["page_state", {"type": "command", "command": ["{python}"]}]},
        "its grader",
    ),
    "check": ({**TITLE, "checks": [{"request": {"url": "**/pay"}}]}, "its check {'request'"),
    "step": (
        {**TITLE, "solution": [{"tool": "read_download", "name": "a.pdf"}]},
        "its step {'tool': 'read_download'",
    ),
    "upload": (
        {**TITLE, "solution": [{"tool": "upload_file", "target": "input", "files": ["a.txt"]}]},
        "its step {'tool': 'upload_file'",
    ),
    "argument": (
        {**TITLE, "solution": [{"tool": "click", "target": "a", "hold_ms": 900}]},
        "its step {'tool': 'click'",
    ),
    "within": ({**TITLE, "setup_script": "fetch('{shop}/a')"}, "it has the address of a site within a text"),
}


def test_what_cannot_be_written_is_refused(evals: Evals) -> None:
    """Nothing of a row is left out of its test in silence."""
    done = {"tool": "done", "answer": "right"}
    rows = [
        row(name, **more) | {"solution": [*more.get("solution", ()), done]}
        for name, (more, _) in REFUSED.items()
    ]
    trusted = [{"path": "rows.jsonl", "trusted": True}]
    text, refused = write_tests(evals, *rows, row("good", **TITLE), dataset=trusted)
    assert [name for name in REFUSED if not refused[name].startswith(REFUSED[name][1])] == []
    assert text.count("\ndef test_") == 1
    restarted = {"shop": {"command": ["{python}", "-m", "http.server", "{port}"], "reset": "restart"}}
    _, refused = write_tests(evals, row("good", **TITLE), sites=restarted)
    assert refused == {"good": "sites.shop.reset: restart cannot be written in a test"}
