"""What an attempt changes in a site's state, from the user's files to the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.runs.run import StoredRun
from tests.browsers.conftest import chromium
from tests.features.effects.plays import ORDER, assert_unwritten, list_side_effects, play, row, said_by
from tests.hooks.small_evals import Evals

__all__ = ["chromium"]

SUCH = "and the state has no such table."
Case = tuple[str, dict[str, Any], dict[str, Any]]
"""What is said, a row, and keys of the site."""


def test_what_a_row_asks_for_and_nothing_else(evals: Evals) -> None:
    """Passes; a change that the row does not name fails and is named, and so does what has not changed."""
    run = play(
        evals,
        row("order", "Order", effects=ORDER),
        row("look", effects="nothing"),
        row("twice", "Order", "Order again", effects=ORDER),
        row("wrong", "Order a cup", effects=ORDER[:1]),
        row("cancels", "Order", "Cancel", effects=ORDER),
        row("cancel", "Cancel", effects=[{"changed": "orders[id=7].status", "equals": "cancelled"}]),
        row("delete", "Delete", effects=[{"removed": "orders", "where": {"user": "bob"}}]),
        row("idle", effects=ORDER),
        row("logs", "Log", "Log", effects="nothing"),
        row("warns", "Log", effects="nothing", graders=[{"type": "effects", "others": "warn"}]),
        row("says", "Cancel", effects=ORDER[:1], graders=[{"type": "effects", "values": True}]),
    )
    passed = {one.query_id for one in run.attempts if one.verdict == "passed"}
    assert passed == {"order", "look", "cancel", "delete", "warns"}
    assert list_side_effects(run, "order") == []
    assert list_side_effects(run, "twice") == ["orders 10 was added"]
    assert list_side_effects(run, "cancels") == ["orders 7: status was changed"]
    assert list_side_effects(run, "logs") == ["a row of log was added"] * 2
    assert list_side_effects(run, "warns") == ["a row of log was added"]
    cancels = run.attempt("cancels")
    assert cancels.reason == "effects: 2 of 2 effects came about; 1 side effect: orders 7: status was changed"
    known = StoredRun(run.folder, open_door()).attempts
    causes = {one.query_id: one.cause.name for one in known if one.cause is not None}
    assert causes["cancels"] == causes["logs"] == causes["twice"] == "side_effect"
    assert causes["wrong"] == causes["idle"] == "wrong_row"
    said = 'orders 7 (user "bob", sku "cup", quantity 1): status was changed from "open" to "cancelled"'
    assert run.attempt("says").grader_results["effects"].criteria[-1].reason == said
    assert cancels.grader_results["effects"].criteria[-1].reason == "orders 7: status was changed"
    wrong, idle = (run.attempt(one).grader_results["effects"].criteria[0].reason for one in ("wrong", "idle"))
    assert (wrong, idle) == ('sku is not "mug"', 'nothing of orders (user "ada") was added')
    stored = json.loads(next(run.folder.glob("tasks/order/**/effects.json")).read_text())
    kinds = [(one["kind"], one["table"]) for one in stored["sites"]["shop"]["differences"]]
    assert kinds == [("added", "orders"), ("changed", "stock")]


def test_state_in_the_storage_of_a_page(evals: Evals) -> None:
    """It is read in each window, from any page, and while that shows a dialog; no reset is needed."""
    site = evals.path / "site"
    site.mkdir()
    first = {"cart": [{"sku": "pen", "quantity": 1}], "coupon": None, "address": {"city": "Rome"}}
    (site / "index.html").write_text(
        f"<script>localStorage.shop ??= JSON.stringify({json.dumps(first)});"
        "function change(edit) { const s = JSON.parse(localStorage.shop); edit(s);"
        "localStorage.shop = JSON.stringify(s); document.title += '!' }</script>"
        "<button onclick=\"change((s) => s.cart.push({sku: 'mug', quantity: 2}))\">Add</button>"
        "<button onclick=\"change((s) => s.coupon = 'SPRING')\">Coupon</button>"
        "<button onclick=\"change((s) => s.address.city = 'Oslo')\">Move</button>"
    )
    (site / "ask.html").write_text((site / "index.html").read_text() + "<script>confirm('Stay?')</script>")
    (evals.path / "other").mkdir()
    (evals.path / "other" / "index.html").write_text("<title>Other</title>")

    def task(query_id: str, *names: str, effects: Any, steps: Any = ()) -> dict[str, Any]:
        clicks = [{"tool": "click", "target": f"text={name}"} for name in names]
        return {
            **row(query_id, effects=effects),
            "solution": [*clicks, *steps, {"tool": "done", "answer": "Done."}],
        }

    mug = {"added": "cart", "equals": {"sku": "mug", "quantity": 2}}
    coupon = {"changed": "coupon", "equals": "SPRING"}
    away = [{"tool": "navigate", "url": "{other}/"}]
    rows = [
        task("add", "Add", "Coupon", effects=[mug, coupon], steps=away),
        task("move", "Move", effects=[{"changed": "address.city", "equals": "Oslo"}]),
        task("more", "Add", "Move", effects=[mug]),
        task("look", effects="nothing"),
        {**task("asked", "Add", effects=[mug]), "start_url": "{shop}/ask.html"},
        {**task("leaves", effects="nothing"), "start_url": "{shop}/ask.html"},
    ]
    answer = {"tool": "handle_dialog", "accept": True}
    rows[4]["solution"].insert(0, answer)
    elsewhere = {"start_url": "{other}/", "sites": ["shop", "other"]}
    rows += [
        {**task("opens", "Add", effects="nothing"), **elsewhere},
        {**task("stays", effects="nothing"), **elsewhere},
    ]
    rows[-2]["solution"].insert(0, {"tool": "navigate", "url": "{shop}/"})
    state = {"storage": "local:shop", "key": "sku"}
    sites = {"shop": {"static": "site", "state": state}, "other": {"static": "other"}}
    run = evals.play(rows, browser="playwright", sites=sites, lanes=3)
    run.assert_outcomes(passed=6, failed=1, errors=1)
    assert run.attempt("opens").error_source == "site"
    assert "was written when the agent first opened it" in run.attempt("opens").reason
    assert list_side_effects(run, "more") == ["address: city was changed"]


def test_secrets_and_hidden_columns_are_not_written(evals: Evals) -> None:
    """That they were changed is; an effect that compares one is refused before anything is spent."""
    run = play(evals, row("move", "Move", effects="nothing"), hide=["users.email"])
    assert list_side_effects(run, "move") == ['users "ada": email was changed, password was changed']
    assert_unwritten(run, "eve@shop.test", "hunter2hunter2")
    for column in ("email", "password"):
        effects = [{"changed": f"users[name=ada].{column}", "equals": "x"}]
        refused = play(evals, row("move", effects=effects), hide=["users.email"])
        assert f"an effect compares users.{column}" in said_by(refused)
        any_change = [{"changed": f"users[name=ada].{column}"}]
        run = play(evals, row("move", "Move", effects=any_change), hide=["users.email"])
        (other,) = {"email", "password"} - {column}
        assert list_side_effects(run, "move") == [f'users "ada": {other} was changed']


def test_secrets_inside_of_columns_and_names_that_meet(evals: Evals) -> None:
    """A password in a list of a row is not written; of two tables of one name each counts."""
    (evals.path / "dump.py").write_text(
        "import json, sqlite3, sys\n"
        "[(email, password)] = sqlite3.connect(sys.argv[1]).execute('SELECT email, password FROM users')\n"
        "logins = [{'password': password}, {'old': {'password': [password]}, 'site': 'shop'}]\n"
        "users = [{'id': 1, 'logins': logins}]\n"
        "mails = {'mail.to': [{'id': 1, 'name': email}], 'mail': {'to': [{'id': 1, 'name': 'x'}]}}\n"
        "print(json.dumps({'users': users, 'password': {'ada': password}, **mails}))\n"
    )
    state = {"command": ["{python}", "dump.py", "{data}/shop.db"]}
    effects = [{"changed": "users[id=1].logins", "equals": []}]
    rows = row("move", "Move", effects="nothing"), row("compares", "Move", effects=effects)
    run = play(evals, *rows, state=state)
    assert list_side_effects(run, "move") == [
        "a row of mail.to was removed",
        "a row of mail.to was added",
        "password: ada was changed",
        "users 1: logins was changed",
    ]
    assert run.attempt("compares").error_source == "grader"
    assert_unwritten(run, "lovelace1815", "hunter2hunter2")


def test_a_state_that_does_not_rest_is_the_fault_of_the_site(
    evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless what moves is volatile."""
    # Else a busy machine may hold the writer up between two readings.
    monkeypatch.setattr("pytest_browsereval.features.effects.reading.PAUSE_S", 1.0)
    run = play(evals, row("flutter", "Flutter", effects="nothing"))
    run.assert_outcomes(errors=1)
    assert run.attempt("flutter").error_source == "site"
    assert 'was still changing after 5 s: stock "cup": left was changed' in run.attempt("flutter").reason
    play(evals, row("calm", "Flutter", effects="nothing"), volatile=["stock.*"]).assert_outcomes(passed=1)


