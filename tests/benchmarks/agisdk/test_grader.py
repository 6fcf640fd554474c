"""REAL's checks: final states, scripts of the package, questions to a judge."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.agisdk import grader
from pytest_browsereval.benchmarks.agisdk.grader import AgisdkGrader
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.testing import ScriptedModel, says
from tests.features.shared.judging.asking import graded, in_form, judge_at
from tests.graders.support import Live, Site, make_recorded, make_task

STATE = {"differences": {"orders": {"added": {"0": {"item": "The Blue Mug", "count": 2, "paid": True}}}}}
ITEM = 'differences.orders.added."0".item'
COUNT = 'differences.orders.added."0".count'
QUESTION = {"type": "llm_boolean", "expected_value": True, "rubric": "Does the answer say $25?"}
CLONES = "REAL/browsergym/webclones"

SCRIPT = """
import json, os, sys
state = json.load(open(sys.argv[1]))
assert not [name for name in os.environ if "KEY" in name], "a secret"
order = state["differences"]["orders"]["added"]["0"]
print("looking at", order)
print("SUCCESS" if order["count"] == 2 else "FAILURE")
"""


def query(path: str, expected: Any, **more: Any) -> dict[str, Any]:
    return {"type": "jmespath", "query": path, "expected_value": expected, **more}


def row(*evals: dict[str, Any], **more: Any) -> Task:
    return make_task(start_url="http://shop.test/start?a=b", evals=evals, **more)


def grade(task: Task, state: Any = STATE, *, base_dir: Path = Path(), **options: Any) -> GraderResult:
    grader = AgisdkGrader(**options)
    grader.check(task, base_dir)
    assert not grader.needs(task).models
    return asyncio.run(
        grader.grade(make_recorded(task, evidence={"agisdk": {"state": state}}, base_dir=base_dir))
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of a package with one task and some scripts."""
    scripts, tasks = (tmp_path / "agisdk" / CLONES / "v2" / name for name in ("eval_scripts", "tasks"))
    for folder in (scripts, tasks):
        folder.mkdir(parents=True)
    for name, text in {
        "eval_shop_1": SCRIPT,
        "eval_shop_2": "print('UNSUCCESSFUL')",
        "eval_shop_7": "print('SUCCESS or FAILURE')",
        "eval_shop_3": "print('SUCCESS'); raise SystemExit('broken')",
        "eval_shop_4": "",
        "eval_shop_5": "import time; print('SUCCESS', flush=True); time.sleep(280)",
        "eval_shop_6": "print('SUCCESS'); print('failure: no diff'); raise SystemExit(1)",
    }.items():
        (scripts / f"{name}.py").write_text(text)
    website = {"id": "shop", "url": "http://shop.test"}
    (tasks / "shop-1.json").write_text(
        json.dumps({"id": "shop-1", "website": website, "evals": [{"script": "eval_shop_1.py"}]})
    )
    (tmp_path / "outside.py").write_text("print('SUCCESS')")
    return tmp_path


# -- queries


def test_all_checks_have_to_hold() -> None:
    """The score is the share that does; each check is told."""
    task = row(query(ITEM, "The Blue Mug", description="the mug"), query(COUNT, 3), query("nothing", {}))
    result = grade(task)
    assert result.verdict is Verdict.FAILED
    assert result.score == pytest.approx(1 / 3)
    assert [(c.name, c.verdict, c.actual) for c in result.criteria] == [
        ("the mug", Verdict.PASSED, "The Blue Mug"),
        (COUNT, Verdict.FAILED, 2),
        ("nothing", Verdict.FAILED, None),
    ]
    assert "2, not 3" in result.reasoning
    assert grade(row(query(ITEM, "The Blue Mug"), query(COUNT, 2))).verdict is Verdict.PASSED


def test_both_readings_of_strings(subtests: pytest.Subtests) -> None:
    """The strict one is REAL's own; the lenient one takes whole words; both scores are reported."""
    cases: list[tuple[str, Any, tuple[float, float]]] = [
        (ITEM, "blue mug", (0.0, 1.0)),
        (ITEM, "The Blue Mug", (1.0, 1.0)),
        (ITEM, "lue", (0.0, 0.0)),  # BrowserOS takes any part of a text, and so "5" in "15"
        (COUNT, "2", (0.0, 0.0)),
        ('differences.orders.added."0".paid', "True", (0.0, 0.0)),
        ("length(nothing)", 0, (0.0, 0.0)),
    ]
    for path, expected, scores in cases:
        with subtests.test(path=path, expected=expected, scores=scores):
            for strings, score in zip(("strict", "lenient"), scores, strict=True):
                result = grade(row(query(path, expected)), strings=strings)
                assert result.score == score
                assert (result.details["strict_score"], result.details["lenient_score"]) == scores
                assert result.details["softened"] == ([path] if scores[0] != scores[1] else [])


