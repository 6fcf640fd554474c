"""Where WebArena's rules look: addresses, expressions and helper programs, none of them run as Python."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from pytest_browsereval.errors import nearest

FUNC = "func:"
LAST = "last"
LAST_URL = "__last_url__"
_EXPRESSIONS = ("document.", "[...document.")
_LAMBDA = "lambda:"

WHOLE = "document.documentElement.outerHTML"
"""What an empty locator stands for."""

_SCRIPTS: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("programs.yaml").read_text(encoding="utf-8")
)
_LATEST = _SCRIPTS.pop("latest")

PROGRAMS = tuple(sorted((*_SCRIPTS, "reddit_get_post_url")))
"""Helper programs that rows call by ``func:`` and that need the page only. Most others ask a site
with an administrator's password."""


def read_program(text: str) -> tuple[str, list[str]]:
    """Return the name and the texts of the program that a row calls; it is read, never run.

    Raises:
        ValueError: it is not a plain call of one that is known.
    """
    source = text.strip().removeprefix(FUNC).strip()
    try:
        # Read as a tree: upstream evaluates these texts of a dataset with eval().
        call = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        raise ValueError(f"evals: {text!r} is not a call of a helper program, such as func:name('text').")
    if call.func.id not in PROGRAMS:
        known = f"{nearest(call.func.id, PROGRAMS)} Supported: {', '.join(PROGRAMS)}. Leave the row out."
        raise ValueError(f"evals: the helper program {call.func.id!r} is not supported.{known}")
    arguments: list[str] = []
    for argument in call.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            arguments.append(argument.value)
        elif not (isinstance(argument, ast.Name) and argument.id == "__page__"):
            raise ValueError(f"evals: {text!r} has an argument that is neither a string nor __page__.")
    return call.func.id, arguments


def check_target(url: str) -> None:
    """Check an entry's ``url``.

    Raises:
        ValueError: it is not an address, no program and not ``last``.
    """
    if url.startswith(FUNC):
        name, arguments = read_program(url)
        if name != "reddit_get_post_url" or len(arguments) != 1:
            raise ValueError(f"evals: {url!r} gives no address.")
        if arguments[0] != LAST_URL:
            _check_address(arguments[0])
    elif url != LAST:
        _check_address(url)


def _check_address(url: str) -> None:
    try:
        is_one = url.startswith("{") or urlsplit(url).scheme in ("http", "https")
    except ValueError:
        is_one = False
    if not is_one:
        raise ValueError(f"evals: the url {url!r} is not an address. Write one, or `last` for the last page.")


def check_locator(locator: str) -> None:
    """Check an entry's ``locator``.

    Raises:
        ValueError: it is neither empty nor an expression of the page nor a program.
    """
    if locator.startswith(FUNC):
        if read_program(locator)[0] not in _SCRIPTS:
            raise ValueError(f"evals: {locator!r} gives no text from a page.")
    elif locator.strip() and not locator.startswith((*_EXPRESSIONS, _LAMBDA)):
        how = "It is empty for the whole page, or begins with document. or func:"
        raise ValueError(f"evals: the locator {locator!r} is not understood. {how}")


def address_of(url: str, last_url: str) -> str | None:
    """Return the address to look at, None for the last page."""
    if url == LAST:
        return None
    if not url.startswith(FUNC):
        return url
    (given,) = read_program(url)[1]
    url = given.replace(LAST_URL, last_url)
    split = urlsplit(url)
    parts = split.path.split("/")
    # The address of a post, for any comment of it that is shown.
    is_post = len(parts) >= 4 and parts[1] == "f"
    return f"{split.scheme}://{split.netloc}/f/{parts[2]}/{parts[3]}/" if is_post else url


def expression_of(locator: str) -> str:
    """Return the expression that gives the part of the page."""
    if not locator.strip():
        return WHOLE
    if locator.startswith(_LAMBDA):
        return locator.removeprefix(_LAMBDA)
    if not locator.startswith(FUNC):
        return locator
    name, arguments = read_program(locator)
    script = _SCRIPTS[name].replace("LATEST\n", _LATEST)
    return f"({script})({', '.join(map(json.dumps, arguments))})"
