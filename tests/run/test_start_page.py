"""Rows and sites that say when a page is ready: the attempt begins then, and is errored if it never is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.conftest import evals
from tests.hooks.small_evals import Evals, row

__all__ = ["evals"]

SLOW = """<title>Slow</title><p id=state>Loading</p><script>
setTimeout(() => {
  history.replaceState(null, "", "?launched=1");
  document.body.innerHTML = "<h1>Wel\\u00adcome   here</h1><button>Go</button>";
  window.launched = true;
}, 1500);
</script>"""
NEVER = "<title>Never</title><p>Still loading</p><button hidden>Go</button>"


def write_site(evals: Evals, **site: Any) -> dict[str, Any]:
    """Write the pages, and return a site that serves them."""
    folder = evals.path / "pages"
    folder.mkdir(exist_ok=True)
    (folder / "slow.html").write_text(SLOW)
    (folder / "never.html").write_text(NEVER)
    (folder / "asks.html").write_text("<title>Asks</title><script>setTimeout(() => alert('Well?'))</script>")
    return {"static": "pages", **site}


def at(name: str, page: str, **more: Any) -> dict[str, Any]:
    """Return a row that looks at its start page once, with a tool that does not wait."""
    return row(name, start_url=f"{{app}}/{page}", **more)


def test_the_first_picture_shows_a_page_that_is_ready(evals: Evals) -> None:
    """Each form holds back the agent, and costs none of its time; what a row says replaces the site's."""
    forms = [
        {"text": "Welcome here"},
        {"url": "*/slow.html?launched=*"},
        {"target": "role=button[name=Go]"},
        {"js": "window.launched"},
        {"js": "() => window.launched", "text": "Go"},
    ]
    rows = [at(f"own{n}", "slow.html", ready=form) for n, form in enumerate(forms)]
    for one in rows:
        one |= {"graders": ["page_state"], "checks": [{"text": "Welcome here"}]}
    rows.append(at("other", "never.html", ready={"text": "Still loading"}))
    site = write_site(evals, ready={"url": "{app}/slow.html?launched=1"})
    rows.append({**rows[0], "query_id": "site", "ready": None})
    ran = evals.play(rows, browser="playwright", sites={"app": site}, lanes=4)
    ran.assert_outcomes(passed=7)
    own = ran.attempt("own0")
    assert own.total_duration_ms is not None
    assert own.agent_duration_ms is not None
    assert own.total_duration_ms - own.agent_duration_ms > 1_400  # the page took longer, by its own clock


def test_a_page_that_is_never_ready_is_a_fault_of_the_site(evals: Evals, subtests: pytest.Subtests) -> None:
    """Errored (site) within the limit, saying what was there instead; the page is in a picture."""
    cases = [
        ({"text": "Welcome"}, "the text 'Welcome' is not on it"),
        ({"url": "*/launched"}, "its address is not '*/launched'"),
        ({"target": "role=button"}, "nothing that is visible matches the target 'role=button'"),
        ({"target": "button[["}, "while parsing css selector"),
        ({"js": "document.querySelector('h1')"}, "the value of \"document.querySelector('h1')\" is None"),
        ({"js": "nothing.at.all"}, "nothing is not defined"),
    ]
    rows = [at(f"r{n}", "never.html", ready={**form, "timeout_s": 0.3}) for n, (form, _) in enumerate(cases)]
    asks = at("asks", "asks.html", ready={"text": "Welcome", "timeout_s": 0.3})
    ran = evals.play([*rows, asks], browser="playwright", sites={"app": write_site(evals)}, lanes=2)
    ran.assert_outcomes(errors=7)
    for number, (form, told) in enumerate(cases):
        with subtests.test(form=form):
            attempt = ran.attempt(f"r{number}")
            assert attempt.error_source == "site"
            assert "the page was not ready within 0.3 s (`ready`): " in attempt.reason
            assert told in attempt.reason
            assert "/never.html, titled 'Never', with the text 'Still loading" in attempt.reason
            assert attempt.total_steps == 0
    assert "a dialog is open. There was" in ran.attempt("asks").reason
    assert len(list(ran.folder.glob("tasks/r0/*/*/*/screenshots/*"))) == 1


def test_wrong_blocks_are_refused_before_anything_is_spent(evals: Evals, subtests: pytest.Subtests) -> None:
    """With the file, the line and what to write."""
    cases = [
        ({}, "write what to wait for"),
        ({"txt": "x"}, "txt"),
        ({"target": "e12"}, "'e12' is a ref"),
        ({"text": "x", "timeout_s": 0}, "ready.timeout_s: must be more than 0"),
        ({"url": "{shop}/x"}, "'shop' is not a site of the config"),
    ]
    for ready, told in cases:
        with subtests.test(ready=ready):
            ran = evals.play([at("a", "slow.html", ready=ready)], sites={"app": write_site(evals)})
            assert ran.ret == 4
            assert told in str(ran.stderr)
            assert "rows.jsonl:1" in str(ran.stderr)
    ran = evals.play([at("a", "slow.html")], sites={"app": write_site(evals, ready={"text": "Go"})})
    assert ran.ret == 4
    assert "waits for `ready`" in str(ran.stderr)


def test_a_test_by_hand_waits_too(evals: Evals) -> None:
    """The window of a test is ready when it gets it, by the site of its start page."""
    site = write_site(evals, ready={"text": "Welcome here"})
    evals.write([at("a", "slow.html")], browser="playwright", sites={"app": site})
    evals.pytester.makepyfile(
        """
        import pytest

        @pytest.mark.browsereval(config="shop.eval.yaml")
        def test_it(eval_task, browser_window):
            assert browser_window.url.endswith("launched=1")
        """
    )
    evals.run("test_a_test_by_hand_waits_too.py").assert_outcomes(passed=1)
