"""Who may know whom: the table of design, read from the source with ``ast``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest
from xdist.scheduler import LoadScheduling

from tests.parsing import PACKAGE, parse_package

NAME = PACKAGE.name

TABLE = """
foreign_names
addresses deadline errors local_server process_guard run_files session_caches
contracts redaction registry temporary
config_text feature hook_checks model providers stats validation_errors
llm browsers conftests datasets sites
capture needs runs
tools
agents graders
config door
run
analysis
report
commands hooks hookspecs
benchmarks features
plugin __main__ testing
"""
ROWS = tuple(frozenset(line.split()) for line in TABLE.split("\n") if line)
"""Lowest first. A module imports from rows below its own; the parts of one row do not know each other."""

WITHIN_A_ROW = {
    ("hookspecs", "commands"): "the specification names what a hook returns",
    ("testing", "__main__"): "the driver of evals runs the command in its own process",
    ("commands", "hookspecs"): "a command's plugin manager has the hooks",
    ("benchmarks", "features"): "leaves of both rooms share judges, verifiers and the family of attacks",
}

LEAVES = ("benchmarks", "features")
"""Folders whose folders can be left out, one by one: nobody imports them, and they do not know each other."""

SHOWS = {"testing": {"features.conformance", "features.scripted_model"}}
"""Modules that have the public names of leaves, and import one when one of its names is asked for."""

FAMILIES = ("agents", "graders", "browsers", "datasets", "tools")
"""Folders with several members: a member knows its base and what all members share, no other member."""

GATHERS = {"tools.toolkits": "the catalog of all toolkits"}
"""Modules that know all members of their family."""

DOORS: dict[str, set[str]] = {
    "openai": {"llm.wire"},
    "genai_prices": {"llm.prices"},
    "mcp": {"features.mcp_browser.server", "features.mcp_browser.wire", "features.programs.server"},
    "uvicorn": {"features.programs.server"},
    "httpx2": {"features.mcp_browser.server", "features.mcp_browser.wire"},
    "jsonschema": {"tools.foreign"},
    "PIL": {
        "browsers.picture_size",
        "features.mcp_browser.window",
        "features.shared.judging.pictures",
        "testing.blank",
    },  # made smaller, or other
}
"""Heavy libraries, and the modules that import them: one for each thing that is done with them."""


READERS_OF_LINES = {"Lines", "list_files", "parse_line", "read_bytes", "read_content", "read_raw"}
"""What reads ``attempts/*.jsonl``. Others ask a ``StoredRun``."""

LINES = (f"{NAME}.runs.lines", f"{NAME}.runs.texts")

KNOW_LINES = {
    "hooks.records": "compares the hashes of lines with what the run has written",
    "features.remote": "sends and brings the files of lines",
}
"""Who reads lines outside of ``runs``, with the reason."""


RUNNERS = {"pytest", "_pytest", "pluggy", "xdist", "pytest_html"}

RUNNER_CLASSES = (
    *(pytest.Function, pytest.Module, pytest.Session, pytest.Config, pytest.TerminalReporter),
    LoadScheduling,
)
"""Classes of pytest and xdist that ours derive from or are handed."""

PRIVATE_OF_XDIST = {"_check_nodes_have_same_collection": "reports how the collections of workers differ"}
"""Private names of xdist's schedulers that ours use: no public one does that."""

PUBLIC_UNDERSCORES = {"_exit", "_current_frames", "_replace"}
"""Names that begin with an underscore and are documented: of ``os``, ``sys`` and named tuples."""


@dataclass(frozen=True)
class Arrow:
    """An import of a module of this package, or of another top-level package."""

    source: str
    target: str
    is_lazy: bool
    is_for_types: bool
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line} -> {self.target}"


def modules() -> Iterator[tuple[str, ast.Module]]:
    for file, tree in parse_package().items():
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        yield name, tree


@cache
def trees() -> dict[str, ast.Module]:
    """Read when they are first needed: collecting the tests does not wait for it."""
    return dict(modules())


def arrows(name: str, tree: ast.AST, *, lazy: bool = False, types: bool = False) -> Iterator[Arrow]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in targets(node):
                yield Arrow(name, target, lazy, types, node.lineno)
            continue
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        checks = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        yield from arrows(name, node, lazy=lazy or inside, types=types or checks)


def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    assert node.level == 0, "imports are absolute"
    module = node.module or ""
    for alias in node.names:
        full = f"{module}.{alias.name}"
        is_module = full.removeprefix(f"{NAME}.") in trees() if full.startswith(f"{NAME}.") else False
        yield full if is_module else module


@cache
def every_arrow() -> list[Arrow]:
    return [arrow for name, tree in trees().items() for arrow in arrows(name, tree)]


@cache
def our_arrows() -> list[Arrow]:
    return [
        Arrow(a.source, a.target.removeprefix(f"{NAME}."), a.is_lazy, a.is_for_types, a.line)
        for a in every_arrow()
        if a.target.startswith(f"{NAME}.")
    ]


def part(module: str) -> str:
    return module.partition(".")[0]


def row(module: str) -> int:
    return next(place for place, parts in enumerate(ROWS) if part(module) in parts)


def is_member(module: str) -> bool:
    """Return whether a module of a family defines a member: a literal ``type``, or a toolkit."""
    for node in ast.walk(trees()[module]):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "type":
            if "Literal" in ast.unparse(node.annotation):
                return True
        elif part(module) == "tools" and isinstance(node, ast.Assign | ast.AnnAssign):
            names = node.targets if isinstance(node, ast.Assign) else [node.target]
            if "TOOLS" in map(ast.unparse, names):
                return True
    return False


@pytest.fixture(scope="module", autouse=True)
def _forget_trees() -> Iterator[None]:
    """Let the syntax trees go: a million objects make each later collection of garbage take a second."""
    yield
    trees.cache_clear()


@pytest.mark.slow
def test_every_module_has_a_row() -> None:
    """Each top-level part of the package stands in the table exactly once."""
    parts = {part(name) for name in trees() if name}
    table = [name for names in ROWS for name in names]
    assert sorted(table) == sorted(set(table))
    assert parts <= set(table), f"not in the table: {sorted(parts - set(table))}"


@pytest.mark.slow
def test_imports_point_downwards() -> None:
    """No module imports from its own row or a higher one, in functions and for types neither."""
    wrong = [
        str(arrow)
        for arrow in our_arrows()
        if part(arrow.source) != part(arrow.target)
        and arrow.source  # the package's own __init__ gathers public names
        and row(arrow.target) >= row(arrow.source)
        and (part(arrow.source), part(arrow.target)) not in WITHIN_A_ROW
    ]
    assert not wrong


def test_nobody_imports_a_leaf() -> None:
    """What can be left out is imported by nobody, not even by a leaf. Shared rooms know none of them."""

    def leaf(module: str) -> list[str]:
        return module.split(".")[:2]

    def is_leaf(module: str) -> bool:
        is_folder = part(module) in LEAVES and "." in module and PACKAGE.joinpath(*leaf(module)).is_dir()
        return is_folder and ".".join(leaf(module)) != "features.shared"

    arrows = [arrow for arrow in our_arrows() if is_leaf(arrow.target)]
    shown = [arrow for arrow in arrows if ".".join(leaf(arrow.target)) in SHOWS.get(arrow.source, ())]
    assert {arrow.source for arrow in shown if arrow.is_for_types} == set(SHOWS)
    others = [arrow for arrow in arrows if arrow not in shown]
    assert not [str(arrow) for arrow in others if leaf(arrow.source) != leaf(arrow.target)]


def test_stored_attempts_are_read_in_one_place() -> None:
    """Nobody but ``runs`` reads lines of attempts, and nobody their copies, ``metadata.json``."""
    known, copies = set[str](), set[str]()
    for name, tree in trees().items():
        if part(name) == "runs":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in LINES:
                if not READERS_OF_LINES.isdisjoint(alias.name for alias in node.names):
                    known.add(".".join(name.split(".")[:2]))
            elif isinstance(node, ast.Constant) and node.value == "metadata.json":
                copies.add(name)
    assert known == set(KNOW_LINES)
    # It is written; it names where a row without a dataset is from; and it is a file of another tool.
    assert copies == {"run.store", "features.regrade.stored_plan", "features.interop.browseros"}


def test_exceptions_within_a_row_are_in_use() -> None:
    """An exception that no import needs any more is taken out of the table."""
    used = {(part(arrow.source), part(arrow.target)) for arrow in our_arrows()}
    assert set(WITHIN_A_ROW) <= used


def test_members_know_no_other_member() -> None:
    """A member imports its base and what members share, never another member; a base none of its family."""
    for arrow in our_arrows():
        family = part(arrow.source)
        if family in FAMILIES and family == part(arrow.target) and arrow.source not in GATHERS:
            assert "." not in arrow.target or not is_member(arrow.target), arrow
            assert arrow.source != f"{family}.base", arrow


def test_no_import_cycle() -> None:
    """Imports at the top of modules form no ring."""
    graph: dict[str, set[str]] = {name: set() for name in trees()}
    for arrow in our_arrows():
        if not arrow.is_lazy and not arrow.is_for_types and arrow.target in trees():
            graph[arrow.source].add(arrow.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a ring of imports: {' -> '.join(error.args[1])}")


def test_only_the_top_row_imports_pytest() -> None:
    """Pytest is known to the plugin, its hooks, features and the shipped test helpers alone."""
    allowed = {"plugin", "hookspecs", "door", "hooks", "features", "testing"}
    found = {
        part(a.source) for a in every_arrow() if a.target.partition(".")[0] in RUNNERS and not a.is_for_types
    }
    assert found <= allowed


def underscored(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield the private names that code uses or defines in classes, and whether they are of ``self``."""
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute):
            of_self = ast.unparse(one.value) in ("self", "cls", "super()")
            yield one.attr, of_self
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield one.name, True


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.slow
def test_nothing_private_of_pytest_is_used() -> None:
    """No private module, attribute or method of pytest, pluggy or xdist, but for the table's."""
    imports = [
        str(arrow)
        for arrow in every_arrow()
        if part(arrow.target) in RUNNERS and any(map(is_private, arrow.target.split(".")))
    ]
    assert not imports
    theirs = {name for kind in RUNNER_CLASSES for name in dir(kind) if is_private(name)}
    knowing = {arrow.source for arrow in every_arrow() if part(arrow.target) in RUNNERS}
    used = [(module, *one) for module, tree in trees().items() for one in underscored(tree)]
    ours = PUBLIC_UNDERSCORES | {name for _, name, of_self in used if of_self}
    found = {
        (module, name)
        for module, name, of_self in used
        if is_private(name) and ((module in knowing and name in theirs) or name not in ours)
    }
    assert {module for module, _ in found} <= {"hooks.scheduling", "hooks.xdist"}
    assert {name for _, name in found} == set(PRIVATE_OF_XDIST)


def test_heavy_libraries_stay_behind_their_doors(subtests: pytest.Subtests) -> None:
    """A heavy library is imported by the modules of the table, inside the functions that need it."""
    for library, doors in DOORS.items():
        with subtests.test(library=library):
            found = [a for a in every_arrow() if part(a.target) == library and not a.is_for_types]
            assert {arrow.source for arrow in found} == doors
            assert all(arrow.is_lazy for arrow in found)


def test_playwright_stays_behind_its_doors() -> None:
    """Playwright is imported in browsers and in tools only, never when a module is loaded by name alone."""
    found = [a for a in every_arrow() if part(a.target) == "playwright" and not a.is_for_types]
    assert {part(arrow.source) for arrow in found} <= {"browsers", "tools"}
