"""How far attempts came, in whole runs: real pages, asked after every step."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.features.progress import following
from pytest_browsereval.features.shared.page_reader import PageReader
from pytest_browsereval.model.progress import PROGRESS_FILE, Followed, Progress
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls, done
from pytest_browsereval.testing.evals import EvalRun
from tests.features.shared.viewer.conftest import Look, Reader
from tests.hooks.small_evals import Evals, row

PAGE = """<title>Shop</title><h1>Mugs</h1><p id=count>0 items in cart</p>
<button onclick="add(1)">Add</button><button onclick="add(-1)">Remove</button><a href="/order.html">Order</a>
<button onclick="alert('Sure?')">Ask</button>
<script>function add(by) {
  localStorage.cart = Number(localStorage.cart || 0) + by;
  document.getElementById('count').textContent = localStorage.cart + ' items in cart';
}</script>"""
ORDER = "<title>Order</title><h1>Thank you</h1>"
ADD, REMOVE, ORDERS, ASK = (
    {"tool": "click", "target": f"text={name}"} for name in ("Add", "Remove", "Order", "Ask")
)
DONE = {"tool": "done", "answer": "right"}
PAGE_STATE = {"type": "page_state", "wait_s": 0}
CHECKS = [{"storage": "local:cart", "equals": 2}, {"text": "2 items in cart"}]
STONES = [
    {"name": "back in the shop", "check": {"title": "Shop"}},
    {"name": "never there", "check": {"title": "Nowhere"}},
    {"name": "in the cart", "check": {"text": "1 items in cart"}},
    {"name": "ordered", "check": {"role": "heading", "name": "Thank you"}},
    {"name": "paid", "check": {"text": "Paid"}},
]
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def _is_asked_at_any_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine leaves no step out."""
    monkeypatch.setattr(following, "SLOW_S", 1e9)


def task(query_id: str, *steps: dict[str, Any], checks: list[Any] = CHECKS, **more: Any) -> dict[str, Any]:
    """Return a row of the shop whose agent takes the steps."""
    keys = {"graders": [PAGE_STATE], "checks": checks, "start_url": "{shop}/", "answer": None}
    return row(query_id, **{**keys, "solution": [*steps, DONE], **more})


def shop(evals: Evals, *rows: dict[str, Any], **config: Any) -> None:
    """Write an eval with the shop."""
    (evals.path / "site").mkdir()
    (evals.path / "site/index.html").write_text(PAGE)
    (evals.path / "site/order.html").write_text(ORDER)
    evals.write_rows(*rows)
    capture = {"screenshots": "off", "checks": "each"}
    keys = {"browser": "playwright", "sites": {"shop": {"static": "site"}}, "capture": capture, "lanes": 4}
    evals.write_config(**{**keys, **config})


def curve(run: EvalRun, query_id: str) -> Followed:
    """Return what is stored of the row's attempt."""
    (file,) = run.folder.glob(f"tasks/{query_id}/*/*/attempt-*/{PROGRESS_FILE}")
    return Followed.parse(file.read_bytes())


def figures(run: EvalRun, query_id: str) -> Progress:
    """Return the figures of the row's attempt."""
    progress = run.attempt(query_id).progress
    assert progress is not None
    return progress


