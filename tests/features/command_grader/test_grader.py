"""Verifier programs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.errors import ConfigError, ErrorSource, Fault
from pytest_browsereval.features.command_grader.grader import CommandGrader
from pytest_browsereval.features.shared import verifiers
from pytest_browsereval.model.grades import GraderResult, Verdict
from tests.graders.support import assert_ended, living, make_recorded, make_task, overrun


def grade(base_dir: Path, script: str, **options: Any) -> GraderResult:
    """Grade with a Python script that lies in the config's folder."""
    (base_dir / "verify.py").write_text(textwrap.dedent(script))
    grader = CommandGrader(**{"command": ("{python}", "verify.py"), **options})
    grader.preflight(base_dir)
    task = make_task(query="$(touch owned) `id`", answer="64")
    attempt = make_recorded(
        task,
        final_answer="It costs $64; rm -rf /",
        final_url="http://127.0.0.1:1/cart",
        folder=base_dir / "attempt",
        evidence={"page_state": {"title": "Cart"}},
        site_urls={"shop": "http://127.0.0.1:1"},
        base_dir=base_dir,
    )
    return asyncio.run(grader.grade(attempt))


READ = "import json, sys; attempt = json.load(open(sys.argv[-1]))\n"


def test_a_program_gets_the_attempt_in_a_file(tmp_path: Path) -> None:
    """The last argument names a JSON file with the task, the answer, addresses, folder and evidence."""
    script = (
        READ + 'print("some output\\n"); print(json.dumps({"pass": True, "reasoning": json.dumps(attempt)}))'
    )
    result = grade(tmp_path, script)
    assert (result.verdict, result.score) == (Verdict.PASSED, 1.0)
    attempt = json.loads(result.reasoning)
    assert attempt.pop("task")["answer"] == "64"
    assert attempt == {
        "final_answer": "It costs $64; rm -rf /",
        "termination_reason": "completed",
        "final_url": "http://127.0.0.1:1/cart",
        "site_urls": {"shop": "http://127.0.0.1:1"},
        "folder": str(tmp_path / "attempt"),
        "evidence": {"page_state": {"title": "Cart"}},
        "downloads": [],
        "requests": None,
    }
    assert not (tmp_path / "owned").exists()


def test_a_judgement_in_full(tmp_path: Path) -> None:
    """Score, reasoning and criteria of the program become those of the grade."""
    judgement = {
        "pass": False,
        "score": 0.5,
        "reasoning": "half of it",
        "criteria": [
            {"name": "one", "pass": True, "weight": 2},
            {"name": "two", "pass": False, "expected": 1, "actual": [2], "reason": "it is 2"},
        ],
    }
    result = grade(tmp_path, f"print({json.dumps(judgement)!r})")
    assert (result.verdict, result.score, result.reasoning) == (Verdict.FAILED, 0.5, "half of it")
    one, two = result.criteria
    assert (one.verdict, one.weight) == (Verdict.PASSED, 2)
    assert (two.verdict, two.expected, two.actual, two.reason) == (Verdict.FAILED, 1, [2], "it is 2")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import sys; sys.exit('no such order')", "ended with code 1: no such order"),
        ("raise ValueError('broken')", r'with code 1: ValueError: broken \| File ".*verify.py", line 1'),
        ("raise KeyError('x' * 20_000)", "with code 1: KeyError: 'xxx"),
        ("try: 1 / 0\nexcept Exception as e: raise OSError('so') from e", "with code 1: OSError: so"),
        (
            "import sys; sys.exit('at x\\nTypeError: no total\\n' + '    at check (verify.js:3:9)\\n' * 40)",
            r"with code 1: TypeError: no total \| at check",
        ),
        ("import os; os.abort()", "ended with code 134"),
        ("", "which is not a judgement"),
        ("print('ok')", "'ok' as its last line, which is not a judgement"),
        ("print('{\"pass\": true}'); print('bye')", "'bye' as its last line"),
        ("print('{}')", "not a judgement: pass: Field required"),
        ("print('{\"passed\": true}')", "not a judgement: "),
        ("print('{\"pass\": 1}')", "not a judgement: pass: Input should be a valid boolean"),
        ('print(\'{"pass": true, "score": 2}\')', "score: Input should be less than or equal to 1"),
        ('print(\'{"pass": true, "criteria": [{"pass": true}]}\')', "criteria.0.name: Field required"),
        ("print('{\"pass\": true, \"reasoning\": \"' + 'x' * 2_000_000 + '\"}')", "not a judgement: "),
    ],
)
def test_a_program_that_does_not_judge_is_a_fault(tmp_path: Path, script: str, message: str) -> None:
    """A crash, a missing or malformed judgement makes the grade errored, never failed."""
    with pytest.raises(Fault, match=message) as fault:
        grade(tmp_path, script)
    assert fault.value.source is ErrorSource.GRADER


SLEEPER = """import subprocess, sys
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(280)', {mark!r}])
open('started', 'w').close()"""
"""Starts a child that lives longer than anybody here waits for its end."""


