"""Sizes: what keeps every part small enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median, quantiles

import pytest

from tests.parsing import PACKAGE, parse_package

FILES = [file for file in sorted(PACKAGE.rglob("*.py")) if "__pycache__" not in file.parts]

LAZY_INITS = ("__init__.py", "testing/__init__.py")
"""These find public names when they are first asked for."""

LONGER_FUNCTIONS = {"attempt": "from the lease of the sites to the record, in the order in which it happens"}
"""Functions that tell one story and may be longer than 60 lines, with the reason."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


@cache
def functions() -> list[tuple[str, Function]]:
    return list(walked())


def walked() -> Iterator[tuple[str, Function]]:
    for file, tree in parse_package().items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield f"{file.relative_to(PACKAGE).as_posix()}:{node.lineno} {node.name}", node


def length(node: Function) -> int:
    """Return the lines of a function without its docstring: a text is no complexity."""
    first = node.body[0]
    text = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) and first.end_lineno else 0
    assert node.end_lineno
    return node.end_lineno - node.lineno + 1 - text


@pytest.fixture(scope="module", autouse=True)
def _forget_trees() -> Iterator[None]:
    """Let the syntax trees go: a million objects make each later collection of garbage take a second."""
    yield
    functions.cache_clear()


def test_modules_are_short() -> None:
    """No module has more than 500 lines, and half of them have at most 180."""
    sizes = {file.relative_to(PACKAGE).as_posix(): lines(file) for file in FILES}
    assert {name: size for name, size in sizes.items() if size > 500} == {}
    # An __init__ that only re-exports would pull the median down for nothing.
    assert median(size for name, size in sizes.items() if not name.endswith("__init__.py")) <= 180


@pytest.mark.slow
def test_functions_are_short() -> None:
    """Half of the functions have at most 8 lines, 95 of 100 at most 35, none more than 60."""
    sizes = {name: length(node) for name, node in functions()}
    assert {n: size for n, size in sizes.items() if size > 60 and n.split()[-1] not in LONGER_FUNCTIONS} == {}
    assert median(sizes.values()) <= 8
    assert quantiles(sizes.values(), n=20)[-1] <= 35


def test_functions_have_few_parameters() -> None:
    """No function has more than six parameters, ``self`` not counted."""
    wrong = {}
    for name, node in functions():
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        count = len([argument for argument in given if argument.arg not in ("self", "cls")])
        if count > 6:
            wrong[name] = count
    assert wrong == {}


def test_everything_is_annotated() -> None:
    """Every parameter and every return value has its type."""
    wrong = []
    for name, node in functions():
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        bare = [a.arg for a in given if a.annotation is None and a.arg not in ("self", "cls")]
        if bare or node.returns is None:
            wrong.append(f"{name}: {', '.join(bare) or 'the return value'}")
    assert wrong == []


def test_type_ignores_are_few() -> None:
    """There are fewer than two type-ignores in 1,000 lines."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in FILES)
    assert text.count("type: ignore") < 2 * len(text.splitlines()) / 1_000


def test_inits_only_re_export() -> None:
    """An ``__init__`` holds imports, ``__all__`` and a docstring, nothing else."""
    wrong = []
    for file in FILES:
        if file.name != "__init__.py" or file.relative_to(PACKAGE).as_posix() in LAZY_INITS:
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            is_all = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not (is_all or is_text or isinstance(node, ast.Import | ast.ImportFrom)):
                wrong.append(f"{file.relative_to(PACKAGE)}:{node.lineno}")
    assert wrong == []
