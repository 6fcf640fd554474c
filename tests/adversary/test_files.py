"""Configs, datasets and run folders that are broken on purpose: refused or errored, never green."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hooks.small_evals import Evals, errored_row, row

pytestmark = pytest.mark.adversary

USAGE = pytest.ExitCode.USAGE_ERROR


def bomb() -> str:
    """Return YAML whose aliases stand for 10^9 items."""
    levels = ["a0: &a0 [x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    return "\n".join(levels)


CONFIGS = {
    "alias-bomb": bomb(),
    "self-reference": "agent: &a {type: *a}\ndataset: rows.jsonl",
    "python-tag": "agent: !!python/object/apply:os.system ['touch PWNED']\ndataset: rows.jsonl",
    "deep": "agent: " + "[" * 5000,
    "digits": f"agent: scripted\ndataset: rows.jsonl\nlanes: {'9' * 5000}",
    "nul": "agent: \0",
    "variant-as-path": "variants: {'../../x': scripted}\ndataset: rows.jsonl",
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_broken_config_is_refused(evals: Evals, name: str) -> None:
    """It ends with exit 4 and a sentence; nothing of it is run."""
    evals.write_rows(row("fine"))
    (evals.path / "shop.eval.yaml").write_text(CONFIGS[name])
    run = evals.run("shop.eval.yaml")
    assert run.ret == USAGE, run.stdout
    assert "Traceback" not in run.stdout.str() + run.stderr.str()
    assert not (evals.path / "PWNED").exists()


ELSEWHERE = "http://127.0.0.1:9/v1"
JUDGE = {"provider": "openai-compatible", "model": "m", "base_url": ELSEWHERE, "api_key": "PATH"}
DATASETS = {
    "duplicate-key": json.dumps(row("a"))[:-1] + ', "answer": "wrong"}',
    "deep": '{"query_id": ' + "[" * 100_000,
    "digits": '{"query_id": ' + "9" * 10_000 + "}",
    "nan": json.dumps(row("a"))[:-1] + ', "metadata": {"additional": {"x": NaN}}}',
    "program": json.dumps({**row("a"), "graders": [{"type": "command", "command": ["touch", "PWNED"]}]}),
    "key-to-a-host": json.dumps({**row("a"), "graders": [{"type": "browsecomp", "judge": JUDGE}]}),
    "address": json.dumps({**row("a"), "graders": [{"type": "state_diff", "source": {"url": ELSEWHERE}}]}),
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_broken_dataset_runs_nothing(evals: Evals, name: str) -> None:
    """One bad row ends the run before the first attempt, beside good rows as well."""
    (evals.path / "rows.jsonl").write_text(DATASETS[name])
    evals.write_rows(row("good"), name="good.jsonl")
    evals.write_config(dataset=["good.jsonl", "rows.jsonl"])
    run = evals.run("shop.eval.yaml")
    assert run.ret == USAGE, run.stdout
    assert "Traceback" not in run.stdout.str() + run.stderr.str()
    assert not list(evals.path.rglob("attempts/*"))
    assert not (evals.path / "PWNED").exists()


def test_links_of_a_run_folder_lead_nowhere(evals: Evals, tmp_path: Path) -> None:
    """Reports of a run whose files are links to others' files hold nothing of those."""
    secret = tmp_path.parent / f"{tmp_path.name}-secret.txt"
    secret.write_text("BEGIN-SECRET-END")
    evals.write_rows(row("wrong", says="x"), errored_row("broken"))
    evals.write_config()
    run = evals.run("shop.eval.yaml")
    attempt = run.folder / "tasks/wrong/default/1/attempt-1"
    for name in ("messages.jsonl", "console.jsonl", "grades.json", "page.html"):
        (attempt / name).unlink(missing_ok=True)
        (attempt / name).symlink_to(secret)
    for command in ("view", "runs"):
        done = evals.run_command(command, str(run.folder))
        assert "BEGIN-SECRET" not in done.stdout.str() + done.stderr.str()
    written = [file for file in run.folder.rglob("*") if file.is_file() and not file.is_symlink()]
    assert not [file for file in written if "BEGIN-SECRET" in file.read_text("utf-8", "replace")]
    secret.unlink()
