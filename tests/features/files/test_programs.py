"""Programs of others with files of the row: by our MCP server, and by CDP from a folder with copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hooks.small_evals import Evals, row
from tests.support import PATIENCE_S, PageServer

ROOT = Path(__file__).parents[3]

BY_CDP = """
import os, pathlib, sys
from playwright.sync_api import sync_playwright
folder = pathlib.Path(os.environ["BROWSEREVAL_FILES_DIR"])
assert str(folder) in sys.argv[2], sys.argv
pathlib.Path(sys.argv[3]).write_text(str(folder))
with sync_playwright() as playwright:
    page = playwright.chromium.connect_over_cdp(sys.argv[1]).contexts[0].pages[0]
    page.set_input_files("#f", folder / "fixtures/cv.pdf")
    page.click("text=report")
    page.wait_for_timeout(1000)
"""
BY_MCP = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from tests.features.programs.outside import Spoken
token = os.environ["BROWSEREVAL_MCP_TOKEN"]
spoken = Spoken(os.environ["BROWSEREVAL_MCP_URL"], {{"Authorization": "Bearer " + token}})
tools = {{one["name"]: one for one in spoken.ask("tools/list", {{}})["tools"]}}
assert "Files of this task: fixtures/cv.pdf." in tools["upload_file"]["description"]
for name, given in (
    ("upload_file", {{"target": "#f", "files": ["cv.pdf"]}}),
    ("click", {{"target": "text=report"}}),
    ("read_download", {{"name": "report.csv"}}),
    ("done", {{"answer": "right"}}),
):
    spoken.ask("tools/call", {{"name": name, "arguments": given}})
"""


@pytest.mark.slow
def test_programs_upload_and_download(evals: Evals, site: PageServer) -> None:
    """The copies are gone with the program; what was downloaded is kept and checked for both."""
    (evals.path / "fixtures").mkdir()
    (evals.path / "fixtures/cv.pdf").write_bytes(b"%PDF-1.4 cv")
    for name, code in (("cdp", BY_CDP), ("mcp", BY_MCP)):
        (evals.path / f"{name}.py").write_text(code)
    site.page("/report", "a,b\n1,2\n", headers={"Content-Disposition": "attachment; filename=report.csv"})
    shown = "<p id=out></p><input type=file id=f onchange='out.textContent = f.files[0].name'>"
    url = site.page("/page", f"{shown}<a href=/report download>report</a>")
    checks = [{"text": "cv.pdf"}, {"download": "report.csv", "rows": 1}]
    note = evals.path / "folder.txt"
    run = evals.play(
        [
            row(
                "a",
                start_url=url,
                says=None,
                files=["fixtures/cv.pdf"],
                graders=["page_state"],
                checks=checks,
            )
        ],
        variants={
            "cdp": {
                "type": "command",
                "command": ["{python}", "cdp.py", "{cdp_url}", "{task}", str(note)],
                "cdp": True,
                "mcp": "off",
            },
            "mcp": {"type": "command", "command": ["{python}", "mcp.py"]},
        },
        browser={"action_timeout_ms": PATIENCE_S * 1000},
    )
    cdp, mcp = sorted(run.attempts, key=lambda one: one.variant)
    assert (mcp.verdict, mcp.download_count) == ("passed", 1)
    # Its Playwright has taken the download for itself; that it began may have been seen.
    assert (cdp.verdict, cdp.error_source) == ("errored", "grader")
    assert cdp.download_count in (None, 1)
    assert "cannot be decided: a program drove the browser over CDP" in cdp.reason
    assert not Path(note.read_text()).exists()
