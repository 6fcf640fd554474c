"""The text of a bad attempt, whatever page, model and files hold."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_browsereval.capture.tracebacks import place_in
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.model.display import width_of
from pytest_browsereval.model.grades import Criterion, GraderResult
from pytest_browsereval.model.messages import (
    DelegationMessage,
    DelegationResultMessage,
    Message,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
)
from pytest_browsereval.model.results import EvalWarning
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.report.assertion import explain
from tests.recorded import ERRORED, FAILED, attempt

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b1A\r\u202egate met\u2028next\x00\n" + "x" * 100_000
"""Moves the cursor, changes the window's title, turns the text round, and is long."""


def write(folder: Path, *messages: Message) -> None:
    lines = [m.model_dump_json(by_alias=True, exclude_none=True) + "\n" for m in messages]
    (folder / "messages.jsonl").write_bytes("".join(lines).encode())


def step(number: int, output: object = "ok", *, is_error: bool = False, **params: object) -> list[Message]:
    return [
        ToolCallMessage(tool="click", tool_call_id=str(number), params=dict(params)),
        ToolResultMessage(tool_call_id=str(number), result={"output": output}, is_error=is_error),
    ]


def test_a_failure_is_told_in_full(tmp_path: Path) -> None:
    """Verdict, task, places, answer, agent, grades, what does not hold, steps and folder are told."""
    checks = (
        Criterion(name="total", verdict=FAILED, expected=59.98, actual="0", reason="0 is not 59.98"),
        Criterion(name="items", verdict=attempt().verdict, expected=1, actual=1),
    )
    grade = GraderResult(
        grader="state_diff", verdict=FAILED, score=0.5, reasoning="1 of 2 checks passed", criteria=checks
    )
    write(
        tmp_path,
        UserMessage(content="Do a."),
        *(message for n in range(1, 8) for message in step(n, target=f"e{n}")),
        *step(8, "Nothing matches e99.\nTake a snapshot.", is_error=True, target="e99"),
        ToolCallMessage(tool="done", tool_call_id="9", params={"answer": "42"}),
    )
    metadata = attempt(
        "a",
        FAILED,
        start_url="http://shop.test/",
        final_url="http://shop.test/cart",
        grader_results={"state_diff": grade},
        warnings=[
            EvalWarning(source=ErrorSource.AGENT, message="stopped: limits.max_steps is 9", timestamp="")
        ],
    )
    assert explain(metadata, tmp_path).splitlines() == [
        "failed: a failed",
        "",
        "task     Do a.",
        f"folder   {tmp_path}",
        "started  http://shop.test/",
        "ended    http://shop.test/cart",
        "answer   '42'",
        "agent    scripted, 3 steps, 2.0 s, completed",
        "grade    state_diff: failed, score 0.5. 1 of 2 checks passed",
        "         - total: failed. 0 is not 59.98",
        "           expected 59.98",
        '           actual   "0"',
        "warning  agent: stopped: limits.max_steps is 9",
        "steps    the last 5 of 9",
        '         5. click(target="e5") → ok',
        '         6. click(target="e6") → ok',
        '         7. click(target="e7") → ok',
        '         8. click(target="e99") → error: Nothing matches e99.',
        '         9. done(answer="42") → no result',
    ]


def test_goals_and_tokens_are_told_by_role(tmp_path: Path) -> None:
    """How each delegation ended, one that did not with its goal, and who of the two models used what."""
    ends = {
        "executor_id": "executor-1",
        "summary": "There is\na login.",
        "status": "blocked",
        "steps_used": 2,
    }
    goals = [DelegationMessage(executor_id=f"executor-{n}", instruction=f"Buy mug\n{n}.") for n in (1, 2)]
    write(tmp_path, goals[0], *step(1), DelegationResultMessage.model_validate(ends), goals[1])
    usage = {
        "orchestrator": Usage(input_tokens=1_200, output_tokens=3, requests=1, cost_usd=0.01),
        "executor": Usage(input_tokens=5, output_tokens=6, requests=1),
    }
    lines = explain(attempt("a", FAILED, usage_by_role=usage), tmp_path).splitlines()
    assert "tokens   orchestrator 1,200 in, 3 out, $0.0100; executor 5 in, 6 out" in lines
    assert "goal     executor-1: blocked, 2 steps. There is a login." in lines
    told = "goal     executor-2: not over when the attempt ended. The goal: Buy mug 2."
    assert told in lines


