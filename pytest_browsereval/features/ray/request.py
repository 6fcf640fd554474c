"""What is asked of Ray, and what is refused before a cluster is started or a token is spent."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.process import run_pytest
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.store import new_run_id

PARTS_FOLDER = ".parts"
"""In the results folder: where parts go if no place is named."""
CONNECT_S = 10.0
PLAN_S = 600.0
"""How long pytest may take to check all rows."""

_OURS = ("config", "shard", "output", "run-name", "resume", "regrade", "dashboard", "plan", "plan-json")
REFUSED = {"--junitxml", "--junit-xml", "--html", *(f"--eval-{name}" for name in _OURS)}
"""Options of pytest that parts cannot be given: the command says them itself, or they would share a file."""


@dataclass(frozen=True)
class Request:
    """A run in parts: what nodes need to run one, and what decides about all."""

    config: str
    name: str
    """Of the run."""
    of: int
    """How many parts there are."""
    url: str = ""
    """Where the runs of all evals are."""
    options: tuple[str, ...] = ()
    """Of pytest, for all parts."""
    folder: str = "."
    """The folder that pytest runs in."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that nodes get besides their own."""
    rules: tuple[str, ...] = ()
    """What follows the run in the command line of its gate."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """Pytest's, of the eval."""

    @property
    def results(self) -> Path:
        """The folder of the eval's runs on this machine."""
        return Path(self.plan["results"])

    @property
    def place(self) -> str:
        """The URL of the run."""
        return f"{self.url}/{self.results.name}/{self.name}"

    def common(self) -> list[str]:
        """Return what all command lines of pytest have; parts on one disk would write the same cache."""
        output = [f"--eval-output={self.url}"] if self.url else []
        return [f"--eval-config={self.config}", "-p", "no:cacheprovider", *self.options, *output]

    def arguments(self, number: int, results: Path) -> list[str]:
        """Return the command line of pytest for a part, whose runs on the node are in a folder."""
        # Parts have some of the rows only: they end by a gate of their own, the gate decides about all.
        gate = json.dumps(self.plan["part_gate"])
        sets = (f"--eval-set=output_dir={json.dumps(str(results))}", f"--eval-set=gate={gate}")
        return [*self.common(), f"--eval-shard={number}/{self.of}", f"--eval-run-name={self.name}", *sets]

    def find_done(self, door: Door) -> Collection[int]:
        """Return which parts are done by now.

        Raises:
            UsageError: the place cannot be read, or the run there was divided otherwise.
        """
        runs, path = door.open_runs(self.url), f"{self.results.name}/{self.name}"
        there = runs.find_parts(path) if path in runs.list_runs() else None
        if there is None or not there.of:
            return ()
        if there.of != self.of:
            how = f"Write --parts {there.of}, or another --name."
            raise UsageError(f"{self.place} is a run in {format_count(there.of, 'part')}. {how}")
        return there.done.keys()