# -- scripts


def test_a_script_of_the_package_decides(package: Path) -> None:
    """It is given the state in a file, and none of our variables; its last word counts, even with a code."""
    options: Any = {"package_dir": "agisdk", "base_dir": package}
    right = grade(row({"script": "eval_shop_1.py"}), **options)
    assert (right.verdict, right.score, right.criteria[0].actual) == (Verdict.PASSED, 1.0, "SUCCESS")
    other = {"differences": {"orders": {"added": {"0": {"count": 1}}}}}
    assert grade(row({"script": "eval_shop_1.py"}), other, **options).verdict is Verdict.FAILED
    assert grade(row({"script": "eval_shop_6.py"}), **options).verdict is Verdict.FAILED


def test_a_script_without_a_clear_verdict_is_a_fault(package: Path, subtests: pytest.Subtests) -> None:
    """It is never a score of 0."""
    cases: list[tuple[int, str]] = [
        (1, r"ended with code 1: .*KeyError"),
        (2, r"printed \"UNSUCCESSFUL\" and ended with code 0"),
        (7, r"printed \"SUCCESS or FAILURE\" and ended with code 0"),
        (3, r"printed \"SUCCESS\" and ended with code 1: broken"),
        (5, r"did not end within 0.5 s and was killed"),
    ]
    for number, why in cases:
        task = row({"type": "script", "script": f"eval_shop_{number}.py"})
        limit_s = 0.5 if number == 5 else 90
        with subtests.test(why=why), pytest.raises(Fault, match=why) as fault:
            grade(task, {"differences": {}}, package_dir="agisdk", base_dir=package, timeout_s=limit_s)
        assert fault.value.source is ErrorSource.GRADER


def test_scripts_come_from_the_package_alone(package: Path, subtests: pytest.Subtests) -> None:
    """What is not there is refused before the agent begins, and a row names no path."""
    cases: list[tuple[str, str]] = [
        ("eval_shop_9.py", "'eval_shop_9.py' of agisdk is not there"),
        ("eval_shop_4.py", "is empty there, so the task can never be scored"),
        ("s" * 300 + ".py", "is not there"),
        ("../../../../../outside.py", "not a plain file name"),
    ]
    for script, why in cases:
        with subtests.test(script=script), pytest.raises(ValueError, match=why):
            grade(row({"script": script}), package_dir="agisdk", base_dir=package)
    task = row({"script": "eval_shop_1.py"})
    with pytest.raises(ValueError, match=r"is not in elsewhere\. Run `pip install --no-deps agisdk`"):
        grade(task, package_dir="elsewhere", base_dir=package)
    recorded = make_recorded(task, evidence={"agisdk": {"state": STATE}}, base_dir=package)
    with pytest.raises(Fault, match="pip install"):
        asyncio.run(AgisdkGrader(package_dir="elsewhere").grade(recorded))


def test_rows_without_checks_are_looked_up(package: Path) -> None:
    """BrowserOS writes such: the package's task of that name and start page is taken."""
    task = make_task(query_id="agisdk-shop-1", start_url="http://shop.test/")
    result = grade(task, package_dir="agisdk", base_dir=package)
    assert result.verdict is Verdict.PASSED
    elsewhere = make_task(query_id="agisdk-shop-1", start_url="http://other.test/")
    with pytest.raises(ValueError, match="has 0 tasks 'shop-1' with its start page"):
        grade(elsewhere, package_dir="agisdk", base_dir=package)
    assert grade(elsewhere, package_dir="agisdk", base_dir=package, task_version="v2").score == 1.0
    for name in ("s" * 300, "shop\0", "../../v2/tasks/nothing", "../../../../../../etc/passwd"):
        hostile = make_task(start_url="http://shop.test/", metadata={"additional": {"agisdk_task_id": name}})
        with pytest.raises(ValueError, match="has 0 tasks"):
            grade(hostile, package_dir="agisdk", base_dir=package)


# -- the judge


def test_a_judge_is_asked_where_the_row_has_a_question(tmp_path: Path) -> None:
    """Its answer stands beside the queries; a row of queries alone needs none."""
    task, reply = row(query(COUNT, 2), QUESTION), {"reasoning": "it says so", "is_met": True}
    evidence = {"agisdk": {"state": STATE}}
    with ScriptedModel(lambda request: in_form(request, reply)) as model:
        grader = AgisdkGrader(judge=judge_at(model))
        assert grader.needs(task).models
        grader.check(task, Path())
        recorded = make_recorded(task, final_answer="It is $25.", evidence=evidence, folder=tmp_path)
        result = graded(grader, recorded)
        silent = graded(grader, make_recorded(task, evidence=evidence, folder=tmp_path))
    assert (result.verdict, result.score, len(model.requests)) == (Verdict.PASSED, 1.0, 1)
    assert [criterion.name for criterion in result.criteria] == [COUNT, QUESTION["rubric"]]
    assert "Does the answer say $25?" in model.requests[0].text
    assert (silent.verdict, silent.score) == (Verdict.FAILED, 0.5)
    assert "the judge was not asked" in silent.reasoning


