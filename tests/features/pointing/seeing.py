"""What a model that sees needs: the picture that it was sent, and the place of a colour in it."""

from __future__ import annotations

import asyncio
import base64
import io
import mimetypes
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops, ImageFilter

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.llm.client import close_clients
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.testing import ModelRequest
from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.toolkits import CATALOG
from tests.agents.desk import Desk, MakeDesk, PaperWindow
from tests.support import PageServer, Run, Visit, configured, visiting

TARGETS = Path(__file__).parents[3] / "examples" / "quickstart" / "sites" / "targets"
GREEN, BLUE, VIOLET = (0x6F, 0xCF, 0x97), (0x56, 0xA8, 0xF5), (0xB2, 0x8D, 0xFF)
"""The targets of 32, 24 and 16 pixels."""

REACH = 50
"""Pixels around a spot that belong to it."""
SHADE = 48
"""How far a channel may be off: pictures are compressed, and blurred where they are shrunk."""


def decoded(encoded: str) -> Image.Image:
    """Return the picture in base64, or in a data URL."""
    return Image.open(io.BytesIO(base64.b64decode(encoded.rpartition(",")[2]))).convert("RGB")


def picture_of(request: ModelRequest) -> Image.Image:
    """Return the newest picture that a model was sent."""
    parts = [
        part
        for message in request.messages
        if isinstance(message["content"], list)
        for part in message["content"]
    ]
    return decoded([part["image_url"]["url"] for part in parts if part["type"] == "image_url"][-1])


def centre(picture: Image.Image, colour: tuple[int, int, int]) -> tuple[float, float]:
    """Return the middle of the spot where a colour is most dense."""
    away = ImageChops.difference(picture, Image.new("RGB", picture.size, colour))
    near = [band.point(lambda off: 255 * (off < SHADE)) for band in away.split()]
    mask = ImageChops.darker(ImageChops.darker(near[0], near[1]), near[2])
    dense = mask.filter(ImageFilter.BoxBlur(4)).tobytes()
    assert max(dense), f"nothing in the picture is {colour}"
    y, x = divmod(dense.index(max(dense)), picture.width)
    left, top = max(0, x - REACH), max(0, y - REACH)
    box = mask.crop((left, top, x + REACH, y + REACH)).getbbox()
    assert box
    return left + (box[0] + box[2]) / 2, top + (box[1] + box[3]) / 2


def pointed(picture: Image.Image, colour: tuple[int, int, int], coordinates: str) -> dict[str, int]:
    """Return the point that a model would write, a whole number each."""
    x, y = centre(picture, colour)
    if coordinates == "normalized":
        x, y = x / picture.width * 1000, y / picture.height * 1000
    return {"x": int(x), "y": int(y)}


def serve(pages: PageServer) -> str:
    """Serve the page that knows pixel truth and return its address."""
    for file in TARGETS.iterdir():
        kind = mimetypes.guess_type(file.name)[0] or "text/plain"
        pages.page(f"/targets/{file.name}", file.read_bytes(), media_type=kind)
    return f"{pages.url}/targets/index.html"


@contextmanager
def range_of(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, folder: Path, scale: float
) -> Iterator[Visit]:
    """Open the page in a window of a device scale, with pictures of every step."""
    options: dict[str, Any] = {"context": {"device_scale_factor": scale}}
    url = serve(pages)
    with configured(browser, **options), visiting(run, browser, folder, url, screenshots="after") as opened:
        yield opened


def play(opened: Visit, config: AgentConfig, folder: Path) -> AgentResult:
    """Let an agent work in an open window."""
    task = Task.model_validate({"query_id": "row", "query": "Hit the targets."})
    config.preflight(folder)
    config.check(task, {tool.name: tool for tool in opened.tools.tools})
    context = AgentContext(
        config=config,
        task=task,
        window=opened.window,
        tools=opened.tools,
        capture=opened.capture,
        output_dir=folder,
        task_output_dir=folder,
        base_dir=folder,
    )

    async def course() -> AgentResult:
        try:
            return await config.build(context).execute()
        finally:
            await close_clients()

    return opened.run(course())


def zoom(opened: Visit, way: str) -> None:
    """Zoom the page: ``css 1.25`` as its own styles do, ``pinch 2`` as fingers do."""
    kind, _, factor = way.partition(" ")
    if kind == "css":
        opened.js(f"document.documentElement.style.zoom = {factor}; refresh()")
    elif kind == "pinch":
        session = opened.run(opened.window.context.new_cdp_session(opened.window.page))
        gesture = {"x": 300, "y": 370, "scaleFactor": float(factor)}
        opened.run(session.send("Input.synthesizePinchGesture", gesture))
        assert opened.js("visualViewport.scale") > 1.2


# -- tools on paper: real schemas, and bodies that only tell what they were called with


def paper_tools(log: list[tuple[str, dict[str, Any]]]) -> tuple[Tool, ...]:
    """Return all built-in tools, which write their calls down."""

    def on_paper(tool: Tool) -> Tool:
        async def body(window: PaperWindow, **arguments: Any) -> str:
            del window
            defaults = {name: field.default for name, field in tool.arguments.model_fields.items()}
            log.append((tool.name, {key: it for key, it in arguments.items() if it != defaults[key]}))
            return f"did {tool.name}"

        return replace(tool, body=body)

    return tuple(on_paper(tool) for kit in CATALOG.values() for tool in kit.tools)


Make = Callable[[AgentContext], AgentEvaluator]
Close = Callable[[], Awaitable[object]]


class PaperDesk:
    """A desk with all tools, on paper, and the log of what they did."""

    def __init__(self, make_desk: MakeDesk, **settings: Any) -> None:
        self.log: list[tuple[str, dict[str, Any]]] = []
        self.desk: Desk = make_desk(**{"tools": paper_tools(self.log), "screenshots": "after", **settings})

    def play(
        self, config: AgentConfig, make: Make | None = None, close: Close = close_clients
    ) -> AgentResult:
        """Run an attempt of an agent, or of what is made in its place, and close its clients."""

        async def course() -> AgentResult:
            try:
                return await (make or config.build)(self.desk.context(config)).execute()
            finally:
                await close()

        return asyncio.run(course())


async def no_wait(seconds: float) -> None:
    """Try again at once."""
    del seconds
