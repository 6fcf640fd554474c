"""The end of a session: the exports of each config, which change no result."""

from __future__ import annotations

import pytest

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import ConfigError, UsageError
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.model.display import join_first, one_line
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.preflight import preflight_member
from pytest_browsereval.run.shards import Parts


class SessionExports:
    """Checks before a run what its exports need, and does them.

    Args:
        controller: which has the summaries.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._lines: list[tuple[str, bool]] = []
        """What is printed, and whether it is a warning."""

    def pytest_browsereval_check_run(self, active_run: ActiveRun) -> None:
        """Refuse an export that lacks something: nobody wants to learn of it after hours.

        Raises:
            ConfigError: it does, or another eval of the session has the same name.
        """
        for number, export in enumerate(active_run.config.export):
            preflight_member(active_run.config, export, "export", number)
        name, session = active_run.config.name, self._controller.session
        evals = {path: one for path, one in session.runs.items() if one.config.name == name}
        files = [session.nodeid_of(path) for path in evals if path.is_file()]  # hand-written tests are none
        exports = [export for one in evals.values() for export in one.config.export]
        if len(files) > 1 and any(export.needs_names for export in exports):
            raise ConfigError(
                f"{' and '.join(files)} are both named {name!r}, so their runs share an id, and one export "
                "would replace the other. Write another `name` into one of them."
            )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write what the configs name."""
        for active_run in self._controller.summaries:
            name = active_run.config.name
            if not active_run.config.export:
                continue
            parts = Parts.of_run(active_run.store.run.read_manifest())
            if parts is not None and parts.missing:
                why = "this is a part of a run. Merge all parts, then run `browsereval export`"
                self._lines.append((f"eval {name}: not exported: {why}", False))
                continue
            self._export(active_run)

    def _export(self, active_run: ActiveRun) -> None:
        from pytest_browsereval.features.export.writing import describe_exported, write_export
        from pytest_browsereval.runs.run import StoredRun  # most sessions export nothing

        config, run = active_run.config, StoredRun(active_run.store.root, self._controller.session.door)
        for export in config.export:
            try:
                exported = write_export(export, run, config.base_dir)
                line = f"exported as {describe_exported(export, exported, run)}"
                lost = one_line(join_first(exported.lost, 3, "; "), 500)
            except UsageError as error:
                line, lost = f"not exported as {export.type}", str(error)
            if lost:
                command = f"browsereval export {format_path(run.folder)} --to {export.type}"
                line = f"{line}: warning: {lost} (to try again: `{command}` with its options)"
            self._lines.append((redact_known(f"eval {config.name}: {line}"), bool(lost)))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the exports are, and what failed."""
        for line, is_warning in self._lines:
            terminalreporter.line(line, yellow=is_warning)