def test_regraded_from_what_was_stored(evals: Evals) -> None:
    """By corrected effects; where `volatile` or `state` is another, what differed is not known."""
    again = ("--eval-regrade=latest", "--eval-regrade-rows=current")
    play(evals, row("order", "Order", effects="nothing")).assert_outcomes(failed=1)
    play(evals, row("order", "Order", effects=ORDER), args=again).assert_outcomes(passed=1)
    run = play(evals, row("order", "Order", effects=ORDER), args=again, volatile=["log.*"])
    run.assert_outcomes(errors=1)
    assert run.attempt("order").error_source == "grader"
    assert "was changed after the state was read" in run.attempt("order").reason


def test_protected_rows_keep_nothing(evals: Evals) -> None:
    """They are judged, and neither differences nor words are written; so they cannot be graded again."""
    run = play(evals, row("order", "Order", "Cancel", effects=ORDER, protected=True))
    run.assert_outcomes(failed=1)
    assert list_side_effects(run, "order") == ["[withheld]"]
    (stored,) = run.folder.glob("tasks/order/**/effects.json")
    assert json.loads(stored.read_text()) == {"withheld": True}
    grade = run.attempt("order").grader_results["effects"]
    assert [one.name for one in grade.criteria] == ["[withheld]"] * 3
    regraded = evals.run("shop.eval.yaml", "--eval-regrade=latest", "--eval-regrade-rows=current")
    assert "so what changed was not kept" in regraded.attempt("order").reason


