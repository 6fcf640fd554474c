"""Templates for Slurm and Kubernetes start the parts of one run; no setting of theirs is a shell word."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_browsereval.features.shard.engines import find_shard
from tests.hooks.small_evals import Evals, row

TEMPLATES = Path(__file__).parents[3] / "examples/cluster"

HOSTILE = 'it\'s $(touch pwned) `touch pwned` "${HOME}" $$ {x} %A;é😀.eval.yaml'
HOSTILE_URL = 's3://bucket/it\'s $(touch pwned) `touch pwned` "$HOME" é😀'


def part_words(config: str, shard: str, url: str) -> list[str]:
    return [
        *("browsereval", "supervise", "--accept", "1,5", "pytest", "-p", "no:cacheprovider"),
        *(f"--eval-config={config}", "--eval-set", "gate={}", f"--eval-shard={shard}"),
        *(f"--eval-output={url}", "--eval-run-name=nightly"),
    ]


# -- Slurm

STAND_IN = """#!{python}
import json, os, subprocess, sys
from pathlib import Path
name = Path(sys.argv[0]).name
with open(os.environ["CALLS"], "a") as file:
    print(json.dumps([name, *sys.argv[1:]]), file=file)
if name == "sbatch":
    print("7;cluster")
    environment = {{**os.environ, "SLURM_ARRAY_TASK_ID": "2", "SLURM_JOB_ID": "8"}}
    sys.exit(subprocess.run(["bash"], stdin=sys.stdin, env=environment).returncode)
