"""The first tutorial, typed line by line: it ends as the page says, and prints what the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_browsereval.hooks import terminal
from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals

PAGE = Path(__file__).parents[3] / "docs/tutorials/first-eval.md"
CHANGES = {"Change its `answer` to `15`": (": 14,", ": 15,"), "Change it back to `14`": (": 15,", ": 14,")}
"""The edits that the tutorial asks for."""
FAILS = ("--eval-agent=noop", "gate.rows=fail")
"""Words of the commands that end with failures."""


def read_steps() -> Iterator[tuple[str, str]]:
    """Yield what a reader does and sees, in order: ``bash``, ``json``, ``text``, or a ``change``."""
    text = PAGE.read_text(encoding="utf-8").partition("## Write the files")[2]
    changes = "|".join(map(re.escape, CHANGES))
    for found in re.finditer(rf"^```(\w+)\n(.*?)^```$|({changes})", text, re.MULTILINE | re.DOTALL):
        yield (found[1], found[2]) if found[1] else ("change", found[3])


def normalize(text: str) -> list[str]:
    """Return the lines without what differs from run to run."""
    text = re.sub(r"\d{8}T\d{6}Z-\w{6}", "RUN", text)
    text = re.sub(r"/\S+(?=results/shop/)", "", text)
    text = re.sub(r"={3,}|_{3,}", "===", text)  # a longer time leaves less room for them
    return re.sub(r" +\d+\.\d+ ?s\b", " TIME", text).splitlines()


class Reader:
    """Does what the page says, in a folder."""

    def __init__(self, evals: Evals) -> None:
        self.evals = evals
        self.printed = ""
        self.done: list[str] = []

    def type(self, block: str) -> None:
        self.printed = ""
        for line in block.splitlines():
            for part in line.partition("#")[0].split("&&"):
                program, *words = shlex.split(part)
                if program == "cd":
                    self.evals = Evals(self.evals.path / words[0])
                    continue
                run = self.evals.run(*words) if program == "pytest" else self.evals.run_command(*words)
                self.check(part, run)
                self.printed += run.stdout.str() + "\n"
                self.done.append(program)

    def check(self, command: str, run: EvalRun) -> None:
        is_red = any(word in command for word in FAILS)
        assert run.ret == (1 if is_red else 0), (command, run.stdout.str(), run.stderr.str())

    def add(self, row: str) -> None:
        """Add a row, unless the page only shows one that is there."""
        with (self.evals.path / "shop.jsonl").open("r+", encoding="utf-8") as file:
            if row not in file.read():
                file.write(row)

    def change(self, what: str) -> None:
        file = self.evals.path / "shop.jsonl"
        *others, last = file.read_text(encoding="utf-8").splitlines(keepends=True)
        old, new = CHANGES[what]
        assert old in last
        file.write_text("".join([*others, last.replace(old, new)]), encoding="utf-8")

    def compare(self, shown: str) -> None:
        """Assert that each line that is shown was printed, in this order."""
        lines = iter(normalize(self.printed))
        missing = [line for line in normalize(shown) if line not in lines]
        assert missing == [], self.printed


@pytest.mark.slow
def test_it_does_what_it_says(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands, rows and changes in the page's order; only Ctrl-C is not pressed."""
    monkeypatch.setattr(terminal, "EVERY_S", 3600.0)  # a machine that is busy would print how far a run is
    reader = Reader(evals)
    act = {"bash": reader.type, "json": reader.add, "text": reader.compare, "change": reader.change}
    kinds = []
    for kind, content in read_steps():
        act[kind](content)
        kinds.append(kind)
    assert reader.done.count("pytest") >= 8
    assert kinds.count("change") == len(CHANGES)
    assert kinds.count("text") >= 4
