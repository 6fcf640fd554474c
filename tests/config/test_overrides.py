from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.config.conftest import Load, Refused

SMALL = "agent: scripted\ndataset: rows.jsonl\n"


def test_any_key_can_be_set(load: Load, subtests: pytest.Subtests) -> None:
    """The command line sets any key, also one that the file does not have; values are YAML."""
    cases: list[tuple[str, Callable[[Any], object], object]] = [
        ("trials=3", lambda c: c.trials, 3),
        ("name=a=b", lambda c: c.name, "a=b"),
        ("name='3'", lambda c: c.name, "3"),
        ("limits.max_steps=20", lambda c: c.limits.max_steps, 20),
        ("timeout_ms=5000", lambda c: c.limits.timeout_ms, 5000),
        ("limits={max_steps: 3}", lambda c: c.limits.max_steps, 3),
        ("limits.max_tokens=null", lambda c: c.limits.max_tokens, None),
        ("agent=noop", lambda c: c.variants["default"].type, "noop"),
        ("agent.type=noop", lambda c: c.variants["default"].type, "noop"),
        ('variants={"a": "noop", "b": "scripted"}', lambda c: list(c.variants), ["a", "b"]),
        ("dataset=other.csv", lambda c: c.dataset[0].type, "csv"),
        ("dataset.select.limit=2", lambda c: c.dataset[0].select.limit, 2),
        ("graders=[answer]", lambda c: [g.type for g in c.graders], ["answer"]),
        ("tools.pointer=off", lambda c: c.tools, {"pointer": False}),
        ("gate.min_pass_rate=0.5", lambda c: (c.is_gated, c.gate.min_pass_rate), (True, 0.5)),
        ("capture.screenshots=off", lambda c: c.capture.screenshots, "off"),
    ]
    for text, read, value in cases:
        with subtests.test(text=text, read=read, value=value):
            assert read(load(SMALL, text)) == value


def test_the_command_line_beats_the_file(load: Load) -> None:
    """The command line replaces a value of the file in either spelling, and the last value wins."""
    text = SMALL + "limits: {maxSteps: 5, timeout_ms: 9000}\ntrials: 2\n"
    config = load(text, "limits.max_steps=6", "trials=3", "trials=4", "timeout_ms=8000")
    assert (config.limits.max_steps, config.trials, config.limits.timeout_ms) == (6, 4, 8000)


def test_entries_of_lists_are_set_by_index(load: Load) -> None:
    """Entries of lists have indexes, entries of variants have names."""
    text = "variants: {a: noop, b: scripted}\ndataset: [{path: a.jsonl}, b.jsonl]\n"
    config = load(text, "dataset.0.path=c.jsonl", "dataset.1.select.limit=1", "variants.b=noop")
    assert [str(d.path) for d in config.dataset] == ["c.jsonl", "b.jsonl"]
    assert config.dataset[1].select.limit == 1
    assert config.variants["b"].type == "noop"


def test_one_of_two_rivals_removes_the_other(load: Load) -> None:
    """Lanes replace workers, an agent replaces the variants, and the other way round."""
    assert load(SMALL + "num_workers: 4\n", "lanes=2").num_workers is None
    config = load(SMALL + "lanes: 4\n", "num_workers=2")
    assert (config.lanes, config.num_workers) == (1, 2)
    assert list(load("variants: {a: noop}\ndataset: a.jsonl\n", "agent=noop").variants) == ["default"]
    assert list(load(SMALL, "variants={a: noop}").variants) == ["a"]


def test_messages_quote_wrong_overrides(refused: Refused, subtests: pytest.Subtests) -> None:
    """A problem of the command line quotes what was typed, and has no line of the file."""
    cases: list[tuple[str, str]] = [
        ("trials", "--eval-set 'trials': trials: write `KEY.PATH=VALUE`, such as `limits.max_steps=20`."),
        ("=3", "--eval-set '=3': : write `KEY.PATH=VALUE`"),
        ("a..b=3", "--eval-set 'a..b=3': a..b: write `KEY.PATH=VALUE`"),
        ("trials=0", "--eval-set 'trials=0': trials: must be at least 1; it is 0."),
        ("trails=2", "--eval-set 'trails=2': trails: unknown key. Did you mean 'trials'?"),
        ("limits.max_step=2", "--eval-set 'limits.max_step=2': limits.max_step: unknown key. Did you mean"),
        ("limits={max_step: 2}", "--eval-set 'limits={max_step: 2}': limits.max_step: unknown key."),
        ("agent=nop", "--eval-set 'agent=nop': agent: unknown agent 'nop'. Did you mean 'noop'?"),
        ("agent.type=nop", "--eval-set 'agent.type=nop': agent.type: unknown agent 'nop'."),
        ("trials.x=1", "--eval-set 'trials.x=1': trials.x: trials has no keys."),
        ("graders.4=answer", "--eval-set 'graders.4=answer': graders.4: there is no entry 4: indexes "),
        ("limits={", "--eval-set 'limits={': limits: the value is not YAML: "),
        ("limits={a: 1, a: 2}", "limits: the key 'a' occurs twice"),
        ("timeout_ms=1", "--eval-set 'timeout_ms=1': limits.timeout_ms: must be at least 1_000; it is 1."),
        ("gate.groups=3", "--eval-set 'gate.groups=3': gate.groups: unknown key."),
    ]
    for text, told in cases:
        with subtests.test(text=text, told=told):
            lines = refused(SMALL + "trials: 1\ngraders: [answer]\n", text)
            assert any(told in line for line in lines), lines


def test_messages_have_no_secrets_of_the_command_line(refused: Refused) -> None:
    """An override with a secret key is quoted without its value."""
    lines = refused("agent: noop\ndataset: a.jsonl\n", "agent.api_key=sk-123456")
    assert lines[0].startswith("--eval-set agent.api_key=***: ")
    assert "sk-123456" not in "".join(lines)


def test_variables_are_filled_in(load: Load, refused: Refused) -> None:
    """`${NAME}` works as in the file: the value, a secret by its name, an error if unset."""
    environ = {"MODEL_NAME": "m", "MY_TOKEN": "tok-0123456789"}
    sets = ("agent={type: command, command: ['${MODEL_NAME}']}", "agent.env.A=${MY_TOKEN}", "name=$${A}")
    config = load(SMALL, *sets, environ=environ)
    assert config.name == "${A}"
    assert config.variants["default"].model_dump()["command"] == ("m",)
    assert config.secrets() == ("tok-0123456789",)
    for text, path in (("name=${NOT_SET}", "name"), ("agent.env.A=${NOT_SET}", "agent.env.A")):
        (line,) = refused("agent: {type: command, command: [x]}\ndataset: rows.jsonl\n", text)
        assert line.startswith(f"--eval-set {text!r}: {path}: the environment variable 'NOT_SET' is not set.")
