"""What a config asks for: names of trials, what is left out, rows that are refused before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.needs import ChecksRead
from pytest_browsereval.run.plan import Entry, Plan
from pytest_browsereval.run.relations import ALONE
from pytest_browsereval.run.toolsets import Toolsets
from pytest_browsereval.tools.toolkits import CATALOG
from tests.hooks.small_evals import row

Planned = Callable[..., Plan]
STATE = {"type": "state_diff", "source": {"storage": "local:cart"}}
TOTAL: dict[str, Any] = {"path": "total", "equals": 1}
TEXT: dict[str, Any] = {"text": "Thank you"}


class Accountant(GraderConfig):
    """A grader of a package, which reads checks with an ``account``."""

    type: Literal["acme/accountant"] = "acme/accountant"

    reads: ClassVar[ChecksRead] = ChecksRead(having=("account",))

    async def grade(self, recorded: Recorded) -> GraderResult:
        raise NotImplementedError


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """Return a function that writes rows and a config and returns the plan."""
    registry = builtin_registry()
    registry.register(Accountant, owner="acme 1.0")

    def planned(*rows: dict[str, Any], more: dict[str, Any] | None = None, **keys: Any) -> Plan:
        lines = "".join(json.dumps(one) + "\n" for one in rows)
        (tmp_path / "rows.jsonl").write_text(lines)
        agent = {} if "variants" in keys else {"agent": "scripted"}
        path = tmp_path / "shop.json"
        path.write_text(json.dumps({**agent, "dataset": "rows.jsonl", **keys}))
        config = load_config(path, registry=registry)
        return Plan(config, registry, **(more or {}))

    return planned


def check(plan: Plan, entries: Iterable[Entry]) -> None:
    """Check rows with the tools that their agents have."""
    plan.check(entries, Toolsets.of(plan.config, CATALOG.values(), ()))


def names(plan: Plan, only: set[str] | None = None) -> list[str]:
    return [entry.name for entry in plan.entries(only)]


def refusal(plan: Plan) -> str:
    with pytest.raises(DatasetError) as caught:
        check(plan, plan.entries())
    return str(caught.value).partition(": ")[2]


# -- names


def test_a_limit_takes_the_first_rows(planned: Planned) -> None:
    """The limit counts rows, not trials; a row behind it is not there, though it is asked for."""
    plan = planned(row("a"), row("b"), row("c"), trials=2, more={"limit": 2})
    assert names(plan) == ["a[1]", "a[2]", "b[1]", "b[2]"]
    assert names(plan, {"b", "c"}) == ["b[1]", "b[2]"]


def test_ids_differ_over_all_datasets(planned: Planned, tmp_path: Path) -> None:
    """The same id in two files is refused with both places."""
    (tmp_path / "more.jsonl").write_text(json.dumps(row("x")) + "\n" + json.dumps(row("a")) + "\n")
    plan = planned(row("a"), dataset=["rows.jsonl", "more.jsonl"])
    with pytest.raises(DatasetError) as caught:
        names(plan)
    assert str(caught.value) == (
        f"{tmp_path}/more.jsonl:2: the id 'a' is in {tmp_path}/rows.jsonl:1. "
        "Ids must differ across all datasets of a config; rename one."
    )


def test_what_a_row_waits_for_is_found(planned: Planned) -> None:
    """The file is searched for it, and no row is read if nothing is in it."""
    plan = planned(row("a"), row("b", depends_on=["a"]))
    needs = {entry.name: plan.relations(entry).depends_on for entry in plan.entries()}
    assert needs == {"a": (), "b": ("a",)}
    alone = planned(row("a"), row("b"))
    assert all(alone.relations(entry) is ALONE for entry in alone.entries())


def test_dataset_and_tags_become_markers(planned: Planned) -> None:
    """Markers are identifiers: other characters become underscores; doubles and empty ones are dropped."""
    plan = planned(row("a", dataset="my set", tags=["smoke", "slow-one", "my set", "--", "2fa"]))
    assert plan.marks(next(plan.entries())) == ("my_set", "smoke", "slow_one", "2fa")


# -- graders


def test_graders_come_from_the_row_or_from_the_config(planned: Planned) -> None:
    """A row names its graders or writes blocks; those of the config take the place of all rows' own."""
    blocks = ["answer", {"type": "answer", "name": "strict", "case_sensitive": True}]
    plan = planned(row("a", graders=blocks))
    graders = plan.ready(next(plan.entries())).graders
    assert [(g.label, getattr(g, "case_sensitive", None)) for g in graders] == [
        ("answer", False),
        ("strict", True),
    ]
    plan = planned(row("a", graders=blocks), graders=[{"type": "answer", "name": "mine"}])
    assert [g.label for g in plan.ready(next(plan.entries())).graders] == ["mine"]


BAD_GRADERS: list[tuple[list[Any], str]] = [
    ([{"name": "x"}], "has no type"),
    (
        [{"type": "answer", "tolerence": 1}],
        "grader answer: tolerence: unknown key. Did you mean 'tolerance'?",
    ),
    ([{"type": "answer", "tolerance": -1}], "grader answer: tolerance: must be at least 0.0; it is -1."),
    (["answer", "answer"], "share a name. Give one a `name` of its own"),
    ([{"type": "page_state"}], "has nothing to check"),
]


