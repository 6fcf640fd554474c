from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.model.tasks import Task

Import = Callable[..., DatasetConfig]

VOYAGE = {
    "web_name": "Allrecipes",
    "id": "Allrecipes--3",
    "ques": "Find a lasagna for six people.",
    "web": "https://www.allrecipes.com/",
}
ONLINE = {
    "task_id": "b7258ee05d75e6c50673a59914db412e_110325",
    "confirmed_task": "Find a kennel that takes dogs.",
    "website": "https://www.example.org/kennels",
    "reference_length": 7,
    "level": "medium",
}
SAVED = {
    "annotation_id": "7bda9645-0b5f-470a-8dd7-6af0bff4da68",
    "website": "united",
    "domain": "Travel",
    "subdomain": "Airlines",
    "confirmed_task": "Check the status of a flight.",
    "action_reprs": ["[link]  Flight status -> CLICK"],
    "actions": [{"action_uid": "u1", "raw_html": "<html>" * 99, "operation": {"op": "CLICK", "value": ""}}],
}
ITEMS = {"items": [{"criterion": "Finds a hotel", "description": "one with a pool", "max_points": 3}]}
LONG = {
    "task_id": "0a" * 20,
    "confirmed_task": "Plan a week in Oslo.",
    "website": "www.visitoslo.com",
    "level": "hard",
    "reference_length": 41,
}


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Import:
    """Writes a file and returns the dataset of a type that reads it."""
    monkeypatch.chdir(tmp_path)

    def make(kind: str, content: Any, name: str = "rows.jsonl", **options: Any) -> DatasetConfig:
        if isinstance(content, list) and name.endswith(".jsonl"):
            content = "".join(json.dumps(row) + "\n" for row in content)
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(content if isinstance(content, str) else json.dumps(content))
        member = builtin_registry().get("dataset", kind)
        dataset = member.model_validate({"path": name, **options})
        assert isinstance(dataset, DatasetConfig)
        return dataset

    return make


def tasks(dataset: DatasetConfig) -> list[Task]:
    return [dataset.read(ref) for ref in dataset.index(Path())]


def problem(dataset: DatasetConfig) -> str:
    with pytest.raises(DatasetError) as caught:
        tasks(dataset)
    return str(caught.value)


def test_webvoyager_is_joined_with_its_reference_answers(imported: Import) -> None:
    """Answers are found by site and number, with their type; rows without one are reported."""
    other = {**VOYAGE, "id": "Allrecipes--4"}
    answers = [{"id": 3, "type": "golden", "ans": "World's Best Lasagna"}]
    Path("data").mkdir()
    Path("data/reference.json").write_text(json.dumps({"Allrecipes": {"notice": "", "answers": answers}}))
    dataset = imported("webvoyager", [VOYAGE, other], name="data/rows.jsonl", reference="data/reference.json")
    first, second = tasks(dataset)
    assert (first.query_id, first.query, first.start_url) == (VOYAGE["id"], VOYAGE["ques"], VOYAGE["web"])
    assert (first.answer, first.metadata.additional) == ("World's Best Lasagna", {"answer_type": "golden"})
    assert (first.graders, first.tags, first.metadata.source) == (("webvoyager",), ("Allrecipes",), VOYAGE)
    assert (first.metadata.website, first.metadata.category) == ("Allrecipes", "Allrecipes")
    assert (second.answer, second.dataset) == (None, "webvoyager")
    told = "WebVoyager: 1 row has no reference answer: Allrecipes--4"
    assert dataset.notes(Path()) == (told,)


def test_wrong_reference_answers(imported: Import, subtests: pytest.Subtests) -> None:
    """A wrong entry of the reference file is reported with its file and line; without one no row has any."""
    (row,) = tasks(imported("webvoyager", [VOYAGE], graders=["answer"]))
    assert (row.answer, row.graders) == (None, ("answer",))
    entry = {"id": 3, "type": "golden", "ans": "x"}
    for place, answers in enumerate(([{**entry, "type": "sure"}], [entry] * 2, "none")):
        with subtests.test(answers=answers):
            dataset = imported("webvoyager", [VOYAGE], name=f"{place}/rows.jsonl", reference="ref.json")
            Path("ref.json").write_text(json.dumps({"Allrecipes": {"answers": answers}}, indent=1))
            assert problem(dataset).startswith('ref.json:2: Allrecipes: expected {"answers": [{"id": 3, ')


