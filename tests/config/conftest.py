from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from pytest_browsereval.config import EvalConfig, load_config
from pytest_browsereval.config_text import parse
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.shared.config_schema import config_schema
from pytest_browsereval.registry import Registry

Load = Callable[..., EvalConfig]
Refused = Callable[..., list[str]]


@pytest.fixture(scope="session")
def registry() -> Registry:
    return builtin_registry()


@pytest.fixture(scope="session")
def editor(registry: Registry) -> Draft202012Validator:
    """Checks a config as an editor does, by the JSON schema."""
    return Draft202012Validator(config_schema(registry))


@pytest.fixture
def load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry, editor: Draft202012Validator
) -> Load:
    """Writes a config beside the current folder's ``evals`` and loads it; editors accept a clean one."""
    monkeypatch.chdir(tmp_path)

    def load(
        text: str,
        *overrides: str,
        name: str = "shop.yaml",
        environ: Mapping[str, str] | None = None,
        is_clean: bool = True,
        **more: Any,
    ) -> EvalConfig:
        path = tmp_path / "evals" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        config = load_config(path, registry=registry, overrides=overrides, environ=environ or {}, **more)
        if is_clean and not overrides and not more:
            problem = best_match(editor.iter_errors(parse(text, path.suffix).value))
            assert problem is None, problem
        return config

    return load


@pytest.fixture
def refused(load: Load) -> Refused:
    """Loads a config that has to be refused and returns the lines of the message."""

    def refused(text: str, *overrides: str, **more: Any) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load(text, *overrides, **more)
        return str(caught.value).splitlines()

    return refused
