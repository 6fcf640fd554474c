"""RUN, as it is typed: a folder, an id or ``latest``, the same for all commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from tests.features.compare.test_compare import run
from tests.recorded import FAILED, PASSED, attempt

FIRST, SECOND = "20260101T000000Z-aaaaaa", "20260102T000000Z-aaaaaa"


@pytest.fixture(autouse=True)
def _runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two runs of a shop in the current folder; of the first one all trials passed."""
    monkeypatch.chdir(tmp_path)
    for name, verdict in ((FIRST, PASSED), (SECOND, FAILED)):
        manifest = {"config_file": "shop.yaml", "config": {"gate": {"min_pass_rate": 1}}}
        run(Path("results/shop") / name, attempt("a", verdict), attempt("b"), manifest=manifest)


def test_ids_and_latest(capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs are compared, gated, viewed and kept as a baseline, by id or as the newest."""
    assert main(["compare", FIRST, "latest"]) == 0
    told = capsys.readouterr().out
    assert f"\nA  results/shop/{FIRST} (baseline)\nB  results/shop/{SECOND}\n" in told
    assert main(["gate", FIRST]) == 0
    assert main(["gate", "latest"]) == 1
    assert main(["gate", "latest", "--baseline", FIRST, "--eval-set", "gate.max_regressions=0"]) == 1
    assert f"1 task regressed against {FIRST} (a)" in " ".join(capsys.readouterr().out.split())
    assert main(["gate", "latest", "--baseline", "latest", "--eval-set", "gate.max_regressions=0"]) == 1
    assert f"1 task regressed against {FIRST} (a)" in " ".join(capsys.readouterr().out.split())
    assert main(["gate", FIRST, "--baseline", "latest", "--eval-set", "gate.max_regressions=0"]) == 4
    assert "there is no run 'latest'" in capsys.readouterr().err
    assert main(["view", "latest"]) == 0
    assert Path("results/shop", SECOND, "index.html").is_file()
    assert main(["export", FIRST, "--to=baseline", "-o", "base.json"]) == 0
    assert main(["compare", "base.json", "latest"]) == 0
    capsys.readouterr()
    assert main(["merge", FIRST, "latest", "-o", "whole"]) == 4
    assert f"a ({FIRST}, {SECOND})" in capsys.readouterr().err


def test_a_config_says_where_its_runs_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own folder and name, whatever else lies in ``results``; a file with a gate alone says nothing."""
    manifest = {"config_file": "mail.yaml"}
    run(Path("evals/out/post") / FIRST, attempt("m", FAILED), manifest=manifest)
    Path("evals/mail.yaml").write_text(
        "name: post\noutputDir: out\nagent: {api_key: '${NO_SUCH_KEY}'}\ndataset: x.jsonl\n"
        "gate: {min_pass_rate: 0}\n"
    )
    Path("evals/gate.yaml").write_text("gate: {min_pass_rate: 0.5}\n")
    assert main(["gate", "latest", "--config", "evals/mail.yaml"]) == 0
    assert f"\nrun    evals/out/post/{FIRST}\n" in capsys.readouterr().out
    assert main(["gate", "latest", "--config", "evals/gate.yaml"]) == 0
    assert f"\nrun    results/shop/{SECOND}\n" in capsys.readouterr().out
    assert main(["gate", SECOND, "--config", "evals/mail.yaml"]) == 4
    assert f"Runs in evals/out/post, the newest first: {FIRST}. Give" in capsys.readouterr().err
    Path("evals/mail.yaml").write_text(
        "outputDir: '${NO_SUCH_PLACE}'\ndataset: x.jsonl\ngate: {min_pass_rate: 0}\n"
    )
    assert main(["gate", "latest", "--config", "evals/mail.yaml"]) == 4
    assert "evals/mail.yaml:1: outputDir: the environment variable 'NO_SUCH" in capsys.readouterr().err
    assert main(["gate", f"evals/out/post/{FIRST}", "--config", "evals/mail.yaml"]) == 0


def test_runs_are_found_from_the_root_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They lie in ``results`` beside the evals; those of packages and hidden folders are not looked at."""
    root = tmp_path / "project"
    third = "20260103T000000Z-aaaaaa"
    manifest = {"config_file": "shop.yaml"}
    run(root / "evals/results/shop" / FIRST, attempt("a", PASSED), manifest=manifest)
    run(root / "more/evals/results/mail" / SECOND, attempt("a", PASSED), manifest=manifest)
    for place in ("node_modules/x", ".venv", "one/two/three/four/five"):
        run(root / place / "results/shop" / third, attempt("a", PASSED), manifest=manifest)
    monkeypatch.chdir(root)
    assert main(["runs", "latest"]) == 0
    assert SECOND in capsys.readouterr().out
    assert main(["view", FIRST]) == 0
    assert (root / "evals/results/shop" / FIRST / "index.html").is_file()
    assert main(["runs", third]) == 4
    assert f"more/evals/results/mail/{SECOND}, evals/results/shop/{FIRST}" in capsys.readouterr().err
    run(root / "results/shop" / FIRST, attempt("a", PASSED), manifest=manifest)
    assert main(["runs", SECOND]) == 4  # a results folder of its own comes first, and alone


@pytest.mark.parametrize(
    "typed",
    [
        "compare latest latest",
        "gate latest",
        "view latest",
        "runs latest",
        "merge latest -o whole",
        "export latest --to baseline",
        "runs latest --last 1",
        "causes latest",
        "prune latest --keep none",
        "calibrate latest",
        "label latest",
        "export latest --to online-mind2web -o there",
    ],
)
def test_every_command_takes_the_config_of_its_runs(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``--config`` says where ``latest`` is looked for; here there is none, and that place is named."""
    Path("evals").mkdir()
    Path("evals/mail.yaml").write_text("name: post\nagent: noop\ndataset: x.jsonl\n")
    assert main([*typed.split(), "--config", "evals/mail.yaml"]) == 4
    assert "evals/results/post has no run" in capsys.readouterr().err


@pytest.mark.parametrize(
    "typed",
    [
        "compare x latest",
        "compare latest x",
        "gate x",
        "gate latest --baseline x",
        "view x",
        "merge latest x -o whole",
        "export x --to baseline",
        "label x",
        "calibrate x",
        "export x --to online-mind2web -o there",
    ],
)
def test_what_there_is_not_is_told_alike(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By every command, with the newest runs, exit code 4."""
    assert main(typed.split()) == 4
    told = capsys.readouterr().err
    assert "there is no run 'x'." in told
    assert f"Runs in results, the newest first: shop/{SECOND}, shop/{FIRST}. Give" in told