def test_what_is_refused_before_anything_is_spent(evals: Evals, subtests: pytest.Subtests) -> None:
    """Each with what to write."""
    order = row("a", effects=ORDER)
    cases: list[Case] = [
        ("has no `reset`, so attempts share its state", order, {"reset": None}),
        ("all instances of the site would change it at once", order, {"state": {"sqlite": "shop.db"}}),
        (
            "larger than `max_bytes` (1,000)",
            order,
            {"state": {"sqlite": "{data}/shop.db", "max_bytes": 1000}},
        ),
        ("names {dat}, which is not a placeholder", order, {"state": {"sqlite": "{dat}/shop.db"}}),
        ("no site of this row has one", order, {"state": None}),
        ("no grader that reads it", {**order, "graders": ["answer"], "answer": "x"}, {}),
        ("has nothing to compare", {**order, "effects": None}, {}),
        ("unknown key 'wher'. Did you mean 'where'?", row("a", effects=[{"added": "o", "wher": {}}]), {}),
        ("has to name one table", row("a", effects=[{"added": "orders", "removed": "log"}]), {}),
        ("must each be an object of columns, or", row("a", effects=[{"added": "saved", "equals": None}]), {}),
        ("cannot be read", row("a", effects=[{"changed": "stock[mug].left"}]), {}),
        ("`by` is 1, and has to be the number", row("a", effects=[{"added": "orders", "by": 1}]), {}),
    ]
    for said, task, more in cases:
        with subtests.test(said):
            run = play(evals, task, **more)
            assert said in said_by(run)
            assert run.ret == 4


