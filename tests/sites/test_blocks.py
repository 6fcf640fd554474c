"""Blocks of sites, as they are given: what is wrong or missing is told before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from pytest_browsereval.errors import ConfigError
from pytest_browsereval.sites import SiteConfig, check


def test_wrong_blocks(subtests: pytest.Subtests) -> None:
    """A block that cannot be meant is refused with what is allowed."""
    cases: list[tuple[dict[str, object], str]] = [
        ({}, "exactly one of static, command and compose; given: nothing"),
        (
            {"static": "x", "command": ["y"]},
            "exactly one of static, command and compose; given: command, static",
        ),
        ({"static": "x", "reset": "POST /reset"}, "a static site has no reset"),
        ({"command": ["x"], "package": "y"}, "package is 'y', but only a static site can be in a package"),
        ({"static": "x", "package": "../y"}, "should match pattern"),
        ({"command": []}, "at least 1 item"),
        ({"command": ["x"], "reset": "/reset"}, "should match pattern"),
        ({"command": ["x"], "health": "health"}, "should match pattern"),
        ({"command": ["x"], "rest": "POST /"}, "Extra inputs"),
        ({"command": "python app.py"}, "no shell reads it"),
        ({"command": ["x"], "reset": "restarts"}, "should match pattern"),
        ({"compose": "x", "command": ["y"]}, "exactly one of static, command and compose"),
        ({"compose": "x", "service": "web"}, "compose, service and port belong together"),
        ({"command": ["x"], "port": 80}, "compose, service and port belong together"),
        ({"static": "x", "data": "y"}, "a static site has no data"),
        ({"command": ["x"], "data": "y"}, "data is 'y', and nothing names its copy. Write both"),
        ({"command": ["x"], "env": {"HOME": "{data}/x"}}, "no data. Write both `data: FOLDER` and {data}"),
    ]
    for block, told in cases:
        with subtests.test(block=block, told=told), pytest.raises(ValidationError, match=told):
            SiteConfig.model_validate(block)


def test_check_passes_what_is_there(tmp_path: Path) -> None:
    """Folders and programs that exist pass, named by path, by PATH or by a placeholder."""
    (tmp_path / "site").mkdir()
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    commands = {
        "a": SiteConfig(command=("{python}", "app.py", "{port}")),
        "b": SiteConfig(command=("./tool",)),
        "c": SiteConfig(command=("sh", "-c", "exit")),
    }
    check({"shop": SiteConfig(static=Path("site")), **commands}, tmp_path)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (SiteConfig(static=Path("nowhere")), r"sites\.shop\.static is 'nowhere', but there is no folder"),
        (SiteConfig(command=("sh",), cwd=Path("nowhere")), r"sites\.shop\.cwd is 'nowhere'"),
        (SiteConfig(package="no_such", static=Path("x")), r"package is 'no_such'.*pip install no_such"),
        (SiteConfig(package="pytest_html", static=Path("nowhere")), r"no folder '.*pytest_html/nowhere'"),
        (SiteConfig(command=("no-such-program",)), r"sites\.shop\.command begins with 'no-such-program'"),
        (SiteConfig(command=("./tool",)), r"'\./tool', which is neither a program"),
    ],
)
def test_check_refuses_what_is_missing(tmp_path: Path, config: SiteConfig, told: str) -> None:
    """Missing folders and programs are told with key, value and what to do, before anything is started."""
    with pytest.raises(ConfigError, match=told) as caught:
        check({"shop": config}, tmp_path)
    assert "Allowed: a " in str(caught.value)
