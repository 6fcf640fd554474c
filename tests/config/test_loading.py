from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.config import config_from, load_config, load_place
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.registry import Registry
from tests.config.conftest import Load, Refused

pytestmark = pytest.mark.quick

SMALL = "agent: scripted\ndataset: rows.jsonl\n"


def test_a_small_config_has_all_defaults(load: Load, tmp_path: Path) -> None:
    """An agent and a dataset are enough; everything else has the documented default."""
    config = load(SMALL, name="shop.eval.yaml")
    assert config.name == "shop"
    assert list(config.variants) == ["default"]
    assert (config.variants["default"].type, config.browser.type) == ("scripted", "playwright")
    assert [(d.type, str(d.path)) for d in config.dataset] == [("jsonl", "rows.jsonl")]
    limits, capture = config.limits, config.capture
    assert (limits.timeout_ms, limits.max_steps) == (1_800_000, 100)
    assert (limits.max_tokens, limits.max_cost_usd) == (None, None)
    assert (config.trials, config.retries, config.lanes, config.num_workers) == (1, 1, 1, None)
    assert (capture.screenshots, capture.format, capture.quality) == ("after", "jpeg", 80)
    assert (config.pass_when, config.tools, config.graders, config.sites) == ("all", {}, (), {})
    assert (config.gate.max_error_rate, config.gate.rows, config.is_gated) == (0.05, "xfail", False)
    assert config.notes == ()
    assert (config.path, config.base_dir) == (tmp_path / "evals/shop.eval.yaml", tmp_path / "evals")
    assert config.output_dir == tmp_path / "evals" / "results"


FULL: dict[str, Any] = {
    "name": "full",
    "variants": {"a": {"type": "noop"}, "b": "scripted"},
    "dataset": [{"path": "a.csv"}, "b.yml", {"type": "jsonl", "path": "c.txt", "select": {"limit": 3}}],
    "graders": ["answer", {"type": "answer", "name": "second"}],
    "pass_when": {"primary": "second"},
    "tools": {"pointer": False, "navigate": True},
    "browser": {"headless": False, "context": {"viewport": {"width": 800, "height": 600}}},
    "sites": {
        "shop": {"static": "./site"},
        "api": {"command": ["python3", "app.py"], "reset": "POST /reset"},
    },
    "limits": {"timeout_ms": 60_000, "max_steps": 7, "max_tokens": 1000, "max_cost_usd": 0.5},
    "trials": 3,
    "retries": 0,
    "num_workers": 4,
    "capture": {"screenshots": "both", "format": "png", "quality": 50},
    "gate": {"min_pass_rate": 0.9, "must_pass": ["login"], "max_error_rate": 0, "rows": "fail"},
    "output_dir": "../out",
}


def toml(value: Any, path: tuple[str, ...] = ()) -> str:
    """Write the config above as TOML: tables for blocks, inline for the rest."""

    def inline(inner: Any) -> str:
        if isinstance(inner, dict):
            return "{" + ", ".join(f"{k} = {inline(v)}" for k, v in inner.items()) + "}"
        if isinstance(inner, list):
            return "[" + ", ".join(map(inline, inner)) + "]"
        return json.dumps(inner)

    return "".join(f"{key} = {inline(inner)}\n" for key, inner in value.items())


