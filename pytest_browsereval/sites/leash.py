"""Runs a command and ends it, with all that it has started, as soon as standard input closes.

Whoever holds the other end of that pipe may die in any way, by SIGKILL or ``os._exit`` too: the system
closes the pipe, so nothing is left behind. Started by its path as ``python -I -S leash.py GRACE COMMAND...``,
so it imports little and nothing of this package. Its exit code is the command's (128 + N for signal N).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

_NOT_STARTED = 127


def leashed(command: list[str], grace_s: float) -> list[str]:
    """Return the command line that runs a command on a leash; give it a pipe as standard input.

    Args:
        command: program and arguments.
        grace_s: the time between asking the command to end and killing it.
    """
    me = os.path.abspath(__file__)  # noqa: PTH100 pathlib takes longer to import than all the rest
    return [sys.executable, "-I", "-S", me, str(grace_s), *command]


def main(command: list[str], grace_s: float) -> int:
    """Run the command until it ends or standard input closes, and return its exit code."""
    own_group = None if sys.platform == "win32" else 0
    try:
        child = subprocess.Popen(  # noqa: S603 the config's own
            command, stdin=subprocess.DEVNULL, process_group=own_group
        )
    except OSError as error:
        print(f"cannot run {command[0]!r}: {error.strerror}", file=sys.stderr)  # noqa: T201 the site's log
        return _NOT_STARTED
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda _number, _frame: _end_group(child, grace_s))
    threading.Thread(target=_end_when_abandoned, args=(child, grace_s), daemon=True).start()
    code = child.wait()
    _end_group(child, grace_s)
    return code if code >= 0 else 128 - code


def _end_when_abandoned(child: subprocess.Popen[bytes], grace_s: float) -> None:
    while os.read(0, 4096):
        pass
    _end_group(child, grace_s)


def _end_group(child: subprocess.Popen[bytes], grace_s: float) -> None:
    """End the command's process group: ask, wait, kill. It may have gone already."""
    if sys.platform == "win32":
        child.kill()
        return
    deadline = time.monotonic() + grace_s
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            time.sleep(0.01)
            os.killpg(child.pid, 0)
        os.killpg(child.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:], float(sys.argv[1])))
