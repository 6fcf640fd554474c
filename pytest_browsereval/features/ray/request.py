"""What is asked of Ray, and what is refused before a cluster is started or a token is spent."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_browsereval.config import EvalConfig, load_config
from pytest_browsereval.datasets.ids import safe_folder, safe_id
from pytest_browsereval.datasets.reader import index_rows
from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.gates import write_part_gate
from pytest_browsereval.features.shared.process import GRACE_S
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.model.remote import PartsThere
from pytest_browsereval.processes import attach_command
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.store import home_of, new_run_id

PARTS_FOLDER = ".parts"
"""In the results folder: where parts go if no place is named."""
CONNECT_S = 10.0
SHOWN = 40
"""Lines of what pytest says when it refuses."""

OURS = {
    "--eval-config": "it is the first argument",
    "--eval-shard": "it is --parts",
    "--eval-output": "it is --output",
    "--eval-run-name": "it is --name",
    "--eval-resume": "write the --name of the run",
    "--eval-regrade": "regrade the run when it is whole",
    "--eval-dashboard": "each part is a session of its own",
    "--junitxml": "write --junit-xml before the --",
    "--junit-xml": "write --junit-xml before the --",
    "--html": "each part would write the same file",
    **dict.fromkeys(
        (
            *("--collect-only", "--collectonly", "--co", "--setup-only", "--setuponly", "--setup-plan"),
            *("--setupplan", "--eval-plan", "--eval-plan-json"),
        ),
        "it runs nothing; give it to pytest",
    ),
}
"""Options of pytest that parts cannot be given, and why."""


@dataclass(frozen=True)
class Request:
    """What nodes need to run parts of an eval."""

    config: str
    url: str
    """Where the runs of all evals are."""
    name: str
    """Of the run there."""
    of: int
    """How many parts there are."""
    options: tuple[str, ...] = ()
    """Of pytest, for all parts."""
    folder: str | None = None
    """The folder that pytest runs in; None for the one that Ray has copied to the node."""
    gate: str = "{}"
    """By which parts may end: they have some of the rows only, and the gate decides about all of them."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that nodes get besides their own."""

    def common(self) -> list[str]:
        """Return what all command lines of pytest have; parts on one disk would write the same cache."""
        return [f"--eval-config={self.config}", "-p", "no:cacheprovider", *self.options]

    def arguments(self, number: int, results: Path) -> list[str]:
        """Return the command line of pytest for a part, whose runs on the node are in a folder."""
        sets = (f"output_dir={json.dumps(str(results))}", f"gate={self.gate}")
        named = [f"--eval-output={self.url}", f"--eval-run-name={self.name}"]
        words = [*self.common(), f"--eval-shard={number}/{self.of}", *named]
        return [*words, *(word for one in sets for word in ("--eval-set", one))]


@dataclass(frozen=True)
class Checked:
    """A request that can be carried out, and how its run is decided."""

    request: Request
    config: EvalConfig
    door: Door
    gate: tuple[str, ...]
    """Options of pytest that only the gate of the whole run has a meaning for."""
    baseline: tuple[str, ...]
    """The option of pytest that names the run which the gate compares with."""
    done: frozenset[int] = frozenset()
    """Parts that an earlier session has finished."""
    trials: Mapping[str, int] = field(default_factory=dict)
    """How many the whole run is to have, by ``least`` and ``most``."""

    @property
    def path(self) -> str:
        """The place of the run below the URL."""
        return f"{safe_folder(self.config.name)}/{self.request.name}"

    @property
    def url(self) -> str:
        """The URL of the run."""
        return f"{self.request.url}/{self.path}"

    @property
    def target(self) -> Path:
        """The folder of this machine that the merged run goes into."""
        return home_of(self.config.output_dir, self.config.name) / self.request.name

    def find_parts(self) -> PartsThere:
        """Return what is there of the run.

        Raises:
            UsageError: the place cannot be read.
        """
        runs = self.door.open_runs(self.request.url)
        there = runs.find_parts(self.path) if self.path in runs.list_runs() else None
        return there if there and there.of else PartsThere(self.request.of, {})


def read_request(arguments: argparse.Namespace) -> Checked:
    """Return what is asked for, once pytest has checked rows, browser and the place of the parts.

    Raises:
        UsageError: it cannot be done.
    """
    checked = _read_arguments(arguments)
    request = checked.request
    plan = _plan(request, [*request.common(), f"--eval-output={request.url}", *checked.baseline])
    (one,) = plan["evals"]
    sys.stdout.writelines(f"{one_line(line, 500)}\n" for line in one["text"])
    return _find_done(replace(checked, trials=one["trials"]), is_named=arguments.name is not None)


