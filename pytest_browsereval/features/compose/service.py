"""Runs one project of Compose as a site: ``service.py FILE SERVICE PORT_IN_CONTAINER PORT``.

The project has a name of its own, and publishes nothing but the port of its service, on the loopback, so
that several may run at once. When this program ends, the project is removed with its volumes.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CONTAINERS_S = "10"
"""How long containers may take to stop."""


def main(file: str, service: str, inner: str, port: str) -> int:
    """Run the project until it ends, or this program is asked to; return the exit code of ``up``."""
    compose = ["docker", "compose", "--project-name", f"browsereval-{port}-{secrets.token_hex(4)}"]
    compose += ["--file", file]
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda _number, _frame: sys.exit(0))
    read = subprocess.run(  # noqa: S603 the user's own Docker, here and below
        [*compose, "config", "--format", "json"], stdout=subprocess.PIPE, check=False
    )
    if read.returncode != 0:
        return read.returncode
    services: dict[str, Any] = json.loads(read.stdout)["services"]
    with tempfile.TemporaryDirectory() as folder:
        override = Path(folder, "override.yaml")
        override.write_text(_override(services, service, f"127.0.0.1:{port}:{inner}"), "utf-8")
        compose += ["--file", str(override)]
        try:
            up = [*compose, "up", "--no-color", "--remove-orphans"]
            return subprocess.run(up, stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603
        finally:
            for name in (signal.SIGTERM, signal.SIGINT):  # to be asked twice must leave nothing behind
                signal.signal(name, signal.SIG_IGN)
            down = [*compose, "down", "--volumes", "--remove-orphans", "--timeout", CONTAINERS_S]
            with contextlib.suppress(OSError):
                subprocess.run(down, stdin=subprocess.DEVNULL, check=False)  # noqa: S603


def _override(services: dict[str, Any], service: str, published: str) -> str:
    """Return a file that takes back what two projects cannot both have: ports and names of containers."""
    lines = ["services:"]
    for name, block in services.items():
        ports = f"!override [{json.dumps(published)}]" if name == service else "!reset []"
        lines += [f"  {json.dumps(name)}:", f"    ports: {ports}"]
        if "container_name" in block:
            lines.append("    container_name: !reset null")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
