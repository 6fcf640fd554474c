from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from pytest_browsereval.builtins import builtin_registry
from pytest_browsereval.config import EvalConfig, load_config
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.registry import Registry


class Load(Protocol):
    def __call__(
        self, text: str, *overrides: str, name: str = ..., environ: Mapping[str, str] = ..., **more: Any
    ) -> EvalConfig: ...


@pytest.fixture(scope="session")
def registry() -> Registry:
    return builtin_registry()


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry) -> Load:
    """Writes a config beside the current folder's ``evals`` and loads it."""
    monkeypatch.chdir(tmp_path)

    def load(
        text: str,
        *overrides: str,
        name: str = "shop.yaml",
        environ: Mapping[str, str] | None = None,
        **more: Any,
    ) -> EvalConfig:
        path = tmp_path / "evals" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return load_config(path, registry=registry, overrides=overrides, environ=environ or {}, **more)

    return load


@pytest.fixture
def refused(load: Load) -> Callable[..., list[str]]:
    """Loads a config that has to be refused and returns the lines of the message."""

    def refused(text: str, *overrides: str, **more: Any) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load(text, *overrides, **more)
        return str(caught.value).splitlines()

    return refused