def test_a_program_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    """At the time limit the whole process group dies, and the grade is errored."""
    mark = f"{tmp_path}-stuck"
    script = SLEEPER.format(mark=mark) + "\nimport time; time.sleep(280)"

    def cut_off(limit_s: float) -> None:
        with pytest.raises(Fault, match=f"did not end within {limit_s:g} s and was killed"):
            grade(tmp_path, script, timeout_s=limit_s)

    overrun(cut_off, (tmp_path / "started").exists)
    assert_ended(mark)


def test_much_output_is_cut(tmp_path: Path) -> None:
    """Of what a program prints only the end is read; the last line still counts."""
    script = """
        import sys
        for stream in (sys.stdout, sys.stderr):
            stream.write(("x" * 10_000 + "\\n") * 300)
        print('{"pass": true}')
    """
    assert grade(tmp_path, script).verdict is Verdict.PASSED


def test_endless_output_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that fills the disk is killed, and the grade is errored."""
    monkeypatch.setattr(verifiers, "OUTPUT_LIMIT_BYTES", 100_000)
    with pytest.raises(Fault, match="printed more than 100000 bytes and was killed"):
        grade(tmp_path, "while True: print('x' * 10_000)", timeout_s=200)


def test_a_child_that_escapes_does_not_hold_up_the_grade(tmp_path: Path) -> None:
    """One in a session of its own is not waited for; on Linux it is ended too, elsewhere it is not ours."""
    mark = f"{tmp_path}-escaped"
    script = f"""
        import subprocess, sys
        sleeper = [sys.executable, "-c", "import time; time.sleep(280)", {mark!r}]
        subprocess.Popen(sleeper, start_new_session=True)
        print('{{"pass": true}}')
    """
    assert grade(tmp_path, script, timeout_s=200).verdict is Verdict.PASSED
    if sys.platform != "linux":
        for process in living(mark):
            process.kill()
    assert_ended(mark)


def test_the_environment_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program sees PATH, LANG and a HOME and TMPDIR of its own, which are gone afterwards."""
    monkeypatch.setenv("SECRET_API_KEY", "sk-secret")
    script = """
        import json, os
        keep = {k: v for k, v in os.environ.items() if k not in ("LC_CTYPE", "__CF_USER_TEXT_ENCODING")}
        print(json.dumps({"pass": True, "reasoning": json.dumps([keep, os.getcwd()])}))
    """
    environment, cwd = json.loads(grade(tmp_path, script).reasoning)
    assert sorted(environment) == ["HOME", "LANG", "PATH", "TMPDIR"]
    assert environment["HOME"] == environment["TMPDIR"] != os.environ.get("HOME")
    assert not Path(environment["HOME"]).exists()
    assert Path(cwd) == tmp_path.resolve()


def test_a_program_of_the_project(tmp_path: Path) -> None:
    """A program is found relative to the config, without a shell."""
    program = tmp_path / "check me.sh"
    program.write_text('#!/bin/sh\ntest "$1" = "a b" && test -f "$2" && echo \'{"pass": true}\'\n')
    grader = CommandGrader(command=("./check me.sh", "a b"))
    with pytest.raises(ConfigError, match=r"'\./check me\.sh', which is not a program: .* not executable"):
        grader.preflight(tmp_path)
    program.chmod(0o755)
    grader.preflight(tmp_path)
    result = asyncio.run(grader.grade(make_recorded(make_task(), base_dir=tmp_path)))
    assert result.verdict is Verdict.PASSED


def test_missing_programs_are_refused(tmp_path: Path) -> None:
    """A program or script that is not there is refused before anything is spent."""
    with pytest.raises(ConfigError, match=r"'no-such-verifier', which is not a program.*command: \["):
        CommandGrader(command=("no-such-verifier",)).preflight(tmp_path)
    with pytest.raises(ConfigError, match=r"the script 'verify\.py', which is not in"):
        CommandGrader(command=("{python}", "verify.py")).preflight(tmp_path)
    CommandGrader(command=("{python}", "-c", "pass")).preflight(tmp_path)
    with pytest.raises(ValidationError):
        CommandGrader(command=())


def test_a_program_that_vanishes_is_a_fault(tmp_path: Path) -> None:
    """A program that is gone when it is needed makes the grade errored."""
    grader = CommandGrader(command=("./gone",))
    with pytest.raises(Fault, match="cannot be started"):
        asyncio.run(grader.grade(make_recorded(make_task(), base_dir=tmp_path)))


def test_the_fingerprint_knows_the_program(tmp_path: Path) -> None:
    """An edited verifier is another judge; where a site happened to be does not count."""
    first = grade(tmp_path, "print('{\"pass\": true}')").fingerprint
    assert grade(tmp_path, "print('{\"pass\": true}')").fingerprint == first
    assert grade(tmp_path, "print('{\"pass\": true}') # edited").fingerprint != first
    here = CommandGrader(command=("x", "http://127.0.0.1:1/a")).fingerprint(1, {"shop": "http://127.0.0.1:1"})
    there = CommandGrader(command=("x", "http://127.0.0.1:2/a")).fingerprint(
        1, {"shop": "http://127.0.0.1:2"}
    )
    assert here == there
