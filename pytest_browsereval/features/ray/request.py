"""What is asked of Ray, and what is refused before a cluster is started or a token is spent."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.process import run_pytest
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.model.remote import PartsThere
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.store import new_run_id

PARTS_FOLDER = ".parts"
"""In the results folder: where parts go if no place is named."""
CONNECT_S = 10.0
PLAN_S = 600.0
"""How long pytest may take to check all rows."""

_OURS = ("config", "shard", "output", "run-name", "resume", "regrade", "dashboard", "plan", "plan-json")
REFUSED = frozenset(
    (
        *(f"--eval-{name}" for name in _OURS),
        *("--junitxml", "--junit-xml", "--html", "--collect-only", "--collectonly", "--co"),
        *("--setup-only", "--setuponly", "--setup-plan", "--setupplan"),
    )
)
"""Options of pytest that parts cannot be given: the command says them itself, or they run nothing."""


@dataclass(frozen=True)
class Request:
    """What nodes need to run parts of an eval."""

    config: str
    name: str
    """Of the run."""
    of: int
    """How many parts there are."""
    url: str = ""
    """Where the runs of all evals are."""
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
        output = [f"--eval-output={self.url}"] if self.url else []
        return [f"--eval-config={self.config}", "-p", "no:cacheprovider", *self.options, *output]

    def arguments(self, number: int, results: Path) -> list[str]:
        """Return the command line of pytest for a part, whose runs on the node are in a folder."""
        sets = (f"output_dir={json.dumps(str(results))}", f"gate={self.gate}")
        named = [f"--eval-shard={number}/{self.of}", f"--eval-run-name={self.name}"]
        return [*self.common(), *named, *(f"--eval-set={one}" for one in sets)]


@dataclass(frozen=True)
class Checked:
    """A request that can be carried out, and how its run is decided."""

    request: Request
    door: Door
    gate: tuple[str, ...]
    """Options of the gate of the whole run."""
    plan: Mapping[str, Any]
    """Pytest's, of the eval."""
    done: frozenset[int]
    """Parts that an earlier session has finished."""

    @property
    def results(self) -> Path:
        """The folder of the eval's runs on this machine."""
        return Path(self.plan["results"])

    @property
    def url(self) -> str:
        """The URL of the run."""
        return f"{self.request.url}/{self.results.name}/{self.request.name}"


def find_done(door: Door, request: Request, folder: str) -> PartsThere:
    """Return what is there of a run.

    Raises:
        UsageError: the place cannot be read.
    """
    runs, path = door.open_runs(request.url), f"{folder}/{request.name}"
    there = runs.find_parts(path) if path in runs.list_runs() else None
    return there if there and there.of else PartsThere(request.of, {})


def read_request(arguments: argparse.Namespace) -> Checked:
    """Return what is asked for, once pytest has checked rows, browser and the place of the parts.

    Raises:
        UsageError: it cannot be done.
    """
    _check_machine(arguments)
    given, rest = _take_options(arguments.pytest_options, "set", "baseline", "min-pass-rate")
    sets = [*given["set"], *(f"gate.min_pass_rate={one}" for one in given["min-pass-rate"])]
    gate = [f"--eval-set={one}" for one in sets if one.startswith("gate")]
    name = new_run_id() if arguments.name is None else arguments.name
    if not name or safe_id(name) != name:
        raise UsageError(
            f"--name {name!a}: use up to 100 characters of A-Z a-z 0-9 . _ -, such as nightly-2026-11-25."
        )
    request = Request(
        config=str(arguments.config.absolute()),
        name=name,
        of=arguments.parts,
        url=_find_url(arguments),
        options=(*(f"--eval-set={one}" for one in sets), *rest),
        folder=str(Path(arguments.working_dir or "").absolute()),
        environment={variable: os.environ[variable] for variable in arguments.env},
    )
    plan = _plan(request, [f"--eval-baseline={one}" for one in given["baseline"]])
    if arguments.parts > plan["trials"]["most"]:
        raise UsageError(
            f"--parts {arguments.parts}: {format_count(plan['trials']['most'], 'trial')} to run. Use fewer "
            "parts; with 25 rows or more in each, the overhead of a part is small."
        )
    if plan["part_gate"] is None:
        raise UsageError(
            f"{arguments.config}: trials are made until the gate is decided, and a part of a run cannot tell "
            "by pass rates of tags or websites, of which it may have no row. Write `min_pass_rate` too, or "
            "a number of trials: `trials: 3`."
        )
    results = Path(plan["results"])
    if not (url := request.url):
        (folder := results.parent / PARTS_FOLDER).mkdir(parents=True, exist_ok=True)
        url = folder.as_uri()
    request = Request(**{**vars(request), "url": url, "gate": json.dumps(plan["part_gate"])})
    there = PartsThere(request.of, {})
    if arguments.name is not None:  # merge compares config, rows and options of all
        there = find_done(arguments.door, request, results.name)
    if there.of != request.of:
        raise UsageError(
            f"{url}/{results.name}/{name} is a run in {format_count(there.of, 'part')}. Write --parts "
            f"{there.of}, or another --name."
        )
    sys.stdout.writelines(f"{one_line(line, 500)}\n" for line in plan["text"])
    gate += [f"--baseline={one}" for one in given["baseline"]]
    return Checked(request, arguments.door, tuple(gate), plan, frozenset(there.done))


