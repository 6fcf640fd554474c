"""The gate of a config, and the gate alone."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from pytest_browsereval.config import GateConfig, gate_from, load_gate
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.registry import Registry
from tests.config.conftest import Load

SMALL = "agent: noop\ndataset: rows.jsonl\ngraders: [answer]\n"

KEYS: dict[str, Any] = {
    "min_pass_rate": 0.9,
    "min_task_rate": 0.6,
    "passed_trials": 2,
    "max_error_rate": 0,
    "max_cost_usd": 2.5,
    "tags": {"smoke": 1, "my tag": 0.5},
    "websites": {"shop.example": 0.8},
    "variants": {"kimi": 0.7},
    "must_pass": ["login"],
    "quarantine": {"checkout": "2027-01-31"},
    "undecided": "pass",
    "rows": "fail",
    "max_mean_steps": 12,
    "max_p95_steps": 20,
    "max_mean_duration_s": 30.5,
    "max_p95_duration_s": 60,
    "baseline": "base.json",
    "max_regressions": 1,
    "max_drop": 0.02,
    "confidence": 0.9,
}


def test_all_keys_of_the_gate(load: Load, tmp_path: Path) -> None:
    """The gate of a config, in either spelling, is the same as the gate read alone."""
    camel = json.dumps({to_camel(key): value for key, value in KEYS.items()})
    gate = load(SMALL + f"trials: 2\ngate: {camel}\n").gate
    assert load(SMALL + f"trials: 2\ngate: {json.dumps(KEYS)}\n").gate == gate
    assert gate.model_dump(mode="json", exclude_unset=True) == KEYS
    assert (gate.quarantine["checkout"], gate.baseline) == (date(2027, 1, 31), Path("base.json"))
    assert load_gate(tmp_path / "evals/shop.yaml", registry=Registry) == gate
    assert gate_from(gate.model_dump(mode="json"), registry=Registry, name="manifest.json") == gate
    assert gate_from({}, registry=Registry, name="manifest.json") == GateConfig()
    assert gate_from(None, registry=Registry, name="manifest.json") is None


def test_gates_that_are_refused(load: Load, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The whole config and the gate alone have the same problems, with file and line."""
    cases: list[tuple[str, str]] = [
        ("gate: {baseline: x}\n", "gate: baseline needs a rule. Add `max_regressions: 0`"),
        ("gate: {must_pass: [a], quarantine: {a: 2027-01-01}}\n", "'a' is in must_pass and in quarantine."),
        ("gate: {quarantine: {a: soon}}\n", "gate.quarantine.a: expected a day such as 2027-01-31, not 's"),
        ("gate: {quarantine: [a]}\n", "gate.quarantine: "),
        ("gate: {passed_trials: 2}\n", "passed_trials needs a rule. Add `min_task_rate: 0.9`"),
        ("gate: {passed_trials: 0, min_task_rate: 1}\n", "gate.passed_trials: "),
        ("gate: {max_cost_usd: .inf}\n", "gate.max_cost_usd: "),
        ("gate: {max_mean_steps: .inf}\n", "gate.max_mean_steps: "),
        ("gate: {max_p95_steps: -1}\n", "gate.max_p95_steps: "),
        ("gate: {max_p95_duration: 60}\n", "unknown key. Did you mean 'max_p95_duration_s'?"),
        ("gate: {confidence: 95}\n", "gate.confidence: must be less than 1"),
        ("gate: {confidence: 0.5}\n", "gate.confidence: must be more than 0.5"),
        ("gate: {tags: {smoke: 2}}\n", "gate.tags.smoke: must be at most 1"),
        ("gate: {websites: {'': 1}}\n", "gate.websites: has an empty name. Write a name in place of ''"),
        ("gate: {tags: {'': 1}}\n", "gate.tags: has an empty name."),
        ("gate: {variants: {'': 1}}\n", "gate.variants: has an empty name."),
        ("gate: {quarantine: {'': 2027-01-01}}\n", "gate.quarantine: has an empty name."),
        ("gate: {must_pass: ['']}\n", "gate.must_pass: has an empty name."),
        ("gate: {undecided: maybe}\n", "gate.undecided: 'maybe' is not allowed."),
        ("gate: {max_cost: 2}\n", "gate.max_cost: unknown key. Did you mean 'max_cost_usd'?"),
        ("gate: {per_tag: {a: 1}}\n", "gate.per_tag: unknown key."),
    ]
    for text, told in cases:
        with subtests.test(text=text, told=told):
            with pytest.raises(ConfigError) as whole:
                load(SMALL + text)
            assert told in str(whole.value)
            with pytest.raises(ConfigError) as alone:
                load_gate(tmp_path / "evals/shop.yaml", registry=Registry)
            assert str(alone.value) == str(whole.value)


def test_no_more_trials_have_to_pass_than_there_are(load: Load, tmp_path: Path) -> None:
    """Else no task could pass; the command line may change both numbers, a stored run has its own trials."""
    text = SMALL + "trials: 2\ngate: {min_task_rate: 0.9, passed_trials: 3}\n"
    told = "gate.passed_trials: rows have only 2 trials. Write 2 or fewer, or raise `trials`."
    with pytest.raises(ConfigError, match=r"shop\.yaml:5: ") as refused:
        load(text)
    assert told in str(refused.value)
    with pytest.raises(ConfigError, match=r"rows have only 1 trial\. Write 1, or"):
        load(text.replace("trials: 2\n", ""))
    assert load(text, "trials=3").gate.passed_trials == 3
    with pytest.raises(ConfigError, match=r"rows have only 2 trials"):
        load(text, "trials=3", "trials=2")
    assert (found := load_gate(tmp_path / "evals/shop.yaml", registry=Registry)) is not None
    assert found.passed_trials == 3


def test_a_gate_alone_names_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages name the manifest; only variables in the gate itself have to be set."""
    with pytest.raises(ConfigError, match=r"^run/manifest\.json: gate\.newer: unknown key\."):
        gate_from({"newer": 1}, registry=Registry, name="run/manifest.json")
    file = tmp_path / "gate.yaml"
    file.write_text("gate: {baseline: '${HERE}/base.json', max_drop: 0}\nagent: {api_key: '${NOT_SET}'}\n")
    monkeypatch.setenv("HERE", "x")
    assert (gate := load_gate(file, registry=Registry)) is not None
    assert gate.baseline == Path("x/base.json")
    monkeypatch.delenv("HERE")
    with pytest.raises(ConfigError, match="the environment variable 'HERE' is not set"):
        load_gate(file, registry=Registry)
