"""Pages that change what JavaScript itself brings: a verdict does not rest on it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

PAGE = """<!doctype html><title>Shop</title><p>Nothing is done.</p><script>
window.state = {done: false};
JSON.stringify = () => '{"done": true, "paragraphs": 9}';
Object.prototype.toJSON = () => ({done: true, paragraphs: 9});
</script>"""


@pytest.mark.parametrize("is_done", [False, True])
def test_a_page_that_forges_json_changes_no_verdict(evals: Evals, *, is_done: bool) -> None:
    """Checks with `js` and `state_diff` fail a row that did nothing, and pass one that did it."""
    page = PAGE.replace("done: false", f"done: {str(is_done).lower()}")
    (evals.path / "site").mkdir()
    (evals.path / "site" / "index.html").write_text(page)
    looks = {"type": "page_state", "wait_s": 0}
    state = {"type": "state_diff", "name": "state", "source": {"js": "window.state"}, "wait_s": 0}
    checks: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "of-value": (looks, {"js": "window.state", "path": "done", "equals": True}),
        "of-literal": (looks, {"js": "({all: [state]})", "path": "all[0].done", "equals": True}),
        "of-state": (state, {"path": "done", "equals": True}),
    }
    rows = [
        row(name, start_url="{app}/", graders=[grader], checks=[check])
        for name, (grader, check) in checks.items()
    ]
    run = evals.play(rows, browser="playwright", sites={"app": {"static": "site"}})
    verdicts = {attempt.query_id: str(attempt.verdict) for attempt in run.attempts}
    assert verdicts == dict.fromkeys(checks, "passed" if is_done else "failed")
    assert run.ret == (0 if is_done else 1)
