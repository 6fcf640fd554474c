"""What the terminal shows, whatever it can show."""

from __future__ import annotations

import re
import unicodedata

import pytest

from tests.hooks.small_evals import Evals, errored_row, row

HOSTILE = "\x1b[2J\x1b]0;owned\x07カート → 🛒"


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def sections(lines: list[str]) -> list[str]:
    """Return the lines of our own sections."""
    found, inside = [], False
    for line in lines:
        if re.match(r"=+ .* =+$", line):
            inside = " eval " in line
        if inside:
            found.append(line)
    return found


@pytest.fixture
def two_evals(evals: Evals) -> Evals:
    """Two gated evals: one with long names, odd text and every verdict, and a small one."""
    evals.write_rows(
        row("a-row-with-a-very-long-name-that-fits-into-no-column-of-any-terminal-" * 2),
        row("カート" * 30, says=HOSTILE, query=HOSTILE),
        errored_row("broken"),
        row("good"),
        name="rows.jsonl",
    )
    graders = [{"type": "answer", "name": f"the-answer-in-words-{n}"} for n in range(3)]
    evals.write_config(graders=graders, lanes=2, gate={"min_pass_rate": 0.9, "must_pass": ["カート" * 30]})
    evals.write_rows(row("small"), name="small.jsonl")
    evals.write_config("small.eval.yaml", dataset="small.jsonl", gate={"min_pass_rate": 1})
    return evals


def test_nothing_is_wider_than_the_terminal(two_evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """In 80 columns every line of our summary fits, each eval has its own gate, and pytest's options work."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    result = two_evals.run("-v", "-rA", "--durations=2", "--durations-min=0")
    assert result.ret == 1
    ours = sections(result.outlines)
    assert len(ours) > 12
    assert max(map(columns, ours)) <= 80
    text = result.stdout.str()
    assert "\x1b" not in text
    assert "owned" in text
    assert "slowest 2 durations" in text
    assert re.search(r"PASSED small.eval.yaml::small", text)
    assert re.search(r"XFAIL .*shop.eval.yaml::broken - errored: ", text)
    shop, small = re.split(r"=+ eval small =+", "\n".join(ours))
    rules = [re.findall(r"(shop|small)::(\w+)", section) for section in (shop, small)]
    assert rules == [
        [("shop", "min_pass_rate"), ("shop", "must_pass"), ("shop", "max_error_rate")],
        [("small", "min_pass_rate"), ("small", "max_error_rate")],
    ]


@pytest.mark.slow
def test_a_terminal_of_plain_ascii_is_enough(two_evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the output can hold ASCII only, marks are replaced and nothing breaks."""
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("COLUMNS", "80")
    result = two_evals.run_process("-ra", "--eval-set=gate.rows=fail")
    assert result.ret == 1
    text = result.stdout.str() + result.stderr.str()
    assert text.isascii()
    assert "UnicodeEncodeError" not in text
    ours = sections(result.outlines)
    assert max(map(len, ours)) <= 80
    assert [line[0] for line in ours if line[1:2] == " " and line[0] in "+x!"] == ["!", "x", "+", "+", "+"]


def test_colours_follow_the_verdict_and_the_environment(
    evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passed is green, failed red, errored yellow; quiet runs have the table too, and NO_COLOR none of it."""
    evals.write([row("good"), row("bad", says="wrong"), errored_row("broken")])
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("PY_COLORS", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    lines = evals.run("shop.eval.yaml", "-q").outlines
    codes = {
        name: next(line for line in lines if re.search(rf"[✓✗!] {name} ", line))[:5]
        for name in ("good", "bad", "broken")
    }
    assert codes == {"good": "\x1b[32m", "bad": "\x1b[31m", "broken": "\x1b[33m"}


def test_graders_that_disagree_are_told(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Advisory or outvoted ones, below the table, in lines that fit, and in the summary."""
    monkeypatch.setenv("COLUMNS", "80")
    loose = {"type": "answer", "name": "a-reader-with-a-rather-long-name", "match": "includes"}
    both = {"type": "combined", "graders": ["answer", loose], "rule": "any"}
    hint = {"type": "trajectory_score", "advisory": True, "threshold": 1}
    rows = [row("split", says="It is right.", graders=[both, hint]), row("agreed", graders=[both])]
    evals.write([*rows, row("explained", says="It is right.", graders=["answer", loose])])
    result = evals.run("shop.eval.yaml")
    result.assert_outcomes(passed=2, failed=1)
    lines = sections(result.outlines)
    place = lines.index("graders disagree on 1 of 3 trials:")
    assert lines[place + 1] == "- split: passed by combined, failed by trajectory_score (advisory)"
    assert max(map(columns, lines)) <= 80
    (told,) = evals.summary()["disagreements"]
    assert told["grades"]["combined"]["reason"] == (
        "any: 1 of 2 graders passed: a-reader-with-a-rather-long-name. The graders disagree: answer failed, "
        "a-reader-with-a-rather-long-name passed."
    )


@pytest.mark.slow
def test_variants_stand_next_to_each_other(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each task and a column for each variant, in the order of the config, with workers too."""
    monkeypatch.setenv("COLUMNS", "80")
    variants = {"plays": "scripted", "idle": "noop"}
    evals.write([row("solved"), errored_row("broken")], variants=variants, trials=2)
    for args in ((), ("-n2",)):
        outlines = evals.run("--eval-config=shop.eval.yaml", *args).outlines
        head = outlines.index("  plays: scripted")
        assert outlines[head - 1].startswith("eval shop: 2 variants, ")
        assert outlines[head + 1] == "  idle: noop"
        lines = sections(outlines)
        assert [line.split() for line in lines[1:5]] == [
            ["task", "plays", "idle"],
            ["!", "broken", "2", "errored", "2", "errored"],
            ["✗", "solved", "2/2", "0/2"],
            ["passed", "2/2,", "2", "errored", "0/2,", "2", "errored"],
        ]