@pytest.mark.parametrize("suffix", ["yaml", "yml", "json", "toml"])
def test_all_formats_say_the_same(load: Load, suffix: str, tmp_path: Path) -> None:
    """YAML, JSON and TOML give the same config, in all parts."""
    text = toml(FULL) if suffix == "toml" else json.dumps(FULL, indent=2)
    config = load(text, name=f"full.{suffix}")
    assert list(config.variants) == ["a", "b"]
    assert [d.type for d in config.dataset] == ["csv", "yaml", "jsonl"]
    assert config.dataset[2].select.limit == 3
    assert [g.label for g in config.graders] == ["answer", "second"]
    assert config.model_dump(mode="json")["pass_when"] == {"primary": "second"}
    assert config.model_dump(mode="json")["browser"]["context"]["viewport"] == {"width": 800, "height": 600}
    assert config.sites["api"].command == ("python3", "app.py")
    assert (config.num_workers, config.retries, config.gate.must_pass) == (4, 0, ("login",))
    assert config.is_gated
    assert config.output_dir.resolve() == tmp_path / "out"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("$schema: eval.schema.json\nagent: noop\ndataset: rows.jsonl\noutput_dir: out\n", "a.eval.yaml"),
        ('{"$schema": "x", "agent": "noop", "dataset": "rows.jsonl", "output_dir": "out"}', "a.eval.json"),
        ('"$schema" = "x"\nagent = "noop"\ndataset = "rows.jsonl"\noutput_dir = "out"\n', "a.eval.toml"),
    ],
)
def test_a_file_may_name_its_schema(load: Load, tmp_path: Path, text: str, name: str) -> None:
    """``$schema`` is for editors; the loader passes over it."""
    config = load(text, name=name)
    assert config.name == "a"
    assert load_place(config.path) == (tmp_path / "evals" / "out", "a")
    assert "schema" not in str(config.public_dump())


def test_words_of_yaml_1_1_do_what_they_say(load: Load) -> None:
    """``off`` is a mode of screenshots and not false; ``no`` still switches a tool off."""
    config = load(SMALL + "capture: {screenshots: off}\ntools: {pointer: no, tabs: on}\n")
    assert config.capture.screenshots == "off"
    assert config.tools == {"pointer": False, "tabs": True}
    modes = {"on": "on", "true": "on", "off": "off", "false": "off", "retain-on-failure": "retain-on-failure"}
    for written, mode in modes.items():
        capture = load(f"{SMALL}capture: {{trace: {written}}}\n").capture
        assert (capture.trace, capture.console, capture.dom, capture.har) == (mode, False, False, False)


# -- everything wrong at once


def test_all_problems_are_reported(refused: Refused, registry: Registry) -> None:
    """All problems of a file are in one message, in the order of lines."""
    text = """\
# an eval
agent:
  type: singel
dataset: rows.jsonl
limits:
  max_steps: 0
  max_stepz: 4
trials: many
capture: {screenshots: afterr}
graders: [answer, anser]
pass_when: al
sites: {my-shop: {static: x}}
nmae: x
"""
    agents, graders = registry.list_names("agent"), registry.list_names("grader")
    assert agents.startswith("scripted, noop, ")
    assert graders.startswith("answer, page_state, ")
    told = (
        f"3: agent.type: unknown agent 'singel'. Did you mean 'single'? Known: {agents}.",
        "6: limits.max_steps: must be at least 1; it is 0.",
        "7: limits.max_stepz: unknown key. Did you mean 'max_steps'?",
        "8: trials: expected a whole number, not 'many'. Or: expected a block of keys, not 'many'.",
        f"9: capture.screenshots: 'afterr' is not allowed. Did you mean 'after'? Allowed: {MODES}.",
        f"10: graders.1: unknown grader 'anser'. Did you mean 'answer'? Known: {graders}.",
        f"11: pass_when: 'al' is not a rule. Did you mean 'all'? Allowed: {RULES}.",
        f"12: sites.my-shop: names are made of {LETTERS}; it is 'my-shop'.",
        "13: nmae: unknown key. Did you mean 'name'?",
    )
    assert refused(text) == [f"evals/shop.yaml:{line}" for line in told]


MODES = "after, both, final, off"
RULES = "all, any, majority, primary: NAME"
LETTERS = "letters, digits and underscores, and do not begin with a digit"


@pytest.mark.parametrize("name", ["shop.json", "shop.toml"])
def test_every_format_has_lines(refused: Refused, name: str) -> None:
    """Problems in JSON and TOML have lines too."""
    texts = {
        "shop.json": '{\n "agent": "noop",\n "dataset": "a.jsonl",\n "limits": {\n  "max_step": 1}}',
        "shop.toml": 'agent = "noop"\ndataset = "a.jsonl"\n\n[limits]\nmax_step = 1\n',
    }
    (line,) = refused(texts[name], name=name)
    assert line.startswith(f"evals/{name}:5: limits.max_step: unknown key. Did you mean 'max_steps'?")


