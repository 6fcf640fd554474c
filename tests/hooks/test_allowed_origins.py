"""Rows whose site may reach itself only."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row
from tests.support import PageServer


@pytest.mark.slow
@pytest.mark.parametrize("is_limited", [True, False])
def test_a_redirect_tells_another_server_nothing(evals: Evals, *, is_limited: bool) -> None:
    """With `allowed_origins` the other server is never asked, and the attempt has a warning."""
    here, other = PageServer("127.0.0.1"), PageServer("127.0.0.2")
    here.page("/away", "", status=302, headers={"Location": f"{other.url}/?secret"})
    script = "fetch('/away', {mode: 'no-cors'}).catch(() => 0).finally(() => document.title = 'Tried')"
    url = here.page("/", f"<!doctype html><title>Start</title><script>{script}</script>")
    evals.write_rows(row("r0", start_url=url, graders=["page_state"], checks=[{"title": "Tried"}]))
    limits = {"allowed_origins": ["https://shop.example"]} if is_limited else {}
    evals.write_config(browser={"type": "playwright", **limits})
    run = evals.run()
    warnings = [warning.message for warning in run.attempt("r0").warnings]
    for server in (here, other):
        server.close()
    assert run.ret == 0
    assert other.requests == ([] if is_limited else ["/?secret"])
    blocked = f"{other.url} was blocked: it is not among the allowed origins."
    assert (blocked in warnings) is is_limited
