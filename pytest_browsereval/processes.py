"""Supervises a subprocess: ends the command, and all that it started, when its starter dies.

The starter holds the command's standard input, a pipe. When the pipe closes, the command is ended with all
that it has started: politely at first, by force after a grace period. A starter that is killed, by
``SIGKILL`` or by ``os._exit`` too, lets go of its end as well: the system closes the pipe, so nothing is left
behind. It is started by its path, as ``python -I -S processes.py GRACE COMMAND...``, so it imports little and
nothing of this package. Its exit code is the command's (128 + N for signal N).

With ``--relay`` before the grace period, what comes through the pipe is passed on to the command's own
standard input; with ``--stdin FILE`` a file is its standard input; with ``--folder FOLDER`` before these a
folder is removed when all has ended.

On Linux what the command starts is ended wherever it goes, into a session of its own or as a daemon;
elsewhere its process group is. What another service starts for it (a container engine, ``systemd-run``,
``at``) is nobody's child here, and lives on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

NOT_STARTED = 127
"""The exit code where the command cannot be run; standard error tells why."""
_RELAY = "--relay"
_STDIN = "--stdin"
_FOLDER = "--folder"
_PR_SET_CHILD_SUBREAPER = 36
_ENDS = (signal.SIGTERM, signal.SIGINT)
_POLL_S = 0.01
_KILLING_S = 1.0
"""How long what is killed may take to be gone; what forks without end is killed again and again meanwhile."""
_IS_LINUX = sys.platform == "linux"


def supervise_command(
    command: list[str],
    grace_s: float,
    *,
    relay: bool = False,
    stdin: str | None = None,
    folder: str | None = None,
) -> list[str]:
    """Return the command line that runs a command under supervision; give it a pipe as standard input.

    Args:
        command: program and arguments.
        grace_s: the time between asking the command to end and killing it.
        relay: pass on to the command what is written into the pipe.
        stdin: the file that is the command's standard input, unless it is relayed.
        folder: what is removed at the end, however that comes about.
    """
    me = os.path.abspath(__file__)  # noqa: PTH100 pathlib takes longer to import than all the rest
    given = [_RELAY] if relay else [_STDIN, stdin] if stdin else []
    kept = [_FOLDER, folder] if folder else []
    return [sys.executable, "-I", "-S", me, *kept, *given, str(grace_s), *command]


def main(command: list[str], grace_s: float, *, relay: bool = False, stdin: str = os.devnull) -> int:
    """Run the command until it ends or standard input closes, and return its exit code."""
    own_group = None if sys.platform == "win32" else 0
    _adopt_orphans()
    early: list[int] = []  # a signal that comes while the command is started must not leave it behind
    for name in _ENDS:
        signal.signal(name, lambda number, _frame: early.append(number))
    try:
        with open(stdin, "rb") as given:  # noqa: PTH123 as above
            child = subprocess.Popen(  # noqa: S603 the config's own
                command, stdin=subprocess.PIPE if relay else given, bufsize=0, process_group=own_group
            )
    except OSError as error:
        print(f"cannot run {command[0]!r}: {error.strerror}", file=sys.stderr)  # noqa: T201 the site's log
        return NOT_STARTED
    # In its own group the command gets no Ctrl-C: we pass the end on.
    for name in _ENDS:
        signal.signal(name, lambda _number, _frame: _end_all(child, grace_s))
    if early:
        _end_all(child, grace_s)
    threading.Thread(target=_end_when_abandoned, args=(child, grace_s), daemon=True).start()
    code = child.wait()
    _end_all(child, grace_s)
    return code if code >= 0 else 128 - code


def _end_when_abandoned(child: subprocess.Popen[bytes], grace_s: float) -> None:
    while chunk := os.read(0, 65_536):
        if child.stdin is not None:
            with contextlib.suppress(OSError):  # it has gone, or reads no more
                child.stdin.write(chunk)
    if child.stdin is not None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            child.stdin.close()
            child.wait(grace_s)
    _end_all(child, grace_s)


# -- the end


def _end_all(child: subprocess.Popen[bytes], grace_s: float) -> None:
    """End what the command has started: ask, wait, kill. It may have gone already."""
    if sys.platform == "win32":
        child.kill()
        return
    deadline = time.monotonic() + grace_s
    _send(child, signal.SIGTERM)
    while _is_running(child) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    deadline = time.monotonic() + _KILLING_S
    while _is_running(child) and time.monotonic() < deadline:
        _send(child, signal.SIGKILL)
        time.sleep(_POLL_S)


def _send(child: subprocess.Popen[bytes], number: int) -> None:
    for pid in _descendants():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
    if not _IS_LINUX:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)


def _is_running(child: subprocess.Popen[bytes]) -> bool:
    if _IS_LINUX:
        return bool(_descendants())
    try:
        os.killpg(child.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _adopt_orphans() -> None:
    """Become the parent of what outlives its own parent, where the system knows of such a thing."""
    if _IS_LINUX:
        import ctypes

        # Python has no call for it; see prctl(2), PR_SET_CHILD_SUBREAPER.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _descendants() -> list[int]:
    """Return the processes below this one that still run; nobody gets out, as orphans are adopted."""
    parents: dict[int, int] = {}
    ended = set()
    for name in os.listdir("/proc") if _IS_LINUX else ():  # noqa: PTH208 pathlib takes longer to import
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{int(name)}/stat", "rb") as file:  # noqa: PTH123 the same
                # From the last bracket on: the name before it may hold blanks and brackets.
                state, parent = file.read().rpartition(b")")[2].split()[:2]
            parents[int(name)] = int(parent)
            if state in (b"Z", b"X"):
                ended.add(int(name))
    below = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(below - ended - {os.getpid()})


def _run(words: list[str]) -> int:
    if words[0] == _FOLDER:
        code = _run(words[2:])
        import shutil

        shutil.rmtree(words[1], ignore_errors=True)
        return code
    if words[0] == _RELAY:
        return main(words[2:], float(words[1]), relay=True)
    if words[0] == _STDIN:
        return main(words[3:], float(words[2]), stdin=words[1])
    return main(words[1:], float(words[0]))


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
