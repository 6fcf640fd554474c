"""Logs each run as a run of MLflow: its figures as metrics, its page as an artifact.

The experiment is named like the eval. Where it is, MLFLOW_TRACKING_URI says.
"""

import json
from collections import Counter
from pathlib import Path

import mlflow
import pytest
from mlflow.entities import Metric, Param, RunTag

from pytest_browsereval import RunSummary

TAG = "browsereval.run"
FIGURES = ("trials", "passed", "failed", "errored", "pass_rate", "error_rate", "cost_usd")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_browsereval_run_summary(summary: RunSummary, run_folder: Path):
    result = yield  # the run's page is written meanwhile
    manifest = json.loads((run_folder / "manifest.json").read_text(encoding="utf-8"))
    figures = summary.as_json()
    metrics = {name: figures[name] for name in FIGURES if figures[name] is not None}
    if interval := figures["pass_rate_intervals"]["interval"]:
        metrics["pass_rate_low"], metrics["pass_rate_high"] = interval
    verdicts = Counter((one["variant"], one["verdict"]) for one in figures["results"])
    for variant in {one["variant"] for one in figures["results"]}:
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
