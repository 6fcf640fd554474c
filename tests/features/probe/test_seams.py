"""What other parts of a run do with probes: sessions that go on, regrades, shards, reports, dependencies."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval.runs.run import StoredRun
from tests.features.effects.plays import ORDER, write_shop
from tests.features.effects.plays import row as effects_row
from tests.features.probe.small_shop import Shop, order, outcome
from tests.hooks.small_evals import Evals

BROKEN = ("errored", "broken")


@pytest.fixture
def shop(evals: Evals) -> Shop:
    return Shop(evals)


@pytest.fixture
def broken(shop: Shop) -> Shop:
    """Return an eval whose two rows were proved, and whose shop has no cups any more."""
    shop.write(order(), order("cup", ["Cup"]))
    shop.prove()
    shop.put("broken.txt", "Cup")
    return shop


def test_the_first_failure_waits_for_its_probe(broken: Shop) -> None:
    """`-x` ends the session by what the attempt has become; the next one is not made."""
    run = broken.run("-x")
    run.assert_outcomes(errors=1)
    assert [outcome(one) for one in run.attempts] == [BROKEN]


def test_a_resumed_run_probes_anew(broken: Shop) -> None:
    """The site may work again: the trial is made again, and its failure is the agent's."""
    first = broken.run()
    again = broken.run("--eval-resume", broken="")
    assert again.folder == first.folder
    last = {one.query_id: outcome(one) for one in again.attempts}
    assert last == {"mug": ("failed", "works"), "cup": ("failed", "works")}
    lines = [json.loads(line) for line in (first.folder / "probes.jsonl").read_text().splitlines()]
    assert [one["probe"]["outcome"] for one in lines] == ["broken", "broken", "works", "works"]
    assert len({one["began"] for one in lines}) == 2
    broken.run("--eval-resume", broken="Cup")  # what was judged keeps its result
    lasts = [trial.last.metadata for trial in StoredRun(first.folder).trials]
    assert {outcome(one) for one in lasts} == {("failed", "works")}


def test_a_regrade_keeps_what_the_probe_has_found(broken: Shop) -> None:
    """The verdict follows from the grades and the probe; an end that broke says nothing of other rules."""
    run = broken.run(broken="Cup")
    reasons = [one.reason for one in run.attempts]
    plays = len(broken.played)
    regraded = broken.run("--eval-regrade", str(run.folder), broken="")
    assert [outcome(one) for one in regraded.attempts] == [BROKEN, BROKEN]
    assert [one.reason for one in regraded.attempts] == reasons
    assert len(broken.played) == plays
    broken.evals.write_rows(order(answer="wrong"), order("cup", ["Cup"]))
    options = ("--eval-regrade", str(run.folder), "--eval-regrade-rows=current")
    corrected = {one.query_id: outcome(one) for one in broken.run(*options).attempts}
    assert corrected == {"mug": ("passed", "broken"), "cup": BROKEN}
    broken.evals.write_rows(order(), order("cup", ["Cup"]))
    run = broken.run(broken="grades")
    assert [outcome(one) for one in run.attempts] == [BROKEN, BROKEN]
    other_rules = broken.run("--eval-regrade", str(run.folder), broken="")  # the hook stands in no more
    assert [outcome(one) for one in other_rules.attempts] == [("failed", "broken")] * 2


def test_a_merged_run_has_the_probes_of_its_shards(broken: Shop) -> None:
    """With their records, and the figures of the whole."""
    shards = [broken.run(f"--eval-shard={number}/2").folder for number in (1, 2)]
    merged = broken.evals.path / "merged"
    assert broken.evals.run_command("merge", *map(str, shards), "-o", str(merged)).ret == 0
    assert len((merged / "probes.jsonl").read_text().splitlines()) == 2
    probes = [one.probe for one in StoredRun(merged).attempts]
    assert all(one and (merged / one.place / "attempts").is_dir() for one in probes)
    assert json.loads((merged / "summary.json").read_text())["probes"]["site"] == 2


