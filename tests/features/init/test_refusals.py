"""``browsereval init`` where it cannot write: nothing is overwritten, and the message says what to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from tests.features.init.test_ci import tree

pytestmark = pytest.mark.usefixtures("in_tmp_path")


def test_nothing_is_written_where_something_is_in_the_way(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    subtests: pytest.Subtests,
) -> None:
    """All files are looked at first; the message names what is there, and what to type instead."""
    kept = "overwrites nothing. Nothing was written. Run `browsereval init OTHER`"
    cases: list[tuple[str, list[str], str]] = [
        ("conftest.py", [], f"conftest.py exists already, and `init` {kept}"),
        ("a/shop.jsonl a/my_agent.py", ["a"], "a/shop.jsonl, a/my_agent.py exist already"),
        ("a", ["a/first"], "a exists already"),
        (".gitlab-ci.yml own.eval.yaml", ["--ci", "gitlab"], ".gitlab-ci.yml exists already"),
        ("", [""], "the name of the folder is empty. Write `browsereval init evals`."),
        (".git/HEAD", ["a[1]", "--ci", "github"], "a CI file cannot name the folder 'a[1]'"),
        ("", ["x" * 300], "cannot be written: File name too long. Run `browsereval init OTHER`"),
    ]
    for number, (there, words, message) in enumerate(cases):
        with subtests.test(there=there, words=words):
            (tmp_path / str(number)).mkdir()
            monkeypatch.chdir(tmp_path / str(number))
            for name in there.split():
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_text("mine")
            before = tree()
            assert main(["init", *words]) == 4
            printed = capsys.readouterr()
            assert message in printed.err
            assert printed.out == ""
            assert tree() == before


def test_a_link_that_leads_nowhere_is_not_written_through(capsys: pytest.CaptureFixture[str]) -> None:
    """It would make a file elsewhere."""
    Path("conftest.py").symlink_to("gone.py")
    assert main(["init"]) == 4
    assert "conftest.py exists already" in capsys.readouterr().err
    assert not Path("gone.py").exists()


def test_an_own_gitignore_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """It is kept, and the line that it needs is printed."""
    Path(".gitignore").write_text("mine\n")
    assert main(["init"]) == 0
    assert Path(".gitignore").read_text() == "mine\n"
    assert ".gitignore is kept as it is; add results/ to it." in capsys.readouterr().out