def test_online_mind2web_keeps_its_dates(imported: Import) -> None:
    """The suffix of a replaced task stays in its id and is its revision; others have the option's."""
    older = {**ONLINE, "task_id": "b7258ee05d75e6c50673a59914db412e", "level": "easy"}
    dataset = imported("online-mind2web", [ONLINE, older], name="rows.json", revision="2025-03")
    new, old = tasks(dataset)
    assert (new.query_id, new.revision, new.level) == (ONLINE["task_id"], "2025-11-03", "medium")
    assert (old.query_id, old.revision, old.tags) == (older["task_id"], "2025-03", ("easy",))
    assert (new.metadata.website, new.metadata.category) == ("example.org", "medium")
    assert new.metadata.additional == {"reference_length": 7}
    assert (new.graders, new.start_url) == (("mind2web",), ONLINE["website"])


def test_a_row_of_another_shape_has_a_line(imported: Import, subtests: pytest.Subtests) -> None:
    """Problems have file and line, for every benchmark."""
    cases: list[tuple[str, Any, str]] = [
        ("webvoyager", {**VOYAGE, "web": "no page"}, "'no page' is not the address of a page"),
        ("webvoyager", {"id": "A--1"}, "there is no 'web_name'; the benchmark's rows have one. Keys: id."),
        ("webvoyager", ["A--1"], "a row is a block of keys"),
        ("online-mind2web", {**ONLINE, "task_id": "ab_139925"}, "ends in '_139925', which is not a month"),
        ("mind2web", {**SAVED, "actions": [1]}, "actions: expected a list of blocks."),
        ("odysseys", LONG, "there is neither a 'precomputed_rubric' nor 'rubrics'."),
        ("odysseys", {**LONG, "rubrics": 7}, "a rubric is a block with items, not '7'."),
        ("odysseys", {**LONG, "rubrics": "{"}, "the rubric is text, and "),
        ("webtailbench", {"id": "h1", "ques": "q", "web": ""}, "row 'h1' has no start page"),
        ("webbench", {"ID": 1, "Category": "READ"}, "there is no 'Starting URL'"),
    ]
    for kind, row, told in cases:
        with subtests.test(kind=kind, row=row, told=told):
            content = "\n" + json.dumps(row) + "\n"
            message = problem(imported(kind, content))
            assert message.startswith("rows.jsonl:2: ")
            assert told in message


def test_mind2web_is_marked_as_not_live(imported: Import) -> None:
    """A file is read without saved pages; start pages come by website."""
    with_page = {**SAVED, "annotation_id": "second", "website": "ryanair", "domain": "ryanair.com"}
    dataset = imported("mind2web", [SAVED, with_page], name="a.json")
    first, second = tasks(dataset)
    assert (first.query_id, first.start_url) == (SAVED["annotation_id"], None)
    assert (second.query_id, second.start_url) == ("second", "https://ryanair.com")
    assert first.tags == ("not-live", "Travel", "Airlines")
    assert first.metadata.additional["action_reprs"] == SAVED["action_reprs"]
    assert "raw_html" not in first.model_dump_json()
    assert "CLICK" in str(first.metadata.source)
    assert "a different benchmark" in dataset.notes(Path())[0]
    named = dataset.model_copy(update={"start_urls": {"united": "united.com"}})
    assert tasks(named)[0].start_url == "https://united.com"


def test_webtailbench_as_a_table(imported: Import) -> None:
    """A TSV takes rubrics from their own file, and every task begins at the given page."""
    Path("rubrics.json").write_text(json.dumps({"hotels_1": ITEMS}))
    table = 'benchmark\tid\ttask_summary\nhotels\thotels_1\t"Find a hotel\tin Oslo."\n'
    options = {"rubrics": "rubrics.json", "start_url": "bing.com", "split": "test_v2"}
    (row,) = tasks(imported("webtailbench", table, name="rows.tsv", **options))
    assert (row.query_id, row.query, row.rubric) == ("hotels_1", "Find a hotel\tin Oslo.", ITEMS)
    assert (row.start_url, row.tags, row.revision) == ("https://bing.com", ("hotels",), "test_v2")
    assert row.graders == ("rubric",)
    lacking = imported("webtailbench", table, name="rows.tsv", start_url="bing.com")
    assert "row 'hotels_1' has no rubric, and the file of rubrics is missing" in problem(lacking)


