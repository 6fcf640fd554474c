"""Checks of downloads: ``{"download": "*.csv", "contains": "Mug"}``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from pydantic import JsonValue

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.downloads import Download, list_downloads
from pytest_browsereval.features.files.texts import HOW_TO_READ_PDF, NoText, count_rows, read_pages
from pytest_browsereval.features.shared.redacted_values import is_decided
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.graders.comparators import COMPARATORS, Comparator, read_comparator
from pytest_browsereval.graders.page_checks import CheckForm, PageCheck, read_count
from pytest_browsereval.graders.values import TEXT_LIMIT, flatten, show
from pytest_browsereval.model.display import join_first
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.redaction.marks import MARK

BESIDE = ("rows", "count", "weight", "not")
MOST_LISTED = 5
MOST_UNFINISHED = 100


@dataclass(frozen=True)
class DownloadCheck(PageCheck):
    """A check of what was downloaded under names of a pattern, which is its subject."""

    is_event: ClassVar[bool] = True

    what: str = "count"
    """What is compared: ``count``, or ``text`` or ``rows`` of one of them."""

    @property
    def title(self) -> str:
        """What a report calls it."""
        is_any = self.what == "count" and self.comparator.kind == "min"
        how = "" if is_any else f" {self.what} {self.comparator}"
        return beginning(f"{'not ' if self.is_not else ''}download {self.subject}{how}", 160)

    async def look(self, window: PlaywrightWindow, seen: dict[str, Any]) -> None:
        """Add what was downloaded until now."""
        if window.downloads.folder is not None:
            loading = [*window.downloads.loading.values()]
            await asyncio.to_thread(self._read, window.downloads.folder, seen, loading)
            seen["download"]["by_program"] = window.cdp_url is not None

    def look_at_files(self, recorded: Recorded, seen: dict[str, Any]) -> None:
        """Add what was downloaded."""
        self._read(recorded.folder, seen)

    def _read(self, folder: Path, seen: dict[str, Any], loading: Sequence[str] = ()) -> None:
        listed = list_downloads(folder)
        downloads = [one for one in listed if one.size_bytes is not None]
        complete = {one.suggested_name for one in downloads}  # a second try may have been one
        unfinished = [one for one in listed if one.size_bytes is None and one.suggested_name not in complete]
        unfinished += [
            Download(name=one, suggested_name=one, problem="it was still loading") for one in loading
        ]
        found = [one for one in downloads if self._matches(one)]
        group = seen["download"] = dict(seen.get("download", {}))
        group[self._place] = {
            "found": len(found) if self.what == "count" else [self._read_one(folder, one) for one in found],
            "names": [one.name for one in downloads[:MOST_LISTED]],
            "unfinished": [
                f"{shorten(one.name, 80)!r} did not end: {one.problem}"
                for one in [*filter(self._matches, unfinished)][:MOST_UNFINISHED]
            ],
        }

    @property
    def _place(self) -> str:
        return f"{self.what} {self.subject}"

    def _matches(self, one: Download) -> bool:
        pattern = self.subject.casefold()
        names = (one.name.casefold(), one.suggested_name.casefold())
        # "report [1].csv" is a name, though as a pattern it does not match itself.
        return any(name == pattern or fnmatchcase(name, pattern) for name in names)

    def _read_one(self, folder: Path, one: Download) -> dict[str, JsonValue]:
        try:
            text = "\n".join(read_pages(folder, one))
            if self.what == "rows":
                return {"value": count_rows(text, one.name)}
        except NoText as error:
            why = f"{one.name!r} cannot be compared: {error}"
            return {"problem": why, **({} if error.is_known else {"unknown": True})}
        if len(text) <= TEXT_LIMIT:
            return {"value": text}
        return {"value": text[:TEXT_LIMIT], "unknown": True, "problem": "it has more text than is compared"}

    def find_value(self, seen: Mapping[str, Any]) -> tuple[JsonValue, str]:
        """Return what is compared: of several files that match, that of one for which the check holds.

        Raises:
            Fault: it was not observed, or what would decide is not kept.
        """
        entry = seen.get("download", {}).get(self._place)
        if entry is None:
            raise GraderFault(f"{self.title} was not observed; run the task again")
        found = entry["found"]
        if not found and seen["download"].get("by_program"):
            # It may have taken them for itself, as Playwright and browser-use do.
            raise GraderFault(f"{self.title} cannot be decided: a program drove the browser over CDP")
        unfinished = entry["unfinished"]
        if isinstance(found, int):
            could_be = {bool(self.comparator.problem(found + more)) for more in range(len(unfinished) + 1)}
            if len(could_be) > 1:
                raise GraderFault(f"{self.title} cannot be decided: {unfinished[0]}")
            return found, ""
        values = [self._flatten(one["value"]) for one in found if "value" in one]
        known = [value for value in values if is_decided(self.comparator, value)]
        held = next((value for value in known if not self.comparator.problem(value)), None)
        if held is not None:
            return held, ""
        # What cannot be compared may hold it.
        doubts = [one["problem"] for one in found if one.get("unknown", self.is_not and "problem" in one)]
        doubts += [f"a secret in the file is recorded as {MARK}"] * (known != values) + unfinished
        if doubts:
            raise GraderFault(f"{self.title} cannot be decided: {doubts[0]}")
        if values:
            return values[-1], ""
        return None, found[-1]["problem"] if found else f"{self._count(0)}{_list(entry)}"

    def _flatten(self, value: JsonValue) -> JsonValue:
        # Where lines break in a PDF depends on its pages, so texts are compared with single blanks.
        if not isinstance(value, str) or self.comparator.kind == "regex":
            return value
        return flatten(value)

    def _count(self, number: int) -> str:
        what = {0: "no download matches", 1: "1 download matches"}.get(number, f"{number} downloads match")
        return f"{what} {self.subject!r}"

    def explain(self, criterion: Criterion, seen: Mapping[str, Any]) -> Criterion:
        """Return what a comparison came to, with what there is where something else is missing."""
        if self.what != "count" or criterion.verdict is Verdict.PASSED:
            return criterion
        entry = seen["download"][self._place]
        wanted = "" if self.comparator.kind == "min" else f", not {self.comparator.expected}"
        return criterion.model_copy(update={"reason": f"{self._count(entry['found'])}{wanted}{_list(entry)}"})


def _list(entry: Mapping[str, Any]) -> str:
    names = join_first([*map(repr, entry["names"])], MOST_LISTED)
    return f"; there is {names}" if names else "; nothing was downloaded"


def read_download_check(check: Mapping[str, JsonValue]) -> PageCheck:
    """Return a check of downloads as a row has it.

    Raises:
        ValueError: it is not well formed; the message says what to write.
    """
    pattern, rows = check["download"], check.get("rows")
    if not isinstance(pattern, str) or not pattern.strip():
        raise ValueError(f"'download' is {show(pattern)}; write a name or a pattern, such as \"*.csv\".")
    given = [key for key in (*COMPARATORS, "rows", "count") if key in check]
    if len(given) > 1:
        raise ValueError(f"{show(dict(check))} has {' and '.join(given)}. Write a check for each.")
    plain = {key: value for key, value in check.items() if key not in ("download", *BESIDE)}
    if plain:
        comparator = read_comparator(check, others=("download", *BESIDE)).flatten()
        if pattern.casefold().endswith(".pdf") and find_spec("pypdf") is None:
            raise ValueError(f"{show(dict(check))} compares a PDF; to read these, {HOW_TO_READ_PDF}.")
        return DownloadCheck("download", comparator, pattern, what="text")
    if "rows" not in check:
        return DownloadCheck("download", read_count(check), pattern)
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
        raise ValueError(f"'rows' is {show(rows)}; write how many rows the table has below its header.")
    return DownloadCheck("download", Comparator("equals", rows), pattern, what="rows")


FORM = CheckForm(
    "name of a file, or a pattern such as `*.csv`",
    "Files that pages have [downloaded](../how-to/upload-and-download.md#download): at least one, or exactly "
    "`count` of them; `*.csv` takes `REPORT.CSV` too. With a comparison, the text of one of them, which may "
    "be a PDF; with `rows`, how many rows its table has below the header. Line breaks count as blanks.",
    BESIDE,
    '[{"download": "*.csv", "contains": "Mug"}, {"download": "report*.csv", "rows": 12}]',
    compares=True,
    read=read_download_check,
    keys={"rows": "How many rows the table of that `download` has below its header."},
    schema={"download": {"type": "string", "minLength": 1}, "rows": {"type": "integer", "minimum": 0}},
)
