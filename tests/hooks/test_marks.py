"""Datasets and tags of rows as markers: they select, whatever they are called, and excuse no row."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

ACTS = ["xfail", "skip", "skipif", "usefixtures", "parametrize", "filterwarnings", "timeout", "xdist_group"]

SLOW = """
import pytest

def pytest_configure(config):
    config.addinivalue_line("markers", "slow: is left out")

def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("slow") or "slow" in item.keywords:
            item.add_marker(pytest.mark.skip)

def pytest_runtest_setup(item):
    if item.get_closest_marker("slow"):
        pytest.skip("slow")
"""


@pytest.mark.parametrize("options", [[], ["-m", "unit or other"], ["--strict-markers", "-q"]])
def test_a_tag_is_no_marker_that_acts(evals: Evals, options: list[str]) -> None:
    """A failed row with such a tag or dataset fails, and the name is told with its place."""
    tagged = [row(f"tagged-{name}", says="x", tags=[name]) for name in ACTS]
    named = [row(f"named-{name}", says="x", dataset=name, tags=["other"]) for name in ACTS]
    ran = evals.play([*tagged, *named], *options)
    ran.assert_outcomes(failed=2 * len(ACTS))
    assert ran.ret == 1
    for line, name in enumerate(ACTS, 1):
        note = f"note: rows.jsonl:{line} and 1 more: the tag or dataset '{name}' is also a marker"
        assert note in ran.stdout.str()


def test_what_code_registers_does_not_act_and_what_the_ini_file_has_is_no_matter(evals: Evals) -> None:
    """A conftest's ``slow`` leaves out no row by its tag; a name of the ini file is a tag as any other."""
    evals.pytester.makeconftest(SLOW)
    evals.pytester.makeini("[pytest]\nmarkers =\n    smoke: the short ones\n")
    ran = evals.play([row("a", says="x", tags=["slow"]), row("b", tags=["smoke"])])
    ran.assert_outcomes(failed=1, passed=1)
    assert "'slow' is also a marker" in ran.stdout.str()
    assert "'smoke'" not in ran.stdout.str()
    evals.run("shop.eval.yaml", "-m", "smoke", "--strict-markers").assert_outcomes(passed=1, deselected=1)
