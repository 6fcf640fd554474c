"""``browsereval cluster``: what is printed starts the parts of one run, and nothing in it is a shell word."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_browsereval.__main__ import main
from pytest_browsereval.features.cluster.plan import ClusterPlan, Resources
from pytest_browsereval.features.shard.engines import find_shard
from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row

EXAMPLES = Path(__file__).parents[3] / "examples"

WRITTEN = {
    "slurm.sh": ("slurm", "--output=file:///shared/evals"),
    "kubernetes.yaml": ("kubernetes", "--output=s3://bucket/evals", "--image=evals:latest"),
}
"""The files of the example, each with the words that print it in the folder above."""

HOSTILE = 'it\'s $(touch pwned) `touch pwned` "${HOME}" $$ {x} %A;é😀.eval.yaml'
HOSTILE_URL = 's3://bucket/it\'s $(touch pwned) `touch pwned` "$HOME" é😀'

SLURM = ("slurm", "shop.eval.yaml", "--parts=3", "--output=s3://bucket/evals", "--name=nightly")
KUBERNETES = ("kubernetes", *SLURM[1:], "--image=registry/evals:1")

NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
"""Of an object whose name is a part of host names: RFC 1123, and no digit first."""


@pytest.fixture(autouse=True)
def _eval(evals: Evals) -> None:
    evals.write_rows(row("a"), row("b"), row("c"))
    evals.write_config(browser="playwright")


def printed(evals: Evals, *words: str) -> str:
    result = evals.run_command("cluster", *words)
    assert result.ret == 0, result.stderr.str()
    return result.stdout.str()


def manifests(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    part, verdict = yaml.safe_load_all(text)
    return part, verdict


def container(job: dict[str, Any]) -> dict[str, Any]:
    (found,) = job["spec"]["template"]["spec"]["containers"]
    return dict(found)


def started_by_kubernetes(words: list[str]) -> list[str]:
    """Return a command as a pod gets it: ``$(NAME)`` is filled in, ``$$`` is a plain dollar."""
    return [
        re.sub(r"\$\$|\$\(\w[^)]*\)", lambda m: "$" if m[0] == "$$" else "FILLED", word) for word in words
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


def submitted(evals: Evals, script: str, *words: str, code: int = 0, **more: str) -> list[list[str]]:
    """Run a script with stand-ins for sbatch, which runs its jobs at once, and for our command."""
    home = evals.path / "bin"
    home.mkdir(exist_ok=True)
    for name in ("sbatch", "browsereval"):
        (home / name).write_text(STAND_IN.format(python=sys.executable))
        (home / name).chmod(0o755)
    (evals.path / "calls").unlink(missing_ok=True)
    (evals.path / "submit.sh").write_text(script)
    path = f"{home}:/usr/bin:/bin"
    env = {"PATH": path, "CALLS": str(evals.path / "calls"), "HOME": "/nowhere", **more}
    done = subprocess.run(
        ["bash", "submit.sh", *words], cwd=evals.path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    calls = evals.path / "calls"
    return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []


def part_words(config: str, shard: str, url: str) -> list[str]:
    return [
        *("browsereval", "supervise", "--accept", "1,5", "pytest", "-p", "no:cacheprovider"),
        *(f"--eval-config={config}", "--eval-set", "gate={}", f"--eval-shard={shard}"),
        *(f"--eval-output={url}", "--eval-run-name=nightly", "--eval-accept-done"),
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no bash")
def test_a_script_submits_the_parts_and_the_verdict(evals: Evals) -> None:
    """A path and a URL that are made for it do nothing in a shell, and reach our command as they are."""
    (evals.path / "shop.eval.yaml").rename(evals.path / HOSTILE)
    words = ("slurm", HOSTILE, "--parts=3", f"--output={HOSTILE_URL}", "--name=nightly", "--results=$(x) y")
    script = printed(evals, *words)
    parts, part, verdict, merge, gate = submitted(evals, script)
    assert parts == ["sbatch", "--parsable", "--array=1-3"]
    assert part == part_words(HOSTILE, "2/3", HOSTILE_URL)
    assert verdict == ["sbatch", "--dependency=afterany:7"]
    home = next((evals.path / "$(x) y").iterdir())
    folder = home.relative_to(evals.path)
    assert merge == [
        "browsereval",
        "merge",
        f"{HOSTILE_URL}/{home.name}/nightly",
        f"--output={folder}/nightly-8-0",
    ]
    assert gate == [
        *("browsereval", "gate", f"--config={HOSTILE}", f"--junit-xml={folder}/nightly.xml", "--"),
        f"{folder}/nightly-8-0",
    ]
    assert not (evals.path / "pwned").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no bash")
def test_parts_are_submitted_again_and_the_verdict_is_waited_for(evals: Evals) -> None:
    """A part that runs alone keeps its number and its run; options after it are those of the verdict."""
    script = printed(evals, *SLURM, "--parallel=2")
    assert submitted(evals, script)[0][2] == "--array=1-3%2"
    calls = submitted(evals, script, "2", "--wait")
    assert calls[0] == ["sbatch", "--parsable", "--array=2"]
    assert calls[1] == part_words("shop.eval.yaml", "2/3", "s3://bucket/evals")
    assert calls[2] == ["sbatch", "--dependency=afterany:7", "--wait"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no bash")
def test_the_verdict_is_red_where_a_part_is_missing(evals: Evals) -> None:
    """Nothing is gated that was not merged."""
    script = printed(evals, *SLURM)
    calls = submitted(evals, script, "1-3", "--wait", code=4, browsereval_merge="4")
    assert [one[1] for one in calls if one[0] == "browsereval"] == ["supervise", "merge"]
    assert submitted(evals, script, code=1, browsereval_gate="1")[-1][1] == "gate"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no bash")
def test_a_script_that_is_submitted_each_night_is_not_green(evals: Evals) -> None:
    """Its run is whole: nothing would be run, and the verdict would be that of the first night."""
    script = printed(evals, *SLURM)
    verdict = evals.path / "results/shop/nightly.xml"
    verdict.parent.mkdir(parents=True)
    verdict.write_text("<testsuites/>")
    for words in ((), ("1-3", "--wait")):
        assert submitted(evals, script, *words, code=4) == []
    assert verdict.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no bash")
def test_nothing_is_submitted_from_another_folder(evals: Evals) -> None:
    """The config has to be there."""
    script = printed(evals, *SLURM)
    (evals.path / "shop.eval.yaml").unlink()
    (evals.path / "calls").touch()
    done = subprocess.run(
        ["bash", "-s"], input=script, cwd=evals.path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "there is no shop.eval.yaml here\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no bash")
@pytest.mark.parametrize("missing", [None, 1], ids=["whole", "a part is missing"])
def test_what_is_printed_makes_a_run_and_a_verdict(evals: Evals, missing: int | None) -> None:
    """The commands, as they reach our programs: each row once, the gate of the config, a JUnit file."""
    evals.write_rows(*(row(name) for name in "abcdef"), row("wrong", says="no"))
    evals.write_config(gate={"min_pass_rate": 0.8}, browser="playwright")
    words = ("slurm", "shop.eval.yaml", "--parts=3", f"--output=file://{evals.path}/runs", "--name=nightly")
    _, part, _, merge, gate = submitted(evals, printed(evals, *words))
    evals.write_config(gate={"min_pass_rate": 0.8})  # in blank windows
    for number in {1, 2, 3} - {missing}:
        command = [word.replace("--eval-shard=2/", f"--eval-shard={number}/") for word in part]
        assert evals.run(*command[command.index("pytest") + 1 :]).ret in (0, 1)
    merged = evals.run_command(*merge[1:])
    if missing:
        assert merged.ret == 4
        merged.stderr.fnmatch_lines(["*of this run 1-of-3 is not there*"])
        return
    assert merged.ret == 0
    assert evals.run_command(*gate[1:]).ret == 0
    summary = json.loads((evals.path / gate[-1] / "summary.json").read_text())
    assert sorted(result["query_id"] for result in summary["results"]) == [*"abcdef", "wrong"]
    assert 'name="min_pass_rate"' in (evals.path / "results/shop/nightly.xml").read_text()


def test_merged_runs_lie_beside_others(evals: Evals) -> None:
    """In the results folder of the config, as commands look them up, wherever it is."""
    for place, results in {"evals": "evals/results", "evals/deep": "evals/deep/runs"}.items():
        more = {} if results.endswith("results") else {"output_dir": "runs"}
        evals.write_config(
            f"{place}/shop.eval.yaml", browser="playwright", dataset=f"{evals.path}/rows.jsonl", **more
        )
        script = printed(evals, "slurm", f"{place}/shop.eval.yaml", *SLURM[2:])
        assert f"\nresults={results}/shop\n" in script
    script = printed(evals, "slurm", f"{evals.path}/shop.eval.yaml", *SLURM[2:])
    assert f"\nresults={evals.path}/results/shop\n" in script
    evals.write_config(browser="playwright", output_dir="a\nb")
    refused(evals, *SLURM).stderr.fnmatch_lines(["*output_dir of the config has a line break*"])


def test_lines_that_slurm_reads(evals: Evals) -> None:
    """A part that a lost machine had is started again, and its output is kept."""
    script = printed(evals, *SLURM, "--cpus=3", "--memory=5", "--minutes=90")
    part, verdict = script.split("END_OF_PART\n)")
    lines = " ".join(re.findall(r"^#SBATCH (.*)", part, re.MULTILINE))
    assert {"--requeue", "--open-mode=append", "--time=90", "--mem=5G", "--cpus-per-task=3"} <= set(
        lines.split()
    )
    assert "--signal=B:TERM@60" in lines
    assert "--requeue" in verdict


# -- Kubernetes


def test_a_manifest_fits_together(evals: Evals) -> None:
    """What a validator does not see: the mode, the counts, the names, and whose index begins with 0."""
    part, verdict = manifests(printed(evals, *KUBERNETES, "--parallel=2", "--memory=5", "--minutes=90"))
    spec = part["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 2)
    assert spec["backoffLimitPerIndex"] == 3
    words = container(part)["command"]
    assert words == part_words("shop.eval.yaml", "auto/3", "s3://bucket/evals")
    shards = [find_shard("auto/3", {"JOB_COMPLETION_INDEX": str(index)})[0] for index in range(3)]
    assert [str(shard) for shard in shards] == ["1/3", "2/3", "3/3"]
    for job in (part, verdict):
        pod = job["spec"]["template"]["spec"]
        assert (job["apiVersion"], job["kind"], pod["restartPolicy"]) == ("batch/v1", "Job", "Never")
        assert pod["automountServiceAccountToken"] is False
        assert NAME.fullmatch(job["metadata"]["name"])
        assert container(job)["envFrom"] == [{"secretRef": {"name": "browsereval"}}]
    assert "env" not in container(part)  # a key in a manifest is a key that many can read
    assert [list(one["valueFrom"]) for one in container(verdict)["env"]] == [["fieldRef"]]
    pod = part["spec"]["template"]["spec"]
    assert pod["activeDeadlineSeconds"] == 90 * 60
    assert container(part)["resources"]["limits"] == {"memory": "5Gi"}
    (mount,) = container(part)["volumeMounts"]
    assert mount["mountPath"] == "/dev/shm"  # noqa: S108 where Chromium has it
    assert [v["emptyDir"]["medium"] for v in pod["volumes"] if v["name"] == mount["name"]] == ["Memory"]
    assert (
        verdict["spec"]["activeDeadlineSeconds"] > 2 * 4 * 90 * 60
    )  # two rounds of parts that begin four times
    assert verdict["spec"]["backoffLimit"] == 0
    assert container(verdict)["command"][-2:] == ["s3://bucket/evals/shop/nightly", "shop.eval.yaml"]


def test_a_manifest_fills_in_no_secret(evals: Evals) -> None:
    """``$(NAME)`` in a path or a URL stays what it is, and nothing in them is YAML."""
    (evals.path / "shop.eval.yaml").rename(evals.path / HOSTILE)
    words = (HOSTILE, "--parts=3", f"--output={HOSTILE_URL}", "--name=nightly", "--image=evals@sha256:aa")
    part, verdict = manifests(printed(evals, "kubernetes", *words, "--secret=keys.evals"))
    started = started_by_kubernetes(container(part)["command"])
    assert started == part_words(HOSTILE, "auto/3", HOSTILE_URL)
    shell, option, program, name, url, config = started_by_kubernetes(container(verdict)["command"])
    assert (shell, option, name, config) == ("sh", "-c", "verdict", HOSTILE)
    assert url.startswith(f"{HOSTILE_URL}/")
    assert program == container(verdict)["command"][2]  # Kubernetes changes nothing in the program
    assert container(part)["envFrom"] == [{"secretRef": {"name": "keys.evals"}}]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no sh")
@pytest.mark.parametrize("code", [0, 1, 4])
def test_the_verdict_of_a_manifest_waits_for_all_parts(evals: Evals, code: int) -> None:
    """Merge is asked until it does; then the exit code is the gate's, and the output ends with its file.

    Of a run that is decided already, for another Job, nothing is decided.
    """
    _, verdict = manifests(printed(evals, *KUBERNETES))
    stand_in = (
        'case $1 in merge) [ "$(wc -l <calls)" -ge 3 ] ;; claim) [ "$CODE" != 4 ] ;; '
        'gate) echo "<xml>" >"${4#*=}"; exit $CODE ;; esac'
    )
    for name, body in {"browsereval": f'echo "$@" >>calls; {stand_in}', "sleep": 'echo "$@" >>naps'}.items():
        (evals.path / name).write_text(f"#!/bin/sh\n{body}\n")
        (evals.path / name).chmod(0o755)
    shell = [word.replace("/tmp/", f"{evals.path}/") for word in container(verdict)["command"]]  # noqa: S108 of a pod
    env = {"PATH": f"{evals.path}:/usr/bin:/bin", "CODE": str(code), "JOB": "job-1"}
    done = subprocess.run(shell, cwd=evals.path, env=env, capture_output=True, text=True, check=False)
    is_decided = code == 4
    assert (done.returncode, done.stdout) == (code, "" if is_decided else "<xml>\n")
    url = "s3://bucket/evals/shop/nightly"
    calls = [line.split() for line in (evals.path / "calls").read_text().splitlines()]
    assert [call[:2] for call in calls[:3]] == [["merge", url]] * 3
    assert calls[3] == ["claim", url, "--by=job-1"]
    assert [call[:2] for call in calls[4:]] == [] if is_decided else [["gate", f"{evals.path}/whole"]]
    assert (evals.path / "naps").read_text() == "60\n60\n"


def test_one_part_is_a_run_too(evals: Evals) -> None:
    """``auto/1`` would be refused."""
    part, _ = manifests(printed(evals, *KUBERNETES, "--parts=1"))
    assert "--eval-shard=1/1" in container(part)["command"]


def test_names_of_objects(subtests: pytest.Subtests) -> None:
    """Kubernetes takes them, with what it adds for pods, and another run has another one."""
    for name in ["Nightly", "1", "a" * 100, "a_b", "a.b-"]:
        for eval_name in ["shop", "Shop $(x)", "1", "é😀"]:
            with subtests.test(name=name, eval_name=eval_name):
                made = ClusterPlan("c", eval_name, 3, 3, "s3://b/e", name, "r", Resources(1, 1, 60))
                assert NAME.fullmatch(made.label)
                assert len(f"{made.label}-verdict") <= 63
                assert len(f"{made.label}-99999") <= 63
                other = ClusterPlan("c", eval_name, 3, 3, "s3://b/e", f"{name}-2", "r", Resources(1, 1, 60))
                assert made.label != other.label


# -- bad input


def refused(evals: Evals, *words: str) -> EvalRun:
    result = evals.run_command("cluster", *words)
    assert result.ret in (1, 2, 4)
    assert result.stdout.str() == ""
    return result


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("slurm", "none.eval.yaml", *SLURM[2:]), "*none.eval.yaml*"),
        ((*SLURM, "--parts=0"), "*invalid number from 1 to 99999 value: '0'*"),
        ((*SLURM, "--parts=two"), "*invalid number from 1 to 99999 value: 'two'*"),
        ((*SLURM, "--parts=4"), "*--parts 4: shop.eval.yaml has 3 rows*"),
        ((*SLURM, "--output=runs"), "*'runs' is not the URL of a folder*"),
        ((*SLURM, "--output=s3://"), "*is not the URL of a folder*"),
        ((*SLURM, "--output=ftp://host/x"), "*is not the URL of a folder*"),
        ((*SLURM, "--output=s3://bucket/x?key=1"), "*is not the URL of a folder*"),
        ((*SLURM, "--output=file://shared/x"), "*is not the URL of a folder*"),
        ((*SLURM, "--output=s3://[b/x"), "*is not a URL*"),
        ((*SLURM, "--output=s3://bucket/x\nEND_OF_PART\ntouch pwned"), "*--output: *do not print*"),
        ((*SLURM, "--results=x\ny"), "*--results has a line break*"),
        (("slurm", "x\ny.eval.yaml", *SLURM[2:]), "*the path of the config has a line break*"),
        ((*SLURM, "--name=../other"), "*'../other' cannot be the name of a run*"),
        ((*SLURM, "--name="), "*'' cannot be the name of a run*"),
        ((*SLURM, "--minutes=1"), "*invalid number from 5 value: '1'*"),
        ((*SLURM, "--image=x"), "*--image is of kubernetes, and not of slurm*"),
        ((*SLURM, "--colour=red"), "*unrecognized arguments: --colour=red*"),
        (("pbs", *SLURM[1:]), "*invalid choice: 'pbs'*"),
        ((*KUBERNETES, "--results=x"), "*--results is of slurm, and not of kubernetes*"),
        ((*KUBERNETES, "--output=file:///shared"), "*pods have no folder in common*"),
        (("kubernetes", *SLURM[1:]), "*--image is missing*"),
        ((*KUBERNETES, "--image=a b"), "*'a b' is not the name of an image*"),
        ((*KUBERNETES, "--secret=sk-LIVE"), "*'sk-LIVE' cannot be the name of a Secret*"),
        (("kubernetes", "/x.eval.yaml", *KUBERNETES[2:]), "*the image has its own folders*"),
        (("kubernetes", "../x.eval.yaml", *KUBERNETES[2:]), "*the image has its own folders*"),
    ],
)
def test_bad_input_prints_nothing(evals: Evals, words: tuple[str, ...], message: str) -> None:
    """A script that is half right would be submitted."""
    refused(evals, *words).stderr.fnmatch_lines([message])


def test_a_file_is_written_whole_or_not_at_all(evals: Evals) -> None:
    """The shell makes the file of a redirection first, and leaves it empty where the command fails."""
    script = evals.path / "shop.sh"
    refused(evals, *SLURM, "--parts=4", "-o", "shop.sh")
    assert not script.exists()
    assert printed(evals, *SLURM, "-o", "shop.sh") == "shop.sh"
    assert script.read_text() == printed(evals, *SLURM) + "\n"
    refused(evals, *SLURM, "-o", "none/shop.sh").stderr.fnmatch_lines(["*none/shop.sh cannot be written*"])


def test_a_key_in_a_url_is_not_printed(evals: Evals) -> None:
    """Not even to refuse it."""
    result = refused(evals, *SLURM, "--output=s3://id:hunter22@bucket/x")
    assert "must not have a key in it" in result.stderr.str()
    assert "hunter22" not in result.stderr.str()


def test_a_broken_config_prints_nothing(evals: Evals) -> None:
    """Its problems are listed, as pytest lists them."""
    evals.write_config(agent="scriptd")
    refused(evals, *SLURM).stderr.fnmatch_lines(["*scriptd*"])


# -- the example


@pytest.mark.parametrize("name", WRITTEN)
def test_files_of_the_example_are_what_is_printed(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its README has the commands."""
    monkeypatch.chdir(EXAMPLES)
    engine, *more = WRITTEN[name]
    words = ["cluster", engine, "quickstart/eval.yaml", "--parts=4", *more, "--name=nightly"]
    assert main(words) == 0
    assert (EXAMPLES / "cluster" / name).read_text() == capsys.readouterr().out
    command = shlex.join(["browsereval", *words])
    assert f"{command} -o cluster/{name}\n" in (EXAMPLES / "cluster" / "README.md").read_text()


def test_each_script_makes_a_run_of_its_own(evals: Evals) -> None:
    """Its name is new, and stays the same for a part that is submitted again."""
    names = [re.findall(r"--eval-run-name=(\S+)", printed(evals, *SLURM[:-1])) for _ in range(2)]
    assert len({name for found in names for name in found}) == 2


def test_a_terminal_that_lacks_a_letter_is_refused(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A question mark in its place would be another path."""
    (evals.path / "shop.eval.yaml").rename(evals.path / "é.eval.yaml")
    monkeypatch.chdir(evals.path)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert main(["cluster", "slurm", "é.eval.yaml", *SLURM[2:]]) == 4
    assert sys.stdout.tell() == 0
    assert "has letters that ascii lacks" in capsys.readouterr().err