def test_one_problem(refused: Refused, subtests: pytest.Subtests) -> None:
    """A problem has a line, the value, and what is allowed."""
    cases: list[tuple[str, str]] = [
        ("", ": the file is empty. Write at least `agent: ...` and `dataset: ...`."),
        ("# nothing\n", ": the file is empty."),
        ("{}", ": the file is empty."),
        ("- a\n- b\n", ":1: an eval config is a block of keys, not ['a', 'b']."),
        ("agent noop", ":1: an eval config is a block of keys, not 'agent noop'."),
        ("agent: [", ":"),
        ("agent: noop\n", ":1: dataset: missing. Write it."),
        ("dataset: a.jsonl\n", "agent: missing. Write `agent: {type: NAME}` or `variants: {NAME: {type: "),
        (
            "agent: noop\nvariants: {a: noop}\ndataset: a.jsonl\n",
            ":1: agent: cannot be combined with `variants`",
        ),
        ("variants: {}\ndataset: a.jsonl\n", ":1: variants: "),
        ("agent: noop\ndataset: []\n", ":2: dataset: "),
        ("agent: noop\ndataset: 3\n", ":2: dataset: expected the name of a dataset or a block"),
        ("agent: noop\ndataset: rows.xml\n", ":2: dataset: the suffix of 'rows.xml' names no format."),
        (
            "agent: noop\ndataset:\n  - path: a.jsonl\n    selct: {}\n",
            ":4: dataset.0.selct: unknown key. Did you mean 'select'?",
        ),
        (
            "agent: noop\ndataset: {path: a.jsonl, select: {sampel: 3}}\n",
            ":2: dataset.select.sampel: unknown key. Did you mean 'sample'?",
        ),
        (SMALL + "graders: [answer, answer]\n", ":3: graders: two graders are named 'answer'."),
        (SMALL + "graders: answer\npass_when: {primary: x}\n", ":4: pass_when: no grader is named 'x'."),
        (
            SMALL + "capture: {trace: retain-on-fail}\n",
            "'retain-on-fail' is not allowed. Did you mean 'retain-on-",
        ),
        (SMALL + "pass_when: 3\n", ":3: pass_when: 3 is not a rule."),
        (SMALL + "lanes: 2\nnum_workers: 2\n", ":4: num_workers: cannot be combined with "),
        (SMALL + "num_workers: 21\n", ":3: num_workers: must be at most 20; it is 21."),
        (SMALL + "limits: {max_steps: 1, maxSteps: 2}\n", ":3: limits.maxSteps: also given as 'max_steps'."),
        (SMALL + "limits: {maxSteps: 2, max_steps: 1}\n", ":3: limits.maxSteps: also given as 'max_steps'."),
        (SMALL + "timeout_ms: 5000\nlimits: {timeout_ms: 1}\n", ":3: timeout_ms: given twice"),
        (SMALL + "timeout_ms: 1\n", ":3: timeout_ms: must be at least 1_000; it is 1."),
        (SMALL + "trials: 1\ntrials: 2\n", ":4: the key 'trials' occurs twice, first in line 3."),
        (SMALL + "gate: {min_pass_rate: 90}\n", ":3: gate.min_pass_rate: must be at most 1"),
        (SMALL + "name: ''\n", ":3: name: must have at least 1 characters; it is ''."),
        ("variants: {a b: noop}\ndataset: a.jsonl\n", ":1: variants.a b: "),
        ("variants: {A: noop, a: noop}\ndataset: a.jsonl\n", ":1: variants: A, a differ only in case"),
        ("agent:\n  type: noop\n  x: 1\ndataset: a.jsonl\n", ":3: agent.x: unknown key."),
    ]
    for text, told in cases:
        with subtests.test(text=text, told=told):
            lines = [line.removeprefix("evals/shop.yaml") for line in refused(text)]
            assert any(told in line for line in lines), lines


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("evals/shpo.yaml", "evals/shpo.yaml: no such file. Did you mean 'shop.yaml'?"),
        ("eval/shop.yaml", "eval/shop.yaml: no such file; the folder 'eval' does not exist either."),
        ("evals", "evals: is a folder, not a file. Name the file in it."),
        ("evals/latin.yaml", "evals/latin.yaml:2: not UTF-8 (byte 0xfc). Save it as UTF-8."),
        ("evals/a.ini", "evals/a.ini: the suffix '.ini' names no format. Known: .yaml, .yml, .json, .toml."),
    ],
)
def test_files_that_cannot_be_read(
    load: Load, registry: Registry, tmp_path: Path, path: str, told: str
) -> None:
    """A missing file, a folder, another encoding and another format have one sentence each."""
    load(SMALL)
    (tmp_path / "evals" / "latin.yaml").write_bytes(b"agent: noop\nname: \xfcber\n")
    (tmp_path / "evals" / "a.ini").write_text("x")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / path, registry=registry)
    assert str(caught.value) == told


