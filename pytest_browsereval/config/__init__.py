"""The eval config: what is run, on which rows, judged how, within which limits."""

from __future__ import annotations

from pytest_browsereval.config.gate import GateConfig
from pytest_browsereval.config.loading import config_from, gate_from, load_config, load_gate, load_place
from pytest_browsereval.config.model import CaptureConfig, EvalConfig, LimitsConfig
from pytest_browsereval.config.schema import config_schema

__all__ = [
    "CaptureConfig",
    "EvalConfig",
    "GateConfig",
    "LimitsConfig",
    "config_from",
    "config_schema",
    "gate_from",
    "load_config",
    "load_gate",
    "load_place",
]
