"""A browser that reads pages over HTTP: in a conftest.py, or a module of the entry-point group."""

import asyncio
import itertools
import urllib.request
from typing import ClassVar, Literal

from pytest_browsereval import (
    Browser,
    BrowserConfig,
    ErrorSource,
    Fault,
    ForeignResult,
    ForeignTool,
    Survey,
    Tab,
    Window,
)

GET = ForeignTool(
    "get",
    "Open an address and return its text.",
    {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
)
numbers = itertools.count(1)


class TextBrowserConfig(BrowserConfig):
    type: Literal["text"] = "text"  # of an installed package: "acme/text"
    brings_tools: ClassVar[bool] = True  # agents get `get` and `done` in the place of the built-in tools
    has_page: ClassVar[bool] = False  # the default: its windows are not PlaywrightWindow

    async def survey(self):  # asked before anything is spent
        return Survey(tools=(GET,))

    def build(self):
        return TextBrowser()


class TextBrowser(Browser):
    description = "a reader of pages"  # for the header and the manifest
    survey = Survey(tools=(GET,))

    async def start(self):
        pass

    async def open_window(self, request):
        window = TextWindow()
        if request.start_url is not None:
            try:
                await window.load(request.start_url)
            except OSError as error:  # the site's fault, not the agent's: the attempt is errored
                raise Fault(ErrorSource.NAVIGATION, f"{request.start_url}: {error}") from error
        return window

    async def close(self):
        pass


class TextWindow(Window):
    dead = None
    tab_id = 1
    url = ""

    def __init__(self):
        self.window_id = next(numbers)

    async def load(self, url):
        def read():
            try:
                with urllib.request.urlopen(url, timeout=30) as reply:
                    return reply.read().decode()
            except urllib.error.HTTPError as error:
                error.close()  # it holds the connection
                raise

        text = await asyncio.to_thread(read)
        self.url = url
        return text

    async def call_tool(self, name, arguments):
        try:
            return ForeignResult(ok=True, output=await self.load(arguments["url"]))
        except (OSError, ValueError) as error:
            return ForeignResult(ok=False, output=str(error))

    async def tabs(self):
        return [Tab(1, self.url, "", is_current=True)]

    async def screenshot(self, picture="jpeg", quality=80):
        raise Fault(ErrorSource.SCREENSHOT, "a text browser draws nothing")

    async def close(self):
        pass


def pytest_browsereval_register(registry):
    registry.register(TextBrowserConfig)