sys.exit(int(os.environ.get(name + "_" + sys.argv[1], "0")))
"""


def submit(
    evals: Evals, *words: str, config: str = "shop.eval.yaml", url: str = "s3://bucket/evals", **more: str
) -> tuple[int, list[list[str]]]:
    """Run the template with stand-ins for sbatch, which runs its jobs at once, and for our command.

    Returns:
        The exit code, and the calls.
    """
    home = evals.path / "bin"
    home.mkdir(exist_ok=True)
    for name in ("sbatch", "browsereval"):
        (home / name).write_text(STAND_IN.format(python=sys.executable))
        (home / name).chmod(0o755)
    calls = evals.path / "calls"
    calls.write_text("")
    settings = {"EVAL_CONFIG": config, "EVAL_NAME": "shop", "EVAL_PARTS": "3", "EVAL_OUTPUT": url}
    env = {"PATH": f"{home}:/usr/bin:/bin", "CALLS": str(calls), "HOME": "/nowhere", **settings}
    env |= {"EVAL_RESULTS": "results/shop", **more}
    script = [*("bash", str(TEMPLATES / "slurm.sh")), "nightly", *words]
    done = subprocess.run(script, cwd=evals.path, env=env, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in calls.read_text().splitlines()]


def test_the_script_submits_the_parts_and_the_verdict(evals: Evals) -> None:
    """Settings that are made for it do nothing in a shell, and reach our command as they are."""
    (evals.path / HOSTILE).touch()
    code, calls = submit(evals, config=HOSTILE, url=HOSTILE_URL, EVAL_RESULTS="$(x) y", EVAL_MEMORY="5G")
    parts, part, verdict, merge, gate = calls
    assert code == 0
    assert parts[:3] == ["sbatch", "--parsable", "--array=1-3"]
    assert "--mem=5G" in parts
    assert part == part_words(HOSTILE, "2/3", HOSTILE_URL)
    assert verdict[:2] == ["sbatch", "--dependency=afterany:7"]
    folder = "$(x) y/nightly-8-0"
    assert merge == ["browsereval", "merge", f"{HOSTILE_URL}/shop/nightly", f"--output={folder}"]
    words = ("browsereval", "gate", f"--config={HOSTILE}", "--junit-xml=$(x) y/nightly.xml", "--", folder)
    assert gate == list(words)
    assert not (evals.path / "pwned").exists()


def test_what_the_script_does_again_and_what_it_refuses(evals: Evals) -> None:
    """A part keeps its number; a verdict needs a whole run; a run that is decided is not run again."""
    code, calls = submit(evals, config="missing.yaml")
    assert (code, calls) == (2, [])
    (evals.path / "shop.eval.yaml").touch()
    _, calls = submit(evals, "2", "--wait")
    assert calls[0][2] == "--array=2"
    assert calls[2][-1] == "--wait"
    code, calls = submit(evals, "1-3", "--wait", browsereval_merge="4")
    assert (code, [one[1] for one in calls if one[0] == "browsereval"]) == (4, ["supervise", "merge"])
    assert submit(evals, browsereval_gate="1")[0] == 1
    (evals.path / "results/shop/nightly.xml").write_text("<testsuites/>")
    assert submit(evals) == (4, [])


@pytest.mark.slow
@pytest.mark.parametrize("missing", [None, 1], ids=["whole", "a part is missing"])
def test_the_script_makes_a_run_and_a_verdict(evals: Evals, missing: int | None) -> None:
    """The commands, as they reach our programs: each row once, the gate of the config, a JUnit file."""
    evals.write([*(row(name) for name in "abcdef"), row("wrong", says="no")], gate={"min_pass_rate": 0.8})
    _, (_, part, _, merge, gate) = submit(evals, url=f"file://{evals.path}/runs")
    for number in {1, 2, 3} - {missing}:
        command = [word.replace("--eval-shard=2/", f"--eval-shard={number}/") for word in part]
        assert evals.run(*command[command.index("pytest") + 1 :]).ret in (0, 1)
    merged = evals.run_command(*merge[1:])
    if missing:
        assert merged.ret == 4
        merged.stderr.fnmatch_lines(["*1-of-3 of this run is missing*"])
        return
    assert merged.ret == 0
    assert evals.run_command(*gate[1:]).ret == 0
    summary = json.loads((evals.path / gate[-1] / "summary.json").read_text())
    assert sorted(result["query_id"] for result in summary["results"]) == [*"abcdef", "wrong"]
    assert 'name="min_pass_rate"' in (evals.path / "results/shop/nightly.xml").read_text()


# -- Kubernetes


def read_manifest() -> tuple[dict[str, Any], dict[str, Any]]:
    part, verdict = yaml.safe_load_all((TEMPLATES / "kubernetes.yaml").read_text())
    return part, verdict


def container(job: dict[str, Any]) -> dict[str, Any]:
    (found,) = job["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_the_manifest_fits_together() -> None:
    """What a validator does not see: the mode, the counts, the names, and whose index begins with 0."""
    part, verdict = read_manifest()
    spec = part["spec"]
    assert (spec["completionMode"], spec["completions"]) == ("Indexed", 4)
    words = container(part)["command"]
    assert words == part_words("quickstart/eval.yaml", "auto/4", "s3://bucket/evals")
    shards = [find_shard("auto/4", {"JOB_COMPLETION_INDEX": str(index)})[0] for index in range(4)]
    assert [str(shard) for shard in shards] == ["1/4", "2/4", "3/4", "4/4"]
    for job in (part, verdict):
        pod = job["spec"]["template"]["spec"]
        assert (job["apiVersion"], job["kind"], pod["restartPolicy"]) == ("batch/v1", "Job", "Never")
        assert pod["automountServiceAccountToken"] is False
        assert container(job)["envFrom"] == [{"secretRef": {"name": "browsereval"}}]
    assert "env" not in container(part)  # a key in a manifest is a key that many can read
    pod = part["spec"]["template"]["spec"]
    (mount,) = container(part)["volumeMounts"]
    assert mount["mountPath"] == "/dev/shm"  # noqa: S108 where Chromium has it
    assert [v["emptyDir"]["medium"] for v in pod["volumes"] if v["name"] == mount["name"]] == ["Memory"]
    tries = spec["backoffLimitPerIndex"] + 1
    assert verdict["spec"]["activeDeadlineSeconds"] > tries * pod["activeDeadlineSeconds"]
    assert container(verdict)["command"][-2:] == [
        "s3://bucket/evals/quickstart/nightly",
        "quickstart/eval.yaml",
    ]


@pytest.mark.parametrize(("code", "pushed"), [(0, 0), (1, 1), (3, 3), (0, 4)])
def test_the_verdict_of_the_manifest_waits_for_all_parts(evals: Evals, code: int, pushed: int) -> None:
    """Merge is asked until it does; then the exit code is the gate's, and the output ends with its file.

    A Job that is created anew decides nothing by what an earlier one has run: the merged run is there.
    """
    _, verdict = read_manifest()
    stand_in = (
        'case $1 in merge) [ "$(wc -l <calls)" -ge 3 ] ;; push) [ "$CODE" = "$PUSHED" ] ;; '
        'gate) echo "<xml>" >"${4#*=}"; exit $CODE ;; esac'
    )
    for name, body in {"browsereval": f'echo "$@" >>calls; {stand_in}', "sleep": 'echo "$@" >>naps'}.items():
        (evals.path / name).write_text(f"#!/bin/sh\n{body}\n")
        (evals.path / name).chmod(0o755)
    shell = [word.replace("/tmp/", f"{evals.path}/") for word in container(verdict)["command"]]  # noqa: S108 of a pod
    env = {"PATH": f"{evals.path}:/usr/bin:/bin", "CODE": str(code), "PUSHED": str(pushed)}
    done = subprocess.run(shell, cwd=evals.path, env=env, capture_output=True, text=True, check=False)
    is_decided = pushed == 4
    assert (done.returncode, done.stdout) == ((4, "") if is_decided else (code, "<xml>\n"))
    url, whole = "s3://bucket/evals/quickstart/nightly", f"{evals.path}/whole"
    calls = [line.split() for line in (evals.path / "calls").read_text().splitlines()]
    assert [call[:2] for call in calls[:3]] == [["merge", url]] * 3
    assert calls[3][:2] == ["gate", whole]
    push = ["push", whole, "s3://bucket/evals", "--name=nightly-whole"]
    assert calls[4:] == ([] if code > 1 else [push])
    assert (evals.path / "naps").read_text() == "60\n60\n"
