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


def test_a_workflow_that_is_there_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """The message says what to do."""
    Path(".gitlab-ci.yml").write_text("mine")
    Path("own.eval.yaml").write_text("mine")
    before = tree()
    assert main(["init", "--ci", "gitlab"]) == 4
    said = capsys.readouterr().err
    assert (
        ".gitlab-ci.yml exists already, and `init` overwrites nothing. Nothing was written. Move it" in said
    )
    assert tree() == before


@pytest.mark.parametrize(
    ("name", "command"),
    [("evals", "browsereval init --ci github evals"), ("-odd", "browsereval init --ci github -- -odd")],
)
def test_no_second_eval_is_written_beside_one(
    name: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever types it in the root of the repository means the eval that is there."""
    assert main(["init", "--", name]) == 0
    before = tree()
    assert main(["init", "--ci", "github"]) == 4
    assert f"{name} has an eval, and this folder has none. Nothing was written. Run `{command}`" in (
        capsys.readouterr().err
    )
    assert tree() == before
    assert main(command.split()[1:]) == 0


def test_a_folder_that_looks_like_an_option_can_be_entered(capsys: pytest.CaptureFixture[str]) -> None:
    """`cd -odd` would be an option of `cd`."""
    assert main(["init", "--", "-odd"]) == 0
    assert "  cd ./-odd && pytest" in capsys.readouterr().out.splitlines()
