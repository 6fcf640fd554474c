"""Where a failed attempt parts from what it is compared with, and which rule names its cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.features.causes.rules import find_cause, normalise_error
from pytest_browsereval.llm.completion import CALL_CUT
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.messages import Hit
from pytest_browsereval.model.results import EvalWarning, TaskMetadata
from tests.features.causes.played import BASE, Step, click, done, fill, step, write_attempt, write_manifest
from tests.recorded import ERRORED, FAILED, PASSED, attempt

ORDER = (fill("Name", "Ada"), click("Red mug", "link", page="/red"), click("Add"), click("Buy"), done())
"""What a person would do."""

FORM = (fill("Name", "Ada"), step("check", target="label=Terms"), click("Send"), done())
NAME, RED, ADD, BUY, END = ORDER
BACK = step("go_back", page="/")
COVERED = "The button is covered by <div>, which would take the click."
MISSING = "Nothing matches it."


def cause_of(run: Path, steps: Sequence[Step], way: Sequence[Step] = ORDER, **record: Any) -> Cause:
    """Return the cause of a failed attempt of a row with a solution."""
    return played(run, steps, attempt("buy", FAILED, **record), solution=way)


def played(run: Path, steps: Sequence[Step], data: TaskMetadata | None = None, **task: Any) -> Cause:
    """Return the cause of an attempt with that record."""
    cause = find_cause(*write_attempt(run, steps, data, **task))
    assert cause is not None
    return cause


RULES = (
    ("wrong item", (NAME, click("Blue cup", "link"), ADD, BUY, END), "wrong_target", 2),
    ("wrong value", (fill("Name", "Bob"), RED, ADD, BUY, END), "wrong_value", 1),
    ("undone", (NAME, RED, ADD, BUY, fill("Name", "Bob"), END), "right_state_lost", 5),
    ("too early", (NAME, RED, ADD, END), "answered_too_early", 4),
    ("gives up", (NAME, RED, done("I can\u2019t do that.")), "gave_up", 3),
    ("by a tool", (NAME, RED, step("give_up", reason="Es geht nicht.")), "gave_up", 3),
    ("by a status", (NAME, RED, step("terminate", status="failure")), "gave_up", 3),
    ("says it is done",
     (NAME, RED, ADD, step("done", answer="I did not find a discount: paid.", success=True)),
     "answered_too_early", 4),
    ("nothing typed", (RED, ADD, BUY, END), "step_left_out", 1),
    ("all of it", (NAME, RED, ADD, BUY, END), "wrong_row", 5),
    ("back at the end", (NAME, RED, ADD, BUY, step("go_back", page="/red"), END), "right_state_lost", 5),
    ("anew on the way", (NAME, RED, ADD, step("reload", page="/red"), BUY, END), "wrong_answer", 6),
    ("nothing at all", (), "gave_up", None),
    ("covered", (NAME, RED, *3 * (click("Add", error=COVERED),), END), "target_covered", 3),
    ("no link", (NAME, click("Red cap", "link", error=MISSING), END), "target_not_found", 2),
    ("four mugs", (NAME, RED, *4 * (ADD,), END), "repeated_action", 4),
    ("loop", (NAME, *3 * (click("A", "link", page="/a"), click("B", "link", page="/b"))), "loop_of_pages", 2),
)  # fmt: skip


def test_the_rule_and_the_step(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Each rule holds of attempts of its kind, and the first wrong step is the one that a person names."""
    for title, steps, name, number in RULES:
        with subtests.test(title):
            cause = cause_of(tmp_path / title, steps)
            assert (cause.name, cause.step) == (name, number), cause


