"""The temporary folder of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

THREADS = """
import gc, sys, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import run
from pytest_browsereval.features.command_site.folder import copy_data
from pytest_browsereval.temporary import own_folder, sweep

template, start = Path(sys.argv[1]), threading.Barrier(8)

def copy(number):
    start.wait()
    return copy_data(template, ())

with ThreadPoolExecutor(8) as pool:
    copies = list(pool.map(copy, range(8)))
gc.collect()
run([sys.executable, "-c", "from pytest_browsereval.temporary import sweep; sweep()"], check=True)
print({one.parent for one in copies} == {own_folder()}, all((one / "first").is_file() for one in copies))
"""


def test_copies_that_threads_make_stay(tmp_path: Path) -> None:
    """Sites of lanes start at once: the next process must not take a copy for a dead one's."""
    template, folder = tmp_path / "data", tmp_path / "tmp"
    template.mkdir()
    folder.mkdir()
    (template / "first").touch()
    command = [sys.executable, "-c", THREADS, str(template)]
    done = subprocess.run(
        command, env={**os.environ, "TMPDIR": str(folder)}, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True True\n", done.stderr
    assert not list(folder.iterdir())
