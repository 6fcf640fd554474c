"""The branch that a run was made on: the one that a CI system builds, or that of a clean checkout.

A branch is recorded only where the commit that was run is on it. CI systems check out a commit and no branch,
and some of them name the branch of a pull request, or the one that it is to go to, as if it was built.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class _System:
    """The variables of a CI system."""

    branch: str
    commit: str
    not_built: tuple[str, ...] = ()
    """Set where another thing than a branch is built: a pull request, a tag."""
    prefix: str = ""
    """Of a branch; another value is no branch."""

    def find_branch(self, environment: Mapping[str, str], commit: str) -> str | None:
        name = environment.get(self.branch, "")
        # Some workflows that run alongside a pull request name the main branch, and check another commit out.
        is_of_it = environment.get(self.commit, commit) in (commit, "HEAD")
        others = (environment.get(key, "") not in ("", "false") for key in self.not_built)
        if not is_of_it or any(others) or not name.startswith(self.prefix):
            return None
        return name.removeprefix(self.prefix) or None


_HEADS = "refs/heads/"

SYSTEMS: Mapping[str, _System] = {
    # docs.github.com/actions/reference/workflows-and-actions/variables: a pull request has a head
    "GITHUB_REF": _System("GITHUB_REF", "GITHUB_SHA", ("GITHUB_HEAD_REF",), _HEADS),
    # docs.gitlab.com/ci/variables/predefined_variables: pipelines of merge requests and tags have no branch
    "CI_COMMIT_SHA": _System("CI_COMMIT_BRANCH", "CI_COMMIT_SHA", ("CI_MERGE_REQUEST_IID", "CI_COMMIT_TAG")),
    # buildkite.com/docs/pipelines/configure/environment-variables: a build of a tag has its name as branch
    "BUILDKITE_BRANCH": _System(
        "BUILDKITE_BRANCH", "BUILDKITE_COMMIT", ("BUILDKITE_PULL_REQUEST", "BUILDKITE_TAG")
    ),
    # circleci.com/docs/reference/variables
    "CIRCLE_SHA1": _System(
        "CIRCLE_BRANCH", "CIRCLE_SHA1", ("CIRCLE_PULL_REQUEST", "CIRCLE_PR_NUMBER", "CIRCLE_TAG")
    ),
    # learn.microsoft.com/azure/devops/pipelines/build/variables
    # (BUILD_SOURCEBRANCHNAME is "main" for the branch x/main as well)
    "BUILD_SOURCEBRANCH": _System(
        "BUILD_SOURCEBRANCH", "BUILD_SOURCEVERSION", ("SYSTEM_PULLREQUEST_PULLREQUESTID",), _HEADS
    ),
}
"""CI systems, each by a variable that it always sets."""


def find_commit(folder: Path, environment: Mapping[str, str] = os.environ) -> tuple[str | None, str | None]:
    """Return the commit that a folder has checked out, and the branch that it is on; None where unknown.

    Args:
        folder: where the config is.
        environment: has what a CI system says.
    """
    commit = (_ask_git(folder, "rev-parse", "HEAD") or "").strip() or None
    if commit is None:
        return None, None
    for mark, system in SYSTEMS.items():
        if environment.get(mark):
            return commit, system.find_branch(environment, commit)
    # A checkout with changes in files that git knows is on no branch.
    if _ask_git(folder, "status", "--porcelain", "--untracked-files=no") != "":
        return commit, None
    return commit, (_ask_git(folder, "symbolic-ref", "--short", "--quiet", "HEAD") or "").strip() or None


def _ask_git(folder: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(  # noqa: S603
            ["git", "--no-optional-locks", *arguments],  # noqa: S607 the user's git
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if result.returncode else result.stdout