@pytest.mark.slow
def test_runs_say_how_far_attempts_came(evals: Evals, look: Look) -> None:
    """Curves, what was lost, milestones, what is left out; and gates about them, then and afterwards."""
    shop(
        evals,
        task("lost", ADD, ADD, REMOVE),
        task("kept", ADD, ADD),
        task("stones", ADD, ORDERS, {"tool": "go_back"}, checks=[{"text": "Paid"}], milestones=STONES),
        task("asked", ASK, {"tool": "handle_dialog", "accept": True}, checks=[{"title": "Shop"}]),
        task(
            "state",
            ADD,
            graders=[{"type": "state_diff", "source": {"storage": "local:cart"}, "wait_s": 0}, "answer"],
            checks=[{"path": "@", "equals": 1}],
            answer="right",
        ),
        task("hidden", ADD, ADD, REMOVE, protected=True, answer="two mugs"),
        task("hostile", checks=[{"text": HOSTILE}, {"title": "Shop"}]),
        gate={"min_pass_rate": 0.1, "rules": [{"type": "min_progress", "least": 0.9}]},
    )
    run = evals.run()

    found = curve(run, "lost")
    assert [(one.step, sum(map(bool, one.held)), one.is_end) for one in found.moments] == [
        *((0, 0, False), (1, 0, False), (2, 2, False), (3, 0, False), (4, 0, False)),
        (4, 0, True),
    ]
    progress = figures(run, "lost")
    assert (progress.best, progress.best_step, progress.last, progress.last_step) == (1.0, 2, 0.0, 4)
    assert progress.lost == (
        "storage local:cart: 2 after step 2, 1 after step 3",
        'text contains "2 items in cart": held after step 2, not after step 3',
    )
    kept = run.attempt("kept")
    assert kept.progress is not None
    assert (kept.verdict, kept.progress.last, kept.progress.lost) == ("passed", 1.0, ())

    stones = figures(run, "stones")
    assert (stones.milestones, stones.reached, stones.furthest) == (5, 4, "ordered")
    assert stones.share == 0.8

    asked = curve(run, "asked")
    assert [one.note for one in asked.moments] == ["", "a dialog was open", "", "", ""]
    assert figures(run, "asked").note == "it could not be read in full at 1 of 5 moments"

    state = curve(run, "state")
    assert [one.model_dump(exclude_defaults=True) for one in state.checks] == [
        {"name": "@"},
        {"name": "answer", "left_out": "a page cannot answer it"},
    ]
    assert figures(run, "state").best == 1.0

    hidden = next(run.folder.glob("tasks/hidden/*/*/*/progress.jsonl")).read_text()
    assert "check 1 (storage)" in hidden
    assert "items" not in hidden
    assert "found" not in hidden
    assert figures(run, "hidden").lost[0] == "check 1 (storage): held after step 2, not after step 3"

    # The mean of five whole ones, 4 of 5 milestones, and one of two checks.
    told = "min_progress: progress 90.0% (mean of 7 judged trials)"
    run.stdout.fnmatch_lines([f"gate {told} meets 90.0%"])
    for least, ending, ret in ((0.9, "meets 90.0%", 0), (0.95, "is under 95.0%", 1)):
        rules = f"gate.rules=[{{type: min_progress, least: {least}}}]"
        decided = evals.run_command("gate", str(run.folder), "--eval-set", rules)
        assert decided.ret == ret
        assert f"{told} {ending}" in decided.stdout.str()

    async def work(reader: Reader) -> None:
        await reader.open("#?sort=id")
        rows = dict(
            zip(await reader.texts("#rows .c-id a"), await reader.texts("#rows .c-progress"), strict=True)
        )
        assert (rows["lost"], rows["stones"], rows["hostile"]) == ("100 %", "ordered", "50 %")
        await reader.open("#/lost/default/1/attempt-1")
        told = await reader.text("#progress")
        assert "At best, 2 of 2 checks held after step 2; 0 of 2 checks held at the end." in told
        assert "Reached and lost: storage local:cart: 2 after step 2, 1 after step 3" in told
        await reader.page.locator("#progress .to").first.click()
        await reader.sees("#detail h3", "Step 3: click")
        await reader.open("#/stones/default/1/attempt-1")
        assert "It reached milestone 4 of 5: ordered." in await reader.text("#progress")
        assert "first held step 2" in await reader.text("#progress li:has-text('ordered')")
        await reader.open("#/hostile/default/1/attempt-1")
        assert HOSTILE in await reader.text("#progress")
        assert await reader.page.locator("#progress img").count() == 0
        await reader.open("#/state/default/1/attempt-1")
        assert "Left out: answer (a page cannot answer it)." in await reader.text("#progress")
        await reader.page.set_viewport_size({"width": 400, "height": 800})
        await reader.open("#/lost/default/1/attempt-1")
        await reader.page.evaluate("location.hash = '#/stones/default/1/attempt-1'")
        await reader.sees("#progress p", "It reached milestone 4 of 5")

    look(run.folder / "index.html", work)

    again = evals.run(f"--eval-regrade={run.folder}", "shop.eval.yaml")
    assert figures(again, "lost") == figures(run, "lost"), "graded again, without a browser"


