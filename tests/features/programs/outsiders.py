"""Programs that tests of the command agent write, start and look for."""

from __future__ import annotations

import asyncio
from textwrap import dedent
from typing import Any

import pytest

from pytest_browsereval.features.programs.agent import CommandAgentConfig
from pytest_browsereval.model.results import AgentResult
from tests.agents.desk import Desk, PaperWindow
from tests.hooks.launched import wait_for
from tests.support import has_ended, until

CLIENT = '''
import asyncio, json, os, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

def server():
    """The server of the config file that the command line names, in the form that most programs read."""
    block = json.load(open(sys.argv[1]))["mcpServers"]["browser"]
    http = httpx2.AsyncClient(headers=block["headers"], timeout=60)
    return streamable_http_client(block["url"], http_client=http)

async def call(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    return result.content[0].text

async def main():
    async with Client(server()) as client:
        await work(client)
'''
"""The head of a program that speaks MCP."""


class CdpWindow(PaperWindow):
    """One that tells an address for programs."""

    @property
    def cdp_url(self) -> str:
        return "http://127.0.0.1:1/devtools"


def script(desk: Desk, code: str, *, client: bool = False) -> list[str]:
    """Write a program and return how it is run."""
    path = desk.base_dir / f"program_{len(list(desk.base_dir.glob('program_*')))}.py"
    tail = "\nasyncio.run(main())\n" if client else ""
    path.write_text((CLIENT if client else "") + dedent(code) + tail, encoding="utf-8")
    return ["{python}", str(path)]


def agent(**block: Any) -> CommandAgentConfig:
    return CommandAgentConfig.model_validate(block)


def play(desk: Desk, config: CommandAgentConfig, **row: Any) -> AgentResult:
    config.preflight(desk.base_dir)

    async def course() -> AgentResult:
        return await config.build(desk.context(config, **row)).execute()

    return asyncio.run(course())


def run(desk: Desk, code: str, *, client: bool = False, **block: Any) -> AgentResult:
    """Play an attempt with a program of the test's."""
    arguments = [*script(desk, code, client=client), *(["{mcp_config}"] if client else [])]
    return play(desk, agent(command=arguments, **{"mcp": "http" if client else "off", **block}))


async def cut_off(desk: Desk, config: CommandAgentConfig) -> None:
    """Play an attempt that is cancelled once its program has printed a line."""
    task = asyncio.ensure_future(config.build(desk.context(config)).execute())
    await until(lambda: (desk.folder / "agent/stdout.log").exists() and log(desk).endswith("\n"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def log(desk: Desk, name: str = "stdout") -> str:
    return (desk.folder / "agent" / f"{name}.log").read_text()


def assert_gone(pid: int) -> None:
    """Assert that a process has ended, or does so by itself: one that was killed takes a moment."""
    wait_for(lambda: has_ended(pid), f"process {pid} has ended")