def test_webtailbench_as_lines(imported: Import) -> None:
    """A row may have its rubric, as a block or as JSON text; or a list of rubrics has it."""
    row = {"id": "f1", "category": "flights", "ques": "Fly.", "web": "", "precomputed_rubric": ITEMS}
    page = {"start_url": "https://bing.com/"}
    texts = {**row, "id": "f2", "precomputed_rubric": json.dumps(ITEMS)}
    apart = {**row, "id": "f3", "precomputed_rubric": None}
    Path("r.json").write_text(json.dumps([{"id": "f3", "precomputed_rubric": ITEMS}]))
    read = tasks(imported("webtailbench", [row, texts, apart], rubrics="r.json", **page))
    assert [task.rubric for task in read] == [ITEMS] * 3
    assert read[0].metadata.category == "flights"


def test_odysseys_in_both_forms(imported: Import) -> None:
    """Requirements of the source form stay as they are: the graders of rubrics read them."""
    source = {"R1": {"requirement": "Names a museum.", "verification": "It is in Oslo."}}
    first = {**LONG, "rubrics": source, "categories": ["travel", "planning"]}
    second = {**LONG, "task_id": "0b" * 20, "precomputed_rubric": ITEMS}
    own, published = tasks(imported("odysseys", [first, second], revision="2026-01"))
    assert own.rubric == source
    assert (own.tags, own.level, own.revision) == (("hard", "travel", "planning"), "hard", "2026-01")
    assert own.metadata.category == "travel"
    assert (published.rubric, published.start_url) == (ITEMS, "https://www.visitoslo.com")


def test_graders_take_what_importers_make(imported: Import, subtests: pytest.Subtests) -> None:
    """The graders of the benchmark's own rules can judge its rows."""
    registry = builtin_registry()
    tail = {"id": "f1", "ques": "q", "web": "bing.com", "precomputed_rubric": ITEMS}
    cases: list[tuple[str, dict[str, Any]]] = [
        *(("webvoyager", VOYAGE), ("online-mind2web", ONLINE), ("mind2web", SAVED), ("webtailbench", tail)),
        ("odysseys", {**LONG, "rubrics": {"R1": {"requirement": "Names a museum."}}}),
    ]
    for kind, original in cases:
        with subtests.test(kind=kind):
            (task,) = tasks(imported(kind, json.dumps([original]), name=f"{kind}.json"))
            (given,) = task.graders
            block = {"type": given} if isinstance(given, str) else given
            member = registry.get("grader", str(block["type"]))
            grader = member.model_validate(block, context={"registry": registry})
            assert isinstance(grader, GraderConfig)
            grader.check(task, Path())


def test_webbench(imported: Import) -> None:
    """Quoted newlines stay, as does the sentence that binds a task to its site."""
    text = (
        "ID,Starting URL,Category,Task\n"
        '7,https://www.acehardware.com,READ,"Find the news.\n\nOnly use http://acehardware.com to achieve '
        "the task. Don't go to any other site.\"\n"
        "8,https://acehardware.com,DELETE,Empty the cart.\n"
    )
    dataset = imported("webbench", text, name="rows.csv")
    first, second = tasks(dataset)
    assert (first.query_id, first.tags, first.metadata.website) == ("7", ("READ",), "acehardware.com")
    assert first.query.endswith("any other site.")
    assert (second.graders, dataset.index(Path())[1].line) == ((), 5)
    assert dataset.notes(Path()) == ("WebBench: 1 of 2 rows change something on a real site.",)
    hard = text.replace("Task\n", "Task,Difficulty\n").replace('site."\n', 'site.",hard\n')
    hard = hard.replace("the cart.\n", "the cart.,\n")
    assert [task.level for task in tasks(imported("webbench", hard, name="hard.csv"))] == ["hard", None]


OLD_GRADERS = {
    "webvoyager": "webvoyager_grader",
    "fara_combined": "fara_grader fara",
    "mind2web": "mind2web_judge mind2web_grader",
    "performance": "performance_grader",
    "agisdk": "agisdk_state_diff",
    "infinity": "infinity_state",
    "fara_alignment": "",
    "fara_rubric": "",
    "fara_multimodal": "",
}
"""Names in BrowserOS's files, by the types of ours."""


def test_graders_of_browseros_have_their_names() -> None:
    """Each grader in rows of BrowserOS is one of ours, under the same name."""
    registry = builtin_registry()
    assert issubclass(registry.get("dataset", "browseros"), DatasetConfig)
    for kind, names in OLD_GRADERS.items():
        for name in (kind, *names.split()):
            assert registry.get("grader", name).type_name() == kind
