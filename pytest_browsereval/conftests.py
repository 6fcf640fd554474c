"""Loads the conftests of a config in a command, as pytest does in a session."""

from __future__ import annotations

import hashlib
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from pytest_browsereval.errors import RegistryError, name_raised
from pytest_browsereval.hook_checks import HOOKS


def list_conftests(folder: Path) -> list[Path]:
    """Return the conftests that speak of our hooks, the outermost first; others are never run."""
    here = Path.cwd()
    above = [parent for parent in folder.parents if parent.is_relative_to(here)]
    # pytest loads the outer ones first as well: inner ones may import what these put on the path.
    files = (place / "conftest.py" for place in (*reversed(above), folder))
    return [file for file in files if file.is_file() and HOOKS.encode() in file.read_bytes()]


def import_conftest(file: Path) -> ModuleType:
    """Return a conftest as a module.

    Raises:
        RegistryError: it cannot be loaded.
    """
    # Two conftests must not share a name in `sys.modules`.
    name = f"browsereval_conftest_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    loader = SourceFileLoader(name, str(file))
    spec = ModuleSpec(name, loader, origin=str(file))
    spec.has_location = True
    module = module_from_spec(spec)
    sys.modules[name] = module  # annotations of its classes are looked up there
    sys.path.insert(0, str(file.parent))  # as pytest does, for modules next to it
    try:
        loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit(0) at its top would end `gate` as if it were met
        raise RegistryError(f"{file} cannot be loaded: {name_raised(error)}: {error}. Fix it.") from error
    return module
