"""A stand-in for ``docker``: it answers the commands of Compose that we use as the real one does.

``version``, ``config`` and ``down`` do their work at once, ``up`` serves until it is asked to end. What a
project stores is a file of its name in the folder STAND_IN, which only ``down --volumes`` removes: a volume
outlives its containers. Tags of YAML that take something back are understood as in Compose 2.24.
"""

from __future__ import annotations

import http.server
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import yaml

HOME = Path(os.environ["STAND_IN"])


class Loader(yaml.SafeLoader):
    """Reads ``!override`` and ``!reset``."""


def override(loader: Loader, node: yaml.SequenceNode) -> list[Any]:
    return loader.construct_sequence(node)


Loader.add_constructor("!override", override)
Loader.add_constructor("!reset", lambda _loader, _node: None)


def read(files: list[str]) -> dict[str, dict[str, Any]]:
    """Return the services, those of later files over those of earlier ones."""
    services: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, block in yaml.load(Path(file).read_text(), Loader)["services"].items():  # noqa: S506
            services[name] = {**services.get(name, {}), **block}
    return services


def serve(volume: Path, ports: list[str]) -> None:
    """Serve the volume as a page; each request of ``/add`` adds to it."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/add":
                volume.write_text(volume.read_text() + "x")
            body = f"<p>stored: {len(volume.read_text())}, flavour {os.environ.get('FLAVOUR')}</p>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

    (port,) = ports
    host, outer, inner = port.split(":")
    assert inner == "3000"
    http.server.HTTPServer((host, int(outer)), Handler).serve_forever()


def main(words: list[str]) -> None:
    """Do what a command says."""
    with (HOME / "calls").open("a") as calls:
        print(*words, file=calls)
    assert words.pop(0) == "compose", "docker: unknown command"
    options: dict[str, list[str]] = {"--file": [], "--project-name": []}
    while words[0] in options:
        options[words.pop(0)].append(words.pop(0))
    command = words.pop(0)
    if command == "version":
        sys.stdout.write(os.environ.get("COMPOSE_VERSION", "2.29.1"))
        return
    services = read(options["--file"])
    if command == "config":
        sys.stdout.write("\n".join(services) if "--services" in words else json.dumps({"services": services}))
        return
    volume = HOME / options["--project-name"][0]
    if command == "down":
        if "--volumes" in words:
            volume.unlink(missing_ok=True)
        return
    assert command == "up"
    if (HOME / "broken").exists():
        sys.exit("Error response from daemon: pull access denied for shop")
    assert not any(block.get("container_name") for block in services.values())
    assert [name for name, block in services.items() if block.get("ports")] == ["web"]
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    volume.touch()
    serve(volume, services["web"]["ports"])


main(sys.argv[1:])
