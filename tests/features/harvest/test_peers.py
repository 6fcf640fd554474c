"""Harvested tests under pytest-playwright, in an environment without this package; ``pytest -m peers``."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from pytest_browsereval.features.shared.browser_binary import find_binary
from tests.environments import make_environment
from tests.features.harvest.wanderer import wander_quickstart
from tests.hooks.small_evals import Evals

pytestmark = [pytest.mark.peers, pytest.mark.timeout(1800)]

BROKEN: dict[str, tuple[str, str, str]] = {
    "a renamed button": ("product.js", ">Add to cart<", ">Put into basket<"),
    "a field that has gone": ("cart.js", '<input id="code"', '<input type="hidden" id="code"'),
    "another price": ("products.js", "price: 64,", "price: 65,"),
    "a script that throws": ("page.js", '"use strict";', '"use strict"; throw new Error("broken");'),
    "a page that has moved": ("page.js", 'href="cart.html"', 'href="basket.html"'),
    "a further step": (
        "checkout.js",
        '<button class="main">Place order</button>',
        '<button class="main">Review</button>',
    ),
    "a login in the way": ("product.html", "<body", "<body hidden"),
    "a banner over the page": (
        "shop.css",
        "body {",
        "body::after { content: 'Cookies'; position: fixed; inset: 0; z-index: 99 }\nbody {",
    ),
    "a state that is not stored": ("store.js", "localStorage.setItem(KEY, JSON.stringify(state));", ""),
    "a script that is not found": ("products.js", "", ""),
}
"""By what is broken: a file of the shop, a text of it, and what stands there instead; no text: no file."""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python that has pytest-playwright and not this package."""
    return make_environment(tmp_path_factory.mktemp("plain") / "env", "pytest-playwright", "jmespath")


def run_plain(python: Path, folder: Path, *words: str) -> tuple[int, str]:
    """Run the tests of a folder; return the exit code and what pytest prints."""
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stdout + done.stderr


def test_harvested_tests_are_green_and_red_on_broken_shops(
    evals: Evals, python: Path, subtests: pytest.Subtests
) -> None:
    """Nearly all of the quickstart's rows are tests; each of ten broken shops fails some."""
    run = wander_quickstart(evals, has_effects=False)
    plain = evals.path / "plain"
    plain.mkdir()
    words = ("--to=pytest", f"--out={plain / 'test_shops.py'}", "--json=report.json")
    result = evals.run_command("harvest", str(run.folder), *words)
    report = json.loads((evals.path / "report.json").read_text())
    assert result.ret == 1
    assert {one["reason"] for one in report["refused"]} == {
        "its answer is graded, and may not be on the last page"
    }
    count = len(report["harvested"])
    assert count >= 40
    binary = asyncio.run(find_binary())
    (plain / "conftest.py").write_text(
        "import pytest\n\n"
        "@pytest.fixture(scope='session')\n"
        "def browser_type_launch_args(browser_type_launch_args):\n"
        f"    return {{**browser_type_launch_args, 'executable_path': {str(binary.path)!r}}}\n"
    )
    code, printed = run_plain(python, plain)
    assert (code, f"{count} passed" in printed) == (0, True), printed
    shop = evals.path / "sites" / "shop"
    for name, (file, before, after) in BROKEN.items():
        path = shop / file
        text = path.read_text()
        with subtests.test(name):
            assert before in text
            if before:
                path.write_text(text.replace(before, after))
            else:
                path.unlink()
            code, printed = run_plain(python, plain, "-k", "shop", "-x")
            assert (code, "1 failed" in printed) == (1, True), printed
        path.write_text(text)
