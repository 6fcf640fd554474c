"""What sites print: their logs and their last words hold no secret of the config."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.launched import files_with
from tests.hooks.small_evals import Evals, row

NAMED, LITERAL = "named-secret-value", "literal-secret-value"
PEM = "-----BEGIN-----\nfirst-line-of-the-key\nsecond-line-of-the-key\n-----END-----"

SITE = """
import http.server
import os
import sys

key, literal, pem = os.environ["SITE_KEY"], os.environ["OWN_TOKEN"], os.environ["SITE_PRIVATE_KEY"]
out = sys.stdout
out.write("whole " + key + "\\n")
out.write("in two " + key[:7])
out.flush()
out.write(key[7:] + "\\n")
out.write("literal " + literal + "\\nmany lines " + pem + "\\n")
out.write("x" * 65500 + key + "y" * 70000 + key + "\\n")
out.buffer.write(b"bytes \\xff\\xfe of nobody\\n")
out.flush()
sys.stderr.write("error " + key)  # a last line without an end
sys.stderr.flush()
if "dies" in sys.argv:
    raise SystemExit(3)
address = ("127.0.0.1", int(os.environ["PORT"]))
http.server.HTTPServer(address, http.server.SimpleHTTPRequestHandler).serve_forever()
"""


@pytest.fixture
def site(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return a site that prints its secrets in many ways."""
    monkeypatch.setenv("SHOP_KEY", NAMED)
    monkeypatch.setenv("SHOP_PRIVATE_KEY", PEM)
    (evals.path / "site.py").write_text(SITE)
    env = {"SITE_KEY": "${SHOP_KEY}", "OWN_TOKEN": LITERAL, "SITE_PRIVATE_KEY": "${SHOP_PRIVATE_KEY}"}
    return {"command": ["{python}", "site.py"], "env": env}


def secret_files(evals: Evals) -> list[str]:
    return files_with(evals.path / "results", NAMED, LITERAL, "first-line-of-the-key", NAMED[:12])


def test_the_log_of_a_site_has_no_secret(evals: Evals, site: dict[str, Any]) -> None:
    """Whole, in parts, over lines and over long ones; what else was printed is there, byte for byte."""
    ran = evals.play([row("a", query="Look at {shop}.", sites=["shop"])], sites={"shop": site})
    ran.assert_outcomes(passed=1)
    (log,) = (ran.folder / "sites").glob("shop-*.log")
    text = log.read_bytes()
    assert secret_files(evals) == []
    assert text.startswith(
        b"whole [redacted]\nin two [redacted]\nliteral [redacted]\nmany lines [redacted]\n"
    )
    assert b"x" * 65500 + b"[redacted]" + b"y" * 70000 + b"[redacted]\n" in text
    assert b"bytes \xff\xfe of nobody\n" in text
    assert b"error [redacted]" in text


def test_the_last_words_of_a_site_have_no_secret(evals: Evals, site: dict[str, Any]) -> None:
    """A site that ends at once is reported with its last lines, in the terminal and on record."""
    sites = {"shop": {**site, "command": ["{python}", "site.py", "dies"]}}
    looks = row("a", query="Look at {shop}.", sites=["shop"])
    ran = evals.play([looks], "--junit-xml=junit.xml", sites=sites)
    ran.assert_outcomes(errors=1)
    reason = ran.attempt("a").reason
    assert "Its process ended with exit code 3" in reason
    assert "error [redacted]" in reason
    assert not any(text in ran.stdout.str() for text in (NAMED, LITERAL))
    assert secret_files(evals) == []
    assert files_with(evals.path, NAMED) == []


READER = """
from urllib.error import HTTPError
from urllib.request import urlopen

def solve(context):
    found = {}
    of_the_run = next(path for path in context.output_dir.rglob("*") if path.is_file())
    inner = of_the_run.resolve().relative_to(context.base_dir.resolve()).as_posix()
    for name in ("index.html", "other.txt", "shop.jsonl", "shop.eval.yaml", inner):
        try:
            found[name] = urlopen(context.task.query + name).status
        except HTTPError as error:
            found[name] = error.code
    return " ".join(map(str, found.values()))
"""


def test_a_site_around_the_eval_serves_nothing_of_it(evals: Evals) -> None:
    """Neither rows nor config nor runs, so that no agent reads a reference at the address of its site."""
    for name, text in (("my_agent.py", READER), ("index.html", "Shop"), ("other.txt", "fine")):
        (evals.path / name).write_text(text)
    evals.write_rows(row("a", query="{shop}/", answer="200 200 404 404 404"))
    agent = {"type": "function", "function": "my_agent:solve"}
    evals.write_config(agent=agent, sites={"shop": {"static": "."}}, retries=0)
    run = evals.run("shop.eval.yaml")
    assert run.attempt("a").verdict == "passed", run.attempt("a").reason
