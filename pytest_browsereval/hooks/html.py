"""pytest-html: columns for verdict, grades and steps, totals, the last pictures, linked and never inlined."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.report.links import page_of
from pytest_browsereval.report.table import corrected, totals

COLUMNS = ("Verdict", "Grades", "Steps", "Cost")
AT = 2
"""Where the columns go: behind result and test name."""
PICTURES = 3
"""How many of the last pictures are linked."""
STYLE = """<style>
#results-table td { overflow-wrap: anywhere; }
#results-table td.browsereval { min-width: 4em; }
.logwrapper:has(.browsereval) { max-height: none; overflow: hidden; }
.logwrapper:has(.browsereval) .logexpander { visibility: hidden; }
.browsereval img { max-width: 320px; border: 1px solid #999; }
</style>"""
"""Long names break instead of widening the page, and a log with pictures is shown whole."""


class HtmlReport:
    """Adds columns, totals and pictures; everything that came from a page or a row is escaped."""

    def __init__(self, session: EvalSession, controller: Controller) -> None:
        self._session = session
        self._controller = controller
        self._has_columns = False
        """False if pytest-html has drawn the table's head before an eval was found: rows must fit to it."""

    def _link(self, path: Path) -> str | None:
        """Return the address of a file relative to the report; None if it is on another drive."""
        target = self._session.config.getoption("htmlpath")
        try:
            relative = Path(os.path.relpath(path, Path(target).expanduser().resolve().parent))
        except ValueError:
            return None
        return html.escape(quote(relative.as_posix()), quote=True)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Tell each eval's totals and gate above the table."""
        prefix.append(STYLE)
        gating: Any = self._session.config.pluginmanager.get_plugin("browsereval-gating")
        for evaluation, summary in self._controller.summaries.items():
            selected = self._controller.selected(evaluation)
            rules = [(name, rule.message) for owner, name, rule in gating.results if owner is evaluation]
            found = self._controller.corrections.get(evaluation)
            beside = () if found is None else tuple(corrected(found))
            gate = (f"gate {name}: {message}" for name, message in rules)
            lines = [*totals(summary, selected), *beside, *gate]
            told = [f"<b>eval {html.escape(evaluation.config.name)}</b>", *map(html.escape, lines)]
            if link := self._link(evaluation.store.root):
                told.append(f'<a href="{link}/">run folder</a>')
            prefix.append(f"<p>{'<br>'.join(told)}</p>")

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Name the columns; pytest-html sorts by its own ones only."""
        self._has_columns = True
        cells[AT:AT] = [f"<th>{name}</th>" for name in COLUMNS]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Fill the columns; rows that are no eval have them empty."""
        if not self._has_columns:
            return
        values = dict(report.user_properties)
        grades = ", ".join(
            f"{name.removeprefix('score.')} {'error' if score is None else f'{score:.3g}'}"
            for name, score in values.items()
            if name.startswith("score.")
        )
        cost = values.get("cost_usd")
        money = "" if cost is None else f"${cost:.4f}" if cost else "$0"
        shown = (values.get("verdict", ""), grades, values.get("steps", ""), money)
        cells[AT:AT] = [f'<td class="browsereval">{html.escape(str(value))}</td>' for value in shown]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """Show the last pictures of a trial, linked from the run folder."""
        folder = dict(report.user_properties).get("folder")
        if not folder or "verdict" not in dict(report.user_properties):
            return
        pictures = sorted((Path(folder) / "screenshots").glob("*.*"))[-PICTURES:]
        links = [(link, html.escape(picture.name)) for picture in pictures if (link := self._link(picture))]
        shown = " ".join(
            f'<a href="{link}" target="_blank"><img src="{link}" alt="{name}" loading="lazy"></a>'
            for link, name in links
        )
        place, _, attempt = page_of(Path(folder)).partition("#")
        if link := self._link(Path(place)):
            where = html.escape(quote(attempt, safe="/+"), quote=True)
            shown += f'<p><a href="{link}#{where}" target="_blank">every step, in the run\'s page</a></p>'
        data.append(f'<div class="browsereval">{shown}</div>')