def test_an_error_names_its_source(tmp_path: Path) -> None:
    """An errored attempt tells what broke; no answer, no score and no steps are told as such."""
    metadata = attempt("a", ERRORED, final_answer=None, reason="the site shop did not start:\nport in use")
    lines = explain(metadata, tmp_path).splitlines()
    assert lines[:2] == ["errored (site): the site shop did not start:", "  port in use"]
    assert "answer   (none)" in lines
    assert "grade    answer: errored, no score" in lines
    assert not any(line.startswith("steps") for line in lines)


def test_hostile_text_steers_nothing(tmp_path: Path) -> None:
    """Control characters, line ends and endless values from page and model are made harmless everywhere."""
    criterion = Criterion(name=HOSTILE, verdict=FAILED, expected=HOSTILE, actual=[HOSTILE], reason=HOSTILE)
    grade = GraderResult(
        grader="g\x1b[1m", verdict=FAILED, score=0.0, reasoning=HOSTILE, criteria=(criterion,)
    )
    write(tmp_path, *step(1, HOSTILE, text=HOSTILE), *step(2, [HOSTILE], is_error=True))
    metadata = attempt(
        "a",
        FAILED,
        query=HOSTILE,
        reason=HOSTILE,
        start_url=HOSTILE,
        final_url=HOSTILE,
        final_answer=HOSTILE,
        agent_config={"type": HOSTILE},
        grader_results={"g": grade},
        warnings=[EvalWarning(source=ErrorSource.AGENT, message=HOSTILE, timestamp="")],
    )
    text = explain(metadata, tmp_path)
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text) < 10_000
    firsts = [line.split()[0].rstrip(":") for line in text.split("\n") if line.strip() and line[0] != " "]
    assert firsts == ["failed", *("task", "folder", "started", "ended", "answer", "agent", "grade", "steps")]


def test_advisory_grades_and_what_judges_used_are_told(tmp_path: Path) -> None:
    """An advisory grade is marked; tokens and money of each judge stand below the grades."""
    used = Usage(input_tokens=1200, output_tokens=34, requests=3, cost_usd=0.0125)
    unpriced = Usage(input_tokens=7, output_tokens=1, requests=1)
    grades = {
        "rule": GraderResult(grader="rule", verdict=FAILED, score=0.0, reasoning="no"),
        "judge": GraderResult(grader="judge", verdict=FAILED, score=0.0, reasoning="no", usage=used),
        "hint": GraderResult(
            grader="hint", verdict=ERRORED, reasoning="cut off", usage=unpriced, advisory=True
        ),
    }
    text = explain(attempt("a", FAILED, grader_results=grades), tmp_path).splitlines()
    assert "grade    hint (advisory): errored, no score. cut off" in text
    assert "judges   judge 1,200 in, 34 out, $0.0125; hint 7 in, 1 out" in text


