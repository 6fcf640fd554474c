"""``manifest.json``: what a run was made of, so that its numbers can be traced and made again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.messages import SCHEMA_VERSION, now
from pytest_browsereval.redaction.names import is_secret_name
from pytest_browsereval.run.branch import find_commit
from pytest_browsereval.run_files import load_written

if TYPE_CHECKING:  # commands that read a run need no config, which takes 0.2 s
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.tools.base import Tool
    from pytest_browsereval.tools.toolkit import Toolkit

RESUMES_FILE = "resumes.jsonl"
"""In the run folder: a line for each time that the run was resumed."""

MACHINE = ("browser", "python", "platform", "packages", "git_commit", "git_branch")
"""Keys of a manifest that say where a run was made: they differ between the machines of one run."""

PACKAGES = (
    "pytest-browsereval",
    "pytest",
    "pytest-xdist",
    "playwright",
    "pydantic",
    "openai",
    "genai-prices",  # the prices that costs were computed with
)


def manifest(
    config: EvalConfig,
    browser: str,
    tools: Sequence[Tool],
    kits: Sequence[Toolkit],
    plugins: Sequence[str],
    *,
    model_calls: str,
) -> dict[str, Any]:
    """Return the manifest's content: plain JSON, no secrets.

    Args:
        config: what is run.
        browser: the browser's name, version and binary.
        tools: the tools that are switched on.
        kits: the toolkits of the run.
        plugins: who else brings members: packages with their versions, conftests.
        model_calls: what becomes of the calls of models, ``replay`` for example.
    """
    commit, branch = find_commit(config.base_dir)
    on = {tool.name for tool in tools}
    return {
        "schema_version": SCHEMA_VERSION,
        "started_at": now(),
        "name": config.name,
        "config_file": config.path.name,
        "config": config.public_dump(),
        "config_hash": config.content_hash(),
        "datasets": [file_hash(d.file(config.base_dir)) for d in config.dataset],
        "files": dict(hash_row_files(config)),
        "browser": browser,
        "tools": [tool.name for tool in tools],
        # What they tell a model is in the hash.
        "toolkits": [
            {
                "key": kit.key,
                "owner": kit.owner,
                "tools": [name for name in kit.names if name in on],
                "policy_hash": hashlib.sha256(repr((kit.policy, kit.absent)).encode()).hexdigest()[:16],
            }
            for kit in kits
        ],
        "tool_schema_hash": tool_schema_hash(tools),
        "tool_hashes": {tool.name: tool_schema_hash([tool]) for tool in tools},  # a drift is reported by name
        "plugins": list(plugins),
        "model_calls": model_calls,
        "python": platform.python_version(),
        "platform": sys.platform,
        "packages": {name: _version(name) for name in PACKAGES},
        "git_commit": commit,
        "git_branch": branch,
    }


def place_of(base: Path, run: Path) -> dict[str, str]:
    """Return a manifest's ``config_folder``, as seen from the run's; nothing if no path leads there.

    Paths in a config are relative to it, and a run may lie anywhere.

    Args:
        base: the folder of the config.
        run: the run's.
    """
    try:
        return {"config_folder": Path(os.path.relpath(base.resolve(), run.resolve())).as_posix()}
    except ValueError:  # another drive
        return {}


def tool_schema_hash(tools: Sequence[Tool]) -> str:
    """Return 16 hex digits over names, descriptions and schemas: differs when the contract drifts."""
    contract = [(tool.name, tool.description, tool.schema) for tool in tools]
    return hashlib.sha256(json.dumps(contract, sort_keys=True).encode()).hexdigest()[:16]


def file_hash(path: Path) -> dict[str, str | None]:
    """Return the name of a file or folder, and the hash of its content; None where it cannot be read."""
    try:
        if path.is_dir():
            return {"file": path.name, "sha256": _folder_hash(path)}
        with path.open("rb") as file:
            return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError:
        return {"file": path.name, "sha256": None}


_FILE_NAME = re.compile(rb"(?<![\w./:-])[\w-][\w./-]*\.[A-Za-z]\w{0,7}(?![\w./-])")


def hash_row_files(config: EvalConfig) -> Iterator[tuple[str, str | None]]:
    """Yield the files in the folder of the config that rows name, with the hashes of their contents.

    A tool may upload one, and a grader may run or read it: then results depend on it.
    """
    base = config.base_dir.resolve()
    own = {one.file(config.base_dir) for one in config.dataset}
    names: set[bytes] = set()
    for file in own:
        with suppress(OSError):  # it is a folder, or cannot be read: the reader of its rows reports it
            names.update(_FILE_NAME.findall(file.read_bytes()))
    for name in sorted(name.decode("utf-8", "replace") for name in names):
        path = base / name
        # Of a short secret the hash tells all.
        if path in own or is_secret_name(path.stem, "key"):
            continue
        with suppress(OSError):  # the word is longer than a file's name may be
            if path.is_file() and path.resolve().is_relative_to(base):
                yield name, file_hash(path)["sha256"]


def _folder_hash(folder: Path) -> str:
    """Return a hash of the names and contents of the files that lie in a folder."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.is_file():
            digest.update(f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _version(name: str) -> str | None:
    with suppress(PackageNotFoundError):
        return version(name)
    return None


def check_manifest(run: Path) -> None:
    """Refuse a run whose manifest is damaged: what it was made of decides what it can be compared with.

    (One that is missing is that of an imported or older run.)

    Args:
        run: its folder.

    Raises:
        UsageError: with the file.
    """
    file = run / "manifest.json"
    try:
        why = "" if isinstance(load_written(file), dict) else "it is not a block of keys"
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    if why:
        raise UsageError(f"{format_path(file)} is damaged: {why}. Restore it.")
