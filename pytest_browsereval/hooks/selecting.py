"""Rows named on the command line by their own ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.datasets.ids import CUT, original_id, safe_id
from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.names import is_eval
from pytest_browsereval.hooks.session import EvalSession


class Selecting:
    """Turns ``FILE::ID`` into the node id of the row."""

    def __init__(self, session: EvalSession) -> None:
        self._session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Write node ids in the place of ids as rows and tables have them; pytest compares node ids."""
        session.config.args = [self._node_id(session.config, arg) for arg in session.config.args]

    def _node_id(self, config: pytest.Config, arg: str) -> str:
        file, colons, name = arg.partition("::")
        base = config.invocation_params.dir
        path = (base / file).resolve()
        if not name or not (is_eval(file) or path in _named(config, base)) or not path.is_file():
            return arg
        end = ""
        if "[" in name:
            try:
                suffixes = {suffix for suffix, _, _ in self._session.load_run(path).plan.attempts()}
            except UsageError:  # told when the file is collected
                return arg
            end = next((suffix for suffix in suffixes if suffix and name.endswith(suffix)), "")
        own = name.removesuffix(end)
        is_safe = not own or CUT in own or original_id(own) is not None
        return arg if is_safe else f"{file}{colons}{safe_id(own)}{end}"


def _named(config: pytest.Config, base: Path) -> set[Path]:
    return {(base / one).resolve() for one in config.getoption("eval_config")}
