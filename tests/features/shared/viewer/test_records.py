"""Console, requests, markup and trace on an attempt's page: where they belong, and only as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.dom import INERT
from pytest_browsereval.capture.downloads import Download
from pytest_browsereval.capture.output import AttemptOutput
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.shared.viewer import records
from pytest_browsereval.features.shared.viewer.records import records_of
from pytest_browsereval.features.shared.viewer.writing import write_viewer
from pytest_browsereval.features.view.single import write_single
from pytest_browsereval.run.store import RunStore
from tests.features.shared.viewer.conftest import CANARY, HOSTILE, Look, Reader, asked, write_records
from tests.labelled import folder_of

FIND = "#/find/default/1/attempt-1"


def test_records_stand_at_their_step(recorded: RunStore, look: Look) -> None:
    """Lines of the console and requests are counted at the step that they came in, and unfold there."""

    async def work(reader: Reader) -> None:
        await reader.open(f"{FIND}/step-1")
        assert await reader.texts("#entries .side") == ["console 1", "console 1", "2 errors"]
        assert await reader.texts("#detail .record summary") == ["Console: 1 line", "Requests: 2, 1 failed"]
        assert await reader.page.locator("#detail .said li").count() == 0
        await reader.unfold("#detail .record:first-of-type summary")
        assert await reader.texts("#detail .said li") == ["warning slow http://shop.test/a.js:7"]
        await reader.unfold("#detail .record:last-of-type summary")
        assert await reader.texts("#detail .asked tbody tr") == [
            "GET 200 http://shop.test/ text/html 1.5 kB 0.01 s",
            "GET 404 failed http://shop.test/gone.png image/png \u2013 0.01 s",
        ]
        await reader.press("ArrowDown")
        await reader.unfold("#detail .record:first-of-type summary")
        raised = "uncaught error TypeError: x is not a function … 9 more characters tab 2"
        assert await reader.texts("#detail .said li") == [raised, "error 404"]

    look(write_viewer(open_door(), recorded.root).file, work)


def test_all_of_an_attempt_is_below_its_timeline(recorded: RunStore, look: Look) -> None:
    """The whole console and all requests lead to their steps; markup that we did not still is no link."""

    async def work(reader: Reader) -> None:
        await reader.open(FIND)
        told = ["Console: 4 lines, 2 errors", "Requests: 3, 2 failed", "Markup of the page: 1 copy"]
        assert await reader.texts("#records summary") == told
        await reader.unfold("#records summary")
        rows = await reader.texts("#records .asked tbody tr")
        blocked = "✗ net::ERR_BLOCKED_BY_CLIENT failed"
        assert rows[2] == f"step 2 POST {blocked} http://elsewhere.test/ text/html 1.5 kB 0.01 s"
        await reader.page.locator("#records .said .to", has_text="step 1").click()
        assert await reader.place() == "/find/default/1/attempt-1/step-1"
        links = await reader.links("#closeup")
        trace, markup = (f"tasks/find/default/1/attempt-1/{name}" for name in ("trace.zip", "dom/001.html"))
        found = [link for link in links if "dom/" in link or "trace" in link]
        assert found == [trace, markup, markup, trace]
        assert (await reader.text("#records > p")).endswith(f"type playwright show-trace {trace}")
        await reader.open("#/buy/default/1/attempt-1")
        assert await reader.page.locator("#records").is_hidden()

    look(write_viewer(open_door(), recorded.root).file, work)


def test_hostile_records_are_text(recorded: RunStore, look: Look) -> None:
    """Markup runs nothing; escapes, turned directions and unseen signs are spelt out; bad bytes are told."""
    key = folder_of(recorded, HOSTILE).relative_to(recorded.root / "tasks").as_posix()

    async def work(reader: Reader) -> None:
        await reader.open(f"#/{key}")
        await reader.unfold("#records summary")
        said = await reader.page.locator("#records .said").text_content()
        assert "<script>document.title = 'owned'</script></script><!-- <img src=x" in said
        assert "\\x1b[31mred\\x1b[0m\\x9b2J\\u200b\\u2066\\x00" in said
        assert "\\u202e" in said
        shown = await reader.page.locator("#records").text_content()
        assert not set(shown) & set("\x1b\x9b\u202e\u2028\u200b\u2066\x00")
        assert await reader.page.locator("#records .said li").count() == 4
        assert "\ufffd\ufffd" in said
        assert "damaged [1]" in said
        assert "javascript:document.title='owned'//" in await reader.text("#records .asked .address")
        assert [href for href in await reader.links() if href.startswith(("javascript:", "data:"))] == []
        assert await reader.page.locator("img[src=x]").count() == 0
        assert await reader.page.title() != "owned"
        for width in (400, 1280):
            await reader.page.set_viewport_size({"width": width, "height": 700})
            assert await reader.page.evaluate("document.documentElement.scrollWidth") == width

    look(write_viewer(open_door(), recorded.root).file, work)


def test_a_page_that_stands_alone_has_them(recorded: RunStore, tmp_path: Path, look: Look) -> None:
    """Console and requests are in it, links to files are not; what does not fit is told."""
    file = tmp_path / "page.html"
    write_single(open_door(), recorded.root, file)

    async def work(reader: Reader) -> None:
        await reader.open(FIND)
        assert "Console: 4 lines, 2 errors" in await reader.texts("#records summary")
        assert await reader.page.locator("#closeup a[href*='tasks']").count() == 0
        assert "which is not in this page" in await reader.text("#records")

    look(file, work)
    folder = folder_of(recorded, "find")
    (folder / "console.jsonl").write_text('{"kind": "log", "text": "%s"}\n' % ("x" * 900) * 1_000)
    write_single(open_door(), recorded.root, file, 300_000)

    async def later(reader: Reader) -> None:
        await reader.open(FIND)
        assert "Left out: console.jsonl and requests." in await reader.text("#records")

    look(file, later)


def entries_of(folder: Path) -> dict[str, Any]:
    return records_of(str(folder), ["network.har"], [])


def test_failed_requests_are_kept_first(tmp_path: Path) -> None:
    """Of many requests those that failed are shown, then the first ones; how many are left out is told."""
    most = records.MOST_REQUESTS
    requests = [asked(1, f"http://x.test/{n}", 500 if n > most else 200) for n in range(most + 10)]
    write_records(tmp_path, [], requests)
    found = entries_of(tmp_path)
    assert len(found["har"]) == most
    assert found["har"][-1][3] == f"http://x.test/{most + 9}"
    assert found["har_note"] == "10 more requests are in network.har; none of them failed."
    requests = [asked(1, "http://x.test/", 0) for _ in range(most + 2)]
    (tmp_path / "network.har").write_text(json.dumps({"log": {"entries": requests}}))
    assert entries_of(tmp_path)["har_note"] == "2 more requests are in network.har; 2 of them failed."


@pytest.mark.parametrize("data", [b"", b'{"log": {"entries": [1]}}', b"\xff\xfe", b"[" * 100_000])
def test_a_har_file_that_is_none_is_told(tmp_path: Path, data: bytes) -> None:
    """Whatever a program has written there, the page is written and says so."""
    (tmp_path / "network.har").write_bytes(data)
    found = entries_of(tmp_path)
    assert found["har"] == []
    assert "network.har" in found["har_note"]


def test_large_files_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A console is cut at the end of a line, a HAR file is left out as a whole, an address is shortened."""
    write_records(tmp_path, [], [asked(1, "http://x.test/" + "a" * 5_000)])
    assert entries_of(tmp_path)["har"][0][3].endswith("… (5,014 characters)")
    monkeypatch.setattr(records, "LONGEST_HAR", 100)
    assert entries_of(tmp_path)["har_note"].endswith("bytes and is not shown.")
    (tmp_path / "console.jsonl").write_text('{"kind":"log","text":"1"}\n' * 10)
    monkeypatch.setattr(records, "LONGEST_CONSOLE", 60)
    found = records_of(str(tmp_path), ["console.jsonl"], [])
    assert (found["console"].count("\n"), found["console_left"]) == (2, 8 * 26)


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    """A link in a record's place could show any file of the reader's machine."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(f"{INERT}secret {CANARY}")
    (tmp_path / "dom").mkdir()
    for name in ("console.jsonl", "network.har", "dom/001.html"):
        (tmp_path / name).symlink_to(elsewhere)
    found = records_of(str(tmp_path), ["console.jsonl", "network.har"], ["dom"])
    assert "secret" not in json.dumps(found)
    assert found["dom"] == []


def test_output_of_the_code_is_shown(recorded: RunStore, look: Look) -> None:
    """Each line with where it went, as text; of very many the last ones, and where the rest is."""
    folder = folder_of(recorded, "find")
    kept = AttemptOutput(folder / "output.txt", str)
    kept.write("stdout", f"START {CANARY}\n")
    kept.write("stderr", "careful\n")
    kept.close()
    many = folder_of(recorded, "buy")
    (many / "output.txt").write_text("".join(f"log     | line {number}\n" for number in range(3_000)))

    async def work(reader: Reader) -> None:
        await reader.open(FIND)
        assert (await reader.texts("#records summary"))[0] == "Output of the code: 2 lines"
        await reader.unfold("#records .record:first-of-type summary")
        lines = await reader.texts("#records .said li")
        assert lines[0].startswith("stdout START <script>document.title")
        assert lines[1:] == ["stderr careful"]
        assert await reader.page.title() != "owned"
        await reader.open("#/buy/default/1/attempt-1")
        await reader.unfold("#records .record:first-of-type summary")
        lines = await reader.texts("#records .said li")
        assert (len(lines), lines[0], lines[-1]) == (2_000, "log line 1000", "log line 2999")
        assert await reader.text("#records .said .hint") == "1,000 lines before these are in output.txt."

    look(write_viewer(open_door(), recorded.root).file, work)


def test_downloads_are_listed_and_linked_where_that_is_harmless(recorded: RunStore, look: Look) -> None:
    """With size, or why one is not kept; what a browser might run is no link, and no name is markup."""
    folder = folder_of(recorded, "find")
    lines = (
        Download(name="report.csv", size_bytes=1234),
        Download(name="<b>page.html", size_bytes=5),
        Download(name="big.csv", size_bytes=9, problem="capture.downloads.max_files is 2"),
    )
    (folder / "downloads.jsonl").write_text("".join(f"{line.model_dump_json()}\n" for line in lines))
    (folder / "downloads").mkdir()

    async def work(reader: Reader) -> None:
        await reader.open(FIND)
        told = await reader.texts("#records > p")
        assert told[0] == (
            "Downloads: 3 files. report.csv (1,234 bytes) <b>page.html (5 bytes) "
            "big.csv (9 bytes, not kept: capture.downloads.max_files is 2)"
        )
        links = await reader.links("#records")
        found = [link for link in links if "downloads/" in link]
        assert found == ["tasks/find/default/1/attempt-1/downloads/report.csv"]

    look(write_viewer(open_door(), recorded.root).file, work)
