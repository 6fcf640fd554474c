"""The cyclic garbage collector: off while rows become items, as it was when pytest is over."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

WATCHED = """
import gc, json, sys
import pytest

gc.enable() if sys.argv[1] == "on" else gc.disable()
seen = {}

class Watch:
    def pytest_itemcollected(self, item):
        seen["collecting"] = gc.isenabled()
    def pytest_runtestloop(self, session):
        seen["running"] = gc.isenabled()
        seen["hidden"] = gc.get_freeze_count() > 0

status = pytest.main(["shop.eval.yaml", "--co", "-q", "-p", "no:cacheprovider"], plugins=[Watch()])
after = {"status": int(status), "after": gc.isenabled(), "left": gc.get_freeze_count()}
print(json.dumps({**seen, **after}))
"""


def watched(evals: Evals, state: str) -> dict[str, Any]:
    told = subprocess.run(
        [sys.executable, "-c", WATCHED, state], capture_output=True, text=True, cwd=evals.path, check=True
    )
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_it_is_off_until_all_is_collected(evals: Evals, *, is_on: bool) -> None:
    """It is kept from what was collected until pytest ends; who has it off keeps it off."""
    evals.rows(row("a"), row("b"))
    evals.config()
    found = watched(evals, "on" if is_on else "off")
    assert found.pop("status") == 0
    assert found == {"collecting": False, "running": is_on, "hidden": True, "after": is_on, "left": 0}


def test_it_is_on_again_after_a_config_that_is_refused(evals: Evals) -> None:
    """A collection that ends in a usage error leaves it as it was."""
    evals.rows(row("a"), row("a"))
    evals.config()
    assert watched(evals, "on") == {"status": pytest.ExitCode.USAGE_ERROR, "after": True, "left": 0}


KEEPER = """
import sys

class Keeper:
    def __init__(self):
        self.itself, self.file = self, open("kept.txt", "w")

def pytest_configure(config):
    keeper = sys.modules["pytest"].keeper = Keeper()
    keeper.file.write("kept")
"""


def test_files_that_others_leave_open_are_written(evals: Evals) -> None:
    """No garbage is looked for when the interpreter ends, yet nothing is lost that was written to a file."""
    evals.rows(row("a"))
    evals.config()
    (evals.path / "conftest.py").write_text(KEEPER)
    assert watched(evals, "on")["status"] == 0
    assert (evals.path / "kept.txt").read_text() == "kept"
