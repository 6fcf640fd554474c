"""What keeps modules readable: their size, and an ``__init__`` without code."""

from __future__ import annotations

import ast

from tests.parsing import PACKAGE

LAZY_INITS = ("__init__.py", "testing/__init__.py")
"""These find public names when they are first asked for."""


def test_modules_are_short() -> None:
    """No module has more than 600 lines; above 500 it is time to split it by its stories."""
    sizes = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in PACKAGE.rglob("*.py")}
    assert {file.relative_to(PACKAGE).as_posix(): size for file, size in sizes.items() if size > 600} == {}


def test_inits_only_re_export() -> None:
    """An ``__init__`` holds imports, ``__all__``, a docstring and what a feature brings, nothing else."""
    wrong = []
    for file in PACKAGE.rglob("__init__.py"):
        if file.relative_to(PACKAGE).as_posix() in LAZY_INITS:
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            is_all = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_data = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FEATURE"
            if not (is_all or is_text or is_data or isinstance(node, ast.Import | ast.ImportFrom)):
                wrong.append(f"{file.relative_to(PACKAGE)}:{node.lineno}")
    assert wrong == []