@pytest.mark.slow
def test_what_a_page_has_left_out_brings_nobody_further(
    evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what was not asked, nor what may have held on a start page that gave no answer."""
    asked = PageReader.read
    started: list[PageReader] = []

    async def read_late(self: PageReader) -> dict[str, Any]:
        if self not in started:
            started.append(self)
            raise TimeoutError
        return await asked(self)

    monkeypatch.setattr(PageReader, "read", read_late)
    changing = {"js": "fetch('/cart')", "equals": 1}
    here = [{"name": "in the shop", "check": {"title": "Shop"}}]
    added = {"name": "added", "check": {"text": "2 items in cart"}}
    shop(
        evals,
        task("checks", checks=[{"title": "Shop"}, changing, {"js": "window.sold = 1", "equals": 2}]),
        task("start", ADD, milestones=here),
        task("stones", ADD, ADD, milestones=[*here, added, {"name": "sold", "check": changing}]),
        gate={"min_pass_rate": 0, "rules": [{"type": "min_progress", "least": 0.5}]},
    )
    run = evals.run()
    checks = figures(run, "checks")
    assert (checks.checks, checks.best) == (3, 1 / 3)
    assert (figures(run, "start").milestones, figures(run, "start").reached) == (1, 0)
    stones = figures(run, "stones")
    assert (stones.milestones, stones.reached, stones.furthest) == (3, 2, "added")
    assert [one.name for one in curve(run, "stones").checks if one.left_out] == ["sold"]
    run.stdout.fnmatch_lines(["gate min_progress: progress 33.3% (mean of 3 judged trials) is under 50.0%"])
    assert run.ret == 1


@pytest.mark.slow
def test_workers_and_resumed_runs_follow_attempts_too(evals: Evals) -> None:
    """A worker writes the curves of its attempts; a resumed run keeps those there are."""
    rows = [task("lost", ADD, ADD, REMOVE), task("kept", ADD, ADD)]
    shop(evals, *rows, gate={"rules": [{"type": "min_progress", "least": 1}]}, lanes=1)
    run = evals.run("shop.eval.yaml", "-n", "1", "-k", "lost")
    assert figures(run, "lost").best == 1.0
    again = evals.run("shop.eval.yaml", "-n", "1", f"--eval-resume={run.folder}")
    assert "min_progress: progress 100.0% (mean of 2 judged trials) meets 100.0%" in again.stdout.str()
    assert [len(curve(again, name).moments) for name in ("lost", "kept")] == [6, 5]


def plays(request: ModelRequest) -> Reply:
    """Add two mugs, remove one, and end: by the conversation so far."""
    turns: int = sum(message["role"] == "assistant" for message in request.messages)
    clicks = [calls(call("click", target=f"text={name}")) for name in ("Add", "Add", "Remove")]
    replies: list[Reply] = [*clicks, done("Two mugs.")]
    return replies[turns]


@pytest.mark.slow
def test_a_model_is_not_told_and_a_replay_has_the_same_curve(evals: Evals) -> None:
    """No request has a word of a check or of the curve, and replies from a cassette come to the same."""
    with ScriptedModel(plays) as server:
        model = {"type": "single", "model": "scripted", "base_url": server.base_url}
        shop(evals, task("lost", milestones=STONES, query="Buy mugs."), variants={"default": model})
        run = evals.run("--eval-llm=record", "shop.eval.yaml")
        said = "".join(json.dumps(request.body) for request in server.requests)
    assert [sum(map(bool, one.held[:2])) for one in curve(run, "lost").moments] == [0, 0, 2, 0, 0, 0]
    assert "in the cart" not in said
    assert "held" not in said
    again = evals.run("--eval-llm=replay", "shop.eval.yaml")
    assert again.attempt("lost").replayed
    assert curve(again, "lost") == curve(run, "lost")
    assert figures(again, "lost") == figures(run, "lost")
