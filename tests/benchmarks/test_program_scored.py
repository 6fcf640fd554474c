"""Importers of benchmarks that a program scores; the rows are of the published shape and written here."""

from __future__ import annotations

import base64
import hashlib
import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.agisdk import files as agisdk_files
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.model.tasks import Task

TASK = {
    "id": "shop-1",
    "goal": "Order a blue mug.",
    "website": {"id": "shop", "similarTo": "Mugs", "previewImage": "/a", "url": "https://s.test"},
    "difficulty": "easy",
    "challengeType": "action",
    "possible": True,
    "evals": [{"type": "jmespath", "description": "mug", "query": "a.b", "expected_value": "Blue mug"}],
    "points": 1,
    "config": {},
    "version": "v1",
}


def dataset(kind: str, **options: Any) -> DatasetConfig:
    made = builtin_registry().get("dataset", kind).model_validate(options)
    assert isinstance(made, DatasetConfig)
    return made


def rows(given: DatasetConfig, base_dir: Path = Path()) -> list[Task]:
    return [given.read(ref) for ref in given.index(base_dir)]


def write(path: Path, *given: Any) -> Path:
    """Write rows as JSON Lines, or one value as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in given))
    return path


# -- REAL


def test_a_folder_of_tasks_of_real(tmp_path: Path) -> None:
    """Tasks are sorted by name; those that cannot run are reported, those for a model are marked."""
    question = {"type": "llm_boolean", "rubric": "?", "expected_value": True}
    write(tmp_path / "tasks" / "b.json", {**TASK, "id": "shop-2", "evals": [question]})
    write(tmp_path / "tasks" / "a.json", TASK)
    write(tmp_path / "tasks" / "c.json", {**TASK, "id": "shop-3", "possible": False})
    for number, script in ((4, "there.py"), (5, "empty.py"), (6, "missing.py")):
        scored = {**TASK, "id": f"shop-{number}", "evals": [{"script": script}]}
        write(tmp_path / "tasks" / f"d{number}.json", scored)
    write(tmp_path / "eval_scripts" / "there.py", "text")
    write(tmp_path / "eval_scripts" / "empty.py")
    given = dataset("real", path="tasks", urls={"shop": "{shop}"})
    first, second, third = rows(given, tmp_path)
    assert [row.query_id[7:] for row in (first, second, third)] == ["shop-1", "shop-2", "shop-4"]
    assert (first.query, first.start_url, first.graders) == ("Order a blue mug.", "{shop}", ("agisdk",))
    assert first.evals == tuple(TASK["evals"])  # type: ignore[arg-type]
    assert (first.level, first.revision, first.dataset) == ("easy", "v1", "real")
    assert (first.tags, second.tags) == (("shop", "action"), ("shop", "action", "llm_boolean"))
    assert first.metadata.source == TASK
    assert first.metadata.additional["agisdk_task_id"] == "shop-1"
    assert given.notes(tmp_path) == (
        "REAL: 1 row left out (the benchmark says that they are infeasible): shop-3",
        "REAL: 2 rows left out (their script is missing or empty, so nothing can score them): shop-5, shop-6",
    )


def test_what_is_no_folder_of_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """The package is found by name; a file, an empty folder and tasks of another shape are refused."""
    monkeypatch.setattr(agisdk_files, "PACKAGE", "agisdk_that_nobody_has")
    (tmp_path / "empty").mkdir()
    lacking = {key: TASK[key] for key in TASK if key != "goal"}
    for name, tasks in {
        "plain": [TASK],
        "site": [{**TASK, "website": "shop"}],
        "evals": [{**TASK, "evals": []}],
        "goal": [lacking],
        "twice": [TASK, TASK],
    }.items():
        for number, task in enumerate(tasks):
            write(tmp_path / name / f"{number}.json", task)
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "pip install --no-deps agisdk"),
        ({"path": "empty"}, "the folder has no JSON file"),
        ({"path": "plain/0.json"}, "it is not a folder"),
        ({"path": "site"}, "the task 'shop-1' has no block 'website'"),
        ({"path": "evals"}, "has no list of 'evals'"),
        ({"path": "goal"}, "there is no 'goal'"),
        ({"path": "twice"}, "Ids must differ"),
    ]
    for options, why in cases:
        with subtests.test(why=why), pytest.raises(DatasetError, match=why):
            rows(dataset("agisdk", **options), tmp_path)
    assert len(rows(dataset("agisdk", path="."), tmp_path / "plain")) == 1


# -- WebArena-Infinity


def test_tasks_of_an_app(tmp_path: Path) -> None:
    """The app is a site of the config, whose port no row has; the verifier is kept."""
    verify = "real-tasks/task_e1.py"
    original = {"id": "task_e1", "difficulty": "easy", "instruction": "Star it.", "verify": verify}
    path = tmp_path / "apps" / "mail-2" / "real-tasks.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([original]))
    (row,) = rows(dataset("infinity", path="apps/mail-2/real-tasks.json"), tmp_path)
    assert (row.query_id, row.query, row.start_url) == ("infinity-mail-2-task_e1", "Star it.", "{mail_2}/")
    assert (row.graders, row.sites, row.requires_reset) == (("infinity",), ("mail_2",), True)
    kept = {"app_name": "mail-2", "difficulty": "easy", "verifier_path": verify}
    assert row.metadata.additional == kept
    (row,) = rows(dataset("infinity", path=path, app="mail", site="inbox"), tmp_path)
    assert (row.query_id, row.start_url) == ("infinity-mail-task_e1", "{inbox}/")


# -- AssistantBench, GAIA


def test_assistantbench(tmp_path: Path) -> None:
    """Answers are protected; rows without one are read, and the grader refuses them."""
    original = {"id": "3af8", "task": "Which gym?", "answer": "CrossFit\nAvea", "difficulty": "Hard"}
    write(tmp_path / "dev.jsonl", original, {**original, "id": "4", "answer": None})
    first, second = rows(dataset("assistantbench", path="dev.jsonl", start_url="https://s.test/"), tmp_path)
    assert (first.query_id, first.query, first.answer) == ("3af8", "Which gym?", "CrossFit\nAvea")
    assert (first.start_url, first.level, first.protected) == ("https://s.test/", "Hard", True)
    assert (first.graders, second.answer) == (("assistantbench",), None)
    write(tmp_path / "dev.jsonl", {**original, "answer": {"a": 1}})
    with pytest.raises(DatasetError, match="answer: expected a string") as refused:
        rows(dataset("assistantbench", path="dev.jsonl"), tmp_path)
    assert "'a'" not in str(refused.value)


def test_both_forms_of_gaia(tmp_path: Path) -> None:
    """The original and the one for the web: both protected, unpublished answers missing."""
    own = {"task_id": "c61d22de", "Question": "How many?", "Level": 1, "Final answer": "17", "file_name": ""}
    web = {"task_id": "8e867cd7", "Level": 2, "Final answer": "?", "id": "level2-0", "ques": "Who?"}
    web["web"] = "https://s.test/"
    write(tmp_path / "metadata.jsonl", own, web, {**own, "task_id": "a", "file_name": "a.xlsx"})
    given = dataset("gaia", path="metadata.jsonl", start_url="https://start.test/")
    first, second = rows(given, tmp_path)
    assert (first.query_id, first.query, first.answer, first.level) == ("c61d22de", "How many?", "17", 1)
    assert (first.start_url, first.graders, first.protected) == ("https://start.test/", ("gaia",), True)
    assert (second.query_id, second.query, second.answer) == ("level2-0", "Who?", None)
    assert (second.start_url, second.metadata.original_task_id) == ("https://s.test/", "8e867cd7")
    assert given.notes(tmp_path) == ("GAIA: 1 row left out (they are about a file that comes with them): a",)
    write(tmp_path / "metadata.jsonl", {**own, "Level": "hard"})
    with pytest.raises(DatasetError, match="Level: expected 1, 2 or 3"):
        rows(given, tmp_path)


# -- BrowseComp


def hidden(text: str, password: str) -> str:
    pad = cycle(hashlib.sha256(password.encode()).digest())
    return base64.b64encode(bytes(a ^ b for a, b in zip(text.encode(), pad, strict=False))).decode()


def test_browsecomp_is_decrypted_in_memory_only(tmp_path: Path) -> None:
    """Query and answer are decrypted, the source is not; ids depend on the question, not on the place."""
    question = "Which film, made between 1990 and 2000, has a pike in the title? " * 3
    file = tmp_path / "browse_comp_test_set.csv"

    def put(canary: str) -> None:
        cells = [hidden(question, canary), hidden("Röd Gädda", canary), "Movies", canary]
        file.write_text("problem,answer,problem_topic,canary\n" + ",".join(cells) + "\n")

    put("canary GUID 1")
    given = dataset("browsecomp", path=file.name, start_url="https://s.test/")
    (row,) = rows(given, tmp_path)
    assert (row.query, row.answer, row.protected) == (question, "Röd Gädda", True)
    assert (row.graders, row.tags, row.start_url) == (("browsecomp",), ("Movies",), "https://s.test/")
    source = json.dumps(row.metadata.source)
    assert "pike" not in source
    assert hidden(question, "canary GUID 1") in source
    put("canary GUID 2")
    (again,) = rows(given, tmp_path)
    assert again.query_id == row.query_id
    text = file.read_text()
    not_hidden = text.replace(hidden("Röd Gädda", "canary GUID 2"), "Röd")
    for broken in (text.replace("GUID 2", "GUID 3"), not_hidden):
        file.write_text(broken)
        with pytest.raises(DatasetError, match="does not decrypt with the row's canary") as refused:
            rows(given, tmp_path)
        assert "Röd" not in str(refused.value)


# -- MiniWoB


def test_pages_with_seeds(tmp_path: Path) -> None:
    """From a folder, or all 125 tasks of the installed package."""
    for page in ("click-b", "click-a", "simon-says"):
        write(tmp_path / "pages" / f"{page}.html", "page")
    given = dataset("miniwob", path="pages", seeds=[1, 2], site="wob")
    ids = [row.query_id for row in rows(given, tmp_path)]
    assert ids == ["click-a-1", "click-b-1", "click-a-2", "click-b-2"]
    row = rows(dataset("miniwob", path="pages", pages=["simon-says"], site="wob", seeds=[7]), tmp_path)[0]
    assert (row.query_id, row.graders) == ("simon-says-7", ("miniwob",))
    assert row.start_url == "{wob}/miniwob/simon-says.html"
    assert row.setup_script == "Math.seedrandom(7); core.EPISODE_MAX_TIME = 1000000; core.startEpisodeReal()"
    with pytest.raises(DatasetError, match=r"no page 'click-c'\. Did you mean 'click-"):
        rows(dataset("miniwob", path="pages", pages=["click-c"]), tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match="the folder has no page"):
        rows(dataset("miniwob", path="empty"), tmp_path)


def test_the_pages_of_the_package() -> None:
    """They need no path."""
    pytest.importorskip("miniwob")
    everything = dataset("miniwob").index(Path())
    assert len(everything) == 125
    (row,) = rows(dataset("miniwob", select={"ids": ["click-button-1"]}))
    assert row.start_url == "{miniwob}/miniwob/click-button.html"
