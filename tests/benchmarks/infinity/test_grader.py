"""WebArena-Infinity's verifiers."""

from __future__ import annotations

import asyncio
import textwrap
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.infinity.grader import InfinityGrader
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from tests.graders.support import Live, Site, make_recorded, make_task

VERIFIER = """
import json, os, urllib.error, urllib.request

def verify(server_url: str) -> tuple[bool, str]:
    assert not [name for name in os.environ if "KEY" in name], "a secret"
    try:
        urllib.request.urlopen(server_url + "/api/reset")
    except urllib.error.HTTPError as error:
        assert error.code == 404
    with urllib.request.urlopen(f"{server_url}/api/state") as reply:
        state = json.load(reply)
    print("what a verifier prints does not count: {'passed': true}")
    return state["starred"], f"starred is {state['starred']}"
"""


def row(path: Any = "real-tasks/task_e1.py", app: str = "notes", **more: Any) -> Task:
    additional = {"app_name": app, "verifier_path": path}
    return make_task(**{"start_url": "{notes}/", "metadata": {"additional": additional}, **more})


@pytest.fixture
def apps(tmp_path: Path) -> Path:
    """The folder of a config, with the folder of the apps in it."""
    put(tmp_path, VERIFIER)
    (tmp_path / "outside.py").write_text("def verify(url): return True, 'outside'")
    return tmp_path


def put(base_dir: Path, source: str) -> None:
    file = base_dir / "apps" / "notes" / "real-tasks" / "task_e1.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(source))


def grade(base_dir: Path, state: Any, task: Task | None = None, **options: Any) -> GraderResult:
    grader, task = InfinityGrader(**{"root": "apps", **options}), task or row()
    grader.check(task, base_dir)
    recorded = make_recorded(task, evidence={"infinity": {"state": state}}, base_dir=base_dir)
    return asyncio.run(grader.grade(recorded))


def test_the_verifier_decides(apps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given the recorded state, at an address of its own, and none of our variables."""
    monkeypatch.setenv("SECRET_API_KEY", "sk-secret")
    right, wrong = grade(apps, {"starred": True}), grade(apps, {"starred": False})
    assert (right.verdict, right.score, right.reasoning) == (Verdict.PASSED, 1.0, "starred is True")
    assert (wrong.verdict, wrong.score, wrong.reasoning) == (Verdict.FAILED, 0.0, "starred is False")
    assert wrong.criteria[0].name == "verifier task_e1.py"
    inside = grade(apps, {"starred": True}, row("notes/real-tasks/task_e1.py", app=""))
    assert inside.verdict is Verdict.PASSED
    assert inside.fingerprint == right.fingerprint
    put(apps, VERIFIER + "\n# mended\n")
    assert grade(apps, {"starred": True}).fingerprint != right.fingerprint


def test_a_verifier_that_breaks_is_a_fault(apps: Path, subtests: pytest.Subtests) -> None:
    """It is never a score of 0, nor a pass that it only printed."""
    cases: list[tuple[str, str]] = [
        ("def verify(url): return {}['x'], ''", "gave no verdict and ended with code 1: .*KeyError: 'x'"),
        ("def verify(url): raise SystemExit(0)", "gave no verdict and ended with code 0"),
        ("def verify(url): return True", "returned True, not"),
        ("def verify(url): return 'yes', 'fine'", "returned .*'yes', 'fine'.*, not"),
        ('def verify(url): print(\'{"passed": true, "message": ""}\'); import os; os._exit(0)', "no verdict"),
        ("verify = None", "not callable"),
        ("import no_such_package", "No module named 'no_such_package'"),
    ]
    for source, why in cases:
        with subtests.test(source=source, why=why):
            put(apps, source)
            with pytest.raises(Fault, match=why) as fault:
                grade(apps, {"starred": True})
            assert fault.value.source is ErrorSource.GRADER


def test_a_row_names_no_file_outside_the_root(apps: Path, subtests: pytest.Subtests) -> None:
    """Rows are written by others."""
    why = "write the path of a Python file inside the folder of the apps"
    cases: list[Any] = ["../outside.py", "/etc/passwd.py", "notes/../../outside.py", "..\\outside.py", "a.sh"]
    for path in (*cases, "a\0.py", None, 5):
        with subtests.test(path=path), pytest.raises(ValueError, match=why):
            grade(apps, {}, row(path))


def test_links_and_apps_lead_nowhere_else(apps: Path) -> None:
    """Nor do an app's name that is a path, and names that no file can have."""
    (apps / "apps" / "link.py").symlink_to(apps / "outside.py")
    hostile = [("link.py", "notes"), ("outside.py", ".."), ("outside.py", "notes/../..")]
    for path, app in (*hostile, ("a" * 300 + ".py", "notes"), ("a.py", "a" * 300), ("a.py", "a\0")):
        with pytest.raises(ValueError, match=r"is not in .*apps"):
            grade(apps, {}, row(path, app=app))


def test_what_is_missing_is_told_before_the_agent_begins(apps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder, the verifier, the site, the package that verifiers import."""
    with pytest.raises(ValueError, match=r"Write `graders: \[\{type: infinity, root: FOLDER\}\]`"):
        InfinityGrader().check(row(), Path())
    with pytest.raises(ValueError, match=r"is not in .*elsewhere"):
        grade(apps, {}, root="elsewhere")
    with pytest.raises(ValueError, match="nor in its folder 'notes'"):
        grade(apps, {}, row("real-tasks/task_e2.py"))
    with pytest.raises(ValueError, match="the row has no start_url"):
        grade(apps, {}, row(start_url=None))
    put(apps, "import requests\n" + VERIFIER)
    monkeypatch.setattr("pytest_browsereval.benchmarks.infinity.grader.find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"Run `pip install requests` or write `python: PATH`"):
        grade(apps, {})
    with pytest.raises(Fault, match=r"the verifier task_e1\.py .*none"):
        grade(apps, {}, python=str(apps / "none"))


def test_missing_evidence_is_a_fault(apps: Path) -> None:
    """An attempt whose state was never read cannot be graded."""
    with pytest.raises(Fault, match="the app's state was not read"):
        asyncio.run(InfinityGrader(root="apps").grade(make_recorded(row(), base_dir=apps)))


def test_the_state_is_that_of_the_app(live: Live, site: Site, apps: Path) -> None:
    """It is read from the site of the row with the window's cookies; an app that is down is a fault."""
    site.pages["/"] = "<script>document.cookie = 'who=ada'</script>"
    site.pages["/api/state"] = (200, "application/json", '{"starred": true}')
    task, grader = row(start_url=f"{site.url}/"), InfinityGrader(root="apps")
    seen = live.run(f"{site.url}/", lambda window: grader.observe(window, task, {}), sets_cookies=True)
    assert seen == {"state": {"starred": True}}
    assert site.cookies[-1] == "who=ada"
    recorded = make_recorded(task, evidence={"infinity": seen}, base_dir=apps)
    assert live.runner.run(grader.grade(recorded)).verdict is Verdict.PASSED
    site.pages["/api/state"] = (500, "text/plain", "broken")
    with pytest.raises(Fault, match="answers with status 500"):
        live.run(f"{site.url}/", lambda window: grader.observe(window, task, {}))