def test_a_judge_that_breaks_is_a_fault(tmp_path: Path) -> None:
    """The grade is errored, whatever the queries say."""
    task = row(query(COUNT, 2), QUESTION)
    evidence = {"agisdk": {"state": STATE}}
    with ScriptedModel([says("certainly!"), says("yes")]) as model:
        recorded = make_recorded(task, final_answer="25", evidence=evidence, folder=tmp_path)
        result = graded(AgisdkGrader(judge=judge_at(model)), recorded)
    assert (result.verdict, result.score) == (Verdict.ERRORED, None)


# -- rows that are refused


def test_rows_that_cannot_be_judged_are_refused(subtests: pytest.Subtests) -> None:
    """Before anything is spent, with what to write."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"type": "jmespth", "query": "a", "expected_value": 1}, r"Did you mean 'jmespath'\?"),
        (query("a[", 1), "is not a JMESPath expression"),
        ({"type": "jmespath", "query": "a"}, "no 'expected_value'"),
        ({"type": "jmespath", "expected_value": 1}, "no 'query'"),
        ({**QUESTION, "expected_value": False}, "expects something other than true"),
    ]
    for entry, why in cases:
        with subtests.test(entry=entry), pytest.raises(ValueError, match=why):
            AgisdkGrader().check(row(entry), Path())
    with pytest.raises(ValueError, match="the row has no start_url"):
        AgisdkGrader().check(make_task(evals=[query("a", 1)]), Path())
    AgisdkGrader().check(make_task(evals=[QUESTION]), Path())
    assert not AgisdkGrader().needs(make_task(evals=[QUESTION])).page


def test_missing_evidence_is_a_fault() -> None:
    """A state that is no object is none."""
    for state in (None, [1]):
        with pytest.raises(Fault, match="the final state was not read"):
            grade(row(query("a", 1)), state)


# -- the live page

FINISH = f"""<!doctype html><body>working<script>
document.querySelector = () => ({{innerText: '{{"forged": true}}'}});
setTimeout(() => {{
  const shown = document.createElement('pre');
  shown.innerText = {json.dumps(json.dumps(STATE))}.replace('The', localStorage.article);
  document.body.append(shown);
}}, 300)</script>"""


def test_the_state_is_read_beside_the_agents_page(live: Live, site: Site) -> None:
    """A clone shows it late, from its storage; the agent's page stays for the other graders."""
    site.pages["/start"] = "<title>Shop</title><script>localStorage.article = 'A'</script>"
    site.pages["/finish"] = FINISH
    task = make_task(
        start_url=f"{site.url}/start", evals=[query(ITEM, "A Blue Mug")], checks=[{"title": "Shop"}]
    )

    async def course(window: PlaywrightWindow) -> Any:
        seen = await AgisdkGrader().observe(window, task, {})
        page = await PageStateGrader().observe(window, task, {})
        return {"agisdk": seen, "page_state": page}, len(await window.tabs()), window.url

    evidence, tabs, url = live.run(f"{site.url}/start", course)
    assert (tabs, url) == (1, f"{site.url}/start")
    recorded = make_recorded(task, evidence=json.loads(json.dumps(evidence)))
    assert live.runner.run(AgisdkGrader().grade(recorded)).verdict is Verdict.PASSED
    assert live.runner.run(PageStateGrader().grade(recorded)).verdict is Verdict.PASSED


def test_a_clone_without_a_state_is_a_fault(
    live: Live, site: Site, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Not the agent's fault, and not a score of 0."""
    monkeypatch.setattr(grader, "TRIES", 2)
    site.pages["/"] = "shop"
    cases: list[tuple[str, str, str]] = [
        (site.url, "<p>still working", "shows no state: .*no <pre> element"),
        (site.url, "<pre>{not json</pre>", "shows no state: .*is not JSON"),
        ("http://127.0.0.1:1/", "", "/finish cannot be opened"),
    ]
    for start, page, why in cases:
        site.pages["/finish"] = page
        task = make_task(start_url=start, evals=[query("a", 1)])
        with subtests.test(why=why), pytest.raises(Fault, match=why) as fault:
            live.run(site.url, lambda window: AgisdkGrader().observe(window, task, {}))  # noqa: B023 at once
        assert fault.value.source is ErrorSource.GRADER
