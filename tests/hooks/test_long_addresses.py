"""A page that gives itself an endless address and title."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

PAGE = """<!doctype html><title>Long</title><script>
history.replaceState(0, '', '#' + 'x'.repeat(1_900_000));
document.title = 'y'.repeat(1_900_000);
</script>"""


@pytest.mark.slow
def test_an_address_of_megabytes_is_not_logged_with_every_step(evals: Evals) -> None:
    """Logs and records have its beginning and its length; checks of the page still see all of it."""
    (evals.path / "site").mkdir()
    (evals.path / "site" / "index.html").write_text(PAGE)
    calls = [
        *({"tool": name} for name in ("list_tabs", "snapshot", "screenshot")),
        {"tool": "done", "answer": ""},
    ]
    checks = [
        {"js": "location.hash.length", "equals": 1_900_001},
        {"js": "document.title.length", "min": 1_900_000},
    ]
    evals.write_rows(row("a", start_url="{app}/", graders=["page_state"], checks=checks, solution=calls))
    evals.write_config(browser="playwright", sites={"app": {"static": "site"}})
    run = evals.run()
    assert run.ret == 0
    (log,) = run.folder.glob("tasks/*/*/*/attempt-*/messages.jsonl")
    assert log.stat().st_size < 100_000
    assert "1900" in log.read_text()
    assert len(run.attempt("a").final_url or "") < 10_000
    others = [file for file in log.parent.rglob("*.json*") if file.name != "evidence.json"]
    assert max(file.stat().st_size for file in others) < 100_000
