"""What is recorded of drags, scrolling, hovering and files."""

from __future__ import annotations

from pathlib import Path

from tests.features.record.conftest import Record
from tests.features.record.hands import Hands
from tests.features.record.items import SAY, contents, step


def test_what_is_drawn_and_what_is_dragged(record: Record) -> None:
    """A click into a drawing is one at a point; what is dragged has a source and a target."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.mouse.click(40, 60)
        await page.mouse.dblclick(50, 70)
        await page.mouse.move(10, 20)
        await page.mouse.down()
        await page.mouse.move(90, 80, steps=3)
        await page.mouse.up()
        await page.get_by_text("Card").drag_to(page.get_by_text("Done"))
        await page.get_by_text("dropped").wait_for()

    html = f"""<style>body {{ margin: 0 }} canvas {{ display: block }}</style>
        <canvas width=300 height=150></canvas><p draggable=true>Card</p>
        <div ondragover="event.preventDefault()" ondrop="say('dropped')">Done</div>{SAY}"""
    assert contents(record(html, act)) == [
        step("click", "body > canvas", position=[40, 60]),
        step("click", "body > canvas", position=[50, 70], click_count=2),
        {"tool": "drag_at", "start_x": 10, "start_y": 20, "end_x": 90, "end_y": 80},
        {"tool": "drag", "source": 'text="Card"', "target": 'text="Done"'},
    ]


def test_a_drag_by_a_captured_pointer(record: Record) -> None:
    """What a page moves with a pressed pointer is a drag to where it is dropped, or between two points."""

    async def act(hands: Hands) -> None:
        page = hands.page
        for x, y in ((305, 5), (150, 250)):
            await page.mouse.move(20, 15)
            await page.mouse.down()
            await page.mouse.move(100, 60, steps=4)
            await page.mouse.move(x, y, steps=4)
            await page.mouse.up()
            await hands.settle()

    html = """<style>body { margin: 0 } div { position: absolute; user-select: none }</style><div id=board
        style="width: 250px; height: 300px"><div id=card style="left: 5px; top: 5px">Card</div></div>
        <div id=bin style="left: 300px">Bin here</div><script>card.onpointerdown = (event) => {
          card.setPointerCapture(event.pointerId); card.onpointermove = (one) => {
            card.style.translate = `${one.clientX - event.clientX}px ${one.clientY - event.clientY}px` };
          card.onpointerup = () => { card.onpointermove = null; card.style.translate = '' } }</script>"""
    assert contents(record(html, act)) == [
        {"tool": "drag", "source": 'text="Card"', "target": 'text="Bin here"'},
        {"tool": "drag", "source": 'text="Card"', "target": "#board", "to_position": [150, 250]},
    ]


def test_what_a_pointer_brings_into_sight(record: Record) -> None:
    """To point at a menu is a step once something in it is used, by styles or by scripts, in each level."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_text("Kitchen").hover()
        await hands.wait_for_listeners()
        await page.get_by_text("Mugs").hover()
        await page.get_by_text("Blue").click()
        await page.mouse.move(400, 300)
        await hands.wait_for_listeners()
        await page.get_by_text("Row").hover()
        await page.get_by_role("button", name="Delete").click()
        await page.get_by_role("button", name="Plain").hover()
        await page.get_by_role("button", name="Plain").click()

    html = """<style>li ul { display: none } li:hover > ul { display: block }</style>
        <ul><li><a href="#1">Kitchen</a><ul><li><a href="#2">Mugs</a>
        <ul><li><a href="#3">Blue</a></ul></ul></ul>
        <p onmouseenter="del.hidden = false" onmouseleave="del.hidden = true">Row
        <button id=del hidden>Delete</button></p><button>Plain</button>"""
    assert contents(record(html, act)) == [
        step("hover", 'role=link[name="Kitchen"]'),
        step("hover", 'role=link[name="Mugs"]'),
        step("click", 'role=link[name="Blue"]'),
        step("hover", 'text="Row Delete"'),
        step("click", 'role=button[name="Delete"]'),
        step("click", 'role=button[name="Plain"]'),
    ]