def _read_arguments(arguments: argparse.Namespace) -> Checked:
    path, folder = arguments.config, Path(arguments.working_dir or "").absolute()
    _check_address(arguments.address)
    _check_machine(arguments, folder)
    for word in (one.partition("=")[0] for one in arguments.pytest_options):
        if word in OURS:
            raise UsageError(f"{word} cannot be given to parts of a run: {OURS[word]}.")
    given, rest = _take_options(
        arguments.pytest_options, "set", "agent", "baseline", "min-pass-rate", "trials"
    )
    sets = [*given["set"], *(f"gate.min_pass_rate={one}" for one in given["min-pass-rate"])]
    sets += [f"trials={one}" for one in given["trials"]]
    agent = given["agent"][-1] if given["agent"] else None
    config = load_config(path, registry=arguments.door.load_registry(), overrides=sets, agent=agent)
    rows = sum(len(index_rows(one, config.base_dir)) for one in config.datasets)
    if arguments.parts > rows:
        raise UsageError(
            f"--parts {arguments.parts}: the eval has {format_count(rows, 'row')}. Use at most as many "
            "parts; 25 rows or more in each keep what a part costs by itself small."
        )
    name = new_run_id() if arguments.name is None else arguments.name
    if not name or safe_id(name) != name:
        raise UsageError(f"--name {name!a}: take up to 100 of A-Z a-z 0-9 . _ -, such as nightly-2026-11-25.")
    request = Request(
        config=str(path.absolute()),
        url=_find_url(arguments, config),
        name=name,
        of=arguments.parts,
        options=(
            *(word for one in sets for word in ("--eval-set", one)),
            *(f"--eval-agent={one}" for one in given["agent"]),
            *rest,
        ),
        folder=str(folder),
        gate=write_part_gate(config),
        environment={variable: os.environ[variable] for variable in arguments.env},
    )
    gate = [word for one in sets if one.startswith("gate") for word in ("--eval-set", one)]
    baseline = tuple(f"--eval-baseline={one}" for one in given["baseline"])
    return Checked(request, config, arguments.door, tuple(gate), baseline)


def _check_machine(arguments: argparse.Namespace, folder: Path) -> None:
    """Refuse what this machine does not have."""
    file: Path | None = arguments.junit_xml
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise UsageError(f"--junit-xml {file}: this is a folder, or there is none for it.")
    if not 0 < arguments.cpus < 10_000 or arguments.max_retries < 0:
        raise UsageError("--cpus has to be more than 0, and --max-retries 0 or more.")
    if arguments.address is None and arguments.cpus > (cores := os.cpu_count() or 1):
        raise UsageError(f"--cpus {arguments.cpus:g}: this machine has {format_count(cores, 'core')}.")
    if not (arguments.working_dir is None or arguments.config.absolute().is_relative_to(folder)):
        raise UsageError(
            f"{arguments.config} is not in the --working-dir {folder}, which is all that nodes are given."
        )
    for variable in arguments.env:
        name_of, is_more, _ = variable.partition("=")  # what follows may be a key
        if not name_of or is_more:
            raise UsageError(f"--env {name_of!a}: write only the name of a variable that is set here.")
        if variable not in os.environ:
            raise UsageError(f"--env {variable}: this variable is not set here.")


def _take_options(words: Sequence[str], *names: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the values of options that begin with ``--eval-``, and the other words."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in names:
        parser.add_argument(f"--eval-{name}", dest=name, action="append", default=[])
    try:
        found, rest = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise UsageError(f"the options of pytest cannot be read: {error}.") from None
    return vars(found), rest


def _check_address(address: str | None) -> None:
    """Refuse an address at which nothing listens: Ray would wait for minutes."""
    if address is None or address in ("auto", "local"):
        return
    if address.startswith("ray://"):
        raise UsageError(
            f"--address {address} is for Ray's client. Run this on a node of the cluster: --address auto."
        )
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal() and int(port) < 65_536):
        raise UsageError(f"--address {address!a}: write HOST:PORT, or auto on a node of the cluster.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except OSError as error:
        raise UsageError(f"--address {address}: nothing answers there ({error.strerror or error}).") from None


def _find_url(arguments: argparse.Namespace, config: EvalConfig) -> str:
    given: str | None = arguments.output
    if given is not None:
        return given.rstrip("/") if "://" in given else Path(given).absolute().as_uri()
    if arguments.address is not None:
        raise UsageError(
            "a cluster with --address needs an --output that all its nodes reach, such as s3://bucket/evals."
        )
    return (config.output_dir / PARTS_FOLDER).as_uri()


def _find_done(checked: Checked, *, is_named: bool) -> Checked:
    """Return a request that knows which parts are done; merge compares config, rows and options of all."""
    there, request = checked.find_parts() if is_named else PartsThere(checked.request.of, {}), checked.request
    if there.of != request.of:
        raise UsageError(
            f"{checked.url} is a run in {format_count(there.of, 'part')}. Write --parts {there.of}, or "
            "another --name."
        )
    return replace(checked, done=frozenset(there.done))


def _plan(request: Request, words: Sequence[str]) -> dict[str, Any]:
    """Return pytest's plan.

    Raises:
        UsageError: pytest refuses it; or there is something else than the rows of one eval, of which no gate
            and no merged run knows.
    """
    code, output, errors = run_pytest([*words, "--eval-plan-json"], request.folder)
    if code == 5:
        raise UsageError("no row is selected, so there is nothing to run.")
    line = output.strip().rpartition("\n")[2]
    if code or not line.startswith("{"):
        lines = redact_known(f"{output}\n{errors}").strip().splitlines()[-SHOWN:]
        shown = "\n".join(one_line(one, 500) for one in lines)
        raise UsageError(f"pytest has made no plan of this run (exit code {code}):\n{shown}")
    plan: dict[str, Any] = json.loads(line)
    if others := plan["other_tests"]:
        raise UsageError(
            f"plus {format_count(others, 'test')} outside of evals: a run in parts has rows only. Leave them "
            "out; `pytest` runs them."
        )
    if len(plan["evals"]) > 1:
        raise UsageError("there is more than one eval. Leave the others out; each is a run of its own.")
    return plan


def run_pytest(words: Sequence[str], folder: str | None) -> tuple[int, str, str]:
    """Return the exit code of a pytest of its own, what it prints, and its errors."""
    done = subprocess.run(  # noqa: S603 ourselves
        attach_command([sys.executable, "-m", "pytest", *words], GRACE_S),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=folder,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
