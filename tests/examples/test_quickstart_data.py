"""The quickstart's rows and sites, without a browser: what every row must have to be run and judged."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_browsereval.graders.answer import AnswerGrader
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.graders.state_diff import StateDiffGrader
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.toolkits import resolve_tools

QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"
SITES = ("shop", "targets", "office")
GRADERS: dict[str, type[GraderConfig]] = {
    "answer": AnswerGrader,
    "page_state": PageStateGrader,
    "state_diff": StateDiffGrader,
}
TOOLS: dict[str, Tool] = {tool.name: tool for tool in resolve_tools({})}


def rows(name: str) -> list[Task]:
    lines = (QUICKSTART / name).read_text(encoding="utf-8").splitlines()
    return [Task.model_validate(json.loads(line)) for line in lines]


def config(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((QUICKSTART / name).read_text(encoding="utf-8"))
    return loaded


def site_files(suffix: str) -> list[Path]:
    return sorted((QUICKSTART / "sites").rglob(f"*{suffix}"))


TASKS = rows("tasks.jsonl")


def test_ids_are_unique_and_there_are_enough_tasks() -> None:
    """There are at least 30 rows, and no id occurs twice."""
    ids = [task.query_id for task in TASKS]
    assert len(ids) >= 30
    assert [name for name, count in Counter(ids).items() if count > 1] == []


def test_every_site_has_tasks() -> None:
    """Each site is the start of five rows or more, and carries its name in their ids and metadata."""
    by_site = Counter(str(task.start_url).partition("}")[0].removeprefix("{") for task in TASKS)
    assert set(by_site) == set(SITES)
    assert min(by_site.values()) >= 5
    for task in TASKS:
        assert str(task.start_url).startswith(f"{{{task.metadata.website}}}/")
        assert task.query_id.startswith(f"{task.metadata.website}-")


def test_every_solution_fits_its_tools() -> None:
    """One to ten calls of tools that are on by default, with arguments that fit; the last is ``done``."""
    for task in TASKS:
        names = [call["tool"] for call in task.solution]
        assert 1 <= len(names) <= 10, task.query_id
        assert names.index("done") == len(names) - 1, task.query_id
        for call in task.solution:
            arguments = {name: value for name, value in call.items() if name != "tool"}
            TOOLS[str(call["tool"])].arguments.model_validate(arguments)


def test_the_graders_can_judge_every_row() -> None:
    """Each grader of a row finds in it what it needs, and no check is left that nobody reads."""
    for task in TASKS:
        blocks = [{"type": grader} if isinstance(grader, str) else dict(grader) for grader in task.graders]
        for block in blocks:
            GRADERS[str(block["type"])].model_validate(block).check(task, Path())
        kinds = {block["type"] for block in blocks}
        read_by = {"state_diff" if "path" in check else "page_state" for check in task.checks}
        assert kinds == read_by | ({"answer"} if task.answer is not None else set()), task.query_id
        assert kinds, task.query_id


def test_pointer_tasks_need_one_site_only() -> None:
    """The rows that ``scale2.yaml`` selects all start on the one site that it serves."""
    wanted = config("scale2.yaml")
    tags = set(wanted["dataset"][0]["select"]["tags"])
    chosen = [task for task in TASKS if tags & set(task.tags)]
    assert len(chosen) >= 5
    assert {task.metadata.website for task in chosen} == set(wanted["sites"])


@pytest.mark.parametrize("name", ["eval.yaml", "noop.yaml", "scale2.yaml", "function.yaml"])
def test_configs_serve_what_is_there(name: str) -> None:
    """Every site of a config is a folder with an index page, and its dataset starts on no other site."""
    loaded = config(name)
    for site in loaded["sites"].values():
        assert (QUICKSTART / site["static"] / "index.html").is_file()
    if isinstance(loaded["dataset"], str):
        starts = {str(task.start_url).partition("}")[0].removeprefix("{") for task in rows(loaded["dataset"])}
        assert starts <= set(loaded["sites"])


@pytest.mark.parametrize("shared", ["frozen.js", "markup.js"])
def test_shared_scripts_are_copies(shared: str) -> None:
    """Sites are served apart, so each has its copy of a shared script, and the copies are the same."""
    copies = [path for path in site_files(".js") if path.name == shared]
    assert len(copies) >= 2
    assert len({path.read_bytes() for path in copies}) == 1


def test_pages_freeze_the_clock_first(subtests: pytest.Subtests) -> None:
    """A page's first script is ``frozen.js``, and every file that it names lies beside it."""
    for page in site_files(".html"):
        with subtests.test(page=page):
            text = page.read_text(encoding="utf-8")
            assert re.findall(r'<script src="([^"]+)"', text)[0] == "frozen.js"
            named = re.findall(r'(?:src|href)="([^"]+)"', text)
            assert [name for name in named if not (page.parent / name).is_file()] == []


def test_sites_need_no_network() -> None:
    """No file of a site names an address, but for the name of the SVG vocabulary."""
    for path in (*site_files(".html"), *site_files(".js"), *site_files(".css"), *site_files(".svg")):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|//cdn", text), path
