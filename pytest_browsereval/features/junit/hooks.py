"""pytest's JUnit file, as GitLab, Jenkins, Buildkite and GitHub's actions read it.

pytest writes it. We add the results of the whole run as properties of the suite: xdist would lose them in a
worker. We add pictures as the lines that GitLab and Jenkins read as attachments. And we remove test cases
that one worker began and another one ended, since readers count equal names once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval.capture.recording import TRACE_FILE
from pytest_browsereval.features.shared.manifest_lines import agents_of
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.items import read_properties
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.runs.folder import find_pictures
from pytest_browsereval.runs.summary import RunSummary

# pytest writes this before the reason of an error.
ON_SETUP = "failed on setup with "
OUT, ERR = "system-out", "system-err"


class JUnit:
    """Adds to pytest's JUnit file.

    Args:
        config: pytest's, which has what makes the file once all plug-ins are configured.
        controller: knows what the run folders say.
    """

    def __init__(self, config: pytest.Config, controller: Controller) -> None:
        self._config = config
        self._controller = controller
        # Why trials are errors, by what makes their test cases.
        self._reasons: dict[Any, str] = {}

    @cached_property
    def _xml(self) -> Any:
        # Its key in the stash is private, and it is registered without a name: it is known by what it can do.
        plugins = self._config.pluginmanager.get_plugins()
        return next(plugin for plugin in plugins if hasattr(plugin, "add_global_property"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name the files of a trial before pytest ends its test case, and keep the reason of an error."""
        if report.when == "teardown" and (lines := list(_attachments(report))):
            self._xml.node_reporter(report).append(_out("\n".join(lines)))
        crash = getattr(report.longrepr, "reprcrash", None)
        if report.when == "setup" and report.failed and read_properties(report) and crash is not None:
            self._reasons[self._xml.node_reporter(report)] = crash.message

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Add what is known at the end, before pytest writes the file."""
        if self._controller.has_looped:
            self._controller.summarise()
        summaries = self._controller.summaries
        for owner, summary in summaries.items():
            prefix = f"{one_line(self._controller.label(owner), 400)}." if len(summaries) > 1 else ""
            for name, value in self._properties(owner, summary):
                if value is not None:
                    self._xml.add_global_property(f"{prefix}{name}", value)
        self._drop_unfinished()
        for reporter in self._xml.node_reporters_ordered:
            case = reporter.to_xml()
            _join_output(case)
            _drop_unknown(case)
            for error in case.findall("error"):
                if reporter in self._reasons and error.get("message", "").startswith(ON_SETUP):
                    error.set("message", self._reasons[reporter])

    def _properties(self, owner: ActiveRun, summary: RunSummary) -> Iterator[tuple[str, Any]]:
        """Yield the figures of a run; None where one is unknown or does not apply."""
        manifest, interval = owner.store.run.read_manifest(), summary.rate.interval
        rules = [rule for one, _, rule in self._controller.gating.results if one is owner]
        agents = agents_of(manifest.get("config") or {}).items()
        yield "eval", owner.config.name
        yield "run", owner.store.root.name
        yield "run_folder", owner.store.root.as_posix()
        yield "agent", ", ".join(label if name == "default" else f"{name}: {label}" for name, label in agents)
        yield "browser", manifest.get("browser")
        yield "git_commit", manifest.get("git_commit")
        yield "pass_rate", summary.pass_rate
        yield "pass_rate_low", interval.low if interval else None
        yield "pass_rate_high", interval.high if interval else None
        yield "judged", summary.judged
        for verdict in Verdict:
            yield str(verdict), summary.count(verdict)
        yield "selected", self._controller.count_selected(owner)
        yield "cost_usd", summary.cost_usd
        if owner.config.is_gated:  # Ctrl-C and -x leave it undecided
            yield "gate", "undecided" if not rules else "met" if all(r.is_met for r in rules) else "not met"
        yield "baseline", owner.config.gate.baseline

    def _drop_unfinished(self) -> None:
        """Remove test cases without an end if another process has reported them whole.

        One without a name is removed as well: an item that was cut off in its setup leaves it.
        An error or a failure stays: with ``--dist=each``, nothing else reports a crash.
        """
        unfinished = list(self._xml.node_reporters.values())
        whole = (reporter for reporter in self._xml.node_reporters_ordered if reporter not in unfinished)
        ended = {_name_case(reporter.to_xml()) for reporter in whole}
        for reporter in unfinished:
            case = reporter.to_xml()
            is_bad = any(child.tag in ("error", "failure") for child in case)
            if "name" in case.attrib and (is_bad or _name_case(case) not in ended):
                continue
            self._xml.node_reporters_ordered.remove(reporter)
            if "name" in case.attrib:
                results = {child.tag for child in case} & self._xml.stats.keys()
                for result in results or {"passed"}:
                    self._xml.stats[result] -= 1


def _name_case(case: ET.Element) -> tuple[str | None, str | None]:
    return case.get("classname"), case.get("name")


def _out(text: str) -> ET.Element:
    element = ET.Element(OUT)
    element.text = text
    return element


def _join_output(case: ET.Element) -> None:
    """Join the texts into one, after the result: readers show only one.

    What was written to stderr comes last, which is the order that pytest's schema asks for.
    """
    found, errors = case.findall(OUT), case.findall(ERR)
    for element in (*found, *errors):
        case.remove(element)
    if found:
        case.append(_out("\n".join(element.text or "" for element in found)))
    case.extend(errors)


def _drop_unknown(case: ET.Element) -> None:
    """Remove unknown figures of a trial: readers would show "None" as a value."""
    for properties in case.findall("properties"):
        known = {one.get("name") for one in properties}
        for one in properties.findall("property"):
            if {"verdict", "folder", "page"} <= known and one.get("value") == "None":
                properties.remove(one)


def _attachments(report: pytest.TestReport) -> Iterator[str]:
    """Yield the lines that attach a trial's last picture and its trace."""
    properties = read_properties(report)
    folder = Path(properties.get("folder", ""))
    if not properties or not folder.is_absolute():
        return
    for file in (*find_pictures(folder)[-1:], folder / TRACE_FILE):
        if file.is_file() and not file.is_symlink() and (place := _place(file)).isprintable():
            yield f"[[ATTACHMENT|{place}]]"


def _place(file: Path) -> str:
    """Return a file's path as the reader resolves it: Jenkins from its root, GitLab from the project."""
    project = Path(os.environ.get("CI_PROJECT_DIR") or Path.cwd())
    if "JENKINS_URL" in os.environ or not file.is_relative_to(project):
        return file.as_posix()
    return file.relative_to(project).as_posix()