def test_messages_have_no_keys(refused: Refused) -> None:
    """The value of a secret key is not part of a message."""
    text = "agent: {type: single, model: m, api_key: [sk-123456]}\ndataset: a.jsonl\n"
    lines = refused(text)
    assert lines[0].startswith("evals/shop.yaml:1: agent.api_key: ")
    assert "sk-123456" not in "".join(lines)


# -- other ways to a config


def test_a_mapping_makes_a_config(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keywords of a marker are read like the keys of a file, and messages name the file."""
    monkeypatch.chdir(tmp_path)
    config = config_from(
        {"agent": "noop", "dataset": "a.jsonl"}, path=tmp_path / "test_a.py", registry=registry
    )
    assert (config.name, config.base_dir) == ("test_a", tmp_path)
    with pytest.raises(ConfigError) as caught:
        config_from(
            {"agent": "noop", "dataset": "a.jsonl", "trails": 2}, path=Path("test_a.py"), registry=registry
        )
    assert str(caught.value).startswith("test_a.py: trails: unknown key. Did you mean 'trials'?")


NASTY: list[Any] = [None, True, 0, -1, 1.5, "", "x", "${X}", "$${", [], {}, [None], [[1]], {"": ""}, {"a": 1}]
NASTY += ["a\nb", "\ud800", {"type": None}, {"type": "x"}, {"type": "single"}, {"primary": 3}, {"path": 3}]
NASTY += [10**400, "\0"]
NASTY_KEYS = ["type", "agent", "variants", "id", "browseros", "timeout_ms", "timeoutMs", ""]
NASTY_KEYS += ["judge", "gate", "0"]
NASTY_OVERRIDES = ["limits.max_steps=3", "variants.b.x=3", "dataset.0.select.limit=1"]
NASTY_OVERRIDES += ["gate=3", "=", "limits=["]


def blocks_of(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value
    return [
        value,
        *(found for child in inner if isinstance(child, dict | list) for found in blocks_of(child)),
    ]


def test_whatever_is_written_is_a_config_or_refused(tmp_path: Path, registry: Registry) -> None:
    """300 configs with random mistakes raise only ConfigError, with one line for each problem."""
    draw = random.Random(13)  # noqa: S311 repeatable, not secret
    path = tmp_path / "eval.json"
    told: list[str] = []
    for _ in range(300):
        tree = copy.deepcopy(FULL)
        for _ in range(draw.randrange(1, 4)):
            block = draw.choice(blocks_of(tree))
            value = copy.deepcopy(draw.choice(NASTY))
            if isinstance(block, dict):
                block[draw.choice([*block, *NASTY_KEYS])] = value
            elif block:
                block[draw.randrange(len(block))] = value
        path.write_text(json.dumps(tree))
        overrides = draw.sample(NASTY_OVERRIDES, draw.choice([0, 0, 1, 2]))
        try:
            config = load_config(
                path, registry=registry, overrides=overrides, environ={"EVAL_AGENT_MODEL": "m"}
            )
        except ConfigError as error:
            told += str(error).splitlines()
        else:
            json.dumps(config.public_dump())
    assert len(told) > 300
    starts = (str(path), "--eval-set", "environment variable")
    assert [line for line in told if not line.startswith(starts)] == []
