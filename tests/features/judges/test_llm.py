from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.judges.llm import LLMGrader
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.testing import ModelRequest, ScriptedModel, says
from tests.features.shared.judging.bench import Bench
from tests.graders.support import make_task
from tests.hooks.launched import metadata, verdicts
from tests.hooks.small_evals import Evals, row

PROMPT = 'The task was {query}. It said {answer}, and did {steps}. Reply as a buyer would: {"not": 1}'


def reply(**keys: Any) -> dict[str, Any]:
    return {"reasoning": "it is so", **keys}


def test_a_prompt_is_sent_in_its_order_with_the_material_between_marks(tmp_path: Path) -> None:
    """The words of the prompt stand outside of the marks, and braces around anything else stay."""
    bench = Bench(tmp_path, {"llm": reply(verdict="PASS")})
    attempt = bench.attempt(("click", {"target": "Buy"}, "ok"), pictures=2)
    result = bench.judged(LLMGrader, attempt, prompt=PROMPT, pictures="none")
    assert (result.verdict, result.score, result.reasoning) == (Verdict.PASSED, 1.0, "it is so")
    user = bench.requests["llm"][0].messages[1]["content"]
    assert isinstance(user, str)
    words = [
        "The task was ",
        "How much is it?",
        "It said ",
        "\n42\n",
        "did ",
        "1. click(",
        'as a buyer would: {"not"',
    ]
    assert [user.index(word) for word in words] == sorted(user.index(word) for word in words)
    assert result.fingerprint.startswith("llm/1/scripted/")
    other = bench.judged(LLMGrader, attempt, prompt=f"{PROMPT}!", pictures="none")
    assert other.fingerprint != result.fingerprint


SCALES: list[tuple[dict[str, Any], dict[str, Any], str, float | None]] = [
    ({}, reply(verdict="FAIL"), "failed", 0.0),
    ({}, reply(verdict="CANNOT_TELL"), "errored", None),
    ({"scale": "0-1"}, reply(score=0.69), "failed", 0.69),
    ({"scale": "0-1", "pass_at": 0.9}, reply(score=0.8), "failed", 0.8),
    ({"scale": "1-5"}, reply(score=4), "passed", 0.75),
    ({"scale": "1-5"}, reply(score=3), "failed", 0.5),
    ({"scale": "1-5", "pass_at": 3}, reply(score=3), "passed", 0.5),
    # What is not on the scale is not a grade.
    ({"scale": "1-5"}, reply(score=6), "errored", None),
    ({"scale": "0-1"}, reply(score=80), "errored", None),
]


def test_each_scale_has_a_limit(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A verdict, a share or a rating; what cannot be read as one is errored."""
    for number, (options, answer, verdict, score) in enumerate(SCALES):
        with subtests.test(options=options, answer=answer):
            bench = Bench(tmp_path / str(number), {"llm": answer})
            result = bench.judged(LLMGrader, bench.attempt(), prompt="{answer}", pictures="none", **options)
            assert (result.verdict, result.score) == (verdict, score), result.reasoning


PICTURES: list[tuple[str, int, Any]] = [
    ("none", 3, []),
    ("last", 3, [3]),
    ("all", 3, [1, 2, 3]),
    ("all", 40, 30),
]


def test_the_judge_sees_the_pictures_that_are_asked_for(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Those of a long attempt are spread evenly, and the grade names each that was shown."""
    for which, count, wanted in PICTURES:
        with subtests.test(which=which, count=count):
            bench = Bench(tmp_path / f"{which}{count}", {"llm": reply(verdict="PASS")})
            result = bench.judged(LLMGrader, bench.attempt(pictures=count), prompt="{answer}", pictures=which)
            shown = result.details["shown"]
            assert isinstance(shown, list)
            assert (len(shown) if isinstance(wanted, int) else shown) == wanted
            assert shown[-1:] in ([count], [])
            assert len(result.evidence) == len(shown)
            sent = bench.requests["llm"][0].messages[1]["content"]
            images = [] if isinstance(sent, str) else [one for one in sent if one["type"] == "image_url"]
            assert len(images) == len(shown)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({}, "the grader llm has no prompt. Write one, such as `{type: llm, prompt:"),
    ({"prompt": "{anwser}"}, "{anwser}, which is not a placeholder. Did you mean 'answer'? Known: {query}, "),
    (
        {"prompt": "Is it done?", "pictures": "none"},
        "shows the judge nothing of the attempt. Write {answer},",
    ),
    ({"prompt": "{answer}", "pass_at": 0.5}, "Write `scale: 0-1` or `scale: 1-5` too"),
    ({"prompt": "{answer}", "scale": "1-5", "pass_at": 0.7}, "on the scale 1-5 write 1 to 5"),
    ({"prompt": "{answer}", "scale": "0-1", "pass_at": 70}, "on the scale 0-1 write 0 to 1"),
]


def test_a_wrong_block_says_what_to_write(subtests: pytest.Subtests) -> None:
    """Before anything is spent."""
    for options, message in MISTAKES:
        with subtests.test(options=options), pytest.raises(ValueError, match=r"llm|prompt|pass_at") as caught:
            LLMGrader(**options)
        assert message in str(caught.value)
    for name, key in (("reference", "answer"), ("rubric", "rubric")):
        grader = LLMGrader(prompt=f"{{answer}} {{{name}}}")
        with pytest.raises(ValueError, match=f"but the row has no '{key}'"):
            grader.check(make_task(), Path())
        grader.check(make_task(**{key: "as it should be"}), Path())


def test_text_of_the_final_page_is_read_once_and_kept(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge reads the page of the agent's last step; a regrade reads what was kept."""
    (evals.path / "site").mkdir()
    (evals.path / "site/index.html").write_text(
        "<title>shop</title><h1>Blue mugs</h1><a href=sale.html>Sale</a>"
    )
    (evals.path / "site/sale.html").write_text("<title>sale</title><h1>Red mugs</h1>")
    steps = [{"tool": "click", "target": "text=Sale"}, {"tool": "done", "answer": "x"}]
    prompt = "Pass if the page is about red mugs: {page_text} At {page_url}. As wanted: {reference}"
    grader = {"type": "llm", "prompt": prompt, "pictures": "none"}
    start: dict[str, Any] = {"start_url": "{site}/index.html", "graders": [grader]}
    evals.write_rows(row("red", **start, answer="red", solution=steps), row("blue", **start, answer="blue"))

    def judge(request: ModelRequest) -> Any:
        is_right = "Red mugs" in request.text and "sale.html" in request.text
        return says(json.dumps(reply(verdict="PASS" if is_right else "FAIL")))

    with ScriptedModel(judge) as server:
        model = {"model": "scripted", "base_url": server.base_url, "api_key": "JUDGE_KEY"}
        evals.write_config(judge=model, sites={"site": {"static": "site"}}, browser="playwright")
        monkeypatch.setenv("JUDGE_KEY", "sk-of-the-judge")
        first = evals.run("shop.eval.yaml")
        assert first.ret == 1, first.stdout.str()
        assert verdicts(evals.summary()) == {"red": "passed", "blue": "failed"}
        folder = evals.run_folder()
        assert "red" in next(one.text for one in server.requests if "Red mugs" in one.text)
        asked = len(server.requests)
        again = evals.run("shop.eval.yaml", f"--eval-regrade={folder}")
    assert again.ret == 1, again.stdout.str()
    assert verdicts(evals.summary()) == {"red": "passed", "blue": "failed"}
    assert len(server.requests) == asked  # replies that were paid for are kept
    assert metadata(folder, "red").grader_results["llm"].details["scale"] == "pass"
