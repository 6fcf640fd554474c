"""The branch that a run is recorded to be made on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_browsereval.run.branch import find_commit


def git(folder: Path, *arguments: str) -> str:
    """Run git as a user of a test, whatever this machine's settings are."""
    user = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
    command = ["git", *user, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a repository with one commit on the branch main."""
    git(tmp_path, "init", "-b", "main")
    (tmp_path / "rows.jsonl").write_text("{}\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def test_a_clean_checkout(checkout: Path) -> None:
    """Files that git does not know, such as results, make no difference; changed ones are on no branch."""
    commit = git(checkout, "rev-parse", "HEAD")
    (checkout / "results").mkdir()
    (checkout / "results" / "runs.jsonl").write_text("{}\n")
    assert find_commit(checkout, {}) == (commit, "main")
    (checkout / "rows.jsonl").write_text("changed\n")
    assert find_commit(checkout, {}) == (commit, None)


def test_no_branch_and_no_repository(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A detached head is on no branch that is known; elsewhere there is no commit either."""
    git(checkout, "checkout", "--detach")
    assert find_commit(checkout, {})[1] is None
    assert find_commit(tmp_path_factory.mktemp("none"), {}) == (None, None)


GITHUB = {"GITHUB_REF": "refs/heads/main"}
BUILDKITE = {"BUILDKITE_BRANCH": "main", "BUILDKITE_COMMIT": "HEAD"}
AZURE = {"BUILD_SOURCEBRANCHNAME": "main"}


def test_what_ci_systems_say(checkout: Path, subtests: pytest.Subtests) -> None:
    """It counts instead of git's, whose head is detached there; a pull request is on no branch."""
    cases: list[tuple[dict[str, str], str | None]] = [
        (GITHUB, "main"),
        ({**GITHUB, "GITHUB_HEAD_REF": "topic"}, None),  # pull_request_target: the ref is that of the target
        ({**GITHUB, "GITHUB_SHA": "f" * 40}, None),  # workflow_run: a pull request's commit was checked out
        ({"GITHUB_REF": "refs/pull/1/merge", "GITHUB_REF_NAME": "main"}, None),
        ({"GITHUB_REF": "refs/tags/main", "GITHUB_REF_NAME": "main"}, None),
        ({"GITHUB_REF": "refs/heads/release/1.2"}, "release/1.2"),
        ({"CI_COMMIT_SHA": "COMMIT", "CI_COMMIT_BRANCH": "main"}, "main"),
        ({"CI_COMMIT_SHA": "COMMIT"}, None),  # a merge request has no branch there
        (BUILDKITE, "main"),
        ({**BUILDKITE, "BUILDKITE_PULL_REQUEST": "false"}, "main"),
        ({**BUILDKITE, "BUILDKITE_PULL_REQUEST": "12"}, None),
        ({**BUILDKITE, "BUILDKITE_TAG": "main"}, None),
        ({"CIRCLE_SHA1": "COMMIT", "CIRCLE_BRANCH": "main"}, "main"),
        ({"CIRCLE_SHA1": "COMMIT", "CIRCLE_BRANCH": "main", "CIRCLE_PULL_REQUEST": "URL"}, None),
        ({**AZURE, "BUILD_SOURCEBRANCH": "refs/heads/main"}, "main"),
        ({**AZURE, "BUILD_SOURCEBRANCH": "refs/heads/topic/main"}, "topic/main"),
        ({**AZURE, "BUILD_SOURCEBRANCH": "refs/pull/1/merge"}, None),
    ]
    for environment, branch in cases:
        with subtests.test(environment=environment, branch=branch):
            commit = git(checkout, "rev-parse", "HEAD")
            given = {key: commit if value == "COMMIT" else value for key, value in environment.items()}
            assert find_commit(checkout, given) == (commit, branch)
