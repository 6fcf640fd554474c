"""What is written for a program and of it: its MCP file, its log, its variables."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.features.programs.agent import CommandAgentConfig
from pytest_browsereval.features.programs.mcp_file import McpFile, as_toml, check_placeholders, filled
from pytest_browsereval.features.programs.process import environment

VALUES = {"mcp_url": "http://127.0.0.1:1/a/mcp", "mcp_token": "t0k", "output_dir": "/out"}

CONTENT: dict[str, Any] = {
    "top": 'quote " backslash \\ tab \t del \x7f euro € smile 😀',
    "number": 30,
    "half": 0.5,
    "yes": True,
    "words": ["a", 'b"', 3, False],
    "servers": {"my server.1": {"url": "x", "headers": {"A-B": "c"}}},
}


def test_toml_is_what_toml_readers_read() -> None:
    """Texts of all kinds, numbers, lists and tables in tables come back as they were."""
    assert tomllib.loads(as_toml(CONTENT)) == CONTENT


def test_the_file_is_its_owner_s_and_in_the_folder(tmp_path: Path) -> None:
    """It is written where the program looks, with the placeholders filled in."""
    path = McpFile(path=".gemini/settings.json").write(tmp_path, VALUES)
    assert path == tmp_path / ".gemini/settings.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    server = json.loads(path.read_text())["mcpServers"]["browser"]
    assert server["url"] == VALUES["mcp_url"]
    assert server["headers"] == {"Authorization": "Bearer t0k"}
    for wrong in ("/etc/x", "../x", "a/../../x", "", "a\\b"):
        with pytest.raises(ValidationError, match="is not a path inside"):
            McpFile(path=wrong)


def test_placeholders_are_filled_in_once() -> None:
    """What is filled in is not looked at again; doubled braces and variables stay."""
    values = {"task": "{model} {{task}}", "model": "m"}
    assert filled("{task} {{model}} ${model} { } {1}", values) == "{model} {{task}} {model} ${model} { } {1}"
    assert filled({"a": ["{model}", 1, None]}, values) == {"a": ["m", 1, None]}
    with pytest.raises(ValueError, match=r"here has the placeholder \{modle\}.* Did you mean 'model'\?"):
        check_placeholders(("x", {"a": "{modle}"}), [*values], "here")


def test_a_program_gets_few_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that every program needs, those that are named, and the loopback past any proxy."""
    for name, value in {"AAA_TOKEN": "secret-1", "BBB": "b", "NO_PROXY": "corp", "HTTPS_PROXY": "p"}.items():
        monkeypatch.setenv(name, value)
    plain = environment((), {"X": "1"})
    assert plain["X"] == "1"
    assert "PATH" in plain
    assert not {"AAA_TOKEN", "BBB", "HTTPS_PROXY", "NO_PROXY"} & set(plain)
    named = environment(("BBB", "HTTPS_PROXY", "NO_PROXY", "NOT_SET"), {})
    assert (named["BBB"], named["NO_PROXY"], named["no_proxy"]) == (
        "b",
        "corp,127.0.0.1,localhost",
        "127.0.0.1,localhost",
    )
    assert "NOT_SET" not in named
    given = {"OPENAI_API_KEY": "key-123", "short_token": "abc", "MODEL": "not-secret"}
    config = CommandAgentConfig(command=("x",), pass_env=("AAA_TOKEN", "BBB", "NOT_SET"), env=given)
    assert config.secrets()[:-1] == ("secret-1", "key-123")
