"""Fixtures for hand-written tests, sync and async, and the ``browsereval`` marker.

Registered in every pytest run, so nothing is imported here before a fixture is asked for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_browsereval.agents.base import AgentEvaluator
    from pytest_browsereval.capture.context import CaptureContext
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.hooks.handwritten import Handwritten, WindowHandle
    from pytest_browsereval.model.tasks import Task

OURS = frozenset({"browser_window", "capture_context", "agent_evaluator", "run_eval"})
"""Fixtures that live on the background loop; async tests that use one run there too."""


@pytest.fixture
def _handwritten(request: pytest.FixtureRequest) -> Iterator[Handwritten]:
    from pytest_browsereval.hooks.handwritten import Handwritten

    with Handwritten.of(request) as made:
        yield made


@pytest.fixture
def eval_config(_handwritten: Handwritten) -> EvalConfig:
    """The eval config of the test: the ``browsereval`` marker's, else that of ``--eval-config``."""
    return _handwritten.active_run.config


@pytest.fixture
def eval_task(request: pytest.FixtureRequest, _handwritten: Handwritten) -> Task:
    """One row of the dataset; ``@pytest.mark.browsereval(dataset=...)`` runs the test for each of them.

    Placeholders of sites are filled in.
    """
    return _handwritten.task(getattr(request, "param", None))


@pytest.fixture
def browser_window(request: pytest.FixtureRequest, _handwritten: Handwritten) -> WindowHandle:
    """An isolated window of a real browser, at the start page of ``eval_task`` if the test has one.

    It has all that a window has (``.page`` is Playwright's) and ``.wait(coroutine)``, by which a
    synchronous test runs a coroutine on the browser's loop.
    """
    has_task = "eval_task" in request.fixturenames
    return _handwritten.open_window(request.getfixturevalue("eval_task") if has_task else None)


@pytest.fixture
def capture_context(browser_window: WindowHandle, _handwritten: Handwritten) -> CaptureContext:
    """Records the test's window: messages, pictures, errors, into the test's ``tmp_path``."""
    del browser_window
    return _handwritten.capture()


@pytest.fixture
def agent_evaluator(
    eval_task: Task, capture_context: CaptureContext, _handwritten: Handwritten
) -> AgentEvaluator:
    """The config's agent in the test's window: ``await agent_evaluator.execute()``."""
    del capture_context
    return _handwritten.agent(eval_task)


@pytest.fixture
def run_eval(_handwritten: Handwritten) -> Callable[..., Any]:
    """Run a task from start to verdict: ``run_eval(task).verdict``; await it in an async test.

    An errored attempt raises a ``Fault``, which makes the test an error; ``run_eval(task, raises=False)``
    returns it.
    """
    return _handwritten.run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for ``eval_task`` once for each row of its marker's dataset."""
    if "eval_task" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("browsereval")
    if marker is not None and (marker.args or marker.kwargs):
        from pytest_browsereval.hooks.handwritten import rows_of

        entries = rows_of(metafunc.config, metafunc.definition)
        metafunc.parametrize("eval_task", entries, indirect=True, ids=[entry.name for entry in entries])


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, name: str, obj: object
) -> Generator[None, Any, Any]:
    """Turn async tests that use our fixtures into plain functions that wait for our loop.

    Innermost of all wrappers: other plug-ins for async tests then see a synchronous one.
    """
    del collector, name, obj
    made = yield
    for node in made if isinstance(made, list) else [made]:
        if (
            isinstance(node, pytest.Function)
            and inspect.iscoroutinefunction(node.obj)
            and not OURS.isdisjoint(node.fixturenames)
        ):
            node.obj = _on_our_loop(node.config, node.obj)
    return made


def _on_our_loop(config: pytest.Config, function: Callable[..., Any]) -> Callable[..., None]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        from pytest_browsereval.hooks.handwritten import wait

        wait(config, function(*args, **kwargs))

    del run.__wrapped__  # inspect would look through it, at the coroutine function
    return run
