"""The files of a starter: an eval with its site and agent that runs at once, to be changed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.names import is_eval
from pytest_browsereval.registry import Registry

CI_FILES = {"github": ".github/workflows/evals.yml", "gitlab": ".gitlab-ci.yml"}
"""CI systems, and where their file is, from the root of the repository."""

GITIGNORE = ".gitignore"
SCHEMA = "eval.schema.json"

FILES: dict[str, dict[str, str]] = {
    "function": {"my_agent.py": "the agent, an async function", "conftest.py": "hooks of this eval"},
    "single": {"conftest.py": "a stand-in for the model, which needs no key"},
    "command": {"my_agent.py": "the agent, a program", "conftest.py": "hooks of this eval"},
}
"""The files of each type of agent, and what they are."""

_CONFIG = {"shop.eval.yaml": "the config: agent, rows, site, limits, gate"}
_ROWS = {"shop.jsonl": "five rows: what to do, and how to tell that it is done"}
_SITE = {"site/index.html": "the shop"}
_IGNORED = {GITIGNORE: "what not to commit"}
_TEMPLATES = Path(__file__).with_name("templates")
_IN_CI_FILES = re.compile(r"[\w ./+@,=~()-]+")
"""Names of folders that mean the same in YAML, in a shell and in patterns of paths."""


@dataclass(frozen=True)
class StarterFile:
    """A file to be written."""

    path: Path
    purpose: str
    read: Callable[[], str]
    """Returns what is to stand in it."""


def list_files(registry: Registry, folder: Path, agent: str, ci: str | None = None) -> list[StarterFile]:
    """Return the files of a starter, in the order in which a reader wants to see them.

    Args:
        registry: has the members that the schema for editors describes.
        folder: where they go; absolute.
        agent: one of ``FILES``.
        ci: one of ``CI_FILES``, or None.

    Raises:
        UsageError: the file for the CI system cannot name the folder.
    """
    own = _CONFIG | FILES[agent]
    purposes = _CONFIG | _ROWS | own | _SITE | _IGNORED
    result = []
    for name, purpose in purposes.items():
        template = _TEMPLATES / (agent if name in own else "common") / _stored_name(name)
        read = partial(template.read_text, encoding="utf-8")
        result.append(StarterFile(folder / name, purpose, read))
    read = partial(_make_schema, registry)
    result.append(StarterFile(folder / SCHEMA, "what a config may have, for editors", read))
    if ci is not None:
        result.append(make_ci_file(folder, ci))
    return result


def find_evals(folder: Path) -> list[Path]:
    """Return the configs of evals in a folder, as pytest collects them."""
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.iterdir() if is_eval(file.name) and file.is_file())


def _stored_name(name: str) -> str:
    """Return a file's name among the templates, where it is data and no code of this package."""
    return f"{name.removeprefix('.')}.txt" if name == GITIGNORE or name.endswith(".py") else name


def _make_schema(registry: Registry) -> str:
    from pytest_browsereval.features.shared.config_schema import config_schema

    return json.dumps(config_schema(registry), indent=1) + "\n"


def make_ci_file(folder: Path, ci: str) -> StarterFile:
    """Return the file of a CI system for an eval.

    Args:
        folder: of the eval; absolute.
        ci: one of ``CI_FILES``.

    Raises:
        UsageError: the file cannot name the folder.
    """
    # The systems read it in the root of a repository only.
    root = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
    inside = folder.relative_to(root).as_posix()
    if not _IN_CI_FILES.fullmatch(inside):
        raise UsageError(
            f"a CI file cannot name the folder {inside!r}: allowed are letters, digits, blanks and "
            "any of ./+@,=~()-_. Nothing was written. Give the folder another name, or leave out `--ci`."
        )
    read = partial(_fill_in, _TEMPLATES / "ci" / f"{ci}.yml", inside)
    return StarterFile(root / CI_FILES[ci], "runs the eval in CI, and keeps its reports", read)


def _fill_in(template: Path, inside: str) -> str:
    """Return a CI file for an eval in a folder of the repository."""
    text = template.read_text(encoding="utf-8")
    if inside == ".":
        lines = (line for line in text.splitlines(keepends=True) if '"FOLDER"' not in line)
        text = "".join(lines).replace("FOLDER/", "")
    return text.replace("FOLDER", inside)


# -- on the disk


def find_obstacles(starter: Iterable[StarterFile]) -> Iterator[Path]:
    """Yield what is there already, where a file or its folder is to be."""
    for file in starter:
        if os.path.lexists(file.path):
            yield file.path
            continue
        # A file where a folder has to be; what lies above an existing folder does not matter.
        nearest = next(one for one in file.path.parents if os.path.lexists(one))
        if not nearest.is_dir():
            yield nearest


def write_files(starter: Sequence[StarterFile]) -> None:
    """Write all files; none is replaced.

    Raises:
        OSError: one cannot be written; those before it are there.
    """
    for file in starter:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        with file.path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(file.read())