def _check_machine(arguments: argparse.Namespace) -> None:
    """Refuse what this machine does not have, and options that are not for parts."""
    for word in (one.partition("=")[0] for one in arguments.pytest_options):
        if word in REFUSED:
            raise UsageError(
                f"{word} cannot be given to parts of a run. `browsereval ray --help` lists what is said "
                "before the --; what runs nothing, or looks at one session, is for `pytest`."
            )
    _check_address(arguments.address)
    file: Path | None = arguments.junit_xml
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise UsageError(f"--junit-xml {file}: this is a folder, or there is none for it.")
    cores = os.cpu_count() or 1 if arguments.address is None else 10_000
    if not 0 < arguments.cpus <= cores or arguments.max_retries < 0:
        raise UsageError(f"--cpus has to be more than 0 and up to {cores}, and --max-retries 0 or more.")
    folder = Path(arguments.working_dir or "/").absolute()
    if not arguments.config.absolute().is_relative_to(folder):
        raise UsageError(
            f"{arguments.config} is not in the --working-dir {folder}, which is all that nodes are given."
        )
    for variable in arguments.env:
        if variable not in os.environ:  # what follows an = may be a key
            raise UsageError(
                f"--env {variable.partition('=')[0]!a}: write only the name of a variable that is set here."
            )


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
    try:
        place = urlsplit(f"//{address}")
        socket.create_connection((place.hostname or "", place.port or 0), CONNECT_S).close()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--address {address!a}: nothing answers there ({error}). Write HOST:PORT, or run this on a node "
            "of the cluster with --address auto; ray:// is for Ray's client."
        ) from None


def _find_url(arguments: argparse.Namespace) -> str:
    given: str | None = arguments.output
    if given is not None:
        return given.rstrip("/") if "://" in given else Path(given).absolute().as_uri()
    if arguments.address is not None:
        raise UsageError(
            "a cluster with --address needs an --output that all its nodes reach, such as s3://bucket/evals."
        )
    return ""


def _plan(request: Request, more: Sequence[str]) -> dict[str, Any]:
    """Return pytest's plan of the eval.

    Raises:
        UsageError: pytest refuses it; or there is something else than the rows of one eval, of which no gate
            and no merged run knows.
    """
    words = [*request.common(), *more, "--eval-plan-json"]
    output = run_pytest(words, PLAN_S, cwd=None if request.folder is None else Path(request.folder))
    line = next((one for one in output.splitlines() if one.startswith('{"evals": ')), "")
    if not line:
        shown = "\n".join(one_line(one, 500) for one in redact_known(output).splitlines())
        raise UsageError(f"pytest made no plan for this run:\n{shown}")
    plan: dict[str, Any] = json.loads(line)
    if not (plan["evals"] or plan["other_tests"]):
        raise UsageError("no row is selected, so there is nothing to run.")
    if plan["other_tests"] or len(plan["evals"]) > 1:
        raise UsageError(
            f"there are {format_count(len(plan['evals']), 'eval')} and "
            f"{format_count(plan['other_tests'], 'test')} outside evals: a run in parts has the rows of "
            "one eval only. Leave the others out; `pytest` runs them."
        )
    return dict(plan["evals"][0])
