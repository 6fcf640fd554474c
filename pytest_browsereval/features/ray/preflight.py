"""What is refused before a cluster is started or a token is spent."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pytest_browsereval.commands.base import version_of
from pytest_browsereval.commands.runs import find_run
from pytest_browsereval.config import EvalConfig, load_config
from pytest_browsereval.datasets.ids import safe_folder, safe_id
from pytest_browsereval.datasets.reader import index_rows
from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.gates import write_part_gate
from pytest_browsereval.features.process import GRACE_S
from pytest_browsereval.features.ray.request import Options, Request, read_options
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.model.remote import PartsThere
from pytest_browsereval.processes import attach_command
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.run.store import home_of, new_run_id

PARTS_FOLDER = ".parts"
"""In the results folder: the bucket of runs for which none is named."""
CONNECT_S = 10.0
_TO_RUN = re.compile(r"to run: ([\d,]+)(?: to ([\d,]+))? trials?\b")
_OTHERS = re.compile(r"plus [\d,]+ tests? outside of evals")
SHOWN = 40
"""Lines of what pytest says when it refuses."""


@dataclass(frozen=True)
class Checked:
    """A request that can be carried out."""

    request: Request
    config: EvalConfig
    options: Options
    door: Door
    done: frozenset[int] = frozenset()
    """Parts that an earlier session has finished."""
    trials: tuple[int, int] = (0, 0)
    """How many the whole run is to have, at least and at most."""

    @property
    def path(self) -> str:
        """The place of the run below the URL."""
        return f"{safe_folder(self.config.name)}/{self.request.name}"

    @property
    def run_url(self) -> str:
        """The URL of the run."""
        return f"{self.request.url}/{self.path}"

    @property
    def home(self) -> Path:
        """The folder of this machine that the merged run goes into."""
        return home_of(self.config.output_dir, self.config.name)


def read_request(arguments: argparse.Namespace) -> Checked:
    """Return what is asked for, as far as it can be checked without starting anything.

    Raises:
        UsageError: it cannot be done.
    """
    check_address(arguments.address)
    options = read_options(arguments.pytest_options)
    path: Path = arguments.config
    registry = arguments.door.load_registry()
    config = load_config(path, registry=registry, overrides=options.sets, agent=options.agent)
    rows = sum(len(index_rows(one, config.base_dir)) for one in config.datasets)
    if arguments.parts > rows:
        raise UsageError(
            f"--parts {arguments.parts}: the eval has {format_count(rows, 'row')}. Take as many parts at "
            "most; 25 rows or more in each keep what a part costs by itself small."
        )
    name = new_run_id() if arguments.name is None else arguments.name
    if not name or safe_id(name) != name:
        raise UsageError(f"--name {name!a}: take up to 100 of A-Z a-z 0-9 . _ -, such as nightly-2026-11-25.")
    folder = Path.cwd() if arguments.working_dir is None else arguments.working_dir.absolute()
    file: Path | None = arguments.junit_xml
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise UsageError(f"--junit-xml {file}: this is a folder, or there is none for it.")
    if arguments.address is None and arguments.cpus > (cores := os.cpu_count() or 1):
        raise UsageError(f"--cpus {arguments.cpus:g}: this machine has {format_count(cores, 'core')}.")
    by = options.shard_by
    if by is not None and "://" not in by:
        by = str(find_run(arguments.door, by, path).absolute())
    request = Request(
        config=str(path.absolute()),
        url=_find_url(arguments, config),
        name=name,
        of=arguments.parts,
        options=options.rest,
        shard_by=by,
        folder=str(folder),
        gate=write_part_gate(config),
        environment=_read_variables(arguments.env),
    )
    if arguments.working_dir is not None and not path.absolute().is_relative_to(folder):
        raise UsageError(f"{path} is not in the --working-dir {folder}, which is all that nodes are given.")
    return Checked(request, config, options, arguments.door)


def check_address(address: str | None) -> None:
    """Refuse an address at which nothing listens: Ray would wait for minutes.

    Args:
        address: ``HOST:PORT``, or a word that Ray knows.

    Raises:
        UsageError: it cannot be the address of a cluster.
    """
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


def _read_variables(names: Sequence[str]) -> dict[str, str]:
    for name in names:
        if not name or "=" in name:  # what follows may be a key
            raise UsageError(
                f"--env {name.partition('=')[0]!a}: write only the name of a variable that is set here."
            )
        if name not in os.environ:
            raise UsageError(f"--env {name}: this variable is not set here.")
    return {name: os.environ[name] for name in names}


def check_request(checked: Checked, *, is_named: bool) -> Checked:
    """Return a request with the parts that are done, once pytest has checked rows, browser and bucket.

    Args:
        checked: the request.
        is_named: whether its run may be there already.

    Raises:
        UsageError: pytest refuses it, or what is there already is another run.
    """
    words, baseline = [*checked.request.common(), "--eval-plan"], checked.options.baseline
    words += [] if baseline is None else [f"--eval-baseline={baseline}"]
    lines = _ask_pytest(words, checked.request)
    checked = replace(checked, trials=read_plan(lines))
    print_plan(lines)
    return _find_done(checked) if is_named else checked


def read_plan(lines: Sequence[str]) -> tuple[int, int]:
    """Return how many trials pytest has planned, at least and at most.

    Raises:
        UsageError: there is something else than the rows of one eval: no gate and no merged run knows of it.
    """
    if others := next((line for line in lines if _OTHERS.fullmatch(line)), None):
        raise UsageError(f"{others}: a run in parts has rows only. Leave them out; `pytest` runs them.")
    if sum(" plan of eval " in line for line in lines) > 1:
        raise UsageError("there is more than one eval. Leave the others out; each is a run of its own.")
    found = [one for line in lines if (one := _TO_RUN.match(line))]
    least, most = (one[1] for one in found), (one[2] or one[1] for one in found)
    return _add(least), _add(most)


def _add(counts: Iterable[str]) -> int:
    return sum(int(one.replace(",", "")) for one in counts)


def print_plan(lines: Sequence[str]) -> None:
    """Print what pytest has said of the plan, from its heading on."""
    start = next((place for place, line in enumerate(lines) if " plan of eval " in line), len(lines))
    for line in lines[start + 1 :]:
        if "nothing was run" in line:
            break
        sys.stdout.write(f"{one_line(line, 500)}\n")


def find_parts(checked: Checked) -> PartsThere:
    """Return what is there of the run.

    Raises:
        UsageError: the bucket cannot be read.
    """
    runs = checked.door.open_runs(checked.request.url)
    there = runs.find_parts(checked.path) if checked.path in runs.list_runs() else None
    return there if there and there.of else PartsThere(checked.request.of, {})


def _find_done(checked: Checked) -> Checked:
    there, request = find_parts(checked), checked.request
    if there.of != request.of:
        raise UsageError(
            f"{checked.run_url} is a run in {format_count(there.of, 'part')}. Write --parts {there.of}, or "
            "another --name."
        )
    done = sorted(there.done)
    if done:
        copy = checked.door.fetch_run(f"{checked.run_url}/parts/{done[0]}-of-{request.of}")[0]
        # The check of a resume: whether config, rows and tools are those that this part was made of.
        words = [word for word in request.common() if word != request.target]
        asked = [*words, "--eval-plan", f"--eval-resume={copy}", *request.division(done[0])]
        if lacks := read_plan(_ask_pytest(asked, request))[0]:
            raise UsageError(
                f"part {done[0]} of {checked.run_url} is done without {format_count(lacks, 'trial')} that "
                "this command selects. Give the options of then (-k, --eval-limit), or take another --name."
            )
    return replace(checked, done=frozenset(done))


def _ask_pytest(words: Sequence[str], request: Request) -> list[str]:
    """Return what pytest prints.

    Raises:
        UsageError: it ends with another exit code than 0.
    """
    code, output = run_pytest(words, request.folder)
    lines = redact_known(output).splitlines()
    if code == 5:
        raise UsageError("no row is selected, so there is nothing to run.")
    if code:
        shown = "\n".join(one_line(line, 500) for line in lines[-SHOWN:])
        raise UsageError(f"pytest refuses this run (exit code {code}):\n{shown}")
    return lines


def run_pytest(words: Sequence[str], folder: str | None) -> tuple[int, str]:
    """Return the exit code of a pytest of its own, and what it prints."""
    done = subprocess.run(  # noqa: S603 ourselves
        attach_command([sys.executable, "-m", "pytest", *words], GRACE_S),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=folder,
        check=False,
    )
    return done.returncode, done.stdout


# -- what nodes have


def describe_node(files: Sequence[str], base: str = "") -> str:
    """Return what a node has of what it needs, to be compared with what is here.

    Args:
        files: paths there.
        base: the folder that they are relative to; the current one by default, which Ray may have copied.
    """
    found = [f"pytest-browsereval {version_of('pytest-browsereval')}"]
    for name in files:
        path = Path(base, name)
        try:
            content = b"" if path.is_dir() else path.read_bytes()
            found.append(f"{name}: {hashlib.sha256(content).hexdigest()[:12]}")
        except OSError as error:
            found.append(f"{name}: {error.strerror}")
    return "\n".join(found)


def check_nodes(checked: Checked, *, is_copied: bool) -> Request:
    """Return the request as nodes need it, once each has the files and the version of this machine.

    Args:
        checked: the request.
        is_copied: whether Ray copies the folder that pytest runs in.

    Raises:
        UsageError: a node differs; with its address and what it has.
    """
    request, base = checked.request, str(checked.request.folder)
    config = checked.config
    files = [config.path, *(one.file(config.base_dir) for one in config.dataset)]
    names = [os.path.relpath(file, base) if is_copied else str(file) for file in files]
    if request.shard_by is not None and "://" not in request.shard_by:
        names.append(request.shard_by)
    names += [] if is_copied else [base]
    with _marked(request) as marks:
        _compare([*names, *marks], base)
    return replace(request, config=names[0], folder=None) if is_copied else request


def _compare(files: Sequence[str], base: str) -> None:
    from pytest_browsereval.features.ray.cluster import ask_nodes

    here = describe_node(files, base)
    for answer, nodes in ask_nodes(describe_node, files).items():
        if answer != here:
            lines = [line for line in answer.splitlines() if line not in here.splitlines()] or [answer]
            raise UsageError(
                f"node {', '.join(nodes)} is not as this machine: {one_line('; '.join(lines), 500)}. Install "
                "the same version there, and give the config by --working-dir, a shared disk or an image; an "
                "--output that is a folder has to be on a shared disk."
            )


@contextmanager
def _marked(request: Request) -> Iterator[list[str]]:
    """Give a new file in the output if that is a folder: nodes that see it share the disk."""
    parts = urlsplit(request.url)
    if parts.scheme != "file":
        yield []
        return
    mark = Path(url2pathname(parts.path)) / f".mark-{request.name}"
    mark.write_text(request.name)
    try:
        yield [str(mark)]
    finally:
        mark.unlink(missing_ok=True)
