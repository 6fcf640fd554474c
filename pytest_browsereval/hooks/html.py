"""pytest-html: columns for verdict, grades and steps, and the last picture, linked and never inlined."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.hooks.session import EvalSession

COLUMNS = ("Verdict", "Grades", "Steps")
AT = 2
"""Where the columns go: behind result and test name."""
PICTURES = 3
"""How many of the last pictures are linked."""


class HtmlReport:
    """Adds columns and pictures; everything that came from a page or a row is escaped."""

    def __init__(self, session: EvalSession) -> None:
        self._session = session

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Name the columns."""
        cells[AT:AT] = [
            f'<th class="sortable" data-column-type="browsereval">{name}</th>' for name in COLUMNS
        ]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Fill the columns; rows that are no eval have them empty."""
        values = dict(report.user_properties)
        grades = " ".join(
            f"{name.removeprefix('score.')} {'error' if score is None else f'{score:g}'}"
            for name, score in values.items()
            if name.startswith("score.")
        )
        shown = (values.get("verdict", ""), grades, values.get("steps", ""))
        cells[AT:AT] = [f"<td>{html.escape(str(value))}</td>" for value in shown]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:
        """Show the last pictures of a trial, linked from the run folder."""
        folder = dict(report.user_properties).get("folder")
        target = self._session.config.getoption("htmlpath", None)
        if not folder or not target:
            return
        pictures = sorted((Path(folder) / "screenshots").glob("*.*"))[-PICTURES:]
        start = Path(target).expanduser().resolve().parent
        for picture in pictures:
            url = html.escape(Path(os.path.relpath(picture, start)).as_posix(), quote=True)
            data.append(
                f'<a href="{url}" target="_blank"><img src="{url}" alt="{html.escape(picture.name)}" '
                'loading="lazy" style="max-width: 320px; border: 1px solid #ccc"></a>'
            )
