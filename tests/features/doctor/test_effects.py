"""What the doctor finds out about effects: rows that miss one thing too many, and what changes by itself."""

from __future__ import annotations

import json

import pytest

from tests.features.effects.plays import ORDER, row, said_by, write_shop
from tests.hooks.small_evals import Evals

CANCEL = [{"changed": "orders[id=7].status", "equals": "cancelled"}]
# The first reading of an attempt says 0, later ones 1.
DUMP = """
import json, pathlib, sqlite3, sys
seen = pathlib.Path(sys.argv[1]).with_name("seen")
columns = '"sku", "left", "updated_at", "updated_at"'
rows = sqlite3.connect(sys.argv[1]).execute(f"SELECT {columns} FROM stock").fetchall()
stock = [dict(zip(("sku", "left", "updated_at", "stamp"), one)) for one in rows]
calls = [{"id": 1, "at": one["stamp"]} for one in stock if one["left"] == 3]
print(json.dumps({"visits": int(seen.exists()), "stock": stock, "calls": calls}))
seen.touch()
"""


@pytest.mark.slow
def test_one_thing_too_many_is_tried(evals: Evals) -> None:
    """A row that passes with the steps of another one is named with them, and others are counted."""
    write_shop(
        evals,
        row("order", "Order", effects=ORDER),
        row("cancel", "Cancel", effects=CANCEL),
        row("change", "Change", effects=[{"changed": "orders[id=7].quantity", "equals": 9}]),
        row("vague", "Cancel", effects=[{"changed": "orders[id=7]"}]),
        row("look", effects="nothing"),
    )
    said = evals.run_command("doctor", "shop.eval.yaml", "--validate", "--json", "doctor.json", "--markdown")
    assert "4 rows detect extra steps as a side effect" in said_by(said)
    found = json.loads((evals.path / "doctor.json").read_text())["findings"]
    missed = [(one["query_id"], one["message"]) for one in found if one["rule"] == "misses-side-effects"]
    message = (
        "it passes with the steps of 'change' as well, although these change more: changed orders.quantity."
    )
    assert missed == [("vague", message)]


@pytest.mark.slow
def test_what_changes_by_itself_is_proposed(evals: Evals) -> None:
    """And nothing that an effect names; a config without a state is refused."""
    (evals.path / "dump.py").write_text(DUMP)
    state = {"command": ["{python}", "dump.py", "{data}/shop.db"], "key": {"stock": "sku"}}
    left = {"changed": "stock[sku=mug].left", "by": -2}
    left, stamp = {"changed": "stock[sku=mug].left", "by": -2}, {"changed": "stock[sku=mug].updated_at"}
    rows = row("order", "Order", effects=[left]), row("stamps", "Order", effects=[left, stamp])
    write_shop(evals, *rows, state=state, volatile=["log.*"])
    said = evals.run_command("doctor", "shop.eval.yaml", "--learn-volatile", "--json", "doctor.json")
    assert said.ret == 0, said_by(said)
    (found,) = json.loads((evals.path / "doctor.json").read_text())["findings"]
    assert (found["rule"], found["level"]) == ("volatile", "note")
    assert 'write `volatile: ["log.*", "visits", "calls.*", "stock.stamp"]`' in found["advice"]
    write_shop(evals, *rows, state=None, volatile=[])
    refused = evals.run_command("doctor", "shop.eval.yaml", "--learn-volatile")
    assert "is about the state of sites, but no site has one" in said_by(refused)
