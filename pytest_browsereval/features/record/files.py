"""Files that a person chooses: where they are on this machine, and their copies next to the dataset."""

from __future__ import annotations

import asyncio
import filecmp
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.record.event import View
from pytest_browsereval.features.shared.reporting import refuse_unwritable

FOLDER = "files"
"""Next to the dataset."""
ANSWER_S = 1.0


async def find_files(view: View, context: int, names: tuple[str, ...]) -> list[Path] | None:
    """Return the files that were chosen last in a frame; None if one is not on this machine.

    The browser says where they are, so that a page cannot put others in their place: what its scripts make
    is nowhere.

    Args:
        view: where they were chosen.
        context: of the script that has seen it.
        names: what they are called.
    """
    paths = [await _find_file(view, context, number) for number in range(len(names))]
    found = [path for path, name in zip(paths, names, strict=True) if path is not None and path.name == name]
    return found if len(found) == len(names) else None


async def _find_file(view: View, context: int, number: int) -> Path | None:
    expression = {"expression": f"browserevalRecorder.chosen()[{number}]", "contextId": context}
    reply: Any = await quietly(view.session.send("Runtime.evaluate", expression), ANSWER_S)
    if not reply or "objectId" not in reply["result"]:
        return None
    asked = view.session.send("DOM.getFileInfo", {"objectId": reply["result"]["objectId"]})
    path = Path((await quietly(asked, ANSWER_S) or {}).get("path") or "")
    return path if await asyncio.to_thread(path.is_file) else None


def copy_files(files: Mapping[str, Path], folder: Path) -> None:
    """Copy files into a folder that rows name them by; what is there already stays.

    Raises:
        UsageError: they cannot be written, or another file is there.
    """
    for name, path in files.items():
        target = folder / name
        if target.exists():
            if not filecmp.cmp(path, target, shallow=False):
                raise UsageError(
                    f"{format_path(target)} exists, and is not the file that was chosen. Rename one of them."
                )
            continue
        with refuse_unwritable(target):
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)
