"""Copies of a site's ``data`` folder, one for each start of its server."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path

from pytest_browsereval.temporary import own_folder


def find_misfit(template: Path) -> str | None:
    """Return what in a folder cannot be copied so that the server gets no further than its copy, and why."""
    root = os.path.realpath(template)
    if Path(tempfile.gettempdir()).resolve().is_relative_to(root):
        return "contains the system's temporary folder, where copies are made"
    for folder, below, files in os.walk(root):
        for path in (Path(folder, name) for name in (*below, *files)):
            name = path.relative_to(root)
            if path.is_symlink():
                target = path.readlink()
                if target.is_absolute() or not Path(os.path.realpath(path)).is_relative_to(root):
                    return f"has the link {str(name)!r}, which leads out of the folder, to {str(target)!r}"
            elif not path.is_dir() and not path.is_file():
                return f"has {str(name)!r}, which is not a file, a folder or a link"
    return None


def copy_data(template: Path, withheld: Collection[Path]) -> Path:
    """Copy a folder into a new one, which the server may write to, and return that.

    Args:
        template: what is copied; links stay links.
        withheld: files and folders, resolved, that are left out.

    Raises:
        OSError: something cannot be copied.
    """
    if (why := find_misfit(template)) is not None:
        raise OSError(f"{str(template)!r} {why}")
    copy = Path(tempfile.mkdtemp(prefix="site-", dir=own_folder()))

    def leave_out(folder: str, names: list[str]) -> set[str]:
        home = Path(folder).resolve()
        return {name for name in names if home / name in withheld}

    try:
        shutil.copytree(template, copy, symlinks=True, ignore=leave_out, dirs_exist_ok=True)
        for folder, _, files in os.walk(copy):  # a template that is read-only makes a copy like it
            for path in (Path(folder), *(Path(folder, name) for name in files)):
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))
    except OSError as error:
        shutil.rmtree(copy, ignore_errors=True)
        if isinstance(error, shutil.Error):  # of each file that could not be copied
            raise OSError("; ".join(str(why) for _, _, why in error.args[0][:3])) from error
        raise
    return copy
