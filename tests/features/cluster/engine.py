"""A Slurm of several machines on this one, from Debian's packages, without systemd and cgroups."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PATIENCE_S = 180.0
POLL_S = 0.5
"""Each look is a process that asks Slurm."""

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")

CONFIG = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A task that is requeued waits until nobody can begin its first try any more: 120 s without `cred_expire`.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
# What the nodes say they have: a test needs no gigabytes.
SlurmdParameters=config_overrides
KillWait=5
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=main Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""
NODE = "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=8000"


@dataclass(frozen=True)
class Slurm:
    """A running one."""

    environment: dict[str, str]
    """In which its commands find it."""

    def run(self, *words: str, cwd: Path | None = None, code: int = 0) -> str:
        """Run a command and return its output; fail if its exit code is another one."""
        done = subprocess.run(
            words, cwd=cwd, env=self.environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def fields(self, job: str) -> dict[str, str]:
        """Return what is known of a job or of a task."""
        words = self.run("scontrol", "--oneliner", "show", "job", job).split()
        return {word.partition("=")[0]: word.partition("=")[2] for word in words}

    def wait(self, job: str, *states: str) -> dict[str, str]:
        """Wait until a job is in one of some states, and return what is known of it."""
        deadline = time.monotonic() + PATIENCE_S
        while (fields := self.fields(job))["JobState"] not in states:
            assert time.monotonic() < deadline, fields
            time.sleep(POLL_S)
        return fields


@contextmanager
def running_slurm() -> Iterator[Slurm]:
    """Start it; without root or without its packages the test fails, as nothing would be tried."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.fail(
            f"Slurm cannot be started: {', '.join(missing) or 'root'} is missing. As root, on Debian: "
            "apt-get install --no-install-recommends slurm-wlm munge"
        )
    host = socket.gethostname().partition(".")[0]
    with ExitStack() as stack:
        # Names of sockets must be short.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp")))
        (folder / "state").mkdir()
        config, key = folder / "slurm.conf", folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        first, *others = free_ports(4)
        nodes = [NODE.format(number=n, host=host, port=port) for n, port in enumerate(others, 1)]
        config.write_text(CONFIG.format(host=host, port=first, folder=folder, nodes="\n".join(nodes)))
        names = {"SLURM_CONF": str(config)}
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "SBATCH_"))}
        slurm = Slurm({**kept, **names})
        munged = ["munged", "--foreground", "--force", f"--key-file={key}"]
        munged += [f"--{name}={folder}/munge.{name[:-5]}" for name in ("pid-file", "log-file", "seed-file")]
        stack.enter_context(_daemon(slurm, *munged, f"--socket={folder}/munge.socket"))
        _until((folder / "munge.socket").exists)
        stack.enter_context(_daemon(slurm, "slurmctld", "-D"))
        for number in range(1, 4):
            (folder / f"spool-n{number}").mkdir()
            stack.enter_context(_daemon(slurm, "slurmd", "-D", "-N", f"n{number}"))
        _until(lambda: _states(slurm) == ["idle"] * 3)
        try:
            yield slurm
        finally:
            slurm.run("scancel", "--user=root")
            _until(lambda: slurm.run("squeue", "--noheader") == "")


def _states(slurm: Slurm) -> list[str]:
    done = subprocess.run(
        ["sinfo", "--noheader", "--Node", "--format=%t"],
        env=slurm.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split()


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(POLL_S)


@contextmanager
def _daemon(slurm: Slurm, *words: str) -> Iterator[None]:
    process = subprocess.Popen(
        words, env=slurm.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
