"""What is taken out of a recording before it is kept, and recordings that are not whole."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.har import HAR_FILE, record_traffic
from pytest_browsereval.model.traffic import Traffic


def recorded(folder: Path, log: Any, **files: str) -> Path:
    """Save a recording that a browser has left behind, and return where it is kept."""

    async def course() -> None:
        async with record_traffic(folder, Traffic(), str) as har:
            for name, text in files.items():
                (har.parent / name).write_text(text)
            har.write_text(log if isinstance(log, str) else json.dumps(log))

    asyncio.run(course())
    return folder / HAR_FILE


def request(**more: Any) -> dict[str, Any]:
    return {"method": "POST", "url": "http://shop.test/", "headers": [], **more}


def test_a_body_that_was_not_recorded_costs_nothing_else(tmp_path: Path) -> None:
    """The browser may die between the bodies and the file that names them."""
    sent = [request(postData={"mimeType": "text/plain", "_file": name}) for name in ("here", "../../gone")]
    entries = [{"request": one, "response": {"status": 200}} for one in sent]
    saved = json.loads(recorded(tmp_path, {"log": {"entries": entries}}, here="hi").read_text())
    first, second = (entry["request"]["postData"] for entry in saved["log"]["entries"])
    assert first["text"] == "hi"
    assert second == {"mimeType": "text/plain", "comment": "its text was not recorded"}


@pytest.mark.parametrize("log", ["", "{", "[]", '{"log": null}', '{"log": {}}'])
def test_what_is_no_recording_is_not_kept(tmp_path: Path, log: str) -> None:
    assert not recorded(tmp_path, log).exists()
