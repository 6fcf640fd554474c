"""Finds a ``module:callable`` of the user's, next to the eval config or installed."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_browsereval.errors import ConfigError, nearest
from pytest_browsereval.features.function_agent.hints import describe_form, place_of_function
from pytest_browsereval.session_caches import forget_at_session_end

_lock = threading.Lock()
_loaded: dict[tuple[str, str], tuple[ModuleType, Callable[..., Any]]] = {}
"""Callables by reference and folder, with the modules that they were found in."""
_from_folders: dict[str, str] = {}
"""Top-level modules that were imported from next to a config, and their files."""


def load_callable(reference: str, base_dir: Path) -> Callable[..., Any]:
    """Import the module and return the callable.

    Args:
        reference: ``module:callable``.
        base_dir: the folder of the eval config; modules in it come first.

    Raises:
        ConfigError: there is no such module or callable, importing it fails, or another config's module
            has the same name.
    """
    name, _, attribute = reference.partition(":")
    folder = str(base_dir.resolve())
    with _lock:
        module, found = _loaded.get((reference, folder), (None, None))
        # Tests put modules into `sys.modules` and take them out again.
        if found is None or sys.modules.get(name) is not module:
            with _first_on_path(folder):
                _refuse_mix_up(name.partition(".")[0], folder, reference)
                module = _import(name, folder, reference)
            found = _found(module, attribute, reference)
            _loaded[reference, folder] = module, found
        return found


@forget_at_session_end
def _forget_modules() -> None:
    """Drop the modules next to configs: the next session may find others of these names, or newer ones."""
    with _lock:
        _loaded.clear()
        for name, file in _from_folders.items():
            if _origin(getattr(sys.modules.get(name), "__spec__", None)) == file:
                for module in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
                    del sys.modules[module]
        _from_folders.clear()


def _found(module: ModuleType, attribute: str, reference: str) -> Callable[..., Any]:
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [each for each in dir(found) if not each.startswith("_")]
            raise ConfigError(
                f"function is {reference!r}, but {found.__name__} has no {part!r}.{nearest(part, public)}"
            )
        found = getattr(found, part)
    _check(found, reference)
    return found  # type: ignore[no-any-return]


def is_async(function: Callable[..., Any]) -> bool:
    """Return True for what is called on the loop: async functions, and objects with an async call."""
    plain = inspect.unwrap(function)
    while isinstance(plain, functools.partial):
        plain = plain.func
    return inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(type(plain).__call__)


def place_of(error: BaseException, base_dir: Path) -> str:
    """Return ``file:line`` of where an exception came from, in the user's own code if possible."""
    folder = base_dir.resolve()
    places = [
        (Path(frame.filename), frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
    ]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((Path(error.filename), error.lineno))
    own = [(path, line) for path, line in places if folder in path.resolve().parents]
    if not places:
        return "an unknown place"
    path, line = (own or places)[-1]
    return f"{path.resolve().relative_to(folder) if own else path}:{line}"


@contextmanager
def _first_on_path(folder: str) -> Iterator[None]:
    # First, as Python has it for a script: the file next to the config is meant.
    sys.path.insert(0, folder)
    # A file that was written a moment ago may not be in the cache of its folder.
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)


def _import(name: str, folder: str, reference: str) -> ModuleType:
    before = set(sys.modules)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Missing is the module itself, or one that it imports: the latter is a fault in it.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(_broken(reference, error, folder)) from error
        raise ConfigError(
            f"function is {reference!r}, but there is no module {error.name!r}, neither in {folder} nor "
            "among the installed packages. Put it next to the eval config, or install it."
        ) from None
    except Exception as error:
        raise ConfigError(_broken(reference, error, folder)) from error
    finally:
        for new in set(sys.modules) - before:
            origin = _origin(getattr(sys.modules[new], "__spec__", None))
            if "." not in new and origin and origin.startswith(folder + os.sep):
                _from_folders[new] = origin


def _broken(reference: str, error: BaseException, folder: str) -> str:
    where = place_of(error, Path(folder))
    what = f"{type(error).__name__}: {error}"
    return f"function is {reference!r}, and importing its module raised {what}, at {where}."


def _refuse_mix_up(top: str, folder: str, reference: str) -> None:
    """Refuse a module that Python would take from another folder than a fresh process would."""
    for name in (top, *_from_folders):
        loaded = _origin(getattr(sys.modules.get(name), "__spec__", None))
        here = _origin(PathFinder.find_spec(name, [folder]))
        # An installed one is nobody's; a test may have restored `sys.modules`.
        if loaded and loaded != here and (here or (name == top and name in _from_folders)):
            raise ConfigError(
                f"function is {reference!r}, but the module name {name!r} is taken: {loaded} is loaded, and "
                f"this config's would be {here or f'nowhere in {folder}'}. Give one of them another name, or "
                "run the configs one by one."
            )


def _origin(spec: ModuleSpec | None) -> str | None:
    if spec is None:
        return None
    if spec.origin and spec.has_location:
        return os.path.realpath(spec.origin)
    folders = [os.path.realpath(each) for each in spec.submodule_search_locations or ()]
    return os.pathsep.join(folders) or spec.origin


def _check(found: Any, reference: str) -> None:
    if not callable(found):
        raise ConfigError(f"function is {reference!r}, which is {found!r} and cannot be called.")
    try:
        inspect.signature(found).bind(object())
    except TypeError as error:
        raise ConfigError(
            f"function is {reference!r}{place_of_function(found)}, which cannot be called with one argument, "
            f"the agent's context: {error}. {describe_form(found, is_async=is_async(found))}"
        ) from None
    except ValueError:
        return  # some built-in callables tell no signature
