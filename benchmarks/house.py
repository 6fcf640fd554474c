"""Sizes of the package: lines, comments, modules, imports, and how many functions an attempt goes through.

    python benchmarks/house.py

Counts, no times: two runs print the same. An eval is run in a process of its own for the calls.
"""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from measuring import arguments, report

PACKAGE = Path(__file__).parents[1] / "pytest_browsereval"
LEAVES = ("benchmarks", "features")
"""Parts of the package that nothing else imports."""
SMALL = 80
"""Lines of a module that is small enough to be a part of the one module that imports it."""

AGENT = """
import asyncio, json, sys, threading
from pathlib import Path
from playwright.async_api import ElementHandle, Locator

FOUND = {}

def ours(frame):
    while frame is not None:
        if "pytest_browsereval" in frame.f_code.co_filename:
            yield frame.f_code.co_qualname
        frame = frame.f_back

def waiting(work):
    while work is not None:
        code = getattr(work, "cr_code", None)
        if code is not None and "pytest_browsereval" in code.co_filename:
            yield code.co_qualname
        work = getattr(work, "cr_await", None)

def find_task(name):
    others = asyncio.all_tasks() - {asyncio.current_task()}
    return max((found for task in others if name in (found := list(waiting(task.get_coro())))), key=len)

def trace(kind):
    click = kind.click

    async def traced(self, **options):
        FOUND["click"] = list(ours(sys._getframe()))[::-1]
        FOUND["tools"] = find_task("Toolbox._call")
        return await click(self, **options)

    kind.click = traced

async def solve(context):
    FOUND["main"] = list(ours(sys._current_frames()[threading.main_thread().ident]))[::-1]
    FOUND["lane"] = find_task("attempt")
    FOUND["agent"] = list(ours(sys._getframe()))[::-1]
    trace(ElementHandle)
    trace(Locator)
    await context.window.page.set_content("<button>go</button>")
    await context.tools.call("click", {"target": "button"})
    Path("calls.json").write_text(json.dumps(FOUND))
    return "right"
"""
"""Notes the functions of ours on the stacks at its first line and at Playwright's click."""


@dataclass
class Sizes:
    """Lines of a file."""

    code: int
    comments: int
    lines: int


@dataclass
class House:
    """What was counted."""

    code_lines: int = 0
    core_code_lines: int = 0
    """Without benchmarks and features."""
    comments_per_100_lines: float = 0.0
    modules: int = 0
    modules_over_500_lines: int = 0
    small_modules_of_one_importer: int = 0
    longest_import_path: int = 0
    """Modules on the longest way down the imports."""
    frames_to_agent: int = 0
    """Functions of ours from pytest's hook to the agent's first line."""
    frames_to_click: int = 0
    """The same to Playwright's click."""
    frames: dict[str, list[str]] = field(default_factory=dict)


def count_lines(path: Path) -> Sizes:
    """Return the lines of a file; docstrings and the texts below fields are no code."""
    text = path.read_text(encoding="utf-8")
    code, comments = set[int](), 0
    layout = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments += "noqa" not in token.string and "type:" not in token.string
        elif token.type not in layout:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            code.difference_update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    return Sizes(len(code), comments, text.count("\n"))


def read_imports(files: dict[str, Path]) -> dict[str, set[str]]:
    """Return which modules each module imports at its top, those for types only left out."""
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[name] = {
            target for node in tree.body for target in list_targets(node, files) if target in files
        }
    return found


def list_targets(node: ast.stmt, files: Collection[str]) -> Iterator[str]:
    """Yield the modules that an import is of: of a package, the one that is named."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            name = f"{node.module}.{alias.name}"
            yield name if name in files else node.module


def count_longest_path(imports: dict[str, set[str]]) -> int:
    """Return how many modules the longest way down has."""
    heights: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in heights:
            heights[name] = 0  # a circle would end here; the tests allow none
            heights[name] = 1 + max((height(target) for target in imports[name] if target != name), default=0)
        return heights[name]

    return max(map(height, imports))


def trace_attempt() -> dict[str, list[str]]:
    """Return the functions of ours that are on the stacks of an attempt, each stack by its name."""
    with tempfile.TemporaryDirectory(prefix="browsereval-house-") as name:
        folder = Path(name)
        (folder / "agent.py").write_text(AGENT)
        row = {"query_id": "a", "query": "Click.", "answer": "right", "graders": ["answer"]}
        (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
        config = {"agent": {"type": "function", "function": "agent:solve"}, "dataset": "rows.jsonl"}
        (folder / "calls.eval.json").write_text(json.dumps(config))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--eval-config=calls.eval.json",
            "-p",
            "no:rerunfailures",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        found: dict[str, list[str]] = json.loads((folder / "calls.json").read_text())
    # The loop's thread is not a call of the attempt; what comes behind `play` is the agent's own code.
    return {
        **found,
        "agent": ["play"],
        "tools": found["tools"][found["tools"].index("Toolbox._call") :],
        "click": [name for name in found["click"] if not name.startswith("LoopThread")],
    }


def measure() -> House:
    """Count everything."""
    files = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    sizes = {name: count_lines(path) for name, path in files.items()}
    core = [
        size.code for name, size in sizes.items() if name.split(".")[1:2] not in [[leaf] for leaf in LEAVES]
    ]
    total = sum(size.code for size in sizes.values())
    imports = read_imports(files)
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for source, targets in imports.items():
        for target in targets - {source}:
            importers[target].add(source)
    frames = trace_attempt()
    to_agent = len(frames["main"]) + len(frames["lane"]) + len(frames["agent"])
    return House(
        code_lines=total,
        core_code_lines=sum(core),
        comments_per_100_lines=round(100 * sum(size.comments for size in sizes.values()) / total, 1),
        modules=len(files),
        modules_over_500_lines=sum(size.lines > 500 for size in sizes.values()),
        small_modules_of_one_importer=sum(
            len(importers[name]) == 1 and size.lines < SMALL for name, size in sizes.items()
        ),
        longest_import_path=count_longest_path(imports),
        frames_to_agent=to_agent,
        frames_to_click=to_agent + len(frames["tools"]) + len(frames["click"]),
        frames=frames,
    )


def main() -> None:
    """Count, print, write."""
    options = arguments((__doc__ or "").partition("\n")[0], rounds=1).parse_args()
    report(asdict(measure()), options.json)


if __name__ == "__main__":
    main()
