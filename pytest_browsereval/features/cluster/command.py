"""``cluster slurm|kubernetes CONFIG``: what to submit so that an engine runs an eval in parts."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path, PurePosixPath

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.reporting import write
from pytest_browsereval.errors import UsageError

SLURM, KUBERNETES = "slurm", "kubernetes"

ONLY = {"results": SLURM, "image": KUBERNETES, "secret": KUBERNETES}
"""Options that one engine has."""

LEAST_MINUTES = 5

_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}")
_SECRET = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


def cluster(arguments: argparse.Namespace) -> int:
    """Print or write a script or a manifest; nothing is there of a run that could not be made.

    Raises:
        UsageError: an option cannot be used.
        ConfigError: the config cannot.
        DatasetError: its rows cannot be read.
    """
    from pytest_browsereval.features.cluster.kubernetes import write_kubernetes
    from pytest_browsereval.features.cluster.plan import Resources, check_line, make_plan
    from pytest_browsereval.features.cluster.slurm import write_slurm
    from pytest_browsereval.run.store import new_run_id

    for name, engine in ONLY.items():
        if getattr(arguments, name) is not None and arguments.engine != engine:
            raise UsageError(f"--{name} is of {engine}, and not of {arguments.engine}. Leave it out.")
    if arguments.engine == KUBERNETES:
        _check_kubernetes(arguments)
    check_line("--results", arguments.results or "")
    plan = make_plan(
        arguments.config,
        parts=arguments.parts,
        parallel=arguments.parallel,
        output=arguments.output,
        name=new_run_id() if arguments.name is None else arguments.name,
        resources=Resources(arguments.cpus, arguments.memory, arguments.minutes),
    )
    if arguments.engine == KUBERNETES:
        text = write_kubernetes(plan, arguments.image, arguments.secret or "browsereval")
    else:
        text = write_slurm(plan, arguments.results or plan.results)
    if arguments.file is None:
        _print(arguments, text)
    else:
        write(arguments.file, text)  # as a whole: the file of a redirection is there before this began
        print(arguments.file, flush=True)
    return 0


def _print(arguments: argparse.Namespace, text: str) -> None:
    """Print a text as it is.

    Raises:
        UsageError: a letter cannot be printed, and another one in its place would be another path.
    """
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        raise UsageError(
            f"{str(arguments.config)!a} or a URL has letters that {sys.stdout.encoding} lacks. "
            "Set PYTHONUTF8=1, or write a file by -o FILE."
        ) from None
    sys.stdout.write(text)


def _check_kubernetes(arguments: argparse.Namespace) -> None:
    """Refuse what no pod could use.

    Raises:
        UsageError: the option.
    """
    if arguments.output.startswith("file:"):
        raise UsageError(
            "--output: pods have no folder in common. Write the URL of a bucket: s3://bucket/folder."
        )
    path = PurePosixPath(arguments.config)
    if path.is_absolute() or ".." in path.parts:
        raise UsageError(
            f"{str(path)!a}: the image has its own folders. Go into the folder that you copy into it, and "
            "write the config's path from there."
        )
    if arguments.image is None:
        raise UsageError("--image is missing: the image that has a browser, pytest-browsereval and the eval.")
    if not _IMAGE.fullmatch(arguments.image):
        raise UsageError(f"--image: {arguments.image!a} is not the name of an image.")
    if arguments.secret is not None and not _SECRET.fullmatch(arguments.secret):
        raise UsageError(
            f"--secret: {arguments.secret!a} cannot be the name of a Secret. Give its name, no key."
        )


def _count(text: str) -> int:
    """Return a number from 1.

    Raises:
        ValueError: it is none.
    """
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text) < 100_000:
        raise ValueError(text)
    return int(text)


def _minutes(text: str) -> int:
    """Return a number of minutes: Slurm asks a part to end up to two of them before its limit.

    Raises:
        ValueError: it is none, or less than 5.
    """
    if _count(text) < LEAST_MINUTES:
        raise ValueError(text)
    return int(text)


_count.__name__, _minutes.__name__ = "number from 1 to 99999", "number from 5"  # as argparse names them


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("engine", metavar="ENGINE", choices=(SLURM, KUBERNETES), help="slurm or kubernetes")
    add("config", metavar="CONFIG", type=Path, help="the eval's config")
    add("--parts", metavar="N", type=_count, required=True, help="how many parts the rows are divided into")
    add(
        "--output",
        metavar="URL",
        required=True,
        help="the folder of all runs, such as s3://bucket/evals; with Slurm also file:///shared/evals",
    )
    add(
        "-o",
        dest="file",
        metavar="FILE",
        type=Path,
        help="write it there once it is whole (default: print it)",
    )
    add("--name", help="of the run there; by default a new one, so that each script makes one run")
    add("--parallel", metavar="N", type=_count, help="how many parts run at once (default: all)")
    add(
        "--minutes",
        metavar="N",
        type=_minutes,
        default=60,
        help="time limit of a part (default: %(default)s)",
    )
    add("--cpus", metavar="N", type=_count, default=2, help="of a part (default: %(default)s)")
    add("--memory", metavar="GIB", type=_count, default=4, help="of a part, in GiB (default: %(default)s)")
    add(
        "--results",
        metavar="FOLDER",
        help="Slurm: of merged runs and JUnit files (default: that of the config)",
    )
    add("--image", help="Kubernetes: has a browser, pytest-browsereval and the eval")
    add(
        "--secret",
        metavar="NAME",
        help="Kubernetes: the Secret that has all keys as variables (default: browsereval)",
    )


COMMANDS = (
    Command(
        "cluster",
        "print what to submit so that Slurm or Kubernetes runs an eval in parts",
        cluster,
        _arguments,
    ),
)