def test_what_would_compare_nothing(evals: Evals, subtests: pytest.Subtests) -> None:
    """A misspelt table, file or column is named with the nearest one, before the run where it is known."""
    look, order = row("look", effects="nothing"), {"added": "oders"}
    named = {"sqlite": "{data}/shop.db", "tables": ["oders"]}
    near = "Did you mean 'orders'?"
    (evals.path / "null.py").write_text("print('null')")
    refused: list[Case] = [
        (f"no table 'oders'. {near}", look, {"state": named}),
        ("it leaves nothing of the state to compare", look, {"volatile": ["*"]}),
        (f"rows.jsonl:1: row 'a': an effect names 'oders', {SUCH} {near}", row("a", effects=[order]), {}),
        (
            "'orders' does not have. Did you mean 'status'?",
            row("a", effects=[{"changed": "orders.statu"}]),
            {},
        ),
        ("the column 'usr'", row("a", effects=[{**ORDER[0], "where": {"usr": "ada"}}]), {}),
        ("what `volatile` of its site leaves out", row("a", effects=[{"changed": "stock.updated_at"}]), {}),
    ]
    for said, task, more in refused:
        with subtests.test(said):
            run = play(evals, task, **more)
            assert said in said_by(run)
            assert run.ret == 4
    url, files = {"url": "{shop}/state"}, {"files": "{data}/orders/*.jsn"}
    broken: list[Case] = [
        (f"no table 'oders'. {near} There is: orders.", look, {"state": {**url, "tables": ["oders"]}}),
        ("no file matches '*.jsn'. Did you mean '8.json'? There is: 7.json, 8.json.", look, {"state": files}),
        ("it is null", look, {"state": {"command": ["{python}", "null.py", "{data}"]}}),
    ]
    for said, task, more in broken:
        with subtests.test(said):
            run = play(evals, task, **more)
            run.assert_outcomes(errors=1)
            assert (run.attempt("look").error_source, said in run.attempt("look").reason) == ("site", True)
    for name in ("shop.db", "orders"):  # the server makes them when it is reset
        (evals.path / "first" / name).rename(evals.path / name)
    with subtests.test("a database that is not there before the run"):
        run = play(
            evals,
            row("first", effects="nothing"),
            row("a", effects=[order]),
            row("b", "Order", effects=ORDER),
        )
        run.assert_outcomes(errors=2, passed=1)
        assert (run.attempt("a").error_source, near in run.attempt("a").reason) == ("grader", True)
        run = play(evals, row("first", effects="nothing"), look, state=named)
        assert f"no table 'oders'. {near}" in run.attempt("look").reason
        assert run.attempt("look").error_source == "site"


def test_a_key_that_local_storage_does_not_have(evals: Evals) -> None:
    """It makes an attempt errored where there are others; where there are none, nothing was changed."""
    for name, script in (
        ("shop", "localStorage.shop = '{}'"),
        ("empty", ""),
        ("null", "localStorage.shpo = null"),
    ):
        (evals.path / name).mkdir()
        (evals.path / name / "index.html").write_text(f"<title>Shop</title><script>{script}</script>")
    names = ("shop", "empty", "null")
    rows = [{**row(name, effects="nothing"), "start_url": f"{{{name}}}/"} for name in names]
    sites = {name: {"static": name, "state": {"storage": "local:shpo"}} for name in names}
    run = evals.play(rows, browser="playwright", sites=sites)
    run.assert_outcomes(passed=2, errors=1)
    assert "no key 'shpo'" in run.attempt("shop").reason
    assert "Did you mean 'shop'? There is: shop." in run.attempt("shop").reason


def test_other_sources(evals: Evals, subtests: pytest.Subtests) -> None:
    """An address, files and a program name the same change."""
    (evals.path / "dump.py").write_text(
        "import json, sqlite3, sys\n"
        "shop = sqlite3.connect(sys.argv[1])\n"
        "rows = shop.execute('SELECT id, status FROM orders').fetchall()\n"
        "print(json.dumps({'orders': [{'id': i, 'status': s} for i, s in rows]}))\n"
    )
    effects = [{"changed": "orders[id=7].status", "equals": "cancelled"}]
    for name, state in {
        "url": {"url": "{shop}/state"},
        "command": {"command": ["{python}", "dump.py", "{data}/shop.db"]},
        "files": {"files": "{data}/**/*.json"},
    }.items():
        with subtests.test(name):
            tables = [{"changed": "orders[file=7.json].status", "equals": "cancelled"}]
            wanted = tables if name == "files" else effects
            rows = row("cancel", "Cancel", effects=wanted), row("look", "Cancel", effects="nothing")
            run = play(evals, *rows, state=state)
            run.assert_outcomes(passed=1, failed=1)
            assert "status was changed" in run.attempt("look").reason


def test_lanes_chains_limits_and_exports(evals: Evals) -> None:
    """Lanes see their own changes, a chained row its own start, a limited attempt is graded."""
    limited = row("limited", "Log", "Log", "Log", effects="nothing")
    first = [{"changed": "orders[id=7].status", "equals": "cancelled"}]
    rows = [row(f"order{n}", "Order", effects=ORDER) for n in range(3)]
    chain = [row("one", "Cancel", effects=first), row("two", "Log", effects=[{"added": "log"}])]
    chain[1]["depends_on"] = ["one"]
    junit = evals.path / "junit.xml"
    run = play(evals, *rows, *chain, limited, args=("--eval-set=limits.max_steps=2",), lanes=3)
    run.assert_outcomes(passed=5, failed=1)
    assert list_side_effects(run, "limited") == ["a row of log was added"]
    play(evals, row("cancels", "Cancel", effects="nothing"), args=(f"--junit-xml={junit}",))
    assert "orders 7: status was changed" in junit.read_text()
    assert "cancelled" not in junit.read_text()