def test_scrolling(record: Record) -> None:
    """Turns of the wheel one after another are a step, of the page or of a list; at its end they are none."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.mouse.move(400, 400)
        for y in (240, 240):
            await page.mouse.wheel(0, y)
            await hands.wait_for_listeners()
        await page.mouse.wheel(0, -5000)
        await hands.wait_for_listeners()
        await page.mouse.wheel(0, -240)
        await page.locator("#list").hover()
        await page.mouse.wheel(0, 120)
        await hands.wait_for_listeners()

    html = f"""<div id=list style="height: 60px; width: 90px; overflow: auto">{"<p>x</p>" * 20}</div>
        <div style="height: 3000px">Long</div>"""
    assert contents(record(html, act)) == [
        {"tool": "scroll", "direction": "down", "amount": 4},
        {"tool": "scroll", "direction": "up", "amount": 42},
        {"tool": "scroll", "direction": "down", "amount": 1, "target": "#list"},
    ]


def test_scrolling_a_page_that_grows(record: Record) -> None:
    """What was there before is scrolled in one step, what was loaded in the next; neither is pointed at."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_text("Here").hover()
        for notches in (3, 3, 40, 5):
            await page.mouse.wheel(0, notches * 120)
            await hands.wait_for_listeners()
        await page.get_by_role("button", name="New 2").click()

    html = """<p style="position: fixed">Here</p><div id=long style="height: 3000px"></div><script>
        let count = 0; const most = (size) => scrollY > size && count < size / 300;
        onscroll = () => { if (!most(300) && !most(600)) return; long.insertAdjacentHTML('afterend',
          `<button style="position: fixed; top: ${count * 40}px">New ${++count}</button>
          <p style="height: 2000px">`)
        }</script>"""
    assert contents(record(html, act)) == [
        {"tool": "scroll", "direction": "down", "amount": 6},
        {"tool": "scroll", "direction": "down", "amount": 45},
        step("click", 'role=button[name="New 2"]'),
    ]


def test_clicks_that_change_nothing(record: Record) -> None:
    """A click on a text is no step unless something comes of it: a change, or a request."""

    async def act(hands: Hands) -> None:
        page = hands.page
        for name in ("Changes", "Asks"):
            await page.get_by_text(name).click()
            for _ in range(2):
                await hands.wait_for_listeners()
        await page.get_by_text("Idle").dblclick()
        for _ in range(2):
            await hands.wait_for_listeners()
        assert await hands.said() == "A click that changed nothing is not a step."

    html = """<p>Idle</p><p onclick="this.title = 'x'">Changes</p>
        <p onclick="setTimeout(() => navigator.sendBeacon('/'), 100)">Asks</p>"""
    assert [one["target"] for one in contents(record(html, act))] == ['text="Changes"', 'text="Asks"']


def test_files(record: Record, tmp_path: Path) -> None:
    """A file that is chosen is known by its path, which the browser tells; what a script makes is none."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "cv.txt").write_text(folder)
    kept: dict[str, Path] = {}

    async def act(hands: Hands) -> None:
        page = hands.page
        for folder in ("one", "two", "one"):
            async with page.expect_file_chooser() as opened:
                await page.get_by_label("CV").click()
            await (await opened.value).set_files(tmp_path / folder / "cv.txt")
            await hands.settle()
        kept.update(hands.recorder.list.used_files)

        session = await page.context.new_cdp_session(page)
        for kind in ("dragEnter", "dragOver", "drop"):
            data = {"items": [], "files": [str(tmp_path / "two/cv.txt")], "dragOperationsMask": 1}
            await session.send("Input.dispatchDragEvent", {"type": kind, "x": 60, "y": 120, "data": data})
        await hands.settle()

    zone = (
        "<div style='position:fixed;top:90px;height:60px' ondragover='event.preventDefault()'>Drop here</div>"
    )
    items = record(f"<label>CV <input type=file></label>{zone}", act)
    assert [one["files"] for one in contents(items)] == [["cv.txt"], ["cv-2.txt"], ["cv.txt"], ["cv-2.txt"]]
    assert contents(items)[-1]["target"] == 'text="Drop here"'
    assert kept == {"cv.txt": tmp_path / "one/cv.txt", "cv-2.txt": tmp_path / "two/cv.txt"}