def read_request(arguments: argparse.Namespace) -> Request:
    """Return what is asked for, once pytest has checked rows, browser and the place of the parts.

    Raises:
        UsageError: it cannot be done.
    """
    _check_arguments(arguments)
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("set", "baseline", "min_pass_rate"):
        option = f"--eval-{name.replace('_', '-')}"
        parser.add_argument(option, dest=name, action="append", default=[])
    try:
        given, rest = parser.parse_known_args(arguments.pytest_options)
    except argparse.ArgumentError as error:
        raise UsageError(f"the options of pytest cannot be read: {error}.") from None
    sets = [*given.set, *(f"gate.min_pass_rate={one}" for one in given.min_pass_rate)]
    request = Request(
        config=str(arguments.config.absolute()),
        name=new_run_id() if arguments.name is None else arguments.name,
        of=arguments.parts,
        url=_find_url(arguments),
        options=(*(f"--eval-set={one}" for one in sets), *rest),
        folder=str(Path.cwd()),
        environment={variable: os.environ[variable] for variable in arguments.env},
    )
    plan = _plan(request, [f"--eval-baseline={one}" for one in given.baseline])
    if plan["part_gate"] is None:
        raise UsageError(
            f"{arguments.config}: trials repeat until the gate is decided, but a part may lack rows of the "
            "tags or websites whose pass rates decide it. Write `min_pass_rate` too, or a number of trials: "
            "`trials: 3`."
        )
    if not (url := request.url):
        (home := Path(plan["results"]).parent / PARTS_FOLDER).mkdir(parents=True, exist_ok=True)
        url = home.as_uri()
    # Without a gate: figures, and no broken row.
    rules = [one for one in sets if one.startswith("gate")] if plan["is_gated"] else ["gate={}"]
    words = ["--config", request.config, *(f"--eval-set={one}" for one in rules)]
    words += [f"--baseline={one}" for one in given.baseline]
    sys.stdout.writelines(f"{one_line(line, 500)}\n" for line in plan["text"])
    return replace(request, url=url, rules=tuple(words), plan=plan)


def _check_arguments(arguments: argparse.Namespace) -> None:
    """Refuse what this machine does not have, and options that are not for parts."""
    for word in (one.partition("=")[0] for one in arguments.pytest_options):
        if word in REFUSED:
            how = "`browsereval ray --help` lists what goes before the --."
            raise UsageError(f"{word} cannot be given to parts of a run. {how}")
    name = arguments.name
    if name is not None and (not name or safe_id(name) != name):
        raise UsageError(f"--name {name!a}: use up to 100 characters of A-Z a-z 0-9 . _ -, such as nightly.")
    if arguments.address not in (None, "auto", "local"):
        try:  # Ray would wait for minutes
            place = urlsplit(f"//{arguments.address}")
            socket.create_connection((place.hostname or "", place.port or 0), CONNECT_S).close()
        except (OSError, ValueError) as error:
            why = f"nothing answers there ({error})"
            how = "Write HOST:PORT, or run this on a node with --address auto; ray:// is for Ray's client."
            raise UsageError(f"--address {arguments.address!a}: {why}. {how}") from None
    if arguments.address is None and arguments.cpus > (cores := os.cpu_count() or 1):
        raise UsageError(f"--cpus can be up to {cores}, the cores of this machine.")
    for variable in arguments.env:
        if variable not in os.environ:  # what follows an = may be a key
            name = variable.partition("=")[0]
            raise UsageError(f"--env {name!a}: write only the name of a variable that is set here.")


def _find_url(arguments: argparse.Namespace) -> str:
    given: str | None = arguments.output
    if given is not None:
        return given.rstrip("/") if "://" in given else Path(given).absolute().as_uri()
    if arguments.address is not None:
        raise UsageError("a cluster needs an --output that all its nodes reach, such as s3://bucket/evals.")
    return ""


def _plan(request: Request, more: list[str]) -> dict[str, Any]:
    """Return pytest's plan of the eval.

    Raises:
        UsageError: pytest refuses it; or there is something else than the rows of one eval, of which no gate
            and no merged run knows.
    """
    output = run_pytest([*request.common(), *more, "--eval-plan-json"], PLAN_S)
    line = next((one for one in output.splitlines() if one.startswith('{"evals": ')), "")
    if not line:
        shown = "\n".join(one_line(one, 500) for one in redact_known(output).splitlines())
        raise UsageError(f"pytest made no plan for this run:\n{shown}")
    plan: dict[str, Any] = json.loads(line)
    if plan["other_tests"] or len(plan["evals"]) != 1:
        raise UsageError(
            f"pytest selects rows of {format_count(len(plan['evals']), 'eval')} and "
            f"{format_count(plan['other_tests'], 'test')} outside evals: a run in parts has the rows of "
            "one eval only. Leave the others out; `pytest` runs them."
        )
    return dict(plan["evals"][0])
