"""Harvested rows as a file of rows, or as tests of pytest-playwright without anything of this package."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.agents.scripted import find_variable
from pytest_browsereval.browsers.playwright.contexts import DEFAULT_VIEWPORT
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.features.harvest.search import Harvest, Row
from pytest_browsereval.features.shared.ways import Call, Refused
from pytest_browsereval.graders.answer import AnswerGrader
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.graders.state_diff import StateDiffGrader
from pytest_browsereval.model.display import one_line
from pytest_browsereval.sites import RESTART

COMPARISONS = (
    *("equals", "not_equals", "contains", "regex", "one_of", "set_equals", "number", "min", "max", "date"),
    "exists",
)
"""Those that `template.txt` has."""
CONTEXT = (
    *("viewport", "locale", "timezone_id", "color_scheme"),
    *("device_scale_factor", "is_mobile", "has_touch"),
)
"""Options of a window that a test may repeat: none holds a secret or a path."""
STEPS: Mapping[str, tuple[str, str]] = {
    "click": ("target button click_count modifiers", "{target}.click({more})"),
    "hover": ("target", "{target}.hover()"),
    "fill": ("target text", "{target}.fill({text})"),
    "type_text": ("target text", "{target}.press_sequentially({text})"),
    "press_key": ("target key", "{target}.press({key})"),
    "select_option": ("target value values", "{target}.select_option({chosen})"),
    "check": ("target", "{target}.check()"),
    "uncheck": ("target", "{target}.uncheck()"),
    "drag": ("source target", "{source}.drag_to({target})"),
    "click_at": ("x y button click_count", "page.mouse.click({x}, {y}, {more})"),
    "hover_at": ("x y", "page.mouse.move({x}, {y})"),
    "type_at": ("x y text clear", "type_at(page, {x}, {y}, {text}, {clear})"),
    "type_keys": ("text", "page.keyboard.type({text})"),
    "drag_at": ("start_x start_y end_x end_y", "drag_at(page, {start_x}, {start_y}, {end_x}, {end_y})"),
    "scroll": ("direction amount", "scroll(page, {direction}, {amount})"),
    "scroll_at": ("x y direction amount", "scroll(page, {direction}, {amount}, {x}, {y})"),
    "navigate": ("url", "page.goto({url})"),
    "go_back": ("", "page.go_back()"),
    "go_forward": ("", "page.go_forward()"),
    "reload": ("", "page.reload()"),
    "wait": ("seconds", "page.wait_for_timeout({seconds} * 1000)"),
    "wait_for_text": ("text gone timeout_s", "shows(page, {text}, is_there={is_there}, ignores_case=True)"),
    "handle_dialog": ("accept text", ""),  # it is answered by what stands before the call that opens it
    "select_tab": ("tab_id", "page = tab(page, {tab_id})"),
    "close_tab": ("tab_id", "page = close_tab(page, {tab_id})"),
}
"""By tool: the arguments that can be written, and the line of a test."""
_FRAME = re.compile(r' ?>>> ?(?=(?:[^"]*"[^"]*")*[^"]*$)')
_ROLE = re.compile(r'role=(\w+)\[name="((?:[^"\\]|\\.)*)"\](?: >> nth=(\d+))?')
_SITE = re.compile(r"\{(\w+)\}(.*)", re.DOTALL)


def make_tests(found: Harvest, config: EvalConfig, output: Path) -> str:
    """Return a file of tests; rows that cannot be written as one are refused.

    Args:
        found: the rows.
        config: theirs.
        output: the file.
    """
    home, tests = output.absolute().parent, dict[str, str]()
    for row in list(found.rows):
        base = re.sub(r"\W+", "_", row.task.query_id, flags=re.ASCII).strip("_").lower()[:60] or "row"
        name = next(one for one in (base, *(f"{base}_{n}" for n in range(2, 10_000))) if one not in tests)
        try:
            about, *lines = _Writer(row, config).write()
            if any(f"{{{name}}}" in line for name in config.sites for line in lines):
                raise Refused("it has the address of a site within a text, which cannot be written in a test")  # noqa: TRY301
        except Refused as error:
            found.rows.remove(row)
            found.refused[row.task.query_id] = str(error)
        else:
            tests[name] = "\n    ".join([f"def test_{name}(page: Page, sites):", about, *lines])
    folders = {
        name: one.static and Path(os.path.relpath(one.folder(config.base_dir), home)).as_posix()
        for name, one in config.sites.items()
    }
    resets = {
        name: (*str(one.reset).split(" ", 1),)
        for name, one in config.sites.items()
        if one.reset not in (None, RESTART)
    }
    context = {"viewport": DEFAULT_VIEWPORT, **getattr(config.browser, "context", {})}
    said = "\n".join(f"{name.upper()}_URL is the address of the site {name}." for name in folders)
    text = files(__package__).joinpath("template.txt").read_text(encoding="utf-8")
    for key, value in (("sites", said), ("folders", folders), ("resets", resets), ("context", context)):
        text = text.replace(f"{{{key}}}", value if isinstance(value, str) else repr(value), 1)
    return "\n\n\n".join([text.rstrip(), *tests.values()]) + "\n"


def make_rows(found: Harvest, config: EvalConfig, output: Path) -> str:
    """Return the lines of a file of rows with their solutions; see `make_tests`.

    Rows whose files would be somewhere else from there are refused.
    """
    lines = []
    for row in list(found.rows):
        home = row.dataset.file(config.base_dir).parent
        if row.task.files and home.resolve() != output.absolute().parent.resolve():
            found.rows.remove(row)
            found.refused[row.name] = f"its files are relative to {home}. Write the rows there"
            continue
        given = row.task.model_dump(mode="json", exclude_defaults=True)
        files = {"files": [one.path for one in row.task.files]} if row.task.files else {}
        lines.append(json.dumps({**given, **files}, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


class _Writer:
    """Writes the test of a row.

    Args:
        row: with its solution.
        config: its config.
    """

    def __init__(self, row: Row, config: EvalConfig) -> None:
        self._row, self._config = row, config

    def write(self) -> Iterator[str]:
        """Yield the lines of its body.

        Raises:
            Refused: a step or a check cannot be written in plain Playwright.
        """
        task, config = self._row.task, self._config
        given = [key for key in ("clock", "context", "ready", "depends_on") if getattr(task, key)]
        given += [f"context.{key}" for key in getattr(config.browser, "context", {}) if key not in CONTEXT]
        given += [
            f"sites.{name}.reset: restart"
            for name, site in config.sites.items()
            if site.reset == RESTART and (name in task.sites or f"{{{name}}}" in task.model_dump_json())
        ]
        given += [f"sites.{name}.ready" for name, site in config.sites.items() if site.ready]
        if given:
            raise Refused(f"{given[0]} cannot be written in a test")
        yield repr(task.query)
        yield from [f"page.goto({self._fill(task.start_url)})"] if task.start_url else []
        yield from [f"page.evaluate({self._fill(task.setup_script)})"] if task.setup_script else []
        *calls, _ = task.solution
        opens = [*(self._row.way.opens if self._row.way else ()), *[False] * len(calls)]
        for call, following, is_opening in zip(calls, [*calls[1:], {}], opens, strict=False):
            if following.get("tool") == "handle_dialog":
                text = "" if following.get("text") is None else repr(following["text"])
                answer = f"accept({text})" if following["accept"] else "dismiss()"
                yield f'page.once("dialog", lambda dialog: dialog.{answer})'
            line = self._write_call(call)
            if is_opening:
                yield from ("with page.context.expect_page() as opened:", f"    {line or 'pass'}")
                yield "page = opened.value"
            elif line:
                yield line
        for grader in self._row.trial.graders:
            if isinstance(grader, PageStateGrader | StateDiffGrader) and getattr(grader, "pass_at", 1) == 1:
                own = (one for one in task.checks if grader.reads.include(one))
                yield from (self._write_check(grader, check) for check in (*grader.checks, *own))
            elif isinstance(grader, AnswerGrader) and not self._row.shown:
                raise Refused("its answer is graded, and may not be on the last page")
            elif not isinstance(grader, AnswerGrader) and not grader.advisory:
                raise Refused(f"its grader {grader.label!r} cannot be written in a test")

    def _fill(self, text: JsonValue) -> str:
        """Return code for a text that may begin with the address of a site."""
        found = _SITE.fullmatch(str(text))
        if found and found[1] in self._config.sites:
            return f"sites[{found[1]!r}] + {found[2]!r}" if found[2] else f"sites[{found[1]!r}]"
        return repr(text)

    def _write_call(self, call: Call) -> str:
        known, line = STEPS.get(str(call["tool"]), ("", ""))
        if call["tool"] not in STEPS or not call.keys() - {"tool"} <= {*known.split()}:
            raise Refused(f"its step {one_line(str(call), 100)} cannot be written in a test")
        more = [f"{key}={call[key]!r}" for key in ("button", "click_count", "modifiers") if call.get(key)]
        parts: dict[str, str] = {
            **{key: repr(value) for key, value in call.items()},
            **{key: _locate(str(call[key])) for key in ("target", "source") if key in call},
            "text": self._write_text(call),
            "url": self._fill(call.get("url")),
            "more": ", ".join(more),
            "chosen": repr(call.get("values") or call.get("value")),
            "is_there": repr(not call.get("gone")),
        }
        defaults = {"target": "page.keyboard", "amount": "3", "clear": "False"}
        line = line if more else line.replace(", {more}", "")
        return line.format(**{**defaults, **parts})

    def _write_text(self, call: Call) -> str:
        name, text = find_variable(call), call.get("text")
        if name is None:
            return repr(text[1:] if isinstance(text, str) and text.startswith("$${") else text)
        if self._config.variables.get(name):
            raise Refused("it types a code of two-factor authentication")
        return f"os.environ[{name!r}]"

    def _write_check(self, grader: PageStateGrader | StateDiffGrader, check: Mapping[str, Any]) -> str:
        if isinstance(grader, StateDiffGrader):
            line = self._compare(grader.source.model_dump(), check)
        elif "role" in check:
            line = _write_role(check)
        elif {"url", "title", "text"} & check.keys():
            line = self._write_match(check, grader.mode)
        else:
            line = "" if check.get("not") else self._compare(check, check)
        if not line:
            raise Refused(f"its check {one_line(str(dict(check)), 100)} cannot be written in a test")
        return line

    def _write_match(self, check: Mapping[str, Any], mode: str) -> str:
        """Return the line for an address, a title or a text; empty if there is none."""
        key, is_not = next(key for key in ("url", "title", "text") if key in check), bool(check.get("not"))
        given = {"": check[key]} if isinstance(check[key], str) else check[key]
        how, value = next(iter(given.items()))
        if len(given) != 1 or how not in ("", "contains", "regex") or (key, how) == ("text", "regex"):
            return ""
        folded = ", ignores_case=True" * (mode == "lenient")
        if key == "text":
            return f"shows(page, {value!r}, is_there={not is_not}, is_whole=True{folded})"
        pattern = f"re.compile({value if how == 'regex' else re.escape(value)!r})"
        return f"expect(page).{'not_' * is_not}to_have_{key}({pattern if how else self._fill(value)})"

    def _compare(self, source: Mapping[str, Any], check: Mapping[str, Any]) -> str:
        """Return the line that compares a value; empty if there is none."""
        how = [key for key in check if key not in ("js", "storage", "path", "weight", "not")]
        if source.get("url"):
            read = f"page.request.get({self._fill(source['url'])}).json()"
        elif source.get("js"):
            read = f"page.evaluate({self._fill(source['js'])})"
        else:
            where, _, key = str(source.get("storage")).partition(":")
            read = f"read_stored(page, {where!r}, {key!r})" if key else ""
        path = f", {check['path']!r}" if check.get("path") else ""
        is_known = read and len(how) == 1 and how[0] in COMPARISONS
        return f"check(lambda: {read}, {how[0]!r}, {check[how[0]]!r}{path})" if is_known else ""


def _write_role(check: Mapping[str, Any]) -> str:
    name = "" if check.get("name") is None else f", name={check['name']!r}, exact=True"
    found = f"page.get_by_role({check['role']!r}{name}).filter(visible=True)"
    if check.get("not"):
        return "" if "count" in check else f"expect({found}).to_have_count(0)"
    if check.get("count") is not None:
        return f"expect({found}).to_have_count({check['count']!r})"
    return f"expect({found}.first).to_be_visible()"


def _locate(target: str) -> str:
    """Return code for the element of a target."""
    *frames, last = _FRAME.split(target)
    scope = "page" + "".join(f".locator({one!r}).content_frame" for one in frames)
    if last.startswith("label="):
        return f"{scope}.get_by_label({last.removeprefix('label=')!r}, exact=True)"
    if found := _ROLE.fullmatch(last):
        name = re.sub(r"\\(.)", r"\1", found[2])
        nth = f".nth({found[3]})" if found[3] else ""
        return f"{scope}.get_by_role({found[1]!r}, name={name!r}, exact=True){nth}"
    return f"{scope}.locator({last!r})"