def test_reports_say_whose_failures_they_are(broken: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """JUnit, the page, GitHub's summary, `runs` and `compare`; a probe is no testcase."""
    broken.write(order(), order("cup", ["Cup"]), order("hat", ["Hat"]), order("<b>", ["<img/src=x>"]))
    broken.put("says.txt", "right")
    before = broken.run(broken="").folder
    broken.prove()
    summary = broken.evals.path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    broken.put("says.txt", "wrong")
    run = broken.run("--junitxml=out.xml", broken="Cup <img/src=x>")
    cases = list(ET.parse(broken.evals.path / "out.xml").iter("testcase"))  # noqa: S314 our own
    assert len(cases) == 4
    told = [one.get("value") for case in cases for one in case.iterfind(".//property[@name='probe']")]
    assert sum(str(text).startswith("the known way no longer works; step") for text in told) == 3
    whose = "3 of the site (the known way breaks at Cup, <img/src=x>), 1 of the agent"
    assert "3 of the site" in summary.read_text()
    assert "<img/src=x>" not in summary.read_text()
    assert "the known way works" in (run.folder / "index.files/0001.js").read_text()
    assert "<img/src=x>" not in (run.folder / "index.html").read_text()
    compared = broken.evals.run_command("compare", str(before), str(run.folder))
    assert f"4 regressions: {whose}" in " ".join(" ".join(compared.outlines).split())
    for named in ((), (str(run.folder),)):
        listed = broken.evals.run_command("runs", *named)
        assert "4 probed failures: 3 of the site" in " ".join(" ".join(listed.outlines).split())


JUDGE = """
from pytest_browsereval import GraderConfig, GraderResult, ModelNeed, Needs

class Judged(GraderConfig):
    type: Literal["judged"] = "judged"

    def needs(self, task):
        return Needs(models=(ModelNeed(self.label),))

    async def grade(self, recorded):
        with (recorded.base_dir / "judged.txt").open("a") as file:
            file.write("asked ")
        return GraderResult(grader=self.label, verdict="failed", score=0, reasoning="no")

def pytest_browsereval_message(node_id, message):
    with open("messages.txt", "a") as file:
        file.write(message.type + " ")
"""


def test_no_model_is_asked_about_a_way(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its steps have to go through; and nobody is told of its messages."""
    monkeypatch.setenv("JUDGE_KEY", "key-0123456789")
    judge = {"provider": "openai", "model": "gpt-5-mini", "api_key": "JUDGE_KEY"}
    shop.write(order(graders=["judged"]), judge=judge)
    conftest = shop.evals.path / "conftest.py"
    code = conftest.read_text().replace("register(Shop)", "register(Shop); registry.register(Judged)")
    conftest.write_text(code + JUDGE)
    run = shop.run(broken="")
    assert outcome(run.attempt("mug")) == ("failed", "works")
    assert (shop.evals.path / "judged.txt").read_text().split() == ["asked"]
    assert "tool_call" not in (shop.evals.path / "messages.txt").read_text()
    assert outcome(shop.run(broken="Cup").attempt("mug")) == BROKEN


REFUSES = """
def pytest_browsereval_tool_call(name, arguments):
    return "no cups today" if arguments.get("item") == "Cup" else None
"""


def test_what_a_plug_in_refuses_is_not_the_site_s(shop: Shop) -> None:
    """The way could not be tried."""
    shop.write(order())
    shop.prove()
    conftest = shop.evals.path / "conftest.py"
    conftest.write_text(conftest.read_text() + REFUSES)
    record = shop.run(broken="").attempt("mug")
    assert outcome(record) == ("failed", "undecided")
    assert record.known_way == "the known way could not be tried: no cups today"


@pytest.mark.slow
def test_doctor_plays_each_solution_once(shop: Shop) -> None:
    """Probes are off where the agents are `scripted` and `noop`."""
    shop.write(order(), browser="playwright")
    run = shop.evals.run_command("doctor", "shop.eval.yaml", "--validate")
    assert run.ret == 0, (run.outlines, run.errlines)
    assert shop.played == ["mug", "mug"]


SITE = Path(__file__).with_name("basket.py")


@pytest.mark.slow
def test_rows_that_a_row_depends_on_are_played_first(shop: Shop, subtests: pytest.Subtests) -> None:
    """On a site that a restart resets, which keeps what they leave behind, and nothing of the agent's."""
    shop.write(
        order("put", ["Mug"], sites=["app"]),
        order("take", ["-Mug", "Bag"], sites=["app"], depends_on=["put"]),
        sites={"app": {"command": ["{python}", str(SITE), "{port}"], "reset": "restart"}},
    )
    shop.put("put.says.txt", "right")
    shop.prove()
    cases = {
        "": ("failed", "the known way works"),
        "Bag": ("errored", "the known way no longer works; step 2 of it"),
        "Mug": ("errored", "the known way no longer works; of 'put', which the row depends on, step 1 of it"),
        "dead": ("errored", "the known way no longer works; its start page: "),
    }
    for text, (verdict, said) in cases.items():
        with subtests.test(text or "works"):
            record = shop.run(broken=text).attempt("take")
            assert str(record.verdict) == verdict
            assert str(record.known_way).startswith(said), record.known_way


BY_HAND = """
import pytest

pytestmark = pytest.mark.browsereval(config="shop.eval.yaml")

def test_row(eval_task, run_eval):
    run_eval(eval_task).assert_passed()
"""


def test_tests_by_hand_are_probed_as_well(broken: Shop) -> None:
    """In their own runs, where earlier attempts of the agent `scripted` prove the way."""
    broken.write(order(), order("cup", ["Cup"]))
    (broken.evals.path / "test_hand.py").write_text(BY_HAND)
    broken.evals.run("test_hand.py").assert_outcomes(failed=2)
    folders = [one.parent for one in (broken.evals.path / "results").glob("*/*/probes.jsonl")]
    found = [outcome(one.metadata) for folder in folders for one in StoredRun(folder).attempts]
    assert found == [("failed", "unproved")] * 2


@pytest.mark.slow
def test_effects_are_judged_on_a_site_that_a_restart_resets(evals: Evals) -> None:
    """The way has a copy of the data of its own, whose state is compared as that of any attempt."""
    (evals.path / "idle.py").write_text("def solve(context): return 'Done.'")
    agent = {"type": "function", "function": "idle:solve"}
    row = effects_row("order", "Order", effects=ORDER)
    write_shop(evals, row, agent=agent, reset="restart")
    config = evals.path / "shop.eval.yaml"
    config.write_text(f"{config.read_text()}\nprobe: failed\n")
    assert outcome(evals.run("shop.eval.yaml").attempt("order")) == ("failed", "works")
