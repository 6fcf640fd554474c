"""pytest-html: the gate and totals above its table, columns for each trial, a filter, the last pictures.

Pictures are links into the run folder. A self-contained report (``--self-contained-html``) takes
them in up to ``MOST_BYTES`` and says how many it has left out.
"""

from __future__ import annotations

import base64
import html
import mimetypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.items import read_properties
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.report.table import totals
from pytest_browsereval.run_files import open_written
from pytest_browsereval.runs.folder import find_pictures

COLUMNS = ("Verdict", "Grades", "Steps", "Cost")
# Our columns come after pytest-html's result and test name.
AT = 2
# Linked from a row: the last ones show how the attempt ended.
PICTURES = 3
# Of all pictures in a self-contained report. Browsers open a larger page slowly, and mail refuses it.
MOST_BYTES = 10_000_000
# Long names break, so that they do not widen the page, and a log with pictures is not cut. CSS filters the
# rows, as the script of pytest-html draws them again after each sort.
_RULES = "\n".join(
    f"body:has(#browsereval-{verdict}:checked) .results-table-row:not(:has(td.browsereval-is-{verdict}))"
    " { display: none; }"
    for verdict in Verdict
)
_CSS = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
STYLE = f"<style>\n{_CSS}{_RULES}\n</style>"
EXPECTED = "<p>Expected failures are trials that failed or errored. The gate judges them together.</p>"
FILTER = (
    '<fieldset class="browsereval"><legend>Verdict:</legend>'
    '<label><input type="radio" name="browsereval" checked> any</label>'
    + "".join(
        f'<label><input type="radio" name="browsereval" id="browsereval-{verdict}"> {verdict}</label>'
        for verdict in Verdict
    )
    + "</fieldset>"
)


class HtmlReport:
    """Adds columns, totals and pictures; everything that came from a page or a row is escaped."""

    def __init__(self, controller: Controller) -> None:
        self._config = controller.session.config
        self._controller = controller
        # False where pytest-html drew the head of the table before an eval was found: rows have to fit it.
        self._has_columns = False
        # Bytes of the pictures that the report holds so far.
        self._bytes = 0
        # Pictures of a self-contained report, and whether there was room for each.
        self._inside: dict[Path, bool] = {}

    def _link(self, path: Path) -> str:
        """Return the address of a file relative to the report; its own if it is on another drive."""
        target = self._config.getoption("htmlpath")
        try:
            relative = Path(os.path.relpath(path, Path(target).expanduser().resolve().parent))
        except ValueError:
            return html.escape(path.resolve().as_uri(), quote=True)
        return html.escape(quote(relative.as_posix()), quote=True)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Show the totals and the gate of each eval above the table."""
        prefix.append(STYLE)
        for active_run, summary in self._controller.summaries.items():
            selected = self._controller.count_selected(active_run)
            rules = [
                (name, rule) for owner, name, rule in self._controller.gating.results if owner is active_run
            ]
            extra = self._controller.lines_beside.get(active_run, ())
            lines = [f"<b>eval {html.escape(self._controller.label(active_run))}</b>"]
            lines += map(html.escape, [*totals(summary, selected), *extra])
            link = self._link(active_run.store.root)
            has_page = (active_run.store.root / PAGE).is_file()  # a feature writes it
            page = f', <a href="{link}/{PAGE}">run page</a>' if has_page else ""
            lines.append(f'<a href="{link}/">run folder</a>{page}')
            is_expected = any(
                trial.verdict is not Verdict.PASSED and active_run.config.expects(trial.last)
                for trial in summary.trials
            )
            prefix.append(f"<p>{'<br>'.join(lines)}</p>{_gate(rules)}{EXPECTED if is_expected else ''}")
        if left_out := list(self._inside.values()).count(False):
            prefix.append(
                f"<p>{left_out} pictures are links into the run folder: this file holds up to "
                f"{MOST_BYTES // 1_000_000} MB of pictures.</p>"
            )
        if self._controller.summaries:
            prefix.append(FILTER)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Have the figures there before pytest-html writes its page."""
        if self._controller.has_looped:
            self._controller.summarise()

    def _picture(self, file: Path) -> str:
        """Return a picture with a link to its file; without the link in a self-contained report.

        Empty if the file is gone or is no longer a plain file.
        """
        name, link = html.escape(file.name), self._link(file)
        if self._config.getoption("self_contained_html", default=False):
            try:
                data = self._take_in(file)
            except OSError:
                return ""
            if data is not None:
                kind = mimetypes.guess_type(file.name)[0] or "image/jpeg"
                code = base64.b64encode(data).decode()
                return f'<img src="data:{kind};base64,{code}" alt="{name}" loading="lazy">'
            return f'<a href="{link}" target="_blank">{name}</a>'
        return f'<a href="{link}" target="_blank"><img src="{link}" alt="{name}" loading="lazy"></a>'

    def _take_in(self, file: Path) -> bytes | None:
        """Return a picture; None if a self-contained report has no room for it."""
        with open_written(str(file)) as opened:
            if file not in self._inside:  # pytest-html asks for each phase of a test
                size = os.fstat(opened.fileno()).st_size
                self._inside[file] = self._bytes + size <= MOST_BYTES
                self._bytes += size * self._inside[file]
            return opened.read() if self._inside[file] else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Name the columns; pytest-html sorts by its own ones only."""
        self._has_columns = True
        cells[AT:AT] = [f"<th>{name}</th>" for name in COLUMNS]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Fill the columns; they are empty for other tests."""
        if not self._has_columns:
            return
        values = read_properties(report)
        scores = {name: score for name, score in values.items() if str(name).startswith("score.")}
        grades = ", ".join(f"{name.removeprefix('score.')} {_score(it)}" for name, it in scores.items())
        cost = values.get("cost_usd")
        money = "" if not isinstance(cost, int | float) else f"${cost:.4f}" if cost else "$0"
        verdict = str(values.get("verdict", ""))
        mark = f" browsereval-is-{verdict}" if verdict else ""
        shown = (verdict, grades, values.get("steps", ""), money)
        cells[AT:AT] = [f'<td class="browsereval{mark}">{html.escape(str(value))}</td>' for value in shown]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """Show the last pictures of a trial, linked from the run folder."""
        properties = read_properties(report)
        if not properties:
            return
        shown = " ".join(map(self._picture, find_pictures(Path(properties["folder"]))[-PICTURES:]))
        place, _, attempt = properties["page"].partition("#")
        link, where = self._link(Path(place)), html.escape(quote(attempt, safe="/+"), quote=True)
        shown += f'<p><a href="{link}#{where}" target="_blank">View all steps</a></p>'
        data.append(f'<div class="browsereval">{shown}</div>')


def _score(score: object) -> str:
    """Return a grade in words. A user's fixture may record any value under such a name."""
    if score is None:
        return "no score"
    return f"{score:.3g}" if isinstance(score, int | float) else str(score)


def _gate(rules: Sequence[tuple[str, RuleResult]]) -> str:
    """Return what the rules say, as a table; nothing without a gate."""
    rows = "".join(
        f'<tr><td>gate {html.escape(name)}</td><td class="browsereval-{"met" if rule.is_met else "missed"}">'
        f"{rule.word}</td><td>{html.escape(rule.message)}</td></tr>"
        for name, rule in rules
    )
    return rows and f'<table class="browsereval-gate">{rows}</table>'
