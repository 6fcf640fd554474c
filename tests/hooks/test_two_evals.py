"""Two evals never share trials, whatever they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hooks.small_evals import WORKERS, Evals, row

pytestmark = pytest.mark.quick


def rename(config: Path, name: str) -> None:
    """Give a config a name of its own."""
    config.write_text(f"name: {name}\n{config.read_text()}")


def write_two(evals: Evals, first: str, second: str, *, name: str = "") -> None:
    """Write an eval whose row fails and one whose row of the same id passes."""
    for file, says in ((first, "wrong"), (second, "right")):
        folder = Path(file).parent
        evals.write_rows(row("r0", says=says), name=str(folder / f"{Path(file).stem}.jsonl"))
        config = evals.write_config(file, dataset=f"{Path(file).stem}.jsonl", gate={"min_pass_rate": 0.9})
        if name:
            rename(config, name)


def verdicts(folder: Path) -> dict[str, str]:
    """Return the verdict of each attempt in a run folder."""
    files = sorted(folder.glob("tasks/*/*/*/attempt-*/metadata.json"))
    return {file.relative_to(folder).parts[1]: json.loads(file.read_text())["verdict"] for file in files}


@WORKERS
@pytest.mark.parametrize(
    ("files", "args"),
    [
        (
            ("a/shop.yaml", "b/shop.yaml"),
            ["--eval-config=a/shop.yaml", "--eval-config=b/shop.yaml", "--eval-output=out"],
        ),
        (("a.eval.yaml", "b.eval.yaml"), []),
    ],
    ids=["named", "collected"],
)
def test_evals_of_one_name_and_output_folder_are_refused(
    evals: Evals, files: tuple[str, str], args: list[str], workers: list[str]
) -> None:
    """Two configs that would write one run folder end the run with exit code 4, and both are named."""
    write_two(evals, *files, name="shop")
    result = evals.run(*args, *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = result.stdout.str() + result.stderr.str()
    assert f"{files[0]} and {files[1]} share a name and an output folder" in told
    assert not args or not (evals.path / "out").exists()


@WORKERS
def test_a_file_that_is_only_called_eval_has_its_folders_name(evals: Evals, workers: list[str]) -> None:
    """``a/eval.yaml`` and ``b/eval.yaml`` are two evals: the gate of each is decided by its own row."""
    write_two(evals, "a/eval.yaml", "b/eval.yaml")
    result = evals.run(
        "--eval-config=a/eval.yaml", "--eval-config=b/eval.yaml", "--eval-output=out", *workers
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert [folder.parent.name for folder in sorted(result.folders)] == ["a", "b"]
    assert [verdicts(folder) for folder in sorted(result.folders)] == [{"r0": "failed"}, {"r0": "passed"}]
    latest = evals.run_command("gate", "latest", "--config", "a/eval.yaml")
    assert latest.ret != 0, "the runs lie elsewhere"


BY_HAND = """
import pytest

@pytest.mark.browsereval(dataset="rows.jsonl", agent="scripted", graders=["answer"])
def test_first(eval_task, run_eval):
    run_eval(eval_task.model_copy(update={"answer": "other"})).assert_passed()

@pytest.mark.browsereval(dataset="rows.jsonl", agent="scripted", graders=["answer"])
def test_second(eval_task, run_eval):
    assert run_eval(eval_task).verdict == run_eval(eval_task).verdict == "passed"
"""


@pytest.mark.slow
@WORKERS
def test_tests_by_hand_have_runs_of_their_own(evals: Evals, workers: list[str]) -> None:
    """Two tests over the same rows write two runs, and a row that a test runs twice is two trials."""
    evals.write_rows(row("r0"))
    evals.pytester.makepyfile(test_hand=BY_HAND)
    result = evals.run(*workers)
    result.assert_outcomes(failed=1, passed=1)
    first, second = sorted(result.folders)
    assert [first.parent.name, second.parent.name] == ["test_hand-test_first", "test_hand-test_second"]
    assert verdicts(first) == {"r0": "failed"}
    tried = [path.relative_to(second).as_posix() for path in sorted(second.glob("tasks/*/*/*/attempt-*"))]
    assert tried == ["tasks/r0/default/1/attempt-1", "tasks/r0/default/2/attempt-1"]