def test_a_grader_that_knows_why_names_the_cause(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Where each grader that refused does; a step is named only where it left the way."""
    effects = GraderResult(
        grader="effects",
        verdict=FAILED,
        score=0,
        details={"cause": {"name": "side_effect", "detail": "orders 7: status was changed"}},
    )
    answer = GraderResult(grader="answer", verdict=FAILED, score=0)
    parts = {"effects": effects.model_dump(mode="json"), "answer": answer.model_dump(mode="json")}
    both = answer.model_copy(update={"details": {"parts": parts}})
    alone = both.model_copy(update={"details": {"parts": {"effects": parts["effects"]}}})
    cancels = (NAME, RED, ADD, BUY, click("Cancel"), END)
    whole = (NAME, RED, ADD, BUY, END)
    cases: list[tuple[str, Sequence[Step], dict[str, GraderResult], str, int | None]] = [
        ("and cancels", cancels, {"effects": effects}, "side_effect", 5),
        ("as the way", whole, {"effects": effects}, "side_effect", None),
        ("as a part", whole, {"all": alone}, "side_effect", None),
        ("and a wrong answer", whole, {"effects": effects, "answer": answer}, "wrong_row", 5),
        ("both as parts", whole, {"all": both}, "wrong_row", 5),
        ("advice", whole, {"a": answer, "b": effects.model_copy(update={"advisory": True})}, "wrong_row", 5),
        ("nonsense", whole, {"a": answer.model_copy(update={"details": {"cause": "x"}})}, "wrong_row", 5),
    ]
    for title, steps, grades, name, number in cases:
        with subtests.test(title):
            cause = cause_of(tmp_path / title, steps, grader_results=grades)
            assert (cause.name, cause.step) == (name, number), cause
            if name == "side_effect":
                assert (cause.label, cause.detail) == ("side effect", "orders 7: status was changed")
            if number is None:
                assert cause.line == "no step is known to have done it"


def test_calls_are_compared_by_the_argument_that_the_tool_names(tmp_path: Path) -> None:
    """Whatever its name is, in the attempt and in the solution of the row."""
    blue, red = (
        step("set_colour", target="label=Mug", colour=one, holds="colour") for one in ("blue", "red")
    )
    cause = cause_of(tmp_path, (blue, END), (red, END))
    assert (cause.name, cause.step) == ("wrong_value", 1)
    assert "'blue'" in cause.line
    assert "'red'" in cause.line


def test_what_does_no_harm_is_forgiven(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A detour that comes back is not the first wrong step: that is the wrong item behind it."""
    detours = {
        "looks": (step("snapshot"), step("wait", seconds=1), step("scroll", direction="down")),
        "there and back": (click("Help", "link", page="/help"), BACK),
        "a value that is corrected": (fill("Name", "Bob"),),
        "an action that fails": (click("Add", error=MISSING),),
        "tabs": (step("list_tabs"), step("select_tab", tab_id=1)),
    }
    for title, detour in detours.items():
        with subtests.test(title):
            steps = (*detour, NAME, click("Blue cup", "link"), ADD, BUY, END)
            assert cause_of(tmp_path / title, steps).step == len(detour) + 2


PAGE = """- heading "Room"
- combobox "Region" [ref=e1]:
  - option "All" [selected]
  - option "North"
  - option "North-East"
- textbox "Comment" [ref=e2]
- link "Login on Safari" [ref=e3]
- link "Login on Firefox" [ref=e4]
- radio "Basic" [ref=e5]
- radio "Pro" [ref=e6]
- button "Save" [ref=e7]
- button "Termin buchen" [ref=e8]"""
LOOK = step("snapshot", says=PAGE)
GONE = {**step("navigate", url=f"{BASE}/gone", page="/gone"), "status": 404}
PLATES = step(
    "snapshot",
    says="""- combobox "Plates" [ref=e1]:
  - option "3"
  - option "4"
- button "Ordner schmal" [ref=e2]
- button "Ordner breit" [ref=e3]""",
)
REGION, COMMENT, SAFARI, _, BASIC, _, SAVE, _ = (f"e{number}" for number in range(1, 9))


def on(ref: str, tool: str = "click", **more: Any) -> Step:
    return step(tool, target=ref, **more)


def around(one: Step, text: str) -> Step:
    """Return a click on a button for which the log has the text around it."""
    return {**one, "hit": Hit(role="button", name="Add", tag="button", around=text)}


SEARCH = (fill("Search", "red"), step("press_key", key="Enter"), click("Red mug", "link"), done("$5"))
FIELDS = (fill("Name", "Ada"), fill("City", "Oslo"), fill("Zip", "1"), click("Send"), done())


TWICE = (LOOK, around(on(SAVE), "Red mug"), around(on(SAVE), "Red mug Added."), END)
OTHER_WAYS = (
    ("a wrong value in the place of a wrong one", FIELDS,
     (fill("Name", "Bob"), fill("Name", "Cid"), *FIELDS[1:]), "wrong_value", 2),
    ("another page without a search", SEARCH,
     (step("snapshot"), click("Blue cup", "link", page="/blue"), done("$6")), "wrong_target", 2),
    ("fields in another order", FIELDS,
     (fill("City", "Oslo"), fill("Name", "Ada"), fill("Zip", "2"), click("Send"), done()), "wrong_value", 3),
    ("another field", FIELDS, (fill("Street", "Ada"), *FIELDS[1:]), "wrong_target", 1),
    ("in another order, and one is missing", FIELDS,
     (fill("Zip", "1"), fill("City", "Oslo"), click("Send"), done()), "step_left_out", 3),
    ("a field after it was sent", FIELDS,
     (*FIELDS[:2], click("Send"), fill("Zip", "1"), done()), "step_left_out", 3),
    ("all was done before an action failed", (ADD, END),
     (ADD, click("Close", error=MISSING), END), "wrong_answer", 3),
    ("scrolls, and takes another one", (ADD, END),
     (*3 * (step("scroll", direction="down"),), click("Red cap", "link"), END), "wrong_target", 4),
    ("twice instead of once", (ADD, BUY, END), (ADD, ADD, BUY, END), "step_repeated", 2),
    ("twice, and the page says something new around it", (ADD, END), TWICE, "step_repeated", 3),
    ("by the address, and undone", (click("Cart", "link"), BUY, END),
     (step("navigate", url=f"{BASE}/cart", page="/cart"), BUY, click("Cancel"), END), "right_state_lost", 3),
)  # fmt: skip


def test_other_ways(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Another order, and another way to a page, are no departure."""
    for title, way, steps, name, number in OTHER_WAYS:
        with subtests.test(title):
            cause = cause_of(tmp_path / title, steps, way)
            assert (cause.name, cause.step) == (name, number), cause


NEXT = (LOOK, *3 * (click("Next"),), step("snapshot", says="- text: the last page of all"), END)
TYPED = on(COMMENT, "fill", text="it")
LOST = step(
    "navigate",
    url="http://no.example/a",
    error="http://no.example/a did not load: there is no host with that name (ERR_NAME_NOT_RESOLVED).",
)
SLOW = step("navigate", url=f"{BASE}/a", error=f"{BASE}/a did not load: ERR_CONNECTION_TIMED_OUT.")
UNKNOWN = (LOOK, on("#a", error="unknown tool 'x'"), on("#b", error="unknown tool 'y'"), END)
WITHOUT_A_WAY = (
    ("How is North-East?", (LOOK, on(REGION, "select_option", value="North"), END), "wrong_value", 2),
    ("Close the Firefox one.", (LOOK, on(REGION, "select_option", value="All"), on(SAFARI), END),
     "wrong_target", 3),
    ("Take the plan Pro.", (LOOK, on(BASIC, "check"), on(SAVE), END), "wrong_target", 2),
    ("Put four into it.", (PLATES, on("e1", "select_option", value="3"), END), "wrong_value", 2),
    ("Nimm den breiten Ordner.", (click("Ordner schmal"), PLATES, END), "wrong_target", 1),
    ("Nimm Ordner, breit und schmal.", (click("Ordner schmal"), PLATES, END), "not_known", None),
    ("Write 250.", (LOOK, on(COMMENT, "fill", text="25"), on(SAVE), END), "wrong_value", 2),
    ("Take the plan Pro.", (GONE, BACK, LOOK, on(BASIC, "check"), on(SAVE), END), "wrong_target", 4),
    ("Take the plan Pro.", (GONE, BACK, END), "page_error", 1),
    ("Zip 7010, please.", (fill("Zip", "7010", error="No."), fill("Code", "7001"), END), "wrong_value", 2),
    ("Count.", (*3 * (step("scroll", direction="down"),), LOOK, done("5")), "not_known", None),
    ("Go on.", NEXT, "not_known", None),
    ("Go on.", (LOOK, *4 * (click("Next"),), click("Day 2"), END), "not_known", None),
    ("Save it.", (LOOK, on(SAVE), LOOK, END), "not_known", None),
    ("Write it.", (LOOK, TYPED, on(SAVE), LOOK, END), "not_known", None),
    ("Do it.", (LOOK, around(ADD, "One"), TYPED, around(ADD, "One"), END), "not_known", None),
    ("Which cannot be booked?", (LOOK, done("Vega cannot be booked.")), "not_known", None),
    ("Do it.", (LOOK, done("Es ist mir nicht gelungen.")), "gave_up", 2),
    ("Do it.", UNKNOWN, "unknown_tool", 2),
    ("Do it.", (LOST, END), "page_not_loaded", 1),
    ("Do it.", (SLOW, END), "page_too_slow", 1),
)  # fmt: skip


def test_with_nothing_known(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Words of the task and of pages make a cause likely; where they do not, it is not known."""
    for place, (query, steps, name, number) in enumerate(WITHOUT_A_WAY):
        with subtests.test(query):
            cause = cause_of(tmp_path / str(place), steps, (), query=query)
            assert (cause.name, cause.step) == (name, number), cause


AGAIN = (NAME, RED, *4 * (ADD,))
LOOP = (NAME, *3 * (click("A", "link", page="/a"), click("B", "link", page="/b")))
FIND = (fill("Reference", "QX12"), {**click("Find", page="/find"), "status": 404})
AT_LIMIT, COMPLETED = TerminationReason.MAX_STEPS, TerminationReason.COMPLETED

PAUSE = step("wait", seconds=60, error="wait was cut off: limits.timeout_ms is 2000.")
ONE_MORE = click("Add", error="click was cut off: limits.max_steps is 5; all were used.")
CUT = step("click", error=CALL_CUT, malformed="{")

FACTS = (
    (ORDER, AGAIN, AT_LIMIT, "repeated action"),
    (ORDER, (*AGAIN, END), COMPLETED, "likely repeated action"),
    ((), AGAIN, AT_LIMIT, "likely repeated action"),
    ((), (*AGAIN, END), COMPLETED, "likely repeated action"),
    (ORDER, LOOP, AT_LIMIT, "loop of pages"),
    (ORDER, (*LOOP, END), COMPLETED, "likely loop of pages"),
    ((), LOOP, AT_LIMIT, "likely loop of pages"),
    (ORDER, (NAME, GONE), COMPLETED, "page error"),
    ((*FIND, END), FIND, COMPLETED, "likely page error"),
    (ORDER, (NAME, RED), TerminationReason.TIMEOUT, "out of time"),
    ((), (NAME, PAUSE), TerminationReason.TIMEOUT, "out of time"),
    ((), (NAME, ONE_MORE), AT_LIMIT, "out of steps"),
    ((), (NAME, CUT), COMPLETED, "reply cut off"),
    (ORDER, (NAME, RED), AT_LIMIT, "out of steps"),
    (ORDER, (NAME, RED), TerminationReason.BUDGET, "out of budget"),
)


def test_a_fact_that_need_not_be_why(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Clicks on *Next* may each be of use, and a page that finds nothing answers 404: that is likely only."""
    for place, (way, steps, ended, label) in enumerate(FACTS):
        with subtests.test(label, place=place):
            assert cause_of(tmp_path / str(place), steps, way, termination_reason=ended).label == label


UNREAD = step("click", error="Your reply was not one JSON object.", malformed="{")
GONE_AWAY = click("Yes", error="Nothing matches text=Yes.")
LINES: tuple[tuple[str, int | None, Sequence[Step], Sequence[Step], str], ...] = (
    ("step_left_out", 2, FORM, (FORM[0], FORM[2], END),
     "at step 2: clicks 'Send', the solution checks 'Terms' before"),
    ("not_known", None, (), (NAME, RED, ADD, END),
     "no solution is known, and no passed attempt of the row was found"),
    ("reply_not_a_call", 2, ORDER, (NAME, UNREAD, UNREAD),
     "at step 2: replies with something that is not a call, the solution clicks 'Red mug'"),
    ("target_not_found", 2, (), (NAME, GONE_AWAY, GONE_AWAY),
     "at step 2: clicks 'Yes', which failed (Nothing matches text=Yes); nothing was found to compare with"),
)  # fmt: skip


def test_a_line_says_where_it_went_wrong(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Which step, what was to be done, and what it was compared with; else that nothing is known."""
    for name, number, way, steps, line in LINES:
        with subtests.test(name):
            cause = cause_of(tmp_path / name, steps, way)
            assert (cause.name, cause.step, cause.line) == (name, number, line)


def test_a_ref_stands_for_the_element_of_the_latest_snapshot(tmp_path: Path) -> None:
    """Attempts of models name elements by refs, solutions by role and name."""
    page = '- list:\n  - link "Red mug" [ref=e4]:\n  - link "Blue cup" [ref=e5]\n  - button "Add" [ref=e6]'
    looked = step("snapshot", says=page)
    right = (NAME, looked, step("click", target="e4"), step("click", target="[ref=e6]"), BUY, END)
    assert cause_of(tmp_path / "right", right).name == "wrong_row"
    wrong = (NAME, looked, step("click", target="e5"), step("click", target="e6"), BUY, END)
    cause = cause_of(tmp_path / "wrong", wrong)
    assert cause.line == "at step 3: clicks 'Blue cup', the solution clicks 'Red mug'"


def test_a_passed_attempt_of_the_run(tmp_path: Path) -> None:
    """Without a solution the attempt is compared with one that has passed, by pages too: ports differ."""
    good = (
        NAME,
        click("Mugs", "link", page="/mugs"),
        click("Red mug", "link", page="/red?s=deadbeef01"),
        ADD,
        END,
    )
    write_attempt(tmp_path, good, attempt("buy", PASSED, variant="other"))
    way = (NAME, click("Sale", "link", page="/sale"), click("Red", "link", page="/red?s=deadbeef02"), END)
    cause = cause_of(tmp_path, way, ())
    assert (cause.name, cause.step) == ("answered_too_early", 4)
    assert cause.line == "at step 4: answers 'Done', passed trial 1 of other clicks 'Add' next"


def test_points_on_what_has_no_name(tmp_path: Path) -> None:
    """A picture is one element, so that two points on it are two targets."""
    there = Hit(tag="canvas", id="map")
    first, second = ({**step("click_at", x=x, y=300), "hit": there} for x in (100, 300))
    write_attempt(tmp_path, (first, END), attempt("buy", PASSED, variant="other"))
    cause = cause_of(tmp_path, (second, END), ())
    assert (cause.name, cause.step) == ("wrong_target", 1)


def test_a_passed_attempt_of_an_earlier_run(tmp_path: Path) -> None:
    """The newest earlier run of the config that has one; a row that was edited is another row."""
    home = tmp_path / "shop"
    for day, (answer, row_hash) in enumerate((("1", "same"), ("2", "same"), ("3", "edited")), 1):
        run = home / f"2026010{day}T000000Z-aaaaaa"
        write_manifest(run)
        write_attempt(run, (NAME, fill("Size", answer), END), attempt("buy", PASSED, row_hash=row_hash))
    run = home / "20260109T000000Z-aaaaaa"
    write_manifest(run)
    cause = played(run, (NAME, fill("Size", "9"), END), attempt("buy", FAILED, row_hash="same"))
    assert cause.step == 2
    assert "passed trial 1 of run 20260102T000000Z-aaaaaa types '2' into 'Size'" in cause.line


def test_what_failed_is_named_by_its_arguments(tmp_path: Path) -> None:
    """The address that was asked for, not that of the page which stayed; what was read is read."""
    assert "at step 1: opens no.example/a, which failed" in cause_of(tmp_path / "a", (LOST, END), ()).line
    read = step("read_text", target="role=status")
    assert "reads 'role=status'" in cause_of(tmp_path / "b", (NAME, read)).line


def test_a_protected_row_says_nothing_of_what_is_right(tmp_path: Path) -> None:
    """Neither what the solution does nor what was typed or answered is in the cause."""
    data = attempt("buy", FAILED, protected=True)
    steps = (fill("Name", "secret-guess"), RED, ADD, BUY, done("secret-answer"))
    cause = played(tmp_path, steps, data, solution=ORDER, protected=True)
    assert (cause.name, cause.step) == ("wrong_value", 1)
    assert "Ada" not in str(cause)
    assert "secret" not in str(cause)
    again = (*3 * (fill("Name", "secret-guess"),), done("secret-answer"))
    cause = played(tmp_path / "again", again, data, solution=ORDER, protected=True)
    assert (cause.name, cause.detail) == ("repeated_action", "types into 'Name'")
    assert "secret" not in str(cause)


def test_an_errored_attempt(tmp_path: Path) -> None:
    """What broke is the cause; equal errors are equal texts without numbers, ports and ids."""
    reason = "http://127.0.0.1:41234/a did not load: ERR_42"
    cause = played(tmp_path, (), attempt("buy", ERRORED, reason=reason))
    assert (cause.name, cause.label, cause.step) == ("site", "errored (site)", None)
    assert cause.detail == "http://N.N.N.N:N/a did not load: ERR_N"
    assert normalise_error("id 3fa85f6d: 12 s\nmore") == normalise_error("id 9bc1e07a: 7 s\nother")


def test_a_damaged_log_has_a_cause_too(tmp_path: Path) -> None:
    """What cannot be read is left out, whatever a program has left there."""
    data, folder = write_attempt(tmp_path, (NAME, END), solution=ORDER)
    (folder / "task.json").write_text("{")
    (folder / "messages.jsonl").write_bytes(b'\xff{"type": 1}\n[[[\n')
    cause = find_cause(data, folder)
    assert cause is not None
    assert cause.step is None
    assert find_cause(attempt("buy", PASSED), folder) is None


def test_a_request_that_a_site_refused_on_the_way(tmp_path: Path) -> None:
    """The page showed nothing of it: likely a fault of the site, and never a slow page."""
    said = "the site answered HTTP 500 to a request on the way: http://x/api"
    warning = EvalWarning(source=ErrorSource.SITE, message=said, timestamp="2026-01-01T00:00:00Z")
    found = cause_of(tmp_path, (NAME, RED, ADD, END), warnings=(warning,))
    assert found.name == "page_error"
    assert found.label == "likely page error"
    assert "answered HTTP 500 to a request on the way: http://x/api" in found.detail


def test_an_address_is_the_same_however_it_is_written(tmp_path: Path) -> None:
    """Relative or not, and where it leads to another page; what a step did is said as it was done."""
    opens = step("navigate", url="/old?b=1", page="/new")
    for name, url in (("relative", "/old?b=1"), ("whole", f"{BASE}/old?b=1")):
        cause = cause_of(
            tmp_path / name, (opens, click("Buy"), done()), (step("navigate", url=url), BUY, END)
        )
        assert cause.name == "wrong_row", cause
    cause = cause_of(tmp_path / "else", (opens, END), (step("navigate", url="/other"), BUY, END))
    assert "opens {shop}/old?b=1, which led to {shop}/new, the solution opens {shop}/other" in cause.line
    cause = cause_of(tmp_path / "reloads", (*ORDER[:-1], step("reload", page="/red"), END))
    assert "at step 5: reloads the page, which the solution does not have there" in cause.line, cause
