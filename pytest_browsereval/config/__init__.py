"""The eval config: what to run, on which rows, with which graders and limits."""

from __future__ import annotations

from pytest_browsereval.config.gate import GateConfig
from pytest_browsereval.config.loading import config_from, gate_from, load_config, load_gate, load_place
from pytest_browsereval.config.model import CaptureConfig, EvalConfig, LimitsConfig

__all__ = [
    "CaptureConfig",
    "EvalConfig",
    "GateConfig",
    "LimitsConfig",
    "config_from",
    "gate_from",
    "load_config",
    "load_gate",
    "load_place",
]
