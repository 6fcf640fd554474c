"""What a package index and a release show."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from pytest_browsereval.features.shared.browser_install import Machine, describe_ways

ROOT = Path(__file__).parents[1]
URL = "https://code.example/us/evals"
TARGET = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def hook() -> SimpleNamespace:
    pytest.importorskip("hatchling", reason="its base class; type  python -m pip install hatchling")
    return SimpleNamespace(**runpy.run_path(str(ROOT / "hatch_build.py")))


def metadata(hook: SimpleNamespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    hook.ReleaseMetadata(str(ROOT), {}).update(found)
    return found


def list_targets(hook: SimpleNamespace, text: str) -> list[str]:
    """Return where links and pictures lead, but for those in code blocks and within the page."""
    parts = hook.FENCED.split(text)[::2]
    return [target for part in parts for target in TARGET.findall(part) if not target.startswith("#")]


def test_a_release_has_links_and_pictures_that_work_on_the_index(
    hook: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All lead to the repository at the tag, or to other hosts."""
    monkeypatch.setenv("PROJECT_URL", f"{URL}/")
    monkeypatch.setenv("PROJECT_REF", "v9.9.9")
    found = metadata(hook)
    targets = list_targets(hook, found["readme"]["text"])
    assert f"{URL}/blob/v9.9.9/CONTRIBUTING.md" in targets
    assert any(re.fullmatch(rf"{URL}/raw/v9\.9\.9/docs/.*\.(png|svg)", target) for target in targets)
    assert [target for target in targets if "://" not in target] == []
    assert found["urls"]["Source"] == URL


def test_a_build_without_an_address_has_none(hook: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative links and pictures would be broken on the index, so they are left out."""
    monkeypatch.delenv("PROJECT_URL", raising=False)
    found = metadata(hook)
    assert [target for target in list_targets(hook, found["readme"]["text"]) if "://" not in target] == []
    assert found["urls"] == {}


def test_the_changelog_has_the_version(project: dict[str, Any]) -> None:
    """Its newest release is the one of pyproject.toml."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## (\d\S*) - \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    assert first is not None
    assert first[1] == project["version"]


def test_each_python_is_tested(project: dict[str, Any]) -> None:
    """The workflow runs the tests on each Python that the classifiers name."""
    named = {c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)}
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert set(workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]) == named


def test_the_image_has_what_install_browser_brings() -> None:
    """The Dockerfile installs the packages that the command names on Debian."""
    debian = Machine("linux", is_debian=True, is_ubuntu=False, is_root=True)
    wanted = set(describe_ways(debian)[0].partition("--no-install-recommends ")[2].split())
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert wanted <= set(text.partition("--no-install-recommends ")[2].partition("\n")[0].split())