def test_no_sentence_stands_twice(tmp_path: Path) -> None:
    """What the first line says is said by no grade, criterion or warning again; other words of them are."""
    one = Criterion(name="total", verdict=FAILED, expected=2, actual=1, reason="1 is not 2")
    other = Criterion(name="items", verdict=FAILED, reason="no item")
    first = GraderResult(
        grader="cart",
        verdict=FAILED,
        score=0.0,
        reasoning="1 is not 2\nthe cart is old",
        criteria=(one, other),
    )
    second = GraderResult(grader="judge", verdict=FAILED, score=0.0, reasoning="no sense", criteria=(one,))
    metadata = attempt(
        "a",
        FAILED,
        reason="stopped (limits.max_steps is 9): cart: 1 is not 2",
        grader_results={"cart": first, "judge": second},
        warnings=[EvalWarning(source=ErrorSource.AGENT, message="limits.max_steps is 9", timestamp="")],
        total_steps=1,
    )
    lines = explain(metadata, tmp_path).splitlines()
    assert lines[0] == "failed: stopped (limits.max_steps is 9): cart: 1 is not 2"
    assert lines[lines.index("answer   '42'") :] == [
        "answer   '42'",
        "agent    scripted, 1 step, 2.0 s, completed",
        "grade    cart: failed, score 0. the cart is old",
        "         - total: failed",
        "           expected 2",
        "           actual   1",
        "         - items: failed. no item",
        "grade    judge: failed, score 0. no sense",
        "           expected 2",
        "           actual   1",
    ]


TRACE = """Traceback (most recent call last):
  File "/evals/my_agent.py", line 12, in helper
    raise KeyError("shelf")
    ^^^^^^^^^^^^^^^^^^^^^^^
KeyError: 'shelf'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/evals/my_agent.py", line 20, in solve
    helper(1)
  File "/venv/lib/python3.11/site-packages/httpx/api.py", line 3, in get
    return 1
ValueError: no \x1b[31mshelf
second line
"""


SHORT = """traceback of the agent
/evals/my_agent.py:12: in helper
    raise KeyError("shelf")
E   KeyError: 'shelf'
During handling of the above exception, another exception occurred:
/evals/my_agent.py:20: in solve
    helper(1)
/venv/lib/python3.11/site-packages/httpx/api.py:3: in get
    return 1
E   ValueError: no  [31mshelf
E   second line"""


def test_a_traceback_stands_at_the_end(tmp_path: Path) -> None:
    """In the style of ``--tb``, without what would steer a terminal."""
    error = {"source": "agent", "message": "it raised", "timestamp": "", "details": {"traceback": TRACE}}
    metadata = attempt("a", ERRORED, errors=[error])
    assert explain(metadata, tmp_path, "short").endswith(f"\n{SHORT}")
    native = TRACE.replace("\x1b", " ").rstrip()
    assert explain(metadata, tmp_path, "native").endswith(f"\ntraceback of the agent\n{native}")
    assert explain(metadata, tmp_path, "no").endswith("\ngrade    answer: errored, no score")
    assert explain(metadata, tmp_path, "line") == "errored (site): a errored"
    assert place_in(TRACE) == ("/evals/my_agent.py", 20)


def test_lines_fit_the_terminal(tmp_path: Path) -> None:
    """Texts go on below themselves; the folder stays in one piece, to be copied, and is shown from here."""
    folder = tmp_path / "results/a-long-name/of-a-run" / ("x" * 60)
    long = "it is not what was expected, " * 6
    criterion = Criterion(name="c", verdict=FAILED, expected=long, actual="カート " * 30)
    grade = GraderResult(grader="g", verdict=FAILED, score=0.0, reasoning="no", criteria=(criterion,))
    folder.mkdir(parents=True)
    write(folder, *step(1, long, target=long))
    data = attempt("a", FAILED, reason=long, query=long, grader_results={"g": grade})
    lines = explain(data, folder, here=tmp_path, width=80).split("\n")
    assert f"folder   {folder.relative_to(tmp_path)}" in lines
    assert [line for line in lines if width_of(line) > 80 and not line.startswith("folder")] == []
    for start, below in (
        ("task     it", " " * 9 + "\\S"),
        ("         1. click", " " * 12 + "\\S"),
        ('           actual   "', " " * 20 + "\\S"),
    ):
        place = next(n for n, line in enumerate(lines) if line.startswith(start))
        assert re.match(below, lines[place + 1])
