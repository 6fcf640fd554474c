"""Runs in a job of GitHub Actions, by its variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.features.github.hooks import without_commands
from tests.hooks.small_evals import Evals, errored_row, row


def go(evals: Evals, *args: str, env: dict[str, str]) -> tuple[int, str]:
    """Run the eval, with these variables; return exit code and output."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        run = evals.run("shop.eval.yaml", *args)
    output = f"{run.stdout.str()}\n{run.stderr.str()}"
    assert "INTERNALERROR" not in output, output
    return int(run.ret), output


def job(evals: Evals) -> dict[str, str]:
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(evals.path / "summary.md"),
        "GITHUB_WORKSPACE": str(evals.path),
    }


def obeyed(output: str) -> list[str]:
    """Return the commands that the job takes, as its runner reads them; the words for it are left out."""
    word, found = "", []
    for line in map(str.strip, output.splitlines()):
        if word:
            word = "" if line == f"::{word}::" else word
        elif line.startswith("::stop-commands::"):
            word = line.removeprefix("::stop-commands::")
            assert len(word) == 32
        elif line.startswith("::") or "##[" in line:
            found.append(line)
    assert word == "", "other steps of the job could give no command"
    return found


HOSTILE = """
def solve(attempt):
    print("::add-mask::printed", flush=True)
    if attempt.task.query_id == "raises":
        raise RuntimeError("boom\\n::stop-commands::mine\\n  ::error::told\\n##[add-mask]x")
    return "no\\n::mine::\\n::warning::x ##[error]y"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("-s",), pytest.param(("-n1",), marks=pytest.mark.slow), ("-q", "-rA"), ("-v", "-x")],
    ids=["open", "workers", "quiet", "stops"],
)
def test_nobody_else_gives_commands(evals: Evals, options: tuple[str, ...]) -> None:
    """Neither by what an agent prints or answers nor by what it raises; our own are taken."""
    evals.pytester.makepyfile(my_agent=HOSTILE)
    evals.write([row("raises"), row("answers")], agent={"type": "function", "function": "my_agent:solve"})
    code, output = go(evals, *options, env=job(evals))
    assert code in (1, 2), output
    found = obeyed(output)
    assert found
    assert all(line.startswith("::error file=rows.jsonl,line=") for line in found), found
    assert "::error::told" in output or "-x" in options or "-n1" in options


@pytest.mark.slow
def test_commands_are_taken_again_however_it_ends(evals: Evals) -> None:
    """Also where nothing runs; and what is printed after that gives none. A list of items stays one."""
    evals.write([{**row("a"), "::error::\n  ::error::key": 1}])
    code, output = go(evals, env=job(evals))
    assert code == 4
    assert obeyed(output) == []
    assert "key" in output
    evals.write_rows(row("a"))
    code, output = go(evals, "--eval-plan", env=job(evals))
    assert (code, obeyed(output), output.count("::stop-commands::")) == (0, [], 1)
    code, output = go(evals, "--collect-only", "-q", env=job(evals))
    assert (code, "stop-commands" in output) == (0, False)


def test_evals_that_are_found_while_collecting(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of pytest that is open then is ended first."""
    for name, value in job(evals).items():
        monkeypatch.setenv(name, value)
    evals.write([row("b", says="no")])
    output = evals.run("-v").stdout.str()
    assert [line.partition(",")[0] for line in obeyed(output)] == ["::error file=rows.jsonl"]


def test_text_without_commands() -> None:
    """Line for line; what is no command stays as it is."""
    given = "::a::b\n \t::c\nx ::d\nshop::min\n##[add-mask]e"
    assert without_commands(given) == ": :a::b\n \t: :c\nx ::d\nshop::min\n## [add-mask]e"


@pytest.mark.slow
def test_a_job_gets_a_summary_and_annotations(evals: Evals) -> None:
    """What is in the file before stays; a worker does not tell it again."""
    (evals.path / "summary.md").write_text("# Earlier step\n")
    gate = {"min_pass_rate": 0.9, "max_error_rate": 1}
    evals.write([row("a"), row("b", says="wrong"), errored_row("c")], gate=gate)
    code, output = go(evals, "-n1", env=job(evals))
    assert code == 1, output
    text = (evals.path / "summary.md").read_text()
    assert text.startswith("# Earlier step\n### shop: gate missed (1 of 2 rules)")
    assert text.count("### shop") == 1
    assert "| b |" in text
    lines = [line for line in obeyed(output) if line.startswith("::")]
    assert len(lines) == 3
    assert output.count("::stop-commands::") == 2
    assert lines[0].startswith("::error title=gate shop::min_pass_rate: ")
    assert lines[1].startswith("::warning file=rows.jsonl,line=2,title=failed%3A b::")
    assert lines[2].startswith("::warning file=rows.jsonl,line=3,title=errored%3A c::")


@pytest.mark.slow
def test_without_the_variables_nothing_is_told(evals: Evals) -> None:
    """And a summary that cannot be written is told, no more."""
    evals.write([row("b", says="wrong")])
    nothing = {"GITHUB_ACTIONS": "", "GITHUB_STEP_SUMMARY": ""}
    code, output = go(evals, env=nothing)
    assert code == 1
    assert "::error" not in output
    lost = Path("no/such/folder/summary.md")
    code, output = go(evals, env={**nothing, "GITHUB_STEP_SUMMARY": str(lost)})
    assert code == 1
    assert f"GITHUB_STEP_SUMMARY: {lost} cannot be written: No such file or directory" in output