def test_graders_that_cannot_judge_a_row_are_refused(planned: Planned, subtests: pytest.Subtests) -> None:
    """Wrong, clashing and idle graders of a row are told with the row."""
    for graders, message in BAD_GRADERS:
        with subtests.test(graders=graders):
            told = refusal(planned(row("a", graders=graders)))
            assert told.startswith("row 'a'")
            assert message in told


def test_the_primary_grader_must_be_in_every_row(planned: Planned) -> None:
    """``pass_when: {primary: ...}`` is checked row by row where rows bring their graders."""
    good = row("good", graders=[{"type": "answer", "name": "main"}])
    plan = planned(good, row("bad"), pass_when={"primary": "main"})
    assert refusal(plan) == (
        "row 'bad': pass_when names the grader 'main', which the row does not have. Its graders: answer."
    )
    check(plan, plan.entries({"good"}))


# -- checks


UNREAD: list[tuple[list[Any], list[Any], str, str]] = [
    (["answer"], [TOTAL], "`path`, `equals`", "state_diff or command"),
    (["answer", STATE], [TOTAL, TEXT], "`text`", "page_state or command"),
    (["answer"], [{"txt": "Thank you"}], "`txt`", "page_state or state_diff or command"),
    (
        [STATE],
        [TOTAL, TEXT | {"account": 7}],
        "`text`, `account`",
        "page_state or command or acme/accountant",
    ),
]


def test_a_check_that_nobody_reads_is_refused(planned: Planned, subtests: pytest.Subtests) -> None:
    """A row whose check none of its graders looks at is told which graders would: it only seems checked."""
    for graders, checks, keys, named in UNREAD:
        with subtests.test(keys=keys):
            assert refusal(planned(row("a", graders=graders, checks=checks))) == (
                f"row 'a': the row has a check with {keys}, but no grader that reads it. Add {named}, "
                "or take the check out."
            )


def test_checks_that_are_read_are_accepted(planned: Planned) -> None:
    """Each check needs one reader; a program that gets the whole task reads all, a package's what it says."""
    program = {"type": "command", "command": ["true"]}
    inside = {
        "type": "combined",
        "graders": ["answer", {"type": "combined", "graders": [STATE, "page_state"]}],
    }
    rows = (
        row("both", graders=[STATE, "page_state"], checks=[TOTAL, TEXT]),
        row("program", graders=[program], checks=[TOTAL, TEXT, {"own": 1}]),
        row("package", graders=["acme/accountant"], checks=[{"account": 7}]),
        row("nested", graders=[inside], checks=[TOTAL, TEXT]),
    )
    plan = planned(*rows, dataset=[{"path": "rows.jsonl", "trusted": True}])
    check(plan, plan.entries())


def test_a_config_may_leave_the_rows_own_graders_out(planned: Planned) -> None:
    """Graders of the config replace those that a row names, whose checks stay unread; but not by mistake."""
    plan = planned(row("a", graders=[STATE], checks=[TOTAL]), graders=["answer"])
    check(plan, plan.entries())
    plan = planned(row("a", graders=[], checks=[TOTAL]), graders=["answer"])
    assert "no grader that reads it" in refusal(plan)


# -- protected rows

GOLD = "Quetzaltenango"
CHECKS = [{"path": "town", "equals": GOLD, "colour": 3}]
EVALS = [{"eval_types": ["string_match"], "reference_answers": {GOLD: "a"}}]


SECRETS: list[dict[str, Any]] = [
    {"answer": [GOLD, 3], "graders": ["gaia"]},
    {"answer": {"town": GOLD}, "graders": [{"type": "answer", "match": "number"}]},
    {"answer": None, "checks": CHECKS, "graders": [STATE]},
    {"answer": None, "evals": EVALS, "graders": ["webarena"]},
    {"answer": None, "evals": [{"type": GOLD, "query": "town"}], "graders": ["agisdk"]},
    {"answer": GOLD, "graders": [{"match": GOLD}]},
    {"answer": GOLD, "solution": GOLD},
    {"answer": GOLD, "checks": [GOLD]},
]


def test_a_refused_row_tells_nothing_of_what_it_expects(planned: Planned, subtests: pytest.Subtests) -> None:
    """If it is protected; of an open one the message quotes it."""
    for secret in SECRETS:
        with subtests.test(secret=secret):
            told, protected = (
                refusal(planned(row("t", **secret | more))) for more in ({}, {"protected": True})
            )
            assert GOLD in told
            assert GOLD not in protected
            assert "withheld" in protected or "***" in protected


def test_why_a_protected_row_is_refused_stays_readable(planned: Planned) -> None:
    """What is said of graders and models has no secret."""
    told = refusal(planned(row("t", answer=None, protected=True, graders=["gaia"])))
    assert "those of GAIA's test rows are not published: use the validation rows" in told
    told = refusal(planned(row("t", protected=True, graders=["browsecomp", {"type": "gaia"}])))
    assert told == (
        "row 't': the grader 'browsecomp' asks a model, but the config names none. Write `judge: {provider: "
        "openai, model: NAME, api_key: NAME_OF_VARIABLE}`, or give the grader a `judge`."
    )
