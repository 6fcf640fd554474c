"""``budget.max_cost_usd`` of a run at a URL holds for all of its parts and tries together."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from pytest_browsereval.config.model import BudgetConfig
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.budget import SERIES, Ledger
from pytest_browsereval.run.budget import LEDGER, Budget
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.testing import ScriptedModel, done
from tests.features.remote.test_push_and_pull import bucket, cache, objects
from tests.hooks.small_evals import Evals, row
from tests.hooks.test_budget import KEY, agent

__all__ = ["bucket", "cache"]

NAMES = "abcdefgh"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUDGET_KEY", KEY)


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=["alone", "workers"]
)
def test_it_holds_for_all_parts(evals: Evals, bucket: str, workers: tuple[str, ...]) -> None:
    """The second part spends what the first one has left; it ends red, and the run is not whole."""
    evals.write_rows(*(row(name, says=None) for name in NAMES))
    to = (f"--eval-output={bucket}", "--eval-run-name=night")
    with ScriptedModel(lambda _: done("right").costing(1, 0)) as server:
        evals.write_config(agent=agent(server.base_url), budget={"max_cost_usd": 6})
        first = evals.run("shop.eval.yaml", "--eval-shard=1/2", *to)
        assert first.ret == 0
        by_first = first.parseoutcomes()["passed"]
        assert 1 <= by_first < 6
        second = evals.run("shop.eval.yaml", "--eval-shard=2/2", "-rs", *to, *workers)
        made = len(server.requests)
    assert second.ret == pytest.ExitCode.TESTS_FAILED
    assert 6 <= made <= (7 if workers else 6), "two workers may both have one in flight"
    # A worker may meet the limit while the other one has the seventh dollar in flight.
    why = f"budget.max_cost_usd is $6, and $[67].0000 is spent, ${by_first}.0000 of it by other parts"
    sent = f"sent to {bucket}/shop/night, and not done: the run is not complete*"
    second.stdout.fnmatch_lines([f"SKIPPED*{why}", sent])
    gate = evals.run_command("gate", f"{bucket}/shop/night", "--config", "shop.eval.yaml")
    assert gate.ret not in (0, 1)


def test_an_earlier_try_is_paid(evals: Evals, bucket: str) -> None:
    """Its machine has gone, and with it what it had not sent."""
    evals.write_rows(*(row(name, says=None) for name in NAMES))
    command = ("shop.eval.yaml", f"--eval-output={bucket}", "--eval-run-name=night", "-rs")
    with ScriptedModel(lambda _: done("right").costing(1, 0)) as server:
        evals.write_config(agent=agent(server.base_url), budget={"max_cost_usd": 3})
        evals.run(*command)
        shutil.rmtree(evals.path / "results")
        for place in objects(evals, "*"):  # of attempts nothing has come there
            if "spent" not in place.parts and place.name != "done":
                place.unlink()
        evals.write_config(agent=agent(server.base_url), budget={"max_cost_usd": 4})
        again = evals.run(*command)
        assert len(server.requests) == 4
    again.assert_outcomes(passed=1, skipped=7)
    again.stdout.fnmatch_lines(["SKIPPED*budget: budget.max_cost_usd is $4, and $4.0000 is spent"])


def test_a_listing_that_fails_lets_no_attempt_begin(
    evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody knows may be all of it."""

    def fail(self: Bucket, path: str) -> list[str]:
        raise RemoteError(f"{self.url}/{path}: the cable is out")

    evals.write_rows(row("a"), row("b"))
    evals.write_config(budget={"max_cost_usd": 3})
    monkeypatch.setattr(Bucket, "list_all", fail)
    run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", "-rs")
    run.assert_outcomes(skipped=2)
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.fnmatch_lines(["SKIPPED*what other parts spend is not known:*/spent: the cable is out"])


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=["alone", "workers"]
)
def test_a_payment_that_cannot_be_sent_is_reported(
    evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """Nothing follows the last attempt that would meet the error."""
    (evals.path / "conftest.py").write_text(CABLE)
    evals.write_rows(row("a"))
    evals.write_config(budget={"max_cost_usd": 3})
    with monkeypatch.context() as patch:
        patch.setattr(Bucket, "put", Bucket.put)  # the conftest replaces it
        run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", *workers)
    run.assert_outcomes(passed=1)
    why = "so others may exceed the budget: *the cable is out"
    run.stdout.fnmatch_lines([f"payments of this part were not sent, {why}"])


CABLE = """
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError

put = Bucket.put

def fail(self, path, content):
    if path.startswith("spent/"):
        raise RemoteError("the cable is out")
    put(self, path, content)

Bucket.put = fail
"""


def test_a_run_without_a_budget_writes_no_payments(evals: Evals, bucket: str) -> None:
    """It asks for nothing either."""
    evals.write_rows(row("a"))
    evals.write_config()
    evals.run("shop.eval.yaml", f"--eval-output={bucket}").assert_outcomes(passed=1)
    assert not [place for place in objects(evals, "*") if "spent" in place.parts]


# -- the ledger


def payer(folder: Path, part: str, session: int, *, usd: float = 10.0, process: str = "main") -> Budget:
    """Return the budget of a process, with a run folder of its own for each part and session."""
    root = folder / f"{part}-{session}"
    root.mkdir(exist_ok=True)
    budget = Budget(BudgetConfig(max_cost_usd=usd), RunStore(root), 0)
    place = Bucket.open((folder / "bucket").as_uri(), is_written=True)
    budget.share(Ledger(place, part, f"{session:016x}", process))
    return budget


async def pay(budget: Budget, attempt: str, cost_usd: float | None) -> None:
    """Pay for an attempt, and wait until others can know it."""
    budget.note_payment(budget._store.root / attempt, cost_usd)
    await budget.update()


def test_at_most_what_is_in_flight_is_too_much(tmp_path: Path) -> None:
    """Eight parts race: no attempt begins once the last dollar is known to be spent."""
    begun_after: list[float] = []
    ended = 0.0

    async def run(number: int) -> None:
        nonlocal ended
        budget = payer(tmp_path, f"{number}-of-8", number, usd=20)
        for count in range(20):
            known = ended
            await budget.update()
            if budget.over():
                return
            begun_after.append(known)
            await asyncio.sleep(0)
            await pay(budget, f"a{count}", 1.0)
            ended += 1.0

    async def run_all() -> None:
        await asyncio.gather(*(run(number) for number in range(1, 9)))

    asyncio.run(run_all())
    assert 20 <= ended < 20 + 8
    assert max(begun_after) < 20


def test_sessions_of_a_part_add_up_and_none_is_counted_twice(tmp_path: Path) -> None:
    """A folder that was taken along has payments which lie at the URL too; another try has paid again."""

    async def run() -> list[str]:
        first = payer(tmp_path, "1-of-2", 1)
        await pay(first, "a", 2.0)
        await pay(first, "b", 3.0)
        shutil.copytree(tmp_path / "1-of-2-1", tmp_path / "1-of-2-2")  # taken along
        second = payer(tmp_path, "1-of-2", 2)
        second.note_earlier_payments([(tmp_path / "1-of-2-2" / "a", 2.0)])
        await pay(second, "b", 4.0)
        third = payer(tmp_path, "1-of-2", 3)  # on another machine, with nothing
        other = payer(tmp_path, "2-of-2", 4)
        for budget in (second, third, other):
            await budget.update()
        assert [budget.over() for budget in (second, third, other)] == ["", "", ""]
        await pay(other, "z", 1.0)
        for budget in (second, third, other):
            await budget.update()
        return [budget.over() for budget in (second, third, other)]

    why = "budget.max_cost_usd is $10, and $10.0000 is spent"
    by_other = f"{why}, $1.0000 of it by other parts"
    assert asyncio.run(run()) == [by_other, by_other, f"{why}, $9.0000 of it by other parts"]


def test_workers_share_the_ledger_of_their_folder(tmp_path: Path) -> None:
    """Theirs lies there and here, and counts once."""

    async def run() -> str:
        one = payer(tmp_path, "1-of-1", 1, process="gw0", usd=4)
        two = payer(tmp_path, "1-of-1", 1, process="gw1", usd=4)
        await pay(one, "a", 1.5)
        await pay(two, "b", 1.5)
        await one.update()
        return one.over()

    assert asyncio.run(run()) == ""


@pytest.mark.parametrize("cost", [None, 0.25])
def test_payments_are_few_objects(tmp_path: Path, cost: float | None) -> None:
    """An unknown cost stays unknown, for others and for the next session of the part."""

    async def run() -> tuple[str, str]:
        mine = payer(tmp_path, "1-of-2", 1)
        for number in range(2 * SERIES + 1):
            mine.note_payment(tmp_path / "1-of-2-1" / f"a{number}", 0.1 if number else cost)
        await mine.update()
        later, other = payer(tmp_path, "1-of-2", 2), payer(tmp_path, "2-of-2", 3)
        for budget in (later, other):
            await budget.update()
        return later.over(), other.over()

    later, other = asyncio.run(run())
    assert len(list((tmp_path / "bucket" / "spent" / "1-of-2").iterdir())) == 3
    lines = [json.loads(line) for line in (tmp_path / "1-of-2-1" / LEDGER).read_text().splitlines()]
    assert {line["session"] for line in lines} == {f"{1:016x}"}
    if cost is None:
        assert "what a0 cost is not known" in later
        assert "what 1-of-2 cost is not known" in other
    else:
        assert "$20.2500 is spent" in later
        assert "$20.2500 is spent, $20.2500 of it by other parts" in other


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("1-of-2/newer", b"{}", "is not a payment that this version knows"),
        (f"1-of-2/{7:016x}-main-0000-001-1", b"[]", "is damaged"),
        (f"1-of-2/{7:016x}-main-0000-001-1", b'{"form": 1, "payments": [["a"]]}', "is damaged"),
        (f"1-of-2/{7:016x}-main-0000-001-1", b'{"form": 2, "payments": []}', "a newer version"),
    ],
)
def test_what_cannot_be_read_is_not_taken_for_nothing(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    """The budget holds until somebody has looked at it."""
    place = tmp_path / "bucket" / "spent" / name
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    mine = payer(tmp_path, "1-of-2", 1)
    asyncio.run(mine.update())
    assert says in mine.over()
