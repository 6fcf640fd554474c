"""Apps that others have made, each as a site with data of its own: every row's solution is proved."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.environments import make_environment
from tests.hooks.conftest import evals
from tests.hooks.small_evals import Evals

__all__ = ["evals"]

pytestmark = [pytest.mark.apps, pytest.mark.timeout(1200)]

HERE = Path(__file__).parent
APPS = {
    "gradio": "gradio==6.31.0",
    "kits": "@shoelace-style/shoelace@2.20.1 antd@6.6.8 react@18.3.1 react-dom@18.3.1 dayjs@1.11.23 "
    "tinymce@8.9.2 monaco-editor@0.57.0 ag-grid-community@36.2.0 fullcalendar@6.1.20 leaflet@1.9.4 "
    "sortablejs@1.15.7 select2@4.1.0 jquery@3.7.1",
    "jupyterlab": "jupyterlab==4.6.6",
    "mlflow": "mlflow==3.17.2",
    "node_red": "node-red@4.1.15",
    "streamlit": "streamlit==1.67.0",
}
"""The packages, by the folder of rows and data."""
SEED = """
import sys
from mlflow import MlflowClient
client = MlflowClient(f"sqlite:///{sys.argv[1]}")
run = client.create_run(client.create_experiment("bread"))
client.log_metric(run.info.run_id, "loss", 0.25)
"""


@pytest.fixture(scope="session")
def apps(pytestconfig: pytest.Config) -> Path:
    """Return the folder in which all apps are installed, which is kept."""
    assert pytestconfig.cache
    return pytestconfig.cache.mkdir("apps")


def install(apps: Path, name: str) -> None:
    """Install an app into an environment of its own, unless that is there."""
    folder, package = apps / name, APPS[name]
    mark = folder / f"{package.replace('/', '+')} is installed"
    if mark.exists():
        return
    if "@" in package:  # of npm, or several
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        command = ["npm", "install", "--prefix", str(folder), *options, *package.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
    else:
        python = make_environment(folder, package)
        if name == "mlflow":  # which takes long to make the tables of a new store
            subprocess.run([python, "-c", SEED, folder / "mlflow.db"], timeout=600, check=True)
    mark.touch()


@pytest.mark.parametrize("name", APPS)
def test_all_rows_are_proved(evals: Evals, apps: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each solution passes without a step that fails, and doing nothing fails; in four lanes."""
    install(apps, name)
    monkeypatch.setenv("APPS", str(apps))
    shutil.copytree(HERE / name, evals.path, dirs_exist_ok=True)
    if name == "mlflow":
        shutil.copy(apps / name / "mlflow.db", evals.path / "data")
    if name == "kits":  # with the packages in one folder, which is the site
        shutil.copytree(HERE / name / "pages", apps / name / "pages", dirs_exist_ok=True)
    rows = (evals.path / "rows.yaml").read_text().count("query_id: ")
    ran = evals.run_command("doctor", "app.yaml", "--validate")
    assert ran.ret == 0, f"{ran.stdout}{ran.stderr}"
    assert f"{rows} rows are proved" in str(ran.stdout), str(ran.stdout)
