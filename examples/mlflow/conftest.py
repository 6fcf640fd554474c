"""Logs each run as a run of MLflow, at MLFLOW_TRACKING_URI: figures as metrics, the page as an artifact."""

import json
from collections import Counter
from pathlib import Path

import mlflow
import pytest
from mlflow.entities import Metric, Param, RunTag

TAG = "browsereval.run"
FIGURES = ("trials", "passed", "failed", "errored", "attacked", "pass_rate", "error_rate", "cost_usd")
RATES = ("attack_success", "utility_under_attack")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_browsereval_run_summary(run_folder: Path):
    result = yield  # the run's page is written meanwhile
    files = (run_folder / name for name in ("manifest.json", "summary.json"))
    manifest, figures = (json.loads(file.read_bytes()) for file in files)
    under_attack = figures.get("attacks", {}).get("under_attack", {})
    figures |= {name: under_attack[name]["value"] for name in RATES if under_attack}
    metrics = {name: figures[name] for name in (*FIGURES, *RATES) if figures.get(name) is not None}
    if interval := figures["pass_rate_intervals"]["interval"]:
        metrics["pass_rate_low"], metrics["pass_rate_high"] = interval
    plain = (one for one in figures["results"] if "attack" not in one)
    verdicts = Counter((one["variant"], one["verdict"]) for one in plain)
    for variant in {variant for variant, _ in verdicts}:
        if judged := verdicts[variant, "passed"] + verdicts[variant, "failed"]:
            metrics[f"pass_rate/{variant}"] = verdicts[variant, "passed"] / judged
    params = {name: manifest.get(name) for name in ("config_hash", "git_commit", "git_branch", "browser")}
    client = mlflow.MlflowClient()
    experiment = mlflow.set_experiment(manifest["name"]).experiment_id
    # One that was resumed or graded again is there already.
    known = client.search_runs([experiment], f"tags.`{TAG}` = '{run_folder.name}'")
    run = known[0] if known else client.create_run(experiment, run_name=run_folder.name)
    client.log_batch(
        run.info.run_id,
        [Metric(name, float(value), run.info.start_time, 0) for name, value in metrics.items()],
        [Param(name, str(value)[:500]) for name, value in params.items() if value and not known],
        [RunTag(TAG, run_folder.name)],
    )
    # log_table would add to a table of that name; log_dict writes it anew.
    client.log_dict(run.info.run_id, {"results": figures["results"]}, "results.json")
    for name in ("manifest.json", "summary.json", "index.html", "index.files"):
        if (run_folder / name).exists():
            client.log_artifact(run.info.run_id, str(run_folder / name))
    client.set_terminated(run.info.run_id)
    return result
