"""Fixtures for tests that people write by hand, in both colours, beside other async plug-ins."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, errored_row, row

pytestmark = pytest.mark.quick

PAGE = "<title>Hello</title><h1>A page</h1><button>Press</button>"


def test_sync_and_async_tests_share_a_browser(evals: Evals) -> None:
    """A window is reached by ``wait`` in a sync test and by ``await`` in an async one, classes included."""
    evals.pytester.makepyfile(
        f"""
        import pytest
        PAGE = {PAGE!r}

        def test_sync(browser_window):
            browser_window.wait(browser_window.page.set_content(PAGE))
            assert browser_window.wait(browser_window.page.title()) == "Hello"

        async def test_async(browser_window):
            await browser_window.page.set_content(PAGE)
            assert await browser_window.page.title() == "Hello"

        class TestMore:
            @pytest.mark.parametrize("n", [1, 2])
            async def test_in_a_class(self, browser_window, n):
                assert await browser_window.page.evaluate("1 + %d" % n) == 1 + n

        async def test_fails(browser_window):
            assert await browser_window.page.title() == "Goodbye"
        """
    )
    evals.run().assert_outcomes(passed=4, failed=1)


@pytest.mark.slow
def test_other_async_plugins_keep_their_tests(evals: Evals) -> None:
    """pytest-asyncio and pytest-playwright run their own tests in the same session as ours."""
    evals.write_rows(row("a"))
    evals.write_config(browser="playwright")
    evals.pytester.makepyfile(
        test_ours="""
        async def test_ours(browser_window):
            assert await browser_window.page.evaluate("2") == 2
        """,
        test_theirs="""
        import asyncio

        async def test_theirs():
            await asyncio.sleep(0)
        """,
    )
    result = evals.pytester.runpytest_subprocess(
        "-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"
    )
    result.assert_outcomes(passed=3)


def test_the_marker_runs_a_test_for_each_row(evals: Evals) -> None:
    """``eval_task`` is parametrised by the marker's dataset; config, capture and agent fit to it."""
    evals.write_rows(row("one"), row("two"))
    evals.pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.browsereval(dataset="rows.jsonl", agent="scripted", graders=["answer"])

        async def test_by_hand(eval_task, eval_config, agent_evaluator, capture_context):
            result = await agent_evaluator.execute()
            assert result.final_answer == eval_task.answer == "right"
            assert [m.type for m in capture_context.messages.messages][-2:] == ["tool_call", "tool_result"]
            assert eval_config.variants["default"].type == "scripted"

        async def test_whole(eval_task, run_eval):
            outcome = await run_eval(eval_task)
            assert outcome.verdict == "passed"

        def test_whole_sync(eval_task, run_eval):
            run_eval(eval_task).assert_passed()
        """
    )
    result = evals.run("-v")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["*test_by_hand?one? PASSED*"])


@pytest.mark.slow
def test_hand_written_tests_run_in_workers(evals: Evals) -> None:
    """The controller knows nothing of them: no eval has woken it, and it hands nothing over."""
    evals.write_rows(row("one"))
    evals.pytester.makepyfile(
        """
        import pytest

        @pytest.mark.browsereval(dataset="rows.jsonl", agent="scripted", browser={"type": "blank"})
        async def test_whole(eval_task, run_eval):
            assert (await run_eval(eval_task)).verdict == "passed"
        """
    )
    result = evals.run("-n1")
    result.assert_outcomes(passed=1)


def test_hooks_of_a_conftest_apply_to_hand_written_tests(evals: Evals) -> None:
    """A config that is made of a marker's keywords asks the behaviour hooks as a config in a file does."""
    evals.write_rows(row("one", says="wrong"))
    evals.pytester.makeconftest(
        """
        def pytest_browsereval_modify_task(task):
            return task.model_copy(update={"answer": "wrong"})
        """
    )
    evals.pytester.makepyfile(
        """
        import pytest

        @pytest.mark.browsereval(dataset="rows.jsonl", agent="scripted")
        def test_row(eval_task, run_eval):
            run_eval(eval_task).assert_passed()
        """
    )
    evals.run().assert_outcomes(passed=1)


