"""``browsereval init --ci`` where an eval is there already: the file of the CI system, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from pytest_browsereval.__main__ import main
from pytest_browsereval.features.init.starter import CI_FILES

TUTORIAL = Path(__file__).parents[3] / "docs/tutorials/gate-a-pull-request.md"


pytestmark = pytest.mark.usefixtures("in_tmp_path")


def tree() -> dict[str, str]:
    return {str(file): file.read_text() for file in sorted(Path().rglob("*")) if file.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("ci", CI_FILES)
def test_the_tutorial_works_word_for_word(
    ci: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the folder of the first tutorial; the workflow runs there and keeps what pytest writes there."""
    text = TUTORIAL.read_text(encoding="utf-8")
    shown = re.search(r"```bash\nbrowsereval (init --ci github)\n```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    Path(".git").mkdir()
    assert main(["init", "evals"]) == 0
    before = tree()
    monkeypatch.chdir("evals")
    capsys.readouterr()
    assert main(shown[1].replace("github", ci).split()) == 0
    printed = capsys.readouterr().out
    assert printed == shown[2].replace(CI_FILES["github"], CI_FILES[ci])
    monkeypatch.chdir("..")
    (made,) = tree().keys() - before.keys()
    assert made == CI_FILES[ci]
    assert before.items() <= tree().items()
    written = Path(made).read_text()
    block = yaml.safe_load(written)
    if ci == "github":
        assert block["jobs"]["evals"]["defaults"]["run"]["working-directory"] == "evals"
    assert "evals/junit.xml" in written
    assert "evals/results/" in written


@pytest.mark.parametrize("folder", [".", "deep/mine"])
def test_any_eval_will_do_and_no_repository_is_needed(folder: str) -> None:
    """The file is in the eval's folder then; no second eval is written."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    config = Path(folder) / "own.eval.toml"
    config.write_text("mine")
    assert main(["init", folder, "--ci", "github"]) == 0
    assert set(tree()) == {str(config), str(Path(folder) / CI_FILES["github"])}


def test_a_folder_that_looks_like_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    """It can be entered; in the folder above it no second eval is written for CI."""
    assert main(["init", "--", "-odd"]) == 0
    assert "  cd ./-odd && pytest" in capsys.readouterr().out.splitlines()
    before = tree()
    assert main(["init", "--ci", "github"]) == 4
    assert "-odd has an eval, and this folder has none. Nothing was written." in capsys.readouterr().err
    assert tree() == before
    assert main(["init", "--ci", "github", "--", "-odd"]) == 0
