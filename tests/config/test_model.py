from __future__ import annotations

import json
from pathlib import Path

from tests.config.conftest import Load

SMALL = "agent: scripted\ndataset: rows.jsonl\n"


def test_copies_know_their_file(load: Load, tmp_path: Path) -> None:
    """A copy with other variants still has its file, notes and gate."""
    config = load(SMALL + "gate: {}\nrestart_server_per_task: true\n", is_clean=False)
    copy = config.model_copy(update={"variants": {"b": config.variants["default"]}})
    assert (copy.path, copy.base_dir, copy.notes) == (config.path, tmp_path / "evals", config.notes)
    assert copy.is_gated
    assert list(copy.variants) == ["b"]


def test_the_dump_is_plain_json_of_any_machine(load: Load, tmp_path: Path) -> None:
    """The public dump is JSON, without a folder of this machine."""
    config = load(SMALL + "sites: {shop: {static: site}}\noutput_dir: out/runs\n")
    text = json.dumps(config.public_dump())
    assert str(tmp_path) not in text
    assert json.loads(text)["output_dir"] == "out/runs"
    assert json.loads(text)["sites"]["shop"]["static"] == "site"


def test_the_dump_has_no_secrets(load: Load) -> None:
    """Keys in blocks and in addresses are not part of the public dump."""
    config = load(
        "agent: {type: single, model: m, base_url: 'http://h/v1', api_key: 'sk-SECRET-1'}\ndataset: a.jsonl\n"
        "sites: {s: {command: [run], env: {DB_PASSWORD: SECRET-2, STAGE: dev, DB: 'x://u:SECRET-3@h/db'}}}\n"
    )
    text = json.dumps(config.public_dump())
    assert "SECRET" not in text
    assert "dev" in text
    assert "SECRET" not in repr(config.variants)


def test_the_hash_is_of_what_can_change_results(load: Load) -> None:
    """The folder, the speed and the gate of a run do not change its hash."""
    same = load(SMALL).content_hash()
    other = load(SMALL + "output_dir: x\nlanes: 4\nname: other\ngate: {min_pass_rate: 1}\n")
    assert other.content_hash() == same
    assert load(SMALL, name="other.yaml").content_hash() == same
    changed = {
        load(SMALL, text).content_hash() for text in ("trials=2", "agent=noop", "dataset.select.limit=1")
    }
    assert len(changed | {same}) == 4
    assert len(same) == 16
