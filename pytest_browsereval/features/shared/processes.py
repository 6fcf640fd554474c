"""Supervises a subprocess: ends the command, and all that it started, when its starter dies.

The starter holds the command's standard input, a pipe. When the pipe closes, the command is ended with all
that it has started: politely at first, by force after a grace period. A starter that is killed, by
``SIGKILL`` or by ``os._exit`` too, lets go of its end as well: the system closes the pipe, so nothing is left
behind. It is started by its path, as ``python -I -S processes.py GRACE COMMAND...``, so it imports little and
nothing of this package. Its exit code is the command's (128 + N for signal N).

With ``--relay`` before the grace period, what comes through the pipe is passed on to the command's own
standard input; with ``--stdin FILE`` a file is its standard input; with ``--folder FOLDER`` before these a
folder is removed when all has ended.

With ``--attached CODES`` it needs no pipe: it holds that of a supervisor of its own, and lets go of it when
it is asked to end, or when its own starter is gone. So it does not matter which of them is killed.

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

TYPE_CHECKING = False  # typing takes longer to import than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NOT_STARTED = 127
"""The exit code where the command cannot be run; standard error tells why."""
_RELAY = "--relay"
_STDIN = "--stdin"
_FOLDER = "--folder"
_ATTACHED = "--attached"
_ALONE = "--alone"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ENDS = (signal.SIGTERM, signal.SIGINT)
_POLL_S = 0.01
_KILLING_S = 1.0
"""How long what is killed may take to be gone; what forks without end is killed again and again meanwhile."""
_PARENT_S = 0.25
"""How often we look whether our starter lives. Linux could send a signal, but it does so when the thread that
has started us ends, too."""
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


def attach_command(command: list[str], grace_s: float, accepted: Iterable[int] = ()) -> list[str]:
    """Return the command line that runs a command under supervision and needs no pipe.

    All ends when the process that runs it is asked to end, is killed, or loses the process that started it.
    The command is asked alone at first, so that it can tidy up what it has started.

    Args:
        command: program and arguments.
        grace_s: the time between asking the command to end and killing it.
        accepted: exit codes of the command in whose place it has 0.
    """
    me = os.path.abspath(__file__)  # noqa: PTH100 as above
    codes = ",".join(map(str, accepted))
    return [sys.executable, "-I", "-S", me, _ATTACHED, codes, str(grace_s), *command]


def main(
    command: list[str],
    grace_s: float,
    *,
    relay: bool = False,
    stdin: str = os.devnull,
    is_asked_alone: bool = False,
) -> int:
    """Run the command until it ends or standard input closes, and return its exit code."""
    _adopt_orphans()
    early = _keep_signals()
    me = os.getpid()
    try:
        with open(stdin, "rb") as given:  # noqa: PTH123 as above
            child = subprocess.Popen(  # noqa: S603 the config's own
                command,
                stdin=subprocess.PIPE if relay else given,
                bufsize=0,
                process_group=0,
                preexec_fn=(lambda: _end_with(me)) if _IS_LINUX else None,  # noqa: PLW1509 no thread yet
            )
    except OSError as error:
        print(f"cannot run {command[0]!r}: {error.strerror}", file=sys.stderr)  # noqa: T201 the site's log
        return NOT_STARTED
    # In its own group the command gets no Ctrl-C: we pass the end on.
    end = _end_after_it if is_asked_alone else _end_all
    for name in _ENDS:
        signal.signal(name, lambda _number, _frame: end(child, grace_s))
    if early:
        end(child, grace_s)
    threading.Thread(target=_end_when_abandoned, args=(child, grace_s, end), daemon=True).start()
    code = _wait(child)
    _end_all(child, grace_s)
    return code if code >= 0 else 128 - code


def run_attached(command: list[str], grace_s: float) -> int:
    """Run the command under a supervisor until it ends, we are to end, or our starter is gone.

    Return the command's exit code.
    """
    starter = os.getppid()
    _adopt_orphans()  # the supervisor may be killed as well
    early = _keep_signals()
    me = os.path.abspath(__file__)  # noqa: PTH100 as above
    child = subprocess.Popen(  # noqa: S603 ourselves
        [sys.executable, "-I", "-S", me, _ALONE, str(grace_s), *command],
        stdin=subprocess.PIPE,
        bufsize=0,
        process_group=0,  # who kills our group must not kill the supervisor with us
    )
    pipe = child.stdin
    assert pipe is not None  # noqa: S101 it is ours
    for name in _ENDS:
        signal.signal(name, lambda _number, _frame: pipe.close())
    if early:
        pipe.close()

    def let_go() -> None:
        while os.getppid() == starter:
            time.sleep(_PARENT_S)
        pipe.close()

    threading.Thread(target=let_go, daemon=True).start()
    code = _wait(child)
    _end_all(child, grace_s)
    return code if code >= 0 else 128 - code


def _keep_signals() -> list[int]:
    """Return a list of the signals that come from now on: they must not end us while we start something."""
    early: list[int] = []
    for name in _ENDS:
        signal.signal(name, lambda number, _frame: early.append(number))
    return early


def _wait(child: subprocess.Popen[bytes]) -> int:
    """Return the exit code of the command once it has ended, and let go of adopted orphans meanwhile."""
    with contextlib.suppress(ChildProcessError):
        while _IS_LINUX:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            if ended is None or ended.si_pid == child.pid:
                break
            os.waitpid(ended.si_pid, 0)
    return child.wait()


def _end_when_abandoned(
    child: subprocess.Popen[bytes], grace_s: float, end: Callable[[subprocess.Popen[bytes], float], None]
) -> None:
    while chunk := os.read(0, 65_536):
        if child.stdin is not None:
            with contextlib.suppress(OSError):  # it has gone, or reads no more
                child.stdin.write(chunk)
    if child.stdin is not None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            child.stdin.close()
            child.wait(grace_s)
    end(child, grace_s)


# -- the end


def _end_after_it(child: subprocess.Popen[bytes], grace_s: float) -> None:
    """Ask the command to end, and end what is left then: it may have much to tidy up."""
    deadline = time.monotonic() + grace_s
    child.terminate()
    while time.monotonic() < deadline and (
        child.pid in _descendants() if _IS_LINUX else child.returncode is None
    ):
        time.sleep(_POLL_S)
    _end_all(child, _KILLING_S)


def _end_all(child: subprocess.Popen[bytes], grace_s: float) -> None:
    """End what the command has started: ask, wait, kill. It may have gone already."""
    deadline = time.monotonic() + grace_s
    if grace_s:
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
        _call_prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _end_with(supervisor: int) -> None:
    """Have this process killed when its supervisor is; called in a child before the command begins."""
    _call_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(128 + signal.SIGKILL)


def _call_prctl(option: int, value: int) -> None:
    """Call what Python has no name for; see prctl(2)."""
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _descendants() -> list[int]:
    """Return the processes below this one that are still running; nobody gets out, as orphans are adopted."""
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
    if words[0] == _ATTACHED:
        code = run_attached(words[3:], float(words[2]))
        return 0 if str(code) in words[1].split(",") else code
    if words[0] == _ALONE:
        return main(words[2:], float(words[1]), is_asked_alone=True)
    if words[0] == _RELAY:
        return main(words[2:], float(words[1]), relay=True)
    if words[0] == _STDIN:
        return main(words[3:], float(words[2]), stdin=words[1])
    return main(words[1:], float(words[0]))


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