def test_a_marker_may_name_a_config(evals: Evals) -> None:
    """``config=`` takes an eval file beside the test; a bad one is a usage error."""
    evals.write_rows(row("one"))
    evals.write_config("shop.yaml")
    evals.pytester.makepyfile(
        """
        import pytest

        @pytest.mark.browsereval(config="shop.yaml")
        def test_row(eval_task, eval_config, run_eval):
            assert eval_config.name == "shop"
            assert run_eval(eval_task).verdict == "passed"
        """
    )
    evals.run().assert_outcomes(passed=1)
    evals.write_config("shop.yaml", lanez=3)
    result = evals.run()
    assert result.ret != 0
    assert "Did you mean 'lanes'" in result.stdout.str() + result.stderr.str()


def test_a_run_that_nobody_awaits_is_an_error(evals: Evals) -> None:
    """A test that forgets ``await`` has run nothing; one that leaves a run behind knows no verdict."""
    evals.write_rows(row("a"))
    evals.write_config()
    evals.pytester.makepyfile(
        """
        import asyncio
        import pytest

        pytestmark = pytest.mark.browsereval(config="shop.eval.yaml")

        async def test_forgets(eval_task, run_eval):
            run_eval(eval_task)

        async def test_awaits(eval_task, run_eval):
            assert (await asyncio.create_task(run_eval(eval_task))).verdict == "passed"

        async def test_awaits_two(eval_task, run_eval):
            await asyncio.gather(run_eval(eval_task), run_eval(eval_task))
        """
    )
    result = evals.run("-W", "error::RuntimeWarning")
    result.assert_outcomes(passed=4, errors=1)  # the row of the config besides
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "test_forgets[a] did not await what run_eval returned" in result.stdout.str()


ERRORED = """
import asyncio, pytest
from pytest_browsereval import ErrorSource, Fault

pytestmark = pytest.mark.browsereval(config="shop.yaml")

async def test_verdict(eval_task, run_eval):
    outcome = await run_eval(eval_task)
    assert outcome.verdict == "passed"

def test_sync(eval_task, run_eval):
    assert run_eval(eval_task).verdict == "passed"

def test_never_looks(eval_task, run_eval):
    run_eval(eval_task)

def test_asserts_passed(eval_task, run_eval):
    run_eval(eval_task, raises=False).assert_passed()

async def test_group(eval_task, run_eval):
    async with asyncio.TaskGroup() as group:
        group.create_task(run_eval(eval_task))

async def test_agent(eval_task, agent_evaluator):
    raise Fault(ErrorSource.PROVIDER, "the key was refused")
"""


@pytest.mark.parametrize("options", [[], pytest.param(["-n1"], marks=pytest.mark.slow)], ids=["one", "xdist"])
def test_an_errored_attempt_makes_an_error(evals: Evals, options: list[str]) -> None:
    """As a row of a config it is in nobody's failures: E in the terminal, `<error>` in the JUnit file."""
    evals.write_rows(errored_row("one"))
    evals.write_config("shop.yaml")
    evals.pytester.makepyfile(ERRORED)
    result = evals.run("--junit-xml=junit.xml", *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(errors=6)
    assert "errored (navigation): " in result.stdout.str()
    xml = (evals.path / "junit.xml").read_text()
    assert 'errors="6" failures="0"' in xml


def test_an_errored_attempt_is_returned_on_request(evals: Evals) -> None:
    """``raises=False`` is for tests that look at the error; failures and groups with one stay failures."""
    evals.write_rows(errored_row("one"), row("two", says="wrong"))
    evals.write_config("shop.yaml")
    evals.pytester.makepyfile(
        """
        import pytest
        from pytest_browsereval import ErrorSource, Fault

        pytestmark = pytest.mark.browsereval(config="shop.yaml")

        def test_it(eval_task, run_eval):
            outcome = run_eval(eval_task, raises=False)
            assert (outcome.verdict, outcome.metadata.error_source) == ("errored", "navigation")

        def test_group(eval_task, run_eval):
            fault = Fault(ErrorSource.SITE, "it is down")
            raise ExceptionGroup("", [fault, AssertionError()])
        """
    )
    evals.run().assert_outcomes(passed=1, failed=3)
